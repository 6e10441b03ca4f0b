#!/usr/bin/env python3
"""Checks the rules of style that clang-format does not know: see CONTRIBUTING.md, "Style".

Usage: check_style.py [ROOT]        prints every violation as file:line, exits 1 if there is one
       check_style.py --self-test   proves on planted violations that the check sees them
"""
import re
import sys
import tempfile
from pathlib import Path

COLUMNS = 100
FUNCTION_LINES = 60
FOLDERS = ("include", "src", "cli", "reference", "tests", "bench", "tools", "python", "reproduce",
           "docs")
C_FILES = {".c", ".h"}
TEXT_FILES = C_FILES | {".py", ".sh", ".cmake", ".md", ".txt", ""}
MADE_BY_PROGRAMS = (("tests", "data"), ("tests", "golden"), ("tests", "abi"))
# Built of parts, so that this file does not trip over itself.
OPEN_ISSUE = re.compile("TO" + r"DO(?!\(#\d+\))|FIX" + r"ME(?!\(#\d+\))")
MENTION = re.compile(r'docs/([\w-]+\.md),\s*("?)(?=["A-Z])')


def files(root):
    """Every text file of the project, without test data and build folders."""
    for path in sorted(root.iterdir()):
        if path.is_file() and (path.suffix in TEXT_FILES - {""} or path.name == "Makefile"):
            yield path
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if (path.is_file() and path.suffix in TEXT_FILES and "__pycache__" not in parts
                    and parts[:2] not in MADE_BY_PROGRAMS
                    and parts[:3] != ("tests", "fuzz", "corpus")):
                yield path


def check_lines(path, lines):
    """Line length, tabs, trailing blanks, open ends without an issue's number."""
    prose = path.suffix == ".md"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and not prose:
            yield number, f"{len(line)} columns, allowed are {COLUMNS}"
        if "\t" in line and path.name != "Makefile" and not prose:
            yield number, "tab"
        if line != line.rstrip():
            yield number, "trailing blank"
        if OPEN_ISSUE.search(line):
            yield number, "open end without an issue's number, as in (#12)"


def headings(root, name):
    """The headings of docs/NAME without their marks, or None if there is no such file."""
    path = root / "docs" / name
    if not path.is_file():
        return None
    return [line.lstrip("#").strip() for line in path.read_text(encoding="utf-8").split("\n")
            if line.startswith("#")]


def check_mentions(root, text):
    """A section named after a file of docs/ and a comma, in quotes or not, must be a heading there.
    A heading may go on after the name with punctuation: "Name: and so on"."""
    # A mention may run over the end of a line of a comment.
    joined = re.sub(r"\n[ \t]*(\*(?!/)|//|#)?[ \t]*", lambda m: " " + "\0" * (len(m.group()) - 1),
                    text)
    for match in MENTION.finditer(joined.replace("\0", " ")):
        number = text.count("\n", 0, match.start()) + 1
        known = headings(root, match.group(1))
        rest = re.sub(r"\s+", " ", joined.replace("\0", " ")[match.end():match.end() + 160])
        if known is None:
            yield number, f"docs/{match.group(1)} does not exist"
        elif match.group(2):
            name = rest.split('"')[0]
            if not any(re.fullmatch(re.escape(name) + r"(\W.*)?", head) for head in known):
                yield number, f'docs/{match.group(1)} has no section "{name}"'
        elif not any(rest.startswith(re.split(r"[:=(]", head)[0].strip()) for head in known):
            yield number, f'docs/{match.group(1)} has no section "{rest[:30]}..."'


