/* Any bytes as a tensor: library and reference must encode them alike, and get them back.
 *
 * Input: byte 0 holds the width (bits 0-1) and the codec (the rest); what follows is the tensor. */
#include <stdio.h>
#include <stdlib.h>

#include "support/differential.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const codecs[] = {"planezip", "zvc", "bpc", "bx", "zbx"};
    const char *difference;
    pz_mode mode;

    if (size < 1)
        return 0;
    pz_mode_named(codecs[data[0] / 4 % 5], 8u << (data[0] & 3), &mode);
    difference = differential_encode(mode, data + 1, size - 1);
    if (difference != NULL) {
        fprintf(stderr, "w %u, encodings 0x%x: %s\n", mode.width_bits, mode.encodings, difference);
        abort();
    }
    return 0;
}
