"""Execution traces, by PyTorch's ExecutionTraceObserver as JSON, or as Chakra's protocol buffers:
what they say of a node, whatever wrote it.

A tensor there is [tensor, storage, offset, elements, bytes of one, device].
"""
import ast
import re
from dataclasses import dataclass, field

from .._errors import PlaneZipError
from . import _text

# The major version of either schema, as in "1.1.1-chakra.0.0.4", "1.0.2" and "0.0.4".
VERSIONS = ("0", "1")
DTYPES = {"float": "float32", "double": "float64", "long int": "int64", "long": "int64",
          "int": "int32", "short int": "int16", "short": "int16", "signed char": "int8",
          "unsigned char": "uint8", "bool": "bool", "c10::Half": "float16",
          "c10::BFloat16": "bfloat16", "c10::Float8_e4m3fn": "float8_e4m3fn",
          "c10::Float8_e5m2": "float8_e5m2", "c10::complex<float>": "complex64"}


@dataclass(frozen=True)
class Tensor:
    """A tensor that a node names.  storage: its number, which is given again once it is free."""
    storage: int
    elements: int
    item_bytes: int
    extent_bytes: int # of the storage, as far as the tensor reaches
    dtype: str
    shape: tuple
    position: int # of the argument that it is, or is part of

    @property
    def bytes(self):
        return self.elements * self.item_bytes


@dataclass
class Node:
    id: int
    parent: int
    name: str
    schema: str
    inputs: list
    outputs: list
    arguments: list
    record: int | None # the number by which a profiler knows the node
    children: list = field(default_factory=list)


def load(path, lenient):
    """The nodes of a file, in the order in which they began."""
    data = _text.read(path)
    if data.lstrip()[:1] in (b"{", b"["):
        nodes = of_json(_text.load(path, ("nodes",), lenient))
    else:
        nodes = of_chakra(data, lenient)
    return sorted(nodes, key=lambda node: node.id)


def check_version(version, where):
    if str(version).split(".")[0] not in VERSIONS:
        _text.fail(where, f"is {version!r}; known are versions {' and '.join(VERSIONS)}")


def of_json(document):
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        _text.fail("nodes", "is missing; expected is what ExecutionTraceObserver writes")
    if "schema" in document:
        check_version(document["schema"], "schema")
    return [node_of(entry, f"nodes[{i}]") for i, entry in enumerate(document["nodes"])]


def node_of(entry, where):
    """A node of the JSON; attributes stand in a list, in old files in the node itself."""
    try:
        attributes = {a["name"]: a.get("value") for a in entry.get("attrs", ())} | {
            name: entry[name] for name in ("op_schema", "rf_id", "parent") if name in entry}
        parent = entry.get("ctrl_deps", attributes.get("parent", 0))
        return make(entry["id"], parent, entry["name"], attributes, entry.get("inputs", {}),
                    entry.get("outputs", {}), where)
    except (KeyError, TypeError, AttributeError) as error:
        _text.fail(where, f"is no node: {type(error).__name__} {error}")


def make(number, parent, name, attributes, inputs, outputs, where):
    if not isinstance(number, int) or not isinstance(parent, int) or not isinstance(name, str):
        _text.fail(where, "has an id, a ctrl_deps or a name of another type")
    values = inputs.get("values", [])
    return Node(number, parent, name, attributes.get("op_schema") or "",
                tensors(inputs, f"{where}.inputs"), tensors(outputs, f"{where}.outputs"), values,
                attributes.get("rf_id"))


def tensors(side, where):
    """The tensors of the inputs or outputs of a node."""
    values, types = side.get("values", []), side.get("types", [])
    shapes, strides = side.get("shapes", []), side.get("strides") or []
    if not len(values) == len(types) == len(shapes):
        _text.fail(where, f"has {len(values)} values, {len(types)} types, {len(shapes)} shapes")
    found = []
    for position, (value, kind, shape) in enumerate(zip(values, types, shapes)):
        stride = strides[position] if position < len(strides) else []
        collect(value, kind, shape, stride, position, f"{where}.values[{position}]", found)
    return found


def collect(value, kind, shape, stride, position, where, found):
    """The tensors of an argument: one, or those of a list."""
    if kind.startswith("GenericList[") and isinstance(value, list):
        kinds = kind.removeprefix("GenericList[").removesuffix("]").split(",")
        for i, part in enumerate(value):
            if i < len(kinds) and kinds[i].startswith("Tensor"):
                collect(part, kinds[i], part_of(shape, i), part_of(stride, i), position, where,
                        found)
    elif kind.startswith("Tensor"):
        tensor = tensor_of(value, kind, shape, stride, position, where)
        if tensor is not None:
            found.append(tensor)


