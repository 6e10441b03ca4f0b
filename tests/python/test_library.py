"""The package's view of the C library is that of the header, and of this release."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import planezip
from planezip import _library, _release, _types
from support import SOURCE

HEADER = "".join((SOURCE / "include/planezip" / name).read_text(encoding="utf-8")
                 for name in ("planezip.h", "gpu.h", "engine.h", "plan.h", "ibp.h"))
COMPILER = os.environ.get("CC", "cc")


def layout():
    """What layout.c prints, as {structure: (size, {field: (offset, size)})}, {constant: value}."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/layout"
        subprocess.run([COMPILER, f"-I{SOURCE}/include", f"{SOURCE}/tests/python/layout.c", "-o",
                        program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    structures, constants = {}, {}
    for kind, name, *rest in (line.split() for line in lines.splitlines()):
        if kind == "constant":
            constants[name] = int(rest[0])
        elif kind == "struct":
            structures[name] = (int(rest[0]), {})
        else:
            structures[name][1][rest[0]] = (int(rest[1]), int(rest[2]))
    return structures, constants


def arguments(prototype):
    """The parameters of a prototype: "const void *raw" becomes "void*"."""
    inside = re.sub(r"\s+", " ", prototype.strip())
    if inside == "void":
        return []
    return [re.sub(r"\b(const|struct)\b|\w+$|\s", "", part) if "*" in part
            else part.rsplit(" ", 1)[0].strip() for part in inside.split(",")]


def python_type(name):
    """What ctypes calls a type of the header; pointers to what is opaque are void pointers."""
    plain = {"void*": ctypes.c_void_p, "char*": ctypes.c_char_p, "unsigned": ctypes.c_uint,
             "size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
             "bool": ctypes.c_bool, "void": None, **_library.STRUCTURES}
    if name in plain:
        return plain[name]
    if not name.endswith("*"): # an enumeration
        return ctypes.c_int
    inner = name[:-1]
    if re.search(rf"typedef struct {re.escape(inner)} {re.escape(inner)};", HEADER):
        return ctypes.c_void_p
    return ctypes.POINTER(python_type(inner))


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.structures, cls.constants = layout()

    def test_structures(self):
        self.assertEqual(set(self.structures), set(_library.STRUCTURES))
        for name, kind in _library.STRUCTURES.items():
            fields = {field: (getattr(kind, field).offset, getattr(kind, field).size)
                      for field, _ in kind._fields_}
            self.assertEqual((ctypes.sizeof(kind), fields), self.structures[name], name)

    def test_every_field_of_the_header_is_there(self):
        for name, kind in _library.STRUCTURES.items():
            body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", HEADER, flags=re.S)
            text = re.sub(r"/\*.*?\*/", "", body.group(1), flags=re.S)
            fields = sum(1 if "(" in part else 1 + part.count(",")
                         for part in re.sub(r"\(.*?\);", "();", text).split(";")[:-1])
            self.assertEqual(fields, len(kind._fields_), name)

    def test_constants(self):
        for name, value in self.constants.items():
            self.assertEqual(getattr(_library, name.removeprefix("PZ_")), value, name)

    def test_names_of_encodings(self):
        values = dict(re.findall(r"^    PZ_([A-Z]+) = (\d+),", re.search(
            r"typedef enum pz_encoding {.*?}", HEADER, flags=re.S).group(), flags=re.M))
        self.assertEqual({name.upper(): str(i) for i, name in enumerate(_library.ENCODING_NAMES)},
                         {name: value for name, value in values.items() if name != "ENCODINGS"})

    def test_types(self):
        for number in range(1, _library.DTYPES):
            name = _types.of_code(number)
            self.assertEqual(_types.find(_types.LONG_NAMES[name]), name)
        self.assertEqual(len(_types.LONG_NAMES), _library.DTYPES - 1)


class Functions(unittest.TestCase):
    def test_prototypes(self):
        for name, (result, expected) in _library.FUNCTIONS.items():
            match = re.search(rf"^PZ_API ([\w \*]+?)\s?{name}\((.*?)\);", HEADER, flags=re.S | re.M)
            found = [python_type(kind) for kind in arguments(match.group(2))]
            self.assertEqual(found, expected, name)
            returned = match.group(1).replace("const", "").replace(" ", "")
            self.assertEqual(python_type(returned), result, name)


class Release(unittest.TestCase):
    def start(self, library):
        """Imports the package with a library in an interpreter of its own."""
        return subprocess.run([sys.executable, "-c", "import planezip"], capture_output=True,
                              text=True, env={**os.environ, "PLANEZIP_LIBRARY": str(library)})

    def test_version_is_that_of_the_header(self):
        self.assertEqual(planezip.__version__, _release.of_header(SOURCE / "include/planezip/"
                                                                  "planezip.h"))

    def test_library_of_another_release_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "other.c"), Path(folder, "libother.so")
            source.write_text('const char *pz_version(void);\n'
                              'const char *pz_version(void) { return "9.8.7"; }\n')
            subprocess.run([COMPILER, "-shared", "-fPIC", source, "-o", library], check=True)
            result = self.start(library)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"the package is {planezip.__version__}", result.stderr)
        self.assertIn("is 9.8.7", result.stderr)

    def test_library_that_is_missing_is_named(self):
        result = self.start("/nowhere/libplanezip.so")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("ImportError: planezip: cannot load the library /nowhere/libplanezip.so",
                      result.stderr)

    def test_import_prints_nothing_and_imports_neither_numpy_nor_torch(self):
        code = ("import sys, planezip; planezip.compress(b'abc')\n"
                "assert not {'numpy', 'torch', 'ml_dtypes'} & set(sys.modules)")
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
