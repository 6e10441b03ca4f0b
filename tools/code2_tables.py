#!/usr/bin/env python3
"""Writes src/codec/code2.c, the tables of the codes of docs/format2.md, from the lengths there.

Usage: tools/code2_tables.py > src/codec/code2.c.  A test compares the two.
"""

# Lengths of the classes 0..9 and of the escape, as docs/format2.md gives them.
LENGTHS = """
1,2,3,6,6,6,6,6,6,6,6   2,1,3,6,6,6,6,6,6,6,6   2,2,2,3,5,6,6,6,6,6,6   3,2,2,3,3,5,5,6,6,6,6
3,3,3,6,6,6,6,6,6,5,1   3,3,5,5,5,4,4,3,2,3,5   3,3,5,6,6,6,6,5,4,4,1   3,4,5,4,3,3,2,3,5,5,5
4,1,2,4,5,6,6,6,6,6,6   4,2,2,2,4,5,5,6,6,6,6   4,3,2,2,3,4,4,6,6,6,6   4,3,3,2,2,4,4,6,6,6,6
4,4,4,4,2,2,3,4,5,6,6   5,2,2,2,4,4,5,6,6,6,6   5,4,3,2,2,3,4,5,5,6,6   6,3,2,2,3,3,5,5,6,6,6
"""
ESCAPE = 10
BITS = 6

HEAD = """\
/* The codes of docs/format2.md, "Codes", as the loops need them.  Written by
 * tools/code2_tables.py; see code2.h for what the tables hold. */
#include "codec/code2.h"

/* clang-format off */
const struct pzi_code2 pzi_codes2[PZI_CODES2] = {"""


def codewords(lengths):
    """Left-aligned in 6 bits, in the order of (length, class)."""
    words, following = {}, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths)):
        words[symbol] = following
        following += 1 << BITS - length
    assert following == 1 << BITS, "the code is not complete"
    return words


def table(values, count):
    values = list(values) + [0] * (count - len(values))
    lines = [", ".join(str(value) for value in values[i:i + 16]) for i in range(0, count, 16)]
    return "{" + ",\n         ".join(lines) + "}"


def entry(lengths):
    words = codewords(lengths)
    word = [words[c] | (1 << BITS if c == ESCAPE else 0) for c in range(ESCAPE + 1)]
    more = [sum(1 << BITS - 1 - level for level in range(1, BITS) if length > level)
            for length in lengths]
    symbols = [max((words[c], c) for c in words if words[c] <= prefix)[1]
               for prefix in range(1 << BITS)]
    limits = [sum(1 << BITS - length for length in lengths if length <= level)
              for level in range(BITS)]
    return "    {%s,\n     %s,\n     %s,\n     %s}," % (
        table(word, 16), table(more, 16), table(symbols, 64), table(limits, 8))


def main():
    codes = [[int(length) for length in code.split(",")] for code in LENGTHS.split()]
    print(HEAD)
    for lengths in codes:
        print(entry(lengths))
    print("};\n\nconst uint16_t pzi_lengths2[PZI_CLASSES2][PZI_CODES2] = {")
    for symbol in range(ESCAPE + 1):
        print("    {%s}," % ", ".join(str(lengths[symbol]) for lengths in codes))
    print("};\n/* clang-format on */")


main()
