"""Contents of saved tensors, written to a container while the backward pass runs: what it reads is
what a swap would have moved."""
import torch

from .. import _input, _options
from .._writer import Writer

CHUNK_BYTES = 4096


class Contents:
    """Writes the contents of one iteration.  A tensor of the container is named PASS/OP/SLOT, with
    -1 for OP if it is an input, which is there before any operator; its elements are those of the
    storage, in a row.

    whole_bytes, every: of a storage that is larger, the first of every so many 4096-byte chunks is
    written; metadata of the tensor tells both, as whole_bytes (of this storage) and every.
    """

    def __init__(self, file, whole_bytes, every, codec, threads):
        self.writer = Writer(file.write, threads)
        self.whole_bytes, self.every, self.codec = whole_bytes, every, codec
        self.done = {} # name by pass and key

    def see(self, passes, key, tensor):
        """A tensor that the backward pass of the last of the passes reads next."""
        record = passes[-1]
        if (len(passes), key) in self.done or tensor.is_meta:
            return
        name = self.name(passes, key)
        self.done[len(passes), key] = name
        if name is not None:
            with torch.no_grad():
                self.write(name, flat(tensor, record.storages[key].dtype))

    def name(self, passes, key):
        """None for what is no saved tensor."""
        record = passes[-1]
        storage = record.storages.get(key)
        if storage is None or storage.kind is not None or storage.bytes == 0:
            return None
        if not storage.fresh:
            return f"{len(passes) - 1}/-1/{record.input_slot(key)}"
        for i, op in enumerate(record.ops):
            if key in op.writes:
                return None if op.backward else f"{len(passes) - 1}/{i}/{op.writes.index(key)}"
        return None

    def write(self, name, elements):
        metadata = {"whole_bytes": str(elements.nbytes), "every": "1"}
        if elements.nbytes > self.whole_bytes and self.every > 1:
            metadata["every"] = str(self.every)
            elements = sample(elements, CHUNK_BYTES // elements.element_size(), self.every)
        memory = _input.of_torch(elements.cpu())
        self.writer.add(name, memory, _options.mode(self.codec, "native", memory.dtype), metadata)

    def finish(self):
        """Ends the container."""
        with self.writer as writer:
            writer.finish()


def flat(tensor, dtype):
    """The whole storage of a tensor, as elements of the type that it was made with."""
    kind = getattr(torch, dtype)
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    whole = whole.set_(tensor.untyped_storage())
    size = kind.itemsize
    return whole[:whole.numel() // size * size].view(kind)


def sample(elements, chunk, every):
    """The first of every so many chunks of a row of elements; what is left at the end of it counts
    as a chunk."""
    whole = elements[:elements.numel() // chunk * chunk].view(-1, chunk)
    kept = whole[::every].reshape(-1)
    if len(whole) % every == 0:
        kept = torch.cat((kept, elements[len(whole) * chunk:]))
    return kept
