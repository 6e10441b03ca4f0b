"""Which memory a tensor lies in.  Tensors share storages, and a storage's address is used again
once it is freed, so a storage gets a key that is never given to another."""
import itertools
import weakref

import torch


def parts(tensor):
    """The plain tensors that a tensor consists of, most often itself."""
    if hasattr(tensor, "__tensor_flatten__"):
        inner = (getattr(tensor, name) for name in tensor.__tensor_flatten__()[0])
        return [part for one in inner if isinstance(one, torch.Tensor) for part in parts(one)]
    if tensor.is_nested:
        return [tensor.values()]
    if tensor.layout is torch.strided:
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [] # has no storage that could be told


class Storages:
    """Keys of living storages.  Holds none of them alive."""

    def __init__(self):
        self.keys = {} # by id of the storage's object, which lives as long as the storage
        self.references = {}
        self.numbers = itertools.count()

    def key(self, tensor):
        """The key of a plain tensor's storage."""
        storage = tensor.untyped_storage()
        found = self.keys.get(id(storage))
        return self.enter(storage) if found is None else found

    def enter(self, storage):
        """A key for a storage that has none."""
        address, key = id(storage), next(self.numbers)

        def forget(_):
            del self.keys[address], self.references[address]

        self.keys[address] = key
        self.references[address] = weakref.ref(storage, forget)
        return key


def distinct_bytes(tensor):
    """What reading all of a plain tensor moves: elements that a stride of 0 repeats count once, and
    no more than its storage has."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride()):
        elements *= size if stride != 0 or size == 0 else 1
    return min(elements * tensor.element_size(), tensor.untyped_storage().nbytes())
