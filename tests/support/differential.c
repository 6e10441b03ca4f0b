/* See differential.h. */
#include "support/differential.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char difference[256];

static const char *differ(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(difference, sizeof difference, format, arguments);
    va_end(arguments);
    return difference;
}

/* At least one byte, so that the pointer is never NULL; to be freed. */
static uint8_t *allocate(size_t bytes)
{
    uint8_t *memory = malloc(bytes != 0 ? bytes : 1);

    if (memory == NULL)
        abort();
    return memory;
}

static uint8_t *copy_of(const uint8_t *bytes, size_t count)
{
    uint8_t *copy = allocate(count);

    if (count != 0)
        memcpy(copy, bytes, count);
    return copy;
}

pz_status differential_status(enum pzref_error error)
{
    static const pz_status statuses[PZREF_ERRORS] = {
        [PZREF_OK] = PZ_OK,
        [PZREF_HEADERS_TRUNCATED] = PZ_ERR_TRUNCATED,
        [PZREF_HEADER_ABOVE_RAW] = PZ_ERR_CHUNK_SIZE,
        [PZREF_PAYLOAD_TRUNCATED] = PZ_ERR_TRUNCATED,
        [PZREF_TRAILING_BYTES] = PZ_ERR_TRAILING,
        [PZREF_CHUNK_OVERRUN] = PZ_ERR_CHUNK_END,
        [PZREF_CHUNK_LEFTOVER] = PZ_ERR_CHUNK_END,
        [PZREF_CHUNK_PADDING] = PZ_ERR_PADDING,
        [PZREF_RESERVED_TAG] = PZ_ERR_TAG,
        [PZREF_ZVC_ZERO_SYMBOL] = PZ_ERR_ZERO_SYMBOL,
        [PZREF_ZBX_ZERO_SYMBOL] = PZ_ERR_ZERO_SYMBOL,
        [PZREF_DELTA_BELOW] = PZ_ERR_DELTA,
        [PZREF_DELTA_ABOVE] = PZ_ERR_DELTA,
        [PZREF_RUN_PAST_END] = PZ_ERR_RUN,
        [PZREF_POSITION_OUTSIDE] = PZ_ERR_POSITION,
        [PZREF_PAIR_OUTSIDE] = PZ_ERR_POSITION,
        [PZREF_ZERO_PLANE] = PZ_ERR_ZERO_PLANE,
        [PZREF_BLOCK_PADDING] = PZ_ERR_PADDING,
    };

    return statuses[error];
}

/* Where the reference names no chunk or block there is nothing to compare. */
static const char *compare_where(pz_where found, struct pzref_where expected)
{
    if (expected.chunk >= 0 && found.chunk != (uint64_t)expected.chunk)
        return differ("error in chunk %llu, by the reference in %lld",
                      (unsigned long long)found.chunk, (long long)expected.chunk);
    if (expected.chunk >= 0 && expected.block >= 0 && found.block != (unsigned)expected.block)
        return differ("error in block %u, by the reference in %d", found.block, expected.block);
    return NULL;
}

/* One instruction set on a stream for which the reference gave `expected` and `raw`. */
static const char *compare_decoded(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                   const uint8_t *raw, size_t raw_bytes, enum pzref_error error,
                                   struct pzref_where expected)
{
    const pz_mode mode = {w, 0};
    uint8_t *back = allocate(raw_bytes);
    pz_where where = {0, 0, 0};
    const pz_status status = pz_stream_decode(mode, coded, coded_bytes, back, raw_bytes, &where);
    const char *result = NULL;

    if (status != differential_status(error))
        result = differ("%s, by the reference %s (%d)", pz_status_name(status),
                        pz_status_name(differential_status(error)), (int)error);
    else if (status != PZ_OK)
        result = compare_where(where, expected);
    else if (memcmp(back, raw, raw_bytes) != 0)
        result = differ("decoded to other bytes than by the reference");
    free(back);
    return result;
}

const char *differential_decode(unsigned w, const uint8_t *coded, size_t coded_bytes,
                                size_t raw_bytes)
{
    uint8_t *stream = copy_of(coded, coded_bytes), *raw = allocate(raw_bytes);
    struct pzref_where expected = {-1, -1};
    const enum pzref_error error = pzref_decode(w, stream, coded_bytes, raw, raw_bytes, &expected);
    const char *result = NULL;

    for (unsigned i = 0; i < pz_isa_count() && result == NULL; i++) {
        pz_isa_select(pz_isa_name(i));
        result = compare_decoded(w, stream, coded_bytes, raw, raw_bytes, error, expected);
    }
    free(stream);
    free(raw);
    return result;
}

