"""Modules whose weights, and caches whose rows, are held packed in the memory of the host
(docs/ibp.md): what is needed is unpacked when it is needed, bit for bit as it was."""
import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from .. import ibp
from ..ibp import Rows, Table

INDEXES = (torch.int32, torch.int64)


def expect_frozen(weight, what):
    if weight.requires_grad:
        raise ValueError(f"planezip: the weight of the {what} is trained, and a packed one cannot "
                         "be; freeze it with requires_grad_(False)")


def state_of(rows):
    """Packed rows as tensors, for a state_dict."""
    stored = rows.__getstate__()["stored"]
    return {"table": as_tensor(bytes(rows.table)), "data": as_tensor(stored.data),
            "offsets": as_tensor(stored.places), "shape": rows.shape, "dtype": rows.dtype}


def as_tensor(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else \
        torch.empty(0, dtype=torch.uint8)


def rows_of(state):
    """The packed rows of a state_dict."""
    missing = {"table", "data", "offsets", "shape", "dtype"} - set(state)
    if missing:
        raise ValueError(f"planezip: the state of a packed weight has no {sorted(missing)[0]}")
    return Rows.restore(Table.of_bytes(state["table"]), state["dtype"], state["shape"],
                        bytes_of(state["data"]), bytes_of(state["offsets"]))


def bytes_of(tensor):
    tensor = tensor.to("cpu", torch.uint8).contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes) if tensor.nbytes else b""


class Packed(torch.nn.Module):
    """What modules with a packed weight share.  The weight is no parameter: .to(), .half() and the
    like leave it as it is, and results are on the device of what is handed in."""

    def __init__(self, weight, what, table, threads):
        super().__init__()
        expect_frozen(weight, what)
        weight = weight.detach().to("cpu")
        self.rows = (table or Table.learn(weight)).pack(weight, threads=threads)
        self.threads = threads

    @property
    def weight(self):
        """The whole weight, unpacked at each look at it; changing it changes nothing here."""
        return self.rows.unpack(threads=self.threads)

    def get_extra_state(self):
        return state_of(self.rows)

    def set_extra_state(self, state):
        rows = rows_of(state)
        if len(rows.shape) != 1:
            raise ValueError(f"planezip: the state has rows of shape {tuple(rows.shape)}, a weight "
                             "has one number of them")
        if (rows.shape, rows.table.columns, rows.dtype) != (
                self.rows.shape, self.rows.table.columns, self.rows.dtype):
            raise ValueError(f"planezip: the state has a weight of {rows.shape[0]} rows of "
                             f"{rows.table.columns} {rows.dtype}, the module one of "
                             f"{self.rows.shape[0]} of {self.rows.table.columns} {self.rows.dtype}")
        self.rows = rows


class PackedEmbedding(Packed):
    """A frozen nn.Embedding whose weight is held packed in the memory of the host.

    embedding: an nn.Embedding that is not trained, or a weight, two-dimensional.  With max_norm it
    is refused, as that changes rows when they are looked up.  table: of rows like these, learned of
    the weight if None.  padding_idx is kept; it matters for gradients only, of which there are
    none, and so do sparse and scale_grad_by_freq.  threads: that unpack.

    forward() is that of nn.Embedding, bit for bit; a number outside the weight is an IndexError.
    state_dict() has the packed weight, as extra state, and takes no plain one: load that before.
    """

    def __init__(self, embedding, *, padding_idx=None, table=None, threads=1):
        weight = embedding
        if isinstance(embedding, torch.nn.Embedding):
            if embedding.max_norm is not None:
                raise ValueError("planezip: the embedding has max_norm, which changes rows when "
                                 "they are looked up; packed rows do not change")
            weight = embedding.weight
            padding_idx = embedding.padding_idx if padding_idx is None else padding_idx
        elif not isinstance(embedding, torch.Tensor):
            raise TypeError(f"planezip: the embedding is a {type(embedding).__name__}, expected is "
                            "an nn.Embedding or a tensor")
        if weight.dim() != 2:
            raise ValueError(f"planezip: the weight has shape {tuple(weight.shape)}, expected are "
                             "two dimensions")
        super().__init__(weight, "embedding", table, threads)
        self.num_embeddings, self.embedding_dim = weight.shape
        if padding_idx is not None and not -len(self.rows) <= padding_idx < len(self.rows):
            raise ValueError(f"planezip: padding_idx is {padding_idx}, but there are "
                             f"{len(self.rows)} rows")
        self.padding_idx = None if padding_idx is None else padding_idx % len(self.rows)

    def forward(self, index):
        if index.dtype not in INDEXES:
            raise TypeError(f"planezip: the index is {index.dtype}, expected is torch.int64 or "
                            "torch.int32")
        return self.rows.fetch(index.cpu(), threads=self.threads).to(index.device)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Ahead:
    """Unpacks weights in the order in which they were used before, one ahead of the use."""

    def __init__(self):
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.following, self.last = {}, None # the module that came next, by the id of each
        self.pending = {} # rows, and their weight that is being unpacked, by the id of the module
        self.worker = ThreadPoolExecutor(1, "planezip-ahead")

    def __reduce__(self):
        return Ahead, ()

    def take(self, module):
        """The weight of a module; that of the module which came next the last time is begun."""
        if self.process != os.getpid(): # a fork, without the thread
            self.__init__()
        with self.lock:
            rows, begun = self.pending.pop(id(module), (None, None))
            self.following[self.last] = module
            self.last = id(module)
        # A state may have been loaded since, which brings other rows.
        weight = begun.result() if rows is module.rows else module.weight
        with self.lock:
            following = self.following.get(id(module))
            if following not in (None, module) and id(following) not in self.pending:
                self.pending.clear() # what was begun and not used
                rows = following.rows
                self.pending[id(following)] = rows, self.worker.submit(
                    rows.unpack, threads=following.threads)
        return weight


