/* Any bytes as a tensor stream: the decoding kernels as plain C (support/lanes.h) and the codec
 * must agree on every one.
 *
 * Input: byte 0 holds the symbols (bits 0-3, see symbols_fuzz.h), whether the headers are made here
 * (bit 4), whether the format is 1 (bit 5) and the order of the lanes (bit 6), bytes 1 and 2 the
 * size of the tensor; the rest is the stream.  So inputs of decode2_fuzz will do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/symbols_fuzz.h"
#include "support/lanes.h"

enum { PREFIX_BYTES = 3, MAX_RAW_BYTES = 2 * PZ_CHUNK_BYTES + 300, MAX_CHUNKS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each payload in a block of just its size, so that a sanitizer sees what is read beyond. */
static pz_status decode_payload(enum lanes_order order, pz_mode mode, const uint8_t *payload,
                                size_t payload_bytes, uint8_t *raw, size_t raw_bytes)
{
    uint8_t *const exact = malloc(payload_bytes > 0 ? payload_bytes : 1);
    pz_status status;

    if (exact == NULL)
        abort();
    memcpy(exact, payload, payload_bytes);
    status = lanes_decode_chunk(order, mode, exact, payload_bytes, raw, raw_bytes);
    free(exact);
    return status;
}

static void compare(enum lanes_order order, pz_mode mode, const uint8_t *stream, size_t bytes,
                    size_t raw_bytes)
{
    static uint8_t expected[MAX_RAW_BYTES], raw[MAX_RAW_BYTES];
    const size_t chunks = (size_t)pz_stream_chunks(raw_bytes);
    uint64_t offsets[MAX_CHUNKS + 1];
    pz_status status, got = PZ_OK;

    if (pz_stream_index(stream, bytes, raw_bytes, offsets, NULL) != PZ_OK)
        return;
    status = pz_stream_decode(mode, stream, bytes, expected, raw_bytes, NULL);
    for (size_t i = 0; i < chunks && got == PZ_OK; i++) {
        const size_t from = i * PZ_CHUNK_BYTES, left = raw_bytes - from;

        got =
            decode_payload(order, mode, stream + offsets[i], (size_t)(offsets[i + 1] - offsets[i]),
                           raw + from, left < PZ_CHUNK_BYTES ? left : PZ_CHUNK_BYTES);
    }
    if (got != status || (got == PZ_OK && memcmp(raw, expected, raw_bytes) != 0)) {
        fprintf(stderr, "format %u w %u e %u, raw bytes %zu: %s by the kernels, %s by the codec\n",
                mode.format, mode.width_bits, mode.exponent_bits, raw_bytes, pz_status_name(got),
                pz_status_name(status));
        abort();
    }
}

static void compare_chunk(enum lanes_order order, pz_mode mode, const uint8_t *payload,
                          size_t payload_bytes, size_t raw_bytes)
{
    uint8_t stream[2 + PZ_CHUNK_BYTES];

    raw_bytes = 1 + raw_bytes % PZ_CHUNK_BYTES;
    if (payload_bytes > raw_bytes)
        payload_bytes = raw_bytes;
    stream[0] = (uint8_t)payload_bytes;
    stream[1] = (uint8_t)(payload_bytes >> 8);
    memcpy(stream + 2, payload, payload_bytes);
    compare(order, mode, stream, 2 + payload_bytes, raw_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum lanes_order order;
    size_t raw_bytes;
    pz_mode mode;

    if (size < PREFIX_BYTES)
        return 0;
    mode = fuzz_symbols(data[0]);
    if (data[0] & 32)
        mode = (pz_mode){mode.width_bits, 0, PZ_FORMAT_1, 0};
    order = data[0] & 64 ? LANES_BACKWARDS : LANES_FORWARDS;
    raw_bytes = (size_t)(data[1] | data[2] << 8) % (MAX_RAW_BYTES + 1);
    if (data[0] & 16)
        compare_chunk(order, mode, data + PREFIX_BYTES, size - PREFIX_BYTES, raw_bytes);
    else
        compare(order, mode, data + PREFIX_BYTES, size - PREFIX_BYTES, raw_bytes);
    return 0;
}
