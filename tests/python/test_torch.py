"""Tensors of torch in and out.  Run where torch is installed; the rest of the package does not need
it."""
import unittest

import planezip
from planezip import _types
from support import floats, needs, optional

torch = optional("torch")
RAW = floats(240).tobytes()


def of_bytes(name, shape=None):
    """RAW as a tensor of a type."""
    tensor = torch.frombuffer(bytearray(RAW), dtype=getattr(torch, _types.LONG_NAMES[name]))
    return tensor if shape is None else tensor.reshape(shape)


def back(tensor, **options):
    return planezip.decompress(planezip.compress(tensor), to="torch", **options)


@needs(torch, "torch")
class Tensors(unittest.TestCase):
    def same(self, found, expected):
        self.assertIs(type(found), torch.Tensor)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertTrue(torch.equal(found.contiguous().view(-1).view(torch.uint8),
                                    expected.detach().contiguous().view(-1).view(torch.uint8)))

    def test_every_type(self):
        names = [name for name in _types.LONG_NAMES if _types.bits(name) >= 8]
        self.assertEqual(len(names), 20)
        for name in names:
            if name != "bool": # of other bytes than 0 and 1
                self.same(back(of_bytes(name)), of_bytes(name))
        self.same(back(of_bytes("f32") > 1), of_bytes("f32") > 1)

    def test_bf16_bits(self):
        tensor = of_bytes("bf16", (6, 80))
        with planezip.open(planezip.compress(tensor, name="t")) as file:
            self.assertEqual((file["t"].dtype, file["t"].shape), ("bf16", (6, 80)))
            self.same(file["t"].read(2, 4, to="torch"), tensor[2:4])

    def test_views(self):
        tensor = of_bytes("f32", (6, 40))
        for view in (tensor.t(), tensor[:, 1:], tensor[::2], tensor[0].expand(5, 40),
                     tensor.reshape(1, 2, 3, 40).contiguous(memory_format=torch.channels_last),
                     torch.view_as_complex(tensor.reshape(6, 20, 2)).conj(),
                     torch._neg_view(tensor)):
            self.same(back(view), view.resolve_conj().resolve_neg())

    def test_shapes(self):
        for shape in ((), (0,), (2, 0, 3), (1, 1)):
            self.same(back(torch.zeros(shape)), torch.zeros(shape))

    def test_parameters_and_gradients(self):
        parameter = torch.nn.Parameter(of_bytes("f32"))
        self.same(back(parameter), parameter)
        self.same(back(parameter * 2), parameter * 2)
        self.assertTrue(parameter.requires_grad)

    def test_a_type_told(self):
        words = of_bytes("i16", (6, 80))
        self.same(planezip.decompress(planezip.compress(words, "bf16"), to="torch"),
                  of_bytes("bf16", (6, 80)))
        self.same(planezip.decompress(planezip.compress(words, torch.float16), to="torch"),
                  of_bytes("f16", (6, 80)))

    def test_fortran_order(self):
        shape = (4, 60)
        found = planezip._output.make("f32", shape, "torch", fortran_order=True).result
        self.assertEqual((found.shape, found.stride()), (shape, (1, 4)))

    def test_a_default_device_does_not_matter(self):
        coded = planezip.compress(of_bytes("f32"))
        with torch.device("meta"):
            found = planezip.decompress(coded, to="torch")
        self.same(found, of_bytes("f32"))

    def refused(self, text, tensor):
        with self.assertRaises(TypeError) as caught:
            planezip.compress(tensor)
        self.assertIn(text, str(caught.exception))

    def test_what_is_refused(self):
        class Labelled(torch.Tensor):
            pass

        self.refused("on device meta, expected is cpu", torch.zeros(3, device="meta"))
        self.refused("layout torch.sparse_coo, expected is torch.strided",
                     torch.zeros(3).to_sparse())
        self.refused("is a Labelled, expected is a plain torch.Tensor",
                     torch.zeros(3).as_subclass(Labelled))
        self.refused("elements of bits8, which is none",
                     torch.zeros(3, dtype=torch.uint8).view(torch.bits8))

    def test_types_that_torch_has_not(self):
        with self.assertRaisesRegex(ValueError, "has no f6_e2m3; use to='buffer'"):
            planezip.decompress(planezip.compress(RAW, "f6_e2m3"), to="torch")

    @unittest.skipUnless(torch and torch.cuda.is_available(), "no GPU")
    def test_memory_of_a_gpu_is_refused(self):
        self.refused("on device cuda:0, expected is cpu", torch.zeros(3, device="cuda"))

    @unittest.skipUnless(torch and torch.cuda.is_available(), "no GPU")
    def test_pinned_memory(self):
        self.same(back(of_bytes("bf16").pin_memory()), of_bytes("bf16"))


@unittest.skipIf(torch, "torch is installed")
class Without(unittest.TestCase):
    def test_a_tensor_cannot_be_asked_for(self):
        with self.assertRaisesRegex(ValueError, "torch is not installed"):
            planezip.decompress(planezip.compress(RAW), to="torch")


if __name__ == "__main__":
    unittest.main()
