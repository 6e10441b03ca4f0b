"""The version of the package.  It stands once, in planezip/planezip.h: a wheel has a module
_version that was made from it, and in the source tree the header itself is read."""
import re
from pathlib import Path

HEADER = Path(__file__).resolve().parents[2] / "include/planezip/planezip.h"


def of_header(path):
    """"0.1.0" of the three lines of the header."""
    text = path.read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define PZ_VERSION_{part} (\d+)$", text, flags=re.M).group(1)
                    for part in ("MAJOR", "MINOR", "PATCH"))


try:
    from ._version import VERSION
except ModuleNotFoundError:
    VERSION = of_header(HEADER)
