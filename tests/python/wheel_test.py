"""What a wheel says about itself, against what is in it.  Run by tools/check_python where the
packages are that build wheels; PZ_WHEEL is its path."""
import io
import os
import re
import unittest
import zipfile
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from support import SOURCE

WHEEL = Path(os.environ["PZ_WHEEL"])
# What every system with glibc has.
SYSTEM = re.compile(r"(libc|libm|libpthread|ld-linux[\w-]*)\.so\.\d+")


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.zip = zipfile.ZipFile(WHEEL)
        cls.addClassCleanup(cls.zip.close)
        cls.names = [name for name in cls.zip.namelist() if not name.endswith("/")]
        cls.elf = {name: ELFFile(io.BytesIO(cls.zip.read(name))) for name in cls.names
                   if cls.zip.read(name).startswith(b"\x7fELF")}

    def about(self, name):
        """The lines of a file of metadata."""
        path, = (other for other in self.names if other.endswith(f".dist-info/{name}"))
        return self.zip.read(path).decode().splitlines()

    def sections(self, kind):
        """(file, section) of every section of a kind."""
        return [(name, section) for name, elf in self.elf.items()
                for section in elf.iter_sections() if isinstance(section, kind)]

    def needed(self):
        """(file, library that it needs) of every file."""
        return [(name, tag.needed) for name, section in self.sections(DynamicSection)
                for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]

    def test_tag_is_for_any_python_3_on_this_kind_of_machine(self):
        machine = os.uname().machine
        self.assertRegex(WHEEL.name, rf"^planezip-[\d.]+-py3-none-manylinux\w+_{machine}\.whl$")
        self.assertIn(f"Tag: {WHEEL.stem.split('-', 2)[2]}", self.about("WHEEL"))
        self.assertIn("Root-Is-Purelib: false", self.about("WHEEL"))

    def test_libraries_are_in_the_wheel_or_on_every_system(self):
        inside = {Path(name).name for name in self.elf}
        needed = self.needed()
        self.assertEqual([pair for pair in needed
                          if pair[1] not in inside and not SYSTEM.fullmatch(pair[1])], [])
        self.assertTrue(any(library in inside for _, library in needed))

    def test_versions_of_glibc_are_those_of_the_tag(self):
        versions = [tuple(map(int, auxiliary.name.removeprefix("GLIBC_").split(".")))
                    for _, section in self.sections(GNUVerNeedSection)
                    for _, auxiliaries in section.iter_versions() for auxiliary in auxiliaries
                    if auxiliary.name.startswith("GLIBC_2")]
        claimed = min(tuple(map(int, pair))
                      for pair in re.findall(r"manylinux_(\d+)_(\d+)_", WHEEL.name))
        self.assertLessEqual(max(versions), claimed)

    def test_nothing_is_linked_with_one_version_of_python(self):
        for name, elf in self.elf.items():
            symbols = elf.get_section_by_name(".dynsym")
            python = [s.name for s in symbols.iter_symbols() if s.name.startswith("Py")]
            self.assertEqual(python, [], name)

    def test_every_module_is_there(self):
        modules = {path.relative_to(SOURCE / "python").as_posix()
                   for path in (SOURCE / "python/planezip").rglob("*.py")}
        found = {name for name in self.names if name.endswith(".py")}
        self.assertEqual(found, modules | {"planezip/_version.py"})

    def test_program_is_executable(self):
        self.assertTrue(self.zip.getinfo("planezip/bin/planezip").external_attr >> 16 & 0o111)

    def test_nothing_is_required(self):
        about = self.about("METADATA")
        self.assertEqual([line for line in about if line.startswith("Requires-Dist:")
                          and "extra ==" not in line], [])
        self.assertIn("Requires-Python: >=3.10", about)
        self.assertIn("License-Expression: MIT", about)

    def test_licenses_of_what_is_inside(self):
        licenses = [name.rsplit("/", 1)[1] for name in self.names if "/licenses/" in name]
        self.assertEqual(sorted(licenses), ["LICENSE", "NOTICE"])


if __name__ == "__main__":
    unittest.main()