class PackedLinear(Packed):
    """A frozen nn.Linear whose weight is held packed in the memory of the host, and unpacked for
    each forward(), which is that of nn.Linear, bit for bit.  The bias stays as it is.

    ahead: an Ahead that several modules share, so that the weight of the next one is unpacked while
    this one is at work; see pack_linears().  Under autograd the unpacked weights live until the
    backward pass.  state_dict() is as that of PackedEmbedding, with the bias.
    """

    def __init__(self, linear, *, table=None, threads=1, ahead=None):
        super().__init__(linear.weight, "linear layer", table, threads)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self.ahead = ahead
        self.training = linear.training

    def forward(self, x):
        weight = self.weight if self.ahead is None else self.ahead.take(self)
        return torch.nn.functional.linear(x, weight.to(x.device), self.bias)

    def extra_repr(self):
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


def pack_linears(module, *, least_bytes=1 << 16, threads=1):
    """Replaces the frozen nn.Linear layers within a module by PackedLinear, in place; returns how
    many bytes their weights had, and have now.

    While a layer is at work, a thread unpacks the weight of the one that came next in the last
    pass, so that two are unpacked at a time.  least_bytes: smaller weights stay as they are, and so
    do layers that are more than nn.Linear: with hooks, a forward() or a weight that is computed.
    A weight that another module shares, as an embedding that of the output, stays there too.
    If a layer cannot be packed, its name is told, and none has been replaced.
    """
    if isinstance(module, torch.nn.Linear):
        raise ValueError("planezip: the module is a linear layer itself, expected is one that has "
                         "such; use PackedLinear(module)")
    found = {}
    for path, parent in module.named_modules():
        for name, layer in parent._modules.items(): # also those that are there twice
            if is_plain_linear(layer) and layer.weight.nbytes >= max(least_bytes, 1):
                if layer not in found:
                    expect_packable(layer, f"{path}.{name}" if path else name)
                found.setdefault(layer, []).append((parent, name))
    ahead, before, now = Ahead(), 0, 0
    while found: # one after the other, so that one weight is there twice
        layer, places = found.popitem()
        packed = PackedLinear(layer, threads=threads, ahead=ahead)
        before, now = before + layer.weight.nbytes, now + packed.rows.nbytes
        for parent, name in places:
            setattr(parent, name, packed)
    return before, now


def is_plain_linear(layer):
    """Whether a layer is an nn.Linear, and nothing comes with it that a packed one would not do."""
    if type(layer) is not torch.nn.Linear or layer._parameters.get("weight") is None:
        return False
    return "forward" not in layer.__dict__ and not any(
        (layer._forward_hooks, layer._forward_pre_hooks, layer._backward_hooks,
         layer._backward_pre_hooks))


def expect_packable(layer, name):
    """Raises with the name of the layer if its weight cannot be packed."""
    expect_frozen(layer.weight, f"linear layer {name!r}")
    try:
        ibp.rows_of(layer.weight.detach()[:1].cpu())
    except (NotImplementedError, TypeError, ValueError) as error:
        text = str(error).removeprefix("planezip: ")
        raise type(error)(f"planezip: the linear layer {name!r}: {text}") from error