def check_functions(lines):
    """Length of functions, from the brace to the brace in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start - 1 > FUNCTION_LINES:
                yield start, f"function of {number - start - 1} lines, allowed: {FUNCTION_LINES}"
            start = None


def check_guard(path, text):
    """Headers have include guards; templates, which are included many times, have none."""
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)\b", text, flags=re.M)
    if path.name.endswith(".tmpl.h"):
        return
    if not guard or guard.group(1) != guard.group(2):
        yield 1, "header without include guard"


def check_public(lines):
    """Above each public function, or above the group that it is part of, stands a comment, or the
    type that the group is about."""
    covered, after_type = False, False
    for number, line in enumerate(lines, 1):
        if line.startswith("PZ_API") and not covered:
            yield number, "public function without a comment above"
        if line.startswith(("}", "typedef")) and line.endswith(";"):
            covered, after_type = True, True
        elif line.rstrip().endswith("*/") and not line.startswith("PZ_API"):
            covered, after_type = True, False
        elif not after_type and not line.strip() or line.startswith("#"):
            covered = False
        else:
            after_type = False


def check(root):
    """All violations of the tree at root, as lines of text."""
    found = []
    for path in files(root):
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        problems = list(check_lines(path, lines))
        if path.name != Path(__file__).name: # its own examples are no mentions
            problems += check_mentions(root, text)
        if path.suffix in C_FILES:
            problems += check_functions(lines)
        if path.suffix == ".h":
            problems += check_guard(path, text)
            if root / "include" in path.parents:
                problems += check_public(lines)
        if not text.endswith("\n") and text:
            problems.append((len(lines), "no newline at the end"))
        found += [f"{path.relative_to(root)}:{number}: {what}" for number, what in problems]
    return found


def self_test():
    """Plants files with a known number of violations."""
    guard = "#ifndef X_H\n#define X_H\n%s#endif\n"
    cases = [
        ("src/base/a.c", "int x;\n", 0),
        ("src/base/a.c", "int x;", 1),
        ("src/base/a.c", "\tint x;\n", 1),
        ("src/base/a.c", "int x; \n", 1),
        ("src/base/a.c", "/*" + "x" * COLUMNS + "*/\n", 1),
        ("src/base/a.c", "/* TO" + "DO: later */\n", 1),
        ("src/base/a.c", "/* FIX" + "ME(#12): later */\n", 0),
        ("src/base/a.c", "int f(void)\n{\n" + "    ;\n" * FUNCTION_LINES + "}\n", 0),
        ("src/base/a.c", "int f(void)\n{\n" + "    ;\n" * (FUNCTION_LINES + 1) + "}\n", 1),
        ("src/base/a.c", "/* docs/format.md, Chunks */\n", 0),
        ("src/base/a.c", "/* see docs/format.md,\n * \"Chunks\" */\n", 0),
        ("src/base/a.c", '/* docs/format.md, "Block" and what follows */\n', 0),
        ("src/base/a.c", "/* docs/format.md, and more */\n", 0),
        ("src/base/a.c", '/* docs/format.md, "Chunky" */\n', 1),
        ("src/base/a.c", "/* docs/format.md, Nothing */\n", 1),
        ("src/base/a.c", "/* docs/none.md, Chunks */\n", 1),
        ("src/base/a.h", guard % "", 0),
        ("src/base/a.h", "int x;\n", 1),
        ("src/base/a.tmpl.h", "int x;\n", 0),
        ("include/planezip/a.h", guard % "/* Does. */\nPZ_API int f(void);\n", 0),
        ("include/planezip/a.h", guard % "/* Do. */\nPZ_API int f(void);\nPZ_API int g();\n", 0),
        ("include/planezip/a.h", guard % "typedef struct s s;\n\nPZ_API void f(s *s);\n", 0),
        ("include/planezip/a.h", guard % "/* Head. */\n\nPZ_API int f(void);\n", 1),
        ("include/planezip/a.h", guard % "PZ_API int f(void); /* no */\nPZ_API int g(void);\n", 2),
    ]
    wrong = []
    for name, text, expect in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "docs/format.md").write_text("# Format\n## Block = tag\n## Chunks\n")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            found = check(root)
            if len(found) != expect:
                wrong.append(f"{name} {text[:60]!r}: expected {expect}, got {found}")
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test()
    else:
        found = check(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print("\n".join(found) if found else "style: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
