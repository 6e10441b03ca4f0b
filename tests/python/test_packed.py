"""planezip.torch: embeddings, linear layers and caches that are held packed give the bits of plain
ones."""
import copy
import io
import os
import pickle
import runpy
import sys
import unittest
import warnings
import weakref
from contextlib import redirect_stdout
from unittest import mock

import planezip
from support import SOURCE, needs, optional

torch = optional("torch")
if torch:
    import planezip.torch


def same(found, expected):
    return (found.dtype, found.shape) == (expected.dtype, expected.shape) and torch.equal(
        found.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8))


def embedding(dtype=None, **options):
    """A frozen one with special values."""
    torch.manual_seed(2)
    made = torch.nn.Embedding(300, 40, dtype=dtype, **options).requires_grad_(False)
    made.weight[17, 5], made.weight[17, 6], made.weight[18, 0] = float("nan"), -0.0, float("-inf")
    return made


@needs(torch, "torch")
class Embeddings(unittest.TestCase):
    def test_forward(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            for threads in (1, 2):
                plain = embedding(dtype, padding_idx=-1)
                packed = planezip.torch.PackedEmbedding(plain, threads=threads)
                for index in (torch.randint(0, 300, (4, 7)), torch.tensor(17),
                              torch.tensor([[17, 18], [299, 0]], dtype=torch.int32),
                              torch.arange(300)[::3], torch.empty(0, 3, dtype=torch.int64)):
                    self.assertTrue(same(packed(index), plain(index)))
                self.assertTrue(same(packed.weight, plain.weight))
        self.assertEqual((packed.num_embeddings, packed.embedding_dim, packed.padding_idx),
                         (300, 40, 299))
        self.assertEqual(repr(packed), "PackedEmbedding(300, 40, padding_idx=299)")
        self.assertFalse(packed(index).requires_grad)

    def test_in_a_model(self):
        model = torch.nn.Sequential(embedding(), torch.nn.Linear(40, 3))
        packed = copy.deepcopy(model)
        packed[0] = planezip.torch.PackedEmbedding(packed[0])
        index = torch.randint(0, 300, (9,))
        for one in (model, packed):
            one(index).sum().backward()
        self.assertTrue(same(packed[1].weight.grad, model[1].weight.grad))
        packed.to(torch.bfloat16)
        self.assertEqual((packed[0](index).dtype, packed[1].weight.dtype),
                         (torch.float32, torch.bfloat16))

    def test_state(self):
        plain = embedding(torch.bfloat16)
        packed, file = planezip.torch.PackedEmbedding(plain), io.BytesIO()
        torch.save(packed.state_dict(), file)
        file.seek(0)
        other = planezip.torch.PackedEmbedding(torch.zeros(300, 40, dtype=torch.bfloat16))
        other.load_state_dict(torch.load(file, weights_only=True))
        for again in (other, copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
            self.assertTrue(same(again.weight, plain.weight))
        state = packed.state_dict()
        state["_extra_state"]["offsets"][800:808] = 255
        other.load_state_dict(state)
        with self.assertRaisesRegex(planezip.PlaneZipError, "row 99.*PZ_ERR_RANGE"):
            other(torch.tensor([99]))
        with self.assertRaisesRegex(ValueError, "a weight of 300 rows of 40 bf16, the module one"):
            planezip.torch.PackedEmbedding(torch.zeros(300, 40)).load_state_dict(
                packed.state_dict())
        state = planezip.torch.PackedEmbedding(embedding(torch.float64)).get_extra_state()
        for name, value, error in (
                ("dtype", "bf16", "rows are bf16, but the table is one of elements of 64 bits"),
                ("dtype", "b16", "dtype is 'b16'"), ("shape", (-300,), "a dimension is -300"),
                ("shape", (300.0,), "as an integer"), ("shape", (30, 10), "rows of shape")):
            with self.assertRaisesRegex((TypeError, ValueError), error):
                other.set_extra_state({**state, name: value})
        self.assertTrue(same(other(torch.tensor([5])), plain(torch.tensor([5]))))

    def test_what_is_refused(self):
        packed = planezip.torch.PackedEmbedding(embedding())
        for error, text, call in (
                (ValueError, "max_norm", lambda: planezip.torch.PackedEmbedding(
                    embedding(max_norm=1.0))),
                (ValueError, "freeze it with requires_grad_",
                 lambda: planezip.torch.PackedEmbedding(torch.nn.Embedding(4, 4))),
                (TypeError, "the embedding is a Linear",
                 lambda: planezip.torch.PackedEmbedding(torch.nn.Linear(2, 2))),
                (ValueError, "has no data", lambda: packed.set_extra_state(
                    {"table": 1, "offsets": 1, "shape": 1, "dtype": 1})),
                (ValueError, "expected are two dimensions",
                 lambda: planezip.torch.PackedEmbedding(torch.zeros(4))),
                (ValueError, "padding_idx is 4, but",
                 lambda: planezip.torch.PackedEmbedding(torch.zeros(4, 4), padding_idx=4)),
                (IndexError, "row 300, but there are 300", lambda: packed(torch.tensor([0, 300]))),
                (IndexError, "row -1, but there are 300", lambda: packed(torch.tensor(-1))),
                (TypeError, "index is torch.float32", lambda: packed(torch.zeros(3)))):
            with self.assertRaisesRegex(error, text):
                call()

    @unittest.skipUnless(torch and torch.cuda.is_available(), "no GPU")
    def test_on_a_gpu(self):
        plain = embedding(torch.bfloat16)
        index = torch.randint(0, 300, (9, 4), device="cuda")
        found = planezip.torch.PackedEmbedding(plain.cuda()).cuda()(index)
        self.assertEqual(found.device, index.device)
        self.assertTrue(same(found, plain.cuda()(index)))


@needs(torch, "torch")
class Linears(unittest.TestCase):
    def stack(self, dtype=None):
        torch.manual_seed(3)
        shared = torch.nn.Linear(64, 64, dtype=dtype)
        return torch.nn.Sequential(
            torch.nn.Linear(48, 64, dtype=dtype), torch.nn.ReLU(), shared, torch.nn.Tanh(), shared,
            torch.nn.Sequential(torch.nn.Linear(64, 96, bias=False, dtype=dtype)),
            torch.nn.Linear(96, 2, dtype=dtype)).requires_grad_(False)

    def test_forward(self):
        for dtype in (torch.float32, torch.bfloat16):
            plain = self.stack(dtype)
            packed = copy.deepcopy(plain)
            before, now = planezip.torch.pack_linears(packed, least_bytes=1024)
            self.assertEqual(before, sum(plain[i].weight.nbytes for i in (0, 2))
                             + plain[5][0].weight.nbytes)
            self.assertLess(now, before)
            self.assertEqual([type(packed[i]).__name__ for i in (0, 2, 4, 6)],
                             ["PackedLinear"] * 3 + ["Linear"])
            self.assertIs(packed[2], packed[4])
            for again in (packed, copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
                for rows in (1, 5, 5, 3):
                    x = torch.randn(rows, 48, dtype=dtype)
                    self.assertTrue(same(again(x), plain(x)))
            with self.assertRaises(RuntimeError): # a pass that ends early
                packed(torch.randn(5, 47, dtype=dtype))
            self.assertTrue(same(packed(x), plain(x)))
            reordered = torch.nn.Sequential(packed[5], packed[6])
            x = torch.randn(4, 64, dtype=dtype)
            self.assertTrue(same(reordered(x), plain[6](plain[5](x))))

    def test_a_state_that_is_loaded_between_passes(self):
        plain = self.stack()
        packed = copy.deepcopy(plain)
        planezip.torch.pack_linears(packed, least_bytes=1024)
        state = copy.deepcopy(packed.state_dict())
        for layer in (plain[0], plain[5][0]): # that begin and end a pass
            layer.weight.neg_()
        negated = copy.deepcopy(plain)
        planezip.torch.pack_linears(negated, least_bytes=1024)
        x = torch.randn(3, 48)
        for loaded in (negated.state_dict(), state, negated.state_dict()):
            for _ in range(2):
                packed(x) # which begins to unpack the first weight for the next pass
            packed[0].ahead.worker.submit(int).result() # and has done so
            packed.load_state_dict(loaded)
        self.assertTrue(same(packed(x), plain(x)))

    def test_after_a_fork(self):
        plain = self.stack()
        packed = copy.deepcopy(plain)
        planezip.torch.pack_linears(packed, least_bytes=1024)
        x = torch.randn(3, 48)
        packed(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning) # of forks beside threads
            child = os.fork()
        if child == 0:
            os._exit(0 if same(packed(x), plain(x)) and same(packed(x), plain(x)) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_gradients_pass_through(self):
        plain = self.stack()
        packed = copy.deepcopy(plain)
        planezip.torch.pack_linears(packed, least_bytes=1024)
        x = torch.randn(5, 48)
        gradients = []
        for one in (plain, packed, packed):
            told = x.clone().requires_grad_()
            one(told).square().sum().backward()
            gradients.append(told.grad)
        self.assertTrue(same(gradients[1], gradients[0]) and same(gradients[2], gradients[0]))

    def test_a_trained_layer_is_refused_before_anything_changes(self):
        plain = self.stack()
        plain[5].requires_grad_(True)
        with self.assertRaisesRegex(ValueError, "linear layer '5.0' is trained"):
            planezip.torch.pack_linears(plain, least_bytes=1024)
        self.assertIs(type(plain[0]), torch.nn.Linear)
        with self.assertRaisesRegex(ValueError, r"use PackedLinear\(module\)"):
            planezip.torch.pack_linears(plain[0])

    def test_a_layer_that_cannot_be_packed_is_named(self):
        for wrong, error in (
                (torch.nn.Linear(300000, 1), "a row has 300000 elements of f32"),
                (torch.nn.Linear(8, 8, dtype=torch.complex128), "the rows have elements of c128"),
                (torch.nn.Linear(8, 8, device="meta"), "Cannot copy out of meta tensor")):
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sequential(wrong))
            model.requires_grad_(False)
            with self.assertRaisesRegex((ValueError, NotImplementedError), "'1.0': " + error):
                planezip.torch.pack_linears(model, least_bytes=0)
            self.assertIs(type(model[0]), torch.nn.Linear)

    def test_layers_that_are_more_than_linear_stay(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore") # of empty weights, and that weight_norm is old
            model = torch.nn.Sequential(
                *(torch.nn.Linear(8, 8) for _ in range(6)), torch.nn.Linear(0, 8),
                torch.nn.Linear(8, 0), torch.nn.ReLU())
            torch.nn.utils.weight_norm(model[0])
        torch.nn.utils.parametrizations.weight_norm(model[1])
        model[2].register_forward_hook(lambda module, inputs, result: result + 1)
        model[3].register_full_backward_hook(lambda module, inputs, results: None)
        model[4].forward = lambda x: x
        model.requires_grad_(False).eval()
        before, now = planezip.torch.pack_linears(model, least_bytes=0)
        self.assertEqual([at for at, layer in enumerate(model)
                          if isinstance(layer, planezip.torch.PackedLinear)], [5])
        self.assertEqual((before, now), (256, model[5].rows.nbytes))
        self.assertFalse(model[5].training)
        self.assertEqual(planezip.torch.pack_linears(model, least_bytes=0), (0, 0))

    def test_one_weight_at_a_time_is_there_twice(self):
        model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(5)))
        model.requires_grad_(False)
        weights, there = [weakref.ref(layer.weight) for layer in model], []

        class Counted(planezip.torch.PackedLinear):
            def __init__(self, *args, **options):
                there.append(sum(weight() is not None for weight in weights))
                super().__init__(*args, **options)

        with mock.patch.object(sys.modules["planezip.torch._packed"], "PackedLinear", Counted):
            planezip.torch.pack_linears(model, least_bytes=0)
        self.assertEqual(there, [5, 4, 3, 2, 1])


@needs(torch, "torch")
class Caches(unittest.TestCase):
    def test_the_same_keys_and_values(self):
        torch.manual_seed(4)
        for dtype in (torch.bfloat16, torch.float32):
            for learn_rows in (1, 20, 1000):
                cache = planezip.torch.PackedCache(learn_rows=learn_rows)
                plain = {}
                for tokens in (9, 1, 1, 5, 0, 1, 30):
                    for layer in (0, 1):
                        new = [(torch.randn(2, 3, tokens, 16) + layer).to(dtype) for _ in "kv"]
                        old = plain.get(layer, [new[0][:, :, :0]] * 2)
                        plain[layer] = [torch.cat(pair, 2) for pair in zip(old, new)]
                        found = cache.update(*new, layer)
                        for side in range(2):
                            self.assertTrue(same(found[side], plain[layer][side]))
                            new[side].zero_()
                            found[side].zero_()
                self.assertEqual((cache.get_seq_length(1), cache.get_seq_length(2)), (47, 0))
                raw = 2 * 2 * 47 * 2 * 48 * dtype.itemsize
                self.assertEqual(cache.raw_bytes, raw)
                if learn_rows == 1000:
                    self.assertEqual(cache.nbytes, raw)

    def test_an_update_that_fails_changes_nothing(self):
        torch.manual_seed(5)
        cache = planezip.torch.PackedCache(learn_rows=10)
        keys, values = [torch.randn(2, 3, 40, 8) for _ in "kv"]
        packed, fails = planezip.ibp.Rows.add, []

        def add(rows, memory, threads):
            packed(rows, memory, threads)
            if fails and fails.pop():
                raise MemoryError

        at = 0
        with mock.patch.object(planezip.ibp.Rows, "add", add):
            for tokens, failing in ((3, []), (9, [True]), (9, [True, False]), (9, []), (2, [True]),
                                    (1, [True, False]), (3, [])):
                end = at + tokens
                fails[:] = failing
                new = [side[:, :, at:end] for side in (keys, values)]
                if failing:
                    with self.assertRaises(MemoryError):
                        cache.update(*new, 0)
                else:
                    at = end
                    for found, side in zip(cache.update(*new, 0), (keys, values)):
                        self.assertTrue(same(found, side[:, :, :end]))
                self.assertEqual((cache.get_seq_length(), cache.raw_bytes),
                                 (at, 2 * 4 * 2 * 3 * 8 * at))

    def test_saves(self):
        cache = planezip.torch.PackedCache()
        new = (torch.randn(1, 4, 600, 64) / 8).to(torch.bfloat16)
        cache.update(new, new, 0)
        self.assertLess(cache.nbytes, 0.9 * cache.raw_bytes)

    def test_what_is_refused(self):
        cache = planezip.torch.PackedCache()
        new = torch.zeros(2, 3, 4, 8)
        cache.update(new, new, 0)
        for wrong in (new[:1], new.double(), new[:, :2], new[0]):
            with self.assertRaisesRegex(ValueError, "planezip: the "):
                cache.update(new, wrong, 0)
        self.assertEqual(cache.get_seq_length(), 4)
        for layer in (0, 1):
            with self.assertRaisesRegex(ValueError, "keys of 4 tokens, but values of 3"):
                cache.update(new, new[:, :, :3], layer)
            with self.assertRaisesRegex(ValueError, "planezip: "):
                cache.update(new, new.to(torch.complex128), layer)
        with self.assertRaisesRegex(ValueError, "elements of c128"):
            cache.update(new, new.to(torch.complex128), 1)
        with self.assertRaisesRegex(TypeError, "expected is a plain torch.Tensor"):
            cache.update(new, new.as_subclass(type("Own", (torch.Tensor,), {})), 1)
        with self.assertRaisesRegex(ValueError, "a row has 0 elements"):
            cache.update(new, new[:, :0], 1)
        self.assertEqual((cache.get_seq_length(), cache.get_seq_length(1)), (4, 0))
        cache.update(new.half(), new[..., :2].double(), 1) # the first that succeeds tells the types
        self.assertEqual(cache.get_seq_length(1), 4)
        with self.assertRaisesRegex(ValueError, "learn_rows is 0"):
            planezip.torch.PackedCache(learn_rows=0)


@needs(torch, "torch")
class Examples(unittest.TestCase):
    def test_they_run(self):
        for name in ("embedding", "linears", "cache"):
            printed = io.StringIO()
            with redirect_stdout(printed):
                runpy.run_path(str(SOURCE / f"examples/packed_{name}.py"), run_name="__main__")
            self.assertRegex(printed.getvalue(), r"[12]\d\.\d % saved")


if __name__ == "__main__":
    unittest.main()
