/* Any bytes as a tensor stream of format 2: library and reference must agree on every one.
 *
 * Input: byte 0 holds the symbols (bits 0-3, see symbols_fuzz.h) and whether the headers are made
 * here (bit 4), bytes 1 and 2 the size of the tensor; the rest is the stream.  With headers made
 * here the rest is the payload of a single chunk, so that a mutation reaches the blocks rather than
 * the lengths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/symbols_fuzz.h"
#include "support/differential.h"

enum { PREFIX_BYTES = 3, MAX_RAW_BYTES = 2 * PZ_CHUNK_BYTES + 300 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL, or what differs. */
static const char *decode_as_chunk(pz_mode mode, const uint8_t *payload, size_t payload_bytes,
                                   size_t raw_bytes)
{
    uint8_t stream[2 + PZ_CHUNK_BYTES];

    raw_bytes = 1 + raw_bytes % PZ_CHUNK_BYTES;
    if (payload_bytes > raw_bytes)
        payload_bytes = raw_bytes;
    stream[0] = (uint8_t)payload_bytes;
    stream[1] = (uint8_t)(payload_bytes >> 8);
    memcpy(stream + 2, payload, payload_bytes);
    return differential_decode(mode, stream, 2 + payload_bytes, raw_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *difference;
    size_t raw_bytes;
    pz_mode mode;

    if (size < PREFIX_BYTES)
        return 0;
    mode = fuzz_symbols(data[0]);
    raw_bytes = (size_t)(data[1] | data[2] << 8) % (MAX_RAW_BYTES + 1);
    if (data[0] & 16)
        difference = decode_as_chunk(mode, data + PREFIX_BYTES, size - PREFIX_BYTES, raw_bytes);
    else
        difference = differential_decode(mode, data + PREFIX_BYTES, size - PREFIX_BYTES, raw_bytes);
    if (difference != NULL) {
        fprintf(stderr, "w %u e %u, raw bytes %zu: %s\n", mode.width_bits, mode.exponent_bits,
                raw_bytes, difference);
        abort();
    }
    return 0;
}