/* Encodes into exactly the bytes of the reference, compares, and then into one byte less. */
static const char *compare_encoded(pz_mode mode, const uint8_t *raw, size_t raw_bytes,
                                   const uint8_t *expected, size_t expected_bytes)
{
    uint8_t *coded = allocate(expected_bytes);
    size_t coded_bytes = SIZE_MAX;
    pz_status status = pz_stream_encode(mode, raw, raw_bytes, coded, expected_bytes, &coded_bytes);
    const char *result = NULL;

    if (status != PZ_OK || coded_bytes != expected_bytes)
        result = differ("encoding: %s, %zu bytes, by the reference %zu", pz_status_name(status),
                        coded_bytes, expected_bytes);
    else if (memcmp(coded, expected, expected_bytes) != 0)
        result = differ("encoded to other bytes than by the reference");
    free(coded);
    if (result != NULL || expected_bytes == 0)
        return result;
    coded = allocate(expected_bytes - 1);
    status = pz_stream_encode(mode, raw, raw_bytes, coded, expected_bytes - 1, &coded_bytes);
    if (status != PZ_ERR_SPACE)
        result = differ("encoding into too few bytes: %s", pz_status_name(status));
    free(coded);
    return result;
}

static const char *compare_sizes(pz_mode mode, const uint8_t *raw, size_t raw_bytes,
                                 size_t coded_bytes)
{
    const struct pzref_sizes sizes = pzref_measure(mode.width_bits, mode.encodings, raw, raw_bytes);
    pz_stats stats;
    const pz_status status = pz_stream_measure(mode, raw, raw_bytes, &stats);

    if (sizes.coded_bytes != coded_bytes)
        return differ("the reference measures %llu bytes and encodes to %zu",
                      (unsigned long long)sizes.coded_bytes, coded_bytes);
    if (status != PZ_OK || stats.raw_bytes != raw_bytes || stats.coded_bytes != coded_bytes)
        return differ("measuring: %s, %llu bytes, encoded %zu", pz_status_name(status),
                      (unsigned long long)stats.coded_bytes, coded_bytes);
    if (stats.chunks != sizes.chunks || stats.raw_chunks != sizes.raw_chunks ||
        stats.payload_bits != sizes.payload_bits ||
        memcmp(stats.blocks, sizes.blocks, sizeof stats.blocks) != 0)
        return differ("measured other chunks, bits or encodings than by the reference");
    return NULL;
}

static const char *compare_all_isas(pz_mode mode, const uint8_t *raw, size_t raw_bytes,
                                    const uint8_t *coded, size_t coded_bytes)
{
    const struct pzref_where nowhere = {-1, -1};
    const char *result = NULL;

    for (unsigned i = 0; i < pz_isa_count() && result == NULL; i++) {
        pz_isa_select(pz_isa_name(i));
        result = compare_encoded(mode, raw, raw_bytes, coded, coded_bytes);
        if (result == NULL)
            result = compare_sizes(mode, raw, raw_bytes, coded_bytes);
        if (result == NULL)
            result = compare_decoded(mode.width_bits, coded, coded_bytes, raw, raw_bytes, PZREF_OK,
                                     nowhere);
    }
    return result;
}

const char *differential_encode(pz_mode mode, const uint8_t *raw, size_t raw_bytes)
{
    const size_t bound_bytes = pzref_bound(raw_bytes);
    uint8_t *input = copy_of(raw, raw_bytes), *back = allocate(raw_bytes);
    uint8_t *expected = allocate(bound_bytes), *coded;
    const size_t coded_bytes =
        pzref_encode(mode.width_bits, mode.encodings, input, raw_bytes, expected);
    size_t library_bound = 0;
    const char *result = NULL;

    coded = copy_of(expected, coded_bytes);
    free(expected);
    if (pz_stream_bound(raw_bytes, &library_bound) != PZ_OK || library_bound != bound_bytes)
        result = differ("bound %zu, by the reference %zu", library_bound, bound_bytes);
    else if (pzref_decode(mode.width_bits, coded, coded_bytes, back, raw_bytes, NULL) != PZREF_OK ||
             memcmp(back, raw, raw_bytes) != 0)
        result = differ("the reference does not decode what it encodes");
    else
        result = compare_all_isas(mode, input, raw_bytes, coded, coded_bytes);
    free(input);
    free(back);
    free(coded);
    return result;
}
