/* See differential.h. */
#include "support/differential.h"
#include "support/guard.h"

#include <stdarg.h>
#include <stdbool.h>
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

/* What the library reads and writes. */
static struct guard input_guard, output_guard, offsets_guard;

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

pz_status differential_status2(enum pzref2_error error)
{
    static const pz_status statuses[PZREF2_ERRORS] = {
        [PZREF2_OK] = PZ_OK,
        [PZREF2_HEADERS_TRUNCATED] = PZ_ERR_TRUNCATED,
        [PZREF2_HEADER_ABOVE_RAW] = PZ_ERR_CHUNK_SIZE,
        [PZREF2_PAYLOAD_TRUNCATED] = PZ_ERR_TRUNCATED,
        [PZREF2_TRAILING_BYTES] = PZ_ERR_TRAILING,
        [PZREF2_CHUNK_OVERRUN] = PZ_ERR_CHUNK_END,
        [PZREF2_CHUNK_LEFTOVER] = PZ_ERR_CHUNK_END,
        [PZREF2_MODE_WITHOUT_EXPONENT] = PZ_ERR_MODE,
        [PZREF2_BASE] = PZ_ERR_RANGE,
        [PZREF2_CONSTANT_BITS] = PZ_ERR_RANGE,
        [PZREF2_MAP] = PZ_ERR_MASK,
        [PZREF2_EMPTY_MASK] = PZ_ERR_MASK,
        [PZREF2_MASK] = PZ_ERR_MASK,
        [PZREF2_CLASS_BELOW_ZERO] = PZ_ERR_RANGE,
        [PZREF2_ESCAPED_EXPONENT] = PZ_ERR_RANGE,
        [PZREF2_ESCAPE_WIDTH] = PZ_ERR_RANGE,
        [PZREF2_BLOCK_BITS] = PZ_ERR_RANGE,
        [PZREF2_BLOCK_BITS_NOT_EXACT] = PZ_ERR_RANGE,
        [PZREF2_BLOCK_PADDING] = PZ_ERR_PADDING,
        [PZREF2_QUOTIENT] = PZ_ERR_RANGE,
        [PZREF2_PLANE_PADDING] = PZ_ERR_PADDING,
        [PZREF2_SYMBOL_PADDING] = PZ_ERR_PADDING,
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

/* A stream, and what the reference says about it. */
struct stream {
    pz_mode mode;
    const uint8_t *coded;
    size_t coded_bytes;
    const uint8_t *raw;
    size_t raw_bytes;
    pz_status status;
    struct pzref_where where;
    struct pzref_sizes sizes;   /* of an encoded stream of format 1 */
    struct pzref2_sizes sizes2; /* and of format 2 */
};

static bool is_error_of_headers(pz_status status)
{
    return status == PZ_ERR_TRUNCATED || status == PZ_ERR_CHUNK_SIZE || status == PZ_ERR_TRAILING;
}

/* Whether it is the verdict of the reference.  Of several faults in a chunk of format 2 a decoder
 * may name any. */
static bool is_expected(const struct stream *stream, pz_status status)
{
    if (stream->mode.format == PZ_FORMAT_1 || is_error_of_headers(stream->status))
        return status == stream->status;
    return (status == PZ_OK) == (stream->status == PZ_OK);
}

/* Each chunk alone, up to the first one that is wrong. */
static const char *compare_chunks(const struct stream *stream, enum guard_side side,
                                  const uint8_t *coded, const uint64_t *offsets)
{
    const uint64_t chunks = pz_stream_chunks(stream->raw_bytes);
    const bool is_right = stream->status == PZ_OK;

    for (uint64_t i = 0; i < chunks && (is_right || (int64_t)i <= stream->where.chunk); i++) {
        const size_t from = (size_t)i * PZ_CHUNK_BYTES, left = stream->raw_bytes - from;
        const size_t bytes = left < PZ_CHUNK_BYTES ? left : PZ_CHUNK_BYTES;
        uint8_t *const raw = guard_place(&output_guard, side, bytes);
        const bool is_wrong = !is_right && (int64_t)i == stream->where.chunk;
        const pz_status status = pz_stream_decode_chunks(
            stream->mode, coded, stream->coded_bytes, stream->raw_bytes, offsets, i, 1, raw, NULL);

        if (is_wrong ? !is_expected(stream, status) : status != PZ_OK)
            return differ("chunk %llu alone: %s instead of %s", (unsigned long long)i,
                          pz_status_name(status),
                          pz_status_name(is_wrong ? stream->status : PZ_OK));
        if (is_right && memcmp(raw, stream->raw + from, bytes) != 0)
            return differ("chunk %llu alone is decoded to other bytes", (unsigned long long)i);
    }
    return NULL;
}

/* The index, and what it leads to. */
static const char *compare_index(const struct stream *stream, enum guard_side side,
                                 const uint8_t *coded)
{
    const size_t entries = (size_t)pz_stream_chunks(stream->raw_bytes) + 1;
    uint64_t *const offsets =
        (uint64_t *)(void *)guard_place(&offsets_guard, side, entries * sizeof *offsets);
    const pz_status expected = is_error_of_headers(stream->status) ? stream->status : PZ_OK;
    const pz_status status =
        pz_stream_index(coded, stream->coded_bytes, stream->raw_bytes, offsets, NULL);

    if (status != expected)
        return differ("index: %s instead of %s", pz_status_name(status), pz_status_name(expected));
    return status == PZ_OK ? compare_chunks(stream, side, coded, offsets) : NULL;
}

static const char *compare_decoded(const struct stream *stream, enum guard_side side)
{
    const uint8_t *coded = guard_copy(&input_guard, side, stream->coded, stream->coded_bytes);
    uint8_t *const raw = guard_place(&output_guard, side, stream->raw_bytes);
    pz_where where = {0, 0, 0};
    const pz_status status =
        pz_stream_decode(stream->mode, coded, stream->coded_bytes, raw, stream->raw_bytes, &where);
    const char *result = NULL;

    if (!is_expected(stream, status))
        return differ("%s, by the reference %s", pz_status_name(status),
                      pz_status_name(stream->status));
    if (status == PZ_OK && memcmp(raw, stream->raw, stream->raw_bytes) != 0)
        return differ("decoded to other bytes than by the reference");
    if (status != PZ_OK)
        result = compare_where(where, stream->where);
    return result != NULL ? result : compare_index(stream, side, coded);
}

/* Calls compare() for every instruction set, with the buffers on either side of their pages. */
static const char *compare_everywhere(const struct stream *stream,
                                      const char *(*compare)(const struct stream *stream,
                                                             enum guard_side side))
{
    const char *result = NULL;

    for (unsigned i = 0; i < GUARD_SIDES * pz_isa_count() && result == NULL; i++) {
        pz_isa_select(pz_isa_name(i / GUARD_SIDES));
        result = compare(stream, (enum guard_side)(i % GUARD_SIDES));
    }
    return result;
}

/* What the reference of the format says about the stream; decodes it to raw. */
static void ask_reference(struct stream *stream, uint8_t *raw)
{
    const pz_mode mode = stream->mode;

    stream->where = (struct pzref_where){-1, -1};
    if (mode.format == PZ_FORMAT_2)
        stream->status = differential_status2(
            pzref2_decode(mode.width_bits, mode.exponent_bits, stream->coded, stream->coded_bytes,
                          raw, stream->raw_bytes, &stream->where.chunk));
    else
        stream->status =
            differential_status(pzref_decode(mode.width_bits, stream->coded, stream->coded_bytes,
                                             raw, stream->raw_bytes, &stream->where));
}

const char *differential_decode(pz_mode mode, const uint8_t *coded, size_t coded_bytes,
                                size_t raw_bytes)
{
    uint8_t *raw = allocate(raw_bytes);
    struct stream stream = {.mode = mode,
                            .coded = coded,
                            .coded_bytes = coded_bytes,
                            .raw = raw,
                            .raw_bytes = raw_bytes};
    const char *result;

    ask_reference(&stream, raw);
    result = compare_everywhere(&stream, compare_decoded);
    free(raw);
    return result;
}

/* Into a buffer of room bytes, which is enough or not. */
static const char *compare_encoded(const struct stream *stream, enum guard_side side,
                                   const uint8_t *raw, size_t room)
{
    uint8_t *const coded = guard_place(&output_guard, side, room);
    const pz_status expected = room < stream->coded_bytes ? PZ_ERR_SPACE : PZ_OK;
    size_t bytes = 0;
    const pz_status status =
        pz_stream_encode(stream->mode, raw, stream->raw_bytes, coded, room, &bytes);

    if (status != expected || (status == PZ_OK && bytes != stream->coded_bytes))
        return differ("encoding into %zu bytes: %s, %zu bytes, by the reference %zu", room,
                      pz_status_name(status), bytes, stream->coded_bytes);
    if (status == PZ_OK && memcmp(coded, stream->coded, bytes) != 0)
        return differ("encoded to other bytes than by the reference");
    return NULL;
}

static bool is_fast(pz_mode mode)
{
    return mode.encodings == PZ_LEVEL_FAST;
}

static bool same_sizes(const struct stream *stream, const pz_stats *stats)
{
    const struct pzref_sizes *const sizes = &stream->sizes;

    return sizes->coded_bytes == stream->coded_bytes && stats->chunks == sizes->chunks &&
           stats->raw_chunks == sizes->raw_chunks && stats->payload_bits == sizes->payload_bits &&
           memcmp(stats->blocks, sizes->blocks, sizeof sizes->blocks) == 0;
}

/* The reference counts the chunks of a mode, the library their blocks. */
static bool same_sizes2(const struct stream *stream, const pz_stats *stats)
{
    const struct pzref2_sizes *const sizes = &stream->sizes2;
    const uint64_t *const blocks = stats->blocks;

    return sizes->coded_bytes == stream->coded_bytes && stats->chunks == sizes->chunks &&
           stats->raw_chunks == sizes->raw_chunks &&
           stats->payload_bits == 8 * sizes->payload_bytes &&
           (blocks[PZ_EXPONENTS] + 31) / 32 == sizes->modes[PZREF2_E] &&
           (blocks[PZ_INTEGERS] + 31) / 32 == sizes->modes[PZREF2_I] &&
           (blocks[PZ_DIFFERENCES] + 31) / 32 == sizes->modes[PZREF2_D] &&
           (blocks[PZ_CONSTANTS] + 31) / 32 == sizes->modes[PZREF2_C];
}

static const char *compare_sizes(const struct stream *stream, const uint8_t *raw)
{
    pz_stats stats;
    const pz_status status = pz_stream_measure(stream->mode, raw, stream->raw_bytes, &stats);

    if (status != PZ_OK || stats.raw_bytes != stream->raw_bytes ||
        stats.coded_bytes != stream->coded_bytes)
        return differ("measuring: %s, %llu bytes, encoded %zu", pz_status_name(status),
                      (unsigned long long)stats.coded_bytes, stream->coded_bytes);
    if (stream->mode.format == PZ_FORMAT_2 ? !same_sizes2(stream, &stats)
                                           : !same_sizes(stream, &stats))
        return differ("measured other sizes, chunks or encodings than by the reference");
    return NULL;
}

/* Exactly the room that is needed, one byte less, and the bound. */
static const char *compare_coded(const struct stream *stream, enum guard_side side)
{
    const uint8_t *const raw = guard_copy(&input_guard, side, stream->raw, stream->raw_bytes);
    const char *result = compare_encoded(stream, side, raw, stream->coded_bytes);

    if (result == NULL && stream->coded_bytes > 0)
        result = compare_encoded(stream, side, raw, stream->coded_bytes - 1);
    if (result == NULL)
        result = compare_encoded(stream, side, raw, pzref_bound(stream->raw_bytes));
    if (result == NULL)
        result = compare_sizes(stream, raw);
    return result != NULL ? result : compare_decoded(stream, side);
}

/* NULL if the reference agrees with itself. */
static const char *check_reference(struct stream *stream)
{
    uint8_t *const back = allocate(stream->raw_bytes);
    const char *result = NULL;

    ask_reference(stream, back);
    if (stream->status != PZ_OK || memcmp(back, stream->raw, stream->raw_bytes) != 0)
        result = differ("the reference does not decode what it encodes");
    free(back);
    return result;
}

/* Once for all instruction sets, as it takes longer than they do. */
static void encode_by_reference(struct stream *stream, uint8_t *to)
{
    const pz_mode mode = stream->mode;
    const uint8_t *const raw = stream->raw;
    const size_t raw_bytes = stream->raw_bytes;

    if (mode.format == PZ_FORMAT_2) {
        stream->coded_bytes =
            pzref2_encode(mode.width_bits, mode.exponent_bits, is_fast(mode), raw, raw_bytes, to);
        stream->sizes2 =
            pzref2_measure(mode.width_bits, mode.exponent_bits, is_fast(mode), raw, raw_bytes);
    } else {
        stream->coded_bytes = pzref_encode(mode.width_bits, mode.encodings, raw, raw_bytes, to);
        stream->sizes = pzref_measure(mode.width_bits, mode.encodings, raw, raw_bytes);
    }
}

const char *differential_encode(pz_mode mode, const uint8_t *raw, size_t raw_bytes)
{
    const size_t bound_bytes = pzref_bound(raw_bytes);
    uint8_t *const coded = allocate(bound_bytes);
    struct stream stream = {.mode = mode, .coded = coded, .raw = raw, .raw_bytes = raw_bytes};
    size_t library_bound = 0;
    const char *result;

    encode_by_reference(&stream, coded);
    result = check_reference(&stream);
    if (pz_stream_bound(raw_bytes, &library_bound) != PZ_OK || library_bound != bound_bytes)
        result = differ("bound %zu, by the reference %zu", library_bound, bound_bytes);
    if (result == NULL)
        result = compare_everywhere(&stream, compare_coded);
    free(coded);
    return result;
}
