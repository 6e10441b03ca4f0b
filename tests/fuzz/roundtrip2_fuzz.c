/* Any bytes as a tensor: library and reference of format 2 must encode them alike, and get them
 * back.
 *
 * Input: byte 0 holds the symbols (bits 0-3, see symbols_fuzz.h) and the level (bit 4); what
 * follows is the tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/symbols_fuzz.h"
#include "support/differential.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *difference;
    pz_mode mode;

    if (size < 1)
        return 0;
    mode = fuzz_symbols(data[0]);
    if (data[0] & 16)
        mode.encodings = PZ_LEVEL_FAST;
    difference = differential_encode(mode, data + 1, size - 1);
    if (difference != NULL) {
        fprintf(stderr, "w %u e %u, encodings 0x%x: %s\n", mode.width_bits, mode.exponent_bits,
                mode.encodings, difference);
        abort();
    }
    return 0;
}
