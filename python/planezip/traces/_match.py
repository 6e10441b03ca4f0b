"""Which saved tensor of one trace is which of another of the same model, as at another batch size:
by producing operator and output slot, in operators that are aligned by name."""
from difflib import SequenceMatcher

# Class of a tensor, by the last operator of the forward pass that wrote it; the words of the
# paper's Table III.  Longer beginnings first.
CLASSES = (("_log_softmax", "logsoftmax"), ("_softmax", "softmax"), ("native_dropout", "dropout"),
           ("bernoulli", "mask"), ("convolution", "conv"), ("relu", "relu"), ("clamp_min", "relu"),
           ("hardtanh", "relu"), ("native_batch_norm", "norm"), ("native_layer_norm", "norm"),
           ("native_group_norm", "norm"), ("_fused_rms_norm", "norm"), ("addmm", "linear"),
           ("mm", "linear"), ("bmm", "linear"), ("baddbmm", "linear"), ("linear", "linear"),
           ("clone", "copy"), ("copy", "copy"), ("_to_copy", "copy"), ("cat", "copy"),
           ("stack", "copy"), ("max_pool", "pool"), ("avg_pool", "pool"), ("embedding", "copy"))
TYPES = {"bool": "mask", "int64": "indices", "int32": "indices"}


def saved(trace):
    """The saved tensors of a trace, as entries of its storages by (operator, slot)."""
    forward = sum(op["phase"] == "forward" for op in trace["ops"])
    read = {key for op in trace["ops"][forward:] for key in op["reads"]}
    return {(storage["op"], storage["slot"]): storage for storage in trace["storages"]
            if storage["id"] in read and storage["op"] < forward
            and storage["kind"] in ("input", "activation")}


def aligned(first, second):
    """Operators of the forward pass of second, by those of first that they are."""
    names = [[op["name"] for op in trace["ops"] if op["phase"] == "forward"]
             for trace in (first, second)]
    blocks = SequenceMatcher(None, *names, autojunk=False).get_matching_blocks()
    return {block.a + i: block.b + i for block in blocks for i in range(block.size)}


def match(first, second):
    """By (operator, slot) of the saved tensors of second: (operator, slot) in first.  What has no
    counterpart of the same type, or one that first does not save, is not there."""
    operators, one, two = aligned(first, second), saved(first), saved(second)
    found = {}
    for op, slot in one:
        other = (-1 if op == -1 else operators.get(op), slot)
        if other in two and two[other]["dtype"] == one[op, slot]["dtype"]:
            found[other] = (op, slot)
    return found


def writers(trace):
    """The last operator of the forward pass that writes each storage, by id."""
    return {key: op["name"] for op in trace["ops"] if op["phase"] == "forward"
            for key in op["writes"]}


def class_of(storage, writer):
    """The class of a saved tensor; writer: name of its last operator, None for an input."""
    if writer is None:
        return "input"
    if storage["dtype"] in TYPES:
        return TYPES[storage["dtype"]]
    base = writer.split(".")[1] if "." in writer else writer
    return next((word for beginning, word in CLASSES if base.startswith(beginning)), "elementwise")