def part_of(values, i):
    return values[i] if isinstance(values, list) and i < len(values) else []


def tensor_of(value, kind, shape, stride, position, where):
    """A tensor; None for one that is undefined."""
    if not isinstance(value, list) or len(value) < 5 or \
            not all(isinstance(number, int) and number >= 0 for number in value[:5]):
        _text.fail(where, f"is {str(value)[:60]}, expected is a tensor of six numbers")
    _, storage, offset, elements, item_bytes = value[:5]
    if item_bytes == 0:
        return None
    reach = elements
    if shape and len(stride) == len(shape) and elements:
        reach = 1 + sum((size - 1) * step for size, step in zip(shape, stride))
    name = re.sub(r"^Tensor\((.*)\)$", r"\1", kind)
    dtype = DTYPES.get(name, {1: "uint8", 2: "int16", 4: "int32"}.get(item_bytes, "int64"))
    return Tensor(storage, elements, item_bytes, (offset + reach) * item_bytes, dtype,
                  tuple(shape) if isinstance(shape, list) else (), position)


# Chakra: messages of protocol buffers, each after its length.

STRING_VALUE = 29


def of_chakra(data, lenient):
    """The nodes of a file of Chakra: a GlobalMetadata, then a Node each."""
    messages = framed(data, lenient)
    if not messages:
        raise PlaneZipError("PZ_ERR_FORMAT", "", "is neither JSON nor a trace of Chakra")
    header = fields(messages[0], "metadata")
    check_version(text(header, 1, "metadata.version"), "metadata.version")
    return [chakra_node(fields(message, f"nodes[{i}]"), f"nodes[{i}]")
            for i, message in enumerate(messages[1:])]


def framed(data, lenient):
    """Messages that stand one after the other; lenient: those that are whole."""
    found, position = [], 0
    while position < len(data):
        try:
            size, start = varint(data, position)
            if start + size > len(data):
                raise IndexError
        except IndexError:
            if lenient:
                break
            raise PlaneZipError("PZ_ERR_SYNTAX", f"byte {position}", "the file ends within a "
                                "message; --lenient takes what is whole") from None
        found.append(data[start:start + size])
        position = start + size
    return found


def varint(data, position):
    """A number of protocol buffers and where it ends; IndexError if it does not."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 63:
            raise IndexError


def fields(message, where):
    """The fields of a message: a list of values by number."""
    found, position = {}, 0
    try:
        while position < len(message):
            key, position = varint(message, position)
            number, kind = key >> 3, key & 7
            if kind == 0:
                value, position = varint(message, position)
            elif kind == 2:
                size, position = varint(message, position)
                value, position = message[position:position + size], position + size
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                value, position = message[position:position + size], position + size
            else:
                raise IndexError
            if position > len(message):
                raise IndexError
            found.setdefault(number, []).append(value)
    except IndexError:
        raise PlaneZipError("PZ_ERR_SYNTAX", where, "is no message of Chakra's schema") from None
    return found


def text(message, number, where):
    """A field that is a text; "" if it is not there."""
    value = message.get(number, [b""])[-1]
    try:
        return value.decode()
    except (AttributeError, UnicodeDecodeError):
        _text.fail(where, "is no text")


def numbers(message, number):
    """A field that is a list of numbers, packed or not."""
    found = []
    for value in message.get(number, ()):
        if isinstance(value, int):
            found.append(value)
            continue
        position = 0
        while position < len(value):
            one, position = varint(value, position)
            found.append(one)
    return found


def chakra_node(message, where):
    attributes = {}
    for entry in message.get(10, ()):
        attribute = fields(entry, f"{where}.attr")
        for kind, value in attribute.items():
            if kind > 2:
                plain = value[-1].decode(errors="replace") if kind == STRING_VALUE else value[-1]
                attributes[text(attribute, 1, where)] = plain
    parents = numbers(message, 4)
    record = attributes.get("rf_id")
    attributes["rf_id"] = record if isinstance(record, int) else None
    return make(numbers(message, 1)[-1] if 1 in message else 0, parents[0] if parents else 0,
                text(message, 2, f"{where}.name"), attributes, side_of(message, 8, where),
                side_of(message, 9, where), where)


def side_of(message, number, where):
    """Inputs or outputs: lists that are written as Python would."""
    if number not in message:
        return {}
    side, found = fields(message[number][-1], where), {}
    for position, name in ((1, "values"), (2, "shapes"), (3, "types")):
        written = text(side, position, f"{where}.{name}")
        try:
            found[name] = ast.literal_eval(written) if written else []
        except (ValueError, SyntaxError):
            _text.fail(f"{where}.{name}", f"is {written[:40]!r}, expected is a list")
    return found

