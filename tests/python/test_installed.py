"""The package as it is installed from a wheel: nothing comes from the system or the source tree."""
import os
import subprocess
import sys
import sysconfig
import unittest
from importlib import metadata
from pathlib import Path

import planezip
from planezip import _library

SITE = Path(sysconfig.get_path("platlib")).resolve()


@unittest.skipUnless("PZ_WHEEL" in os.environ, "not run with a wheel")
class Installed(unittest.TestCase):
    def test_place(self):
        self.assertEqual(Path(planezip.__file__).resolve(), SITE / "planezip/__init__.py")
        self.assertEqual(Path(_library.PATH), SITE / "planezip/lib/libplanezip.so")

    def test_one_version(self):
        self.assertEqual(metadata.version("planezip"), planezip.__version__)
        self.assertEqual(_library.lib.pz_version().decode(), planezip.__version__)

    def test_libraries_are_those_of_the_wheel(self):
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        for name in ("libplanezip", "libjansson", "libxxhash"):
            paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if name in line}
            self.assertEqual(len(paths), 1, name)
            self.assertTrue(Path(paths.pop()).is_relative_to(SITE), name)

    def test_command(self):
        for command in ([Path(sys.executable).with_name("planezip")],
                        [sys.executable, "-m", "planezip"]):
            result = subprocess.run([*command, "--version"], capture_output=True, text=True,
                                    env={**os.environ, "PATH": "/nowhere"})
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (0, f"planezip {planezip.__version__}\n", ""))


if __name__ == "__main__":
    unittest.main()
