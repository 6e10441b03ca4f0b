"""Which storages outlive a step: parameters and buffers of the models that run in it, found anew in
each step, because they may be others then."""
import torch
from torch.nn.modules.module import register_module_forward_pre_hook


class Persistent:
    """The storages.  model: the one that trains, or None: every module that runs."""

    def __init__(self, model=None):
        self.model = model
        self.storages = {} # by id, which is theirs as long as they are held
        self.trained = [] # parameters
        self.modules = set()
        self.handle = None

    def begin(self):
        """Begins a step."""
        self.storages.clear()
        self.modules.clear()
        self.trained.clear()
        if self.model is not None:
            self.enter(self.model)
        self.handle = register_module_forward_pre_hook(self.module_begins)

    def end(self):
        """Ends a step, if one has begun."""
        if self.handle is not None:
            self.handle.remove()
            self.handle = None
        self.storages.clear()
        self.trained.clear()

    def parameters(self):
        """The parameters that were found in this step."""
        return self.trained

    def module_begins(self, module, _):
        """Before a module runs."""
        if id(module) not in self.modules:
            self.enter(module)

    def enter(self, module):
        self.modules.update(id(child) for child in module.modules())
        self.trained += module.parameters()
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.layout is torch.strided and type(tensor) in (torch.Tensor,
                                                                   torch.nn.Parameter):
                storage = tensor.untyped_storage()
                self.storages[id(storage)] = storage
