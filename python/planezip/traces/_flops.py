"""Floating-point operations by shape, for the operators that dominate; two for each multiplication
with its addition, as PyTorch's own counter does."""
import math


def matrix(shapes, first, second):
    """Of a product of matrices, or of batches of them."""
    return 2 * math.prod(shapes[first]) * shapes[second][-1]


def convolution(weight, output, transposed, source):
    """weight: [out, in / groups, ...]; transposed: [in, out / groups, ...]."""
    positions = math.prod((source if transposed else output)[2:])
    return 2 * output[0] * positions * math.prod(weight)


def of(name, arguments, inputs, written):
    """name: without overload; arguments: as the node has them; inputs: shapes by position;
    written: elements that are written."""
    try:
        if name in ("mm", "bmm"):
            return matrix(inputs, 0, 1)
        if name in ("addmm", "baddbmm", "addbmm"):
            return matrix(inputs, 1, 2)
        if name == "convolution_backward":
            return backward(arguments, inputs)
    except (KeyError, IndexError, TypeError):
        return written # a node that lacks what its schema has
    return written


def backward(arguments, inputs):
    """Of aten.convolution_backward: once for the gradient of the input, once for that of the
    weight, as the mask among the arguments says."""
    gradient, source, weight = inputs[0], inputs[1], inputs[2]
    transposed, mask = bool(arguments[7]), arguments[10]
    once = convolution(weight, gradient, transposed, source)
    return once * (int(bool(mask[0])) + int(bool(mask[1])))