class PackedCache:
    """Keys and values of attention layers, held packed in the memory of the host.

    update() appends those of new tokens to a layer and returns all of them, bit for bit, on the
    device of the new ones: one layer at a time is there unpacked, and a token costs as much as all
    before it.  It is for attention layers of your own, no Cache of transformers.  A row is what a
    token has in all heads.  Tables are learned from the first tokens of each layer: until
    learn_rows are there they stay as they are.
    threads: that pack and unpack.
    """

    def __init__(self, *, learn_rows=256, threads=1):
        if learn_rows < 1:
            raise ValueError(f"planezip: learn_rows is {learn_rows}, expected is 1 or more")
        self.learn_rows, self.threads = learn_rows, threads
        self.layers = {}

    def update(self, keys, values, layer, *_):
        """Appends keys and values, (batch, heads, tokens, size) each, to a layer, and returns all
        of the layer.  Sizes and types of values may be others than those of keys.  If it fails, the
        cache is as it was."""
        sides = self.layers.get(layer) or tuple(
            PackedTokens(self.learn_rows, self.threads) for _ in range(2))
        for side, new in zip(sides, (keys, values)):
            side.check(new)
        if keys.shape[2] != values.shape[2]:
            raise ValueError(f"planezip: there are keys of {keys.shape[2]} tokens, but values of "
                             f"{values.shape[2]}")
        before = [side.state() for side in sides]
        try:
            both = tuple(side.append(new) for side, new in zip(sides, (keys, values)))
        except BaseException:
            for side, state in zip(sides, before):
                side.restore(state)
            raise
        self.layers[layer] = sides
        return both

    def get_seq_length(self, layer=0):
        """Tokens of a layer."""
        return self.layers[layer][0].tokens if layer in self.layers else 0

    @property
    def raw_bytes(self):
        """Bytes that the cache would take as it is."""
        return sum(side.raw_bytes for sides in self.layers.values() for side in sides)

    @property
    def nbytes(self):
        """Bytes that it takes, with offsets."""
        return sum(side.nbytes for sides in self.layers.values() for side in sides)


class PackedTokens:
    """Keys or values of one layer: a row for each token of each sequence, token after token."""

    def __init__(self, learn_rows, threads):
        self.learn_rows, self.threads = learn_rows, threads
        self.rows, self.few, self.shape, self.dtype = None, None, None, None
        self.tokens = self.raw_bytes = 0

    @property
    def nbytes(self):
        return self.rows.nbytes if self.rows is not None else self.raw_bytes

    def state(self):
        """What restore() takes to forget all tokens since."""
        packed = None if self.rows is None else (self.rows.stored, self.rows.shape)
        return dict(self.__dict__), packed

    def restore(self, state):
        self.__dict__, packed = state
        if packed is not None:
            self.rows.stored, self.rows.shape = packed

    def check(self, new):
        """Raises if new tokens cannot be appended; nothing is changed."""
        if new.dim() != 4:
            raise ValueError(f"planezip: the shape is {tuple(new.shape)}, expected is (batch, "
                             "heads, tokens, size)")
        batch, heads, _, size = new.shape
        if self.shape is None:
            ibp.rows_of(new.new_empty(0, heads * size, device="cpu")) # what can be packed at all
        elif ((batch, heads, size), new.dtype) != (self.shape, self.dtype):
            raise ValueError(f"planezip: the new tokens are {new.dtype} (batch, heads, size) "
                             f"{(batch, heads, size)}, those before {self.dtype} {self.shape}")

    def append(self, new):
        """Appends tokens, and returns all."""
        batch, heads, _, size = new.shape
        self.shape, self.dtype = (batch, heads, size), new.dtype
        added = new.detach().cpu().permute(2, 0, 1, 3).reshape(-1, heads * size)
        self.tokens += new.shape[2]
        self.raw_bytes += added.nbytes
        if self.rows is not None:
            self.rows.append(added, threads=self.threads)
        else:
            self.few = added.clone() if self.few is None else torch.cat((self.few, added))
            if len(self.few) >= self.learn_rows:
                self.rows = Table.learn(self.few).pack(self.few, threads=self.threads)
                self.few = None
        all_rows = self.few if self.rows is None else self.rows.unpack(threads=self.threads)
        tokens = all_rows.view(self.tokens, batch, heads, size).permute(1, 2, 0, 3)
        return tokens.clone(memory_format=torch.contiguous_format).to(new.device)
