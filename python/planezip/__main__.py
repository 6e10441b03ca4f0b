"""python -m planezip, and the command planezip of a wheel: runs the program that the package
carries."""
import os
import shutil
import sys
from pathlib import Path

from ._library import FOLDER, PATH


def program():
    """The path of the program: in the wheel, beside the library in a build folder, or installed.
    None if there is none."""
    places = [FOLDER / "bin/planezip"]
    if os.sep in PATH: # else the system looked for the library
        places.append(Path(PATH).parent / "planezip")
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("planezip")
    # Not the command of this package, which would come back here.
    return found if found and Path(found).resolve() != Path(sys.argv[0]).resolve() else None


def main():
    """Becomes the program, with the arguments as they are."""
    path = program()
    if path is None:
        sys.exit("planezip: program: not found beside the library; build it with make")
    os.execv(path, ["planezip", *sys.argv[1:]])


if __name__ == "__main__":
    main()
