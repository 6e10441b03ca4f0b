"""What was recorded of one forward and backward pass, and the trace that it makes.

Knows nothing of where the record comes from.  Storages have keys, any that can be hashed; a key is
never used for another storage.  See docs/architecture.md, "Files", for what a trace says.
"""
from dataclasses import dataclass, field

VERSION = 1
# What a trace calls types; others are known by their size alone.
DTYPES = frozenset((
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool"))
OTHER_DTYPES = {"complex64": "float64", "complex32": "uint32"}
PERSISTENT = ("parameter", "buffer", "parameter_gradient")
MODEL_BYTES = 63


@dataclass
class Op:
    """An operator: reads and writes are keys of storages, each once; what it allocates stands
    first among the writes, in the order of its outputs."""
    name: str
    backward: bool
    reads: list
    writes: list
    view: bool = False
    flops: int = 0
    bytes: int = 0
    float_bytes: int = 0
    duration_ns: int | None = None


@dataclass
class Storage:
    """kind: a word of PERSISTENT, or None for what comes and goes with the iteration.  fresh: an
    operator of the pass allocates it; else it was there before."""
    bytes: int
    dtype: str
    shape: tuple = ()
    kind: str | None = None
    fresh: bool = False


@dataclass
class Pass:
    """One pass: ops in the order of execution, storages by key.  packed: keys of what autograd said
    that it saves, None if nobody asked it."""
    ops: list = field(default_factory=list)
    storages: dict = field(default_factory=dict)
    packed: set | None = None

    def begin_backward(self):
        """Call it before the first operator of the backward pass.  The gradient of the loss is
        made before autograd runs; it belongs there."""
        for op in reversed(self.ops):
            if not op.name.startswith("aten.ones_like"):
                break
            op.backward = True

    def forward_ops(self):
        """How many operators the forward pass has."""
        return next((i for i, op in enumerate(self.ops) if op.backward), len(self.ops))

    def signatures(self):
        """By key of what operators allocate: operator and output slot."""
        found = {}
        for i, op in enumerate(self.ops):
            for slot, key in enumerate(op.writes):
                if self.storages[key].fresh:
                    found.setdefault(key, (i, slot))
        return found

    def touched(self):
        """Keys of all storages that operators read or write, in the order of first use."""
        return list(dict.fromkeys(key for op in self.ops for key in (*op.reads, *op.writes)))

    def saved(self):
        """Keys of the saved tensors, as a reader of the trace derives them: of what comes and goes,
        was there before or is made in the forward pass, and is read in the backward pass."""
        first, made = self.forward_ops(), self.signatures()
        return {key for op in self.ops[first:] for key in op.reads
                if self.kind(key, made) in ("input", "activation")
                and made.get(key, (-1, 0))[0] < first}

    def kind(self, key, made):
        """What a trace calls a storage; made: signatures()."""
        kind = self.storages[key].kind
        if kind == "parameter_gradient" and key not in made:
            return "buffer" # there before, as when gradients accumulate: it only has to stay
        return kind or ("activation" if key in made else "input")

    def input_slot(self, key):
        """The ordinal of an input among the inputs that operators so far have used."""
        made = self.signatures()
        inputs = [k for k in self.touched() if self.kind(k, made) == "input"]
        return inputs.index(key)

    def numbers(self):
        """The id of each storage in the trace."""
        return {key: number for number, key in enumerate(self.touched())}

    def document(self, *, model, batch, parameters, optimizer):
        """The trace, as json.dump() takes it."""
        if len(model.encode()) > MODEL_BYTES or not model:
            raise ValueError(f"planezip: model is {model!r}, expected are 1 to {MODEL_BYTES} bytes")
        ids, made = self.numbers(), self.signatures()
        first, inputs, storages = self.forward_ops(), 0, []
        for key, number in ids.items():
            kind = self.kind(key, made)
            op, slot = made.get(key, (-1, -1)) if kind in ("activation", "parameter_gradient") \
                else (-1, -1)
            if kind == "input":
                slot, inputs = inputs, inputs + 1
            storages.append(storage_entry(number, self.storages[key], kind, op, slot))
        return {"format": "planezip-trace", "version": VERSION, "model": model, "batch": batch,
                "parameters": parameters, "optimizer": optimizer,
                "ops": [op_entry(op, i < first, ids) for i, op in enumerate(self.ops)],
                "storages": storages}


def storage_entry(number, storage, kind, op, slot):
    dtype = OTHER_DTYPES.get(storage.dtype, storage.dtype)
    return {"id": number, "bytes": storage.bytes, "dtype": dtype if dtype in DTYPES else "uint8",
            "kind": kind, "op": op, "slot": slot, "shape": list(storage.shape)}


def op_entry(op, forward, ids):
    entry = {"name": op.name, "phase": "forward" if forward else "backward", "view": op.view,
             "reads": [ids[key] for key in op.reads], "writes": [ids[key] for key in op.writes],
             "flops": op.flops, "bytes": op.bytes, "float_bytes": op.float_bytes}
    if op.duration_ns is not None:
        entry["duration_ns"] = op.duration_ns
    return entry
