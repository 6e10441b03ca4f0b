/* planezip stream: the bare tensor streams of docs/format.md and docs/format2.md to and from
 * files. */
#include "commands.h"
#include "errors.h"
#include "input.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "units.h"

#include <planezip/planezip.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    const char *codec;
    uint32_t width, exponent_bits;
    uint64_t raw_bytes;
    bool raw_given, force;
    pz_mode mode; /* of the first three */
} options = {.codec = "planezip"};

static const char *parse_exponent_bits(const char *text, void *target)
{
    static const unsigned known[] = {0, 4, 5, 8, 11};
    uint64_t bits;

    if (units_parse_count(text, &bits) != NULL)
        return "it must be 0, 4, 5, 8 or 11";
    for (size_t i = 0; i < LENGTH(known); i++)
        if (known[i] == bits) {
            *(uint32_t *)target = known[i];
            return NULL;
        }
    return "it must be 0, 4, 5, 8 or 11";
}

static const char *parse_raw_bytes(const char *text, void *target)
{
    options.raw_given = true;
    return units_parse_bytes(text, target);
}

#define SYMBOLS                                                                        \
    OPTION_NEEDED('w', "width", "W", option_width, &options.width,                     \
                  "bits per symbol: 8, 16, 32 or 64"),                                 \
        OPTION('e', "exponent-bits", "E", parse_exponent_bits, &options.exponent_bits, \
               "with planezip2: 8 for f32 and bf16, 5 for f16 and f8_e5m2,\n"          \
               "4 for f8_e4m3, 11 for f64; 0 (default) for integers")
#define FORCE SWITCH('f', "force", &options.force, "overwrite OUT; write to a terminal")

static const option encode_options[] = {
    SYMBOLS,
    OPTION('c', "codec", "C", option_stream_codec, &options.codec,
           "planezip (default), zvc, bpc, bx or zbx; planezip2 or\n"
           "planezip2-fast"),
    OPTION(0, "raw-bytes", "N", parse_raw_bytes, &options.raw_bytes, "check that IN has this size"),
    FORCE, COMMON_OPTIONS};

static const option decode_options[] = {
    SYMBOLS,
    OPTION('c', "codec", "C", option_stream_codec, &options.codec,
           "what it was encoded with, of which only the format matters:\n"
           "planezip (default) or planezip2"),
    OPTION_NEEDED(0, "raw-bytes", "N", parse_raw_bytes, &options.raw_bytes,
                  "size of the decoded data, which the stream does not tell"),
    FORCE, COMMON_OPTIONS};

/* The exponents that symbols of a width can have: docs/format2.md, "Symbols, blocks, chunks". */
static const char *known_exponents(uint32_t width)
{
    switch (width) {
    case 8:
        return "0, 4 or 5";
    case 16:
        return "0, 5 or 8";
    case 32:
        return "0 or 8";
    default:
        return "0 or 11";
    }
}

/* Makes a mode of codec and symbols. */
static int check_mode(void)
{
    pz_stats unused;

    pz_mode_named(options.codec, options.width, &options.mode);
    options.mode.exponent_bits = options.exponent_bits;
    if (pz_stream_measure(options.mode, "", 0, &unused) == PZ_OK)
        return STATUS_OK;
    if (options.mode.format == PZ_FORMAT_1)
        return fail_usage("--exponent-bits %" PRIu32 ": codec %s has none; give --codec planezip2",
                          options.exponent_bits, options.codec);
    return fail_usage("--exponent-bits %" PRIu32 ": symbols of %" PRIu32 " bits have %s",
                      options.exponent_bits, options.width, known_exponents(options.width));
}

static void report(uint64_t raw_bytes, uint64_t coded_bytes)
{
    char raw[UNITS_TEXT], coded[UNITS_TEXT];

    if (!common.verbose)
        return;
    fprintf(stderr, "%s raw, %s coded", units_bytes(raw_bytes, raw),
            units_bytes(coded_bytes, coded));
    if (coded_bytes > 0)
        fprintf(stderr, ", ratio %.3f", (double)raw_bytes / (double)coded_bytes);
    fprintf(stderr, "\n");
}

static int encode(const char *in, const char *out, const buffer *raw)
{
    size_t bound, coded_bytes;
    unsigned char *coded;
    pz_status result = pz_stream_bound(raw->bytes, &bound);

    if (result != PZ_OK)
        return fail_status(in, result, NULL);
    coded = memory_keep(bound, 1);
    result = pz_stream_encode(options.mode, raw->data, raw->bytes, coded, bound, &coded_bytes);
    if (result != PZ_OK)
        return fail_status(in, result, NULL);
    report(raw->bytes, coded_bytes);
    return output_save(out, options.force, coded, coded_bytes);
}

static const char *decode_hint(pz_status status)
{
    switch (status) {
    case PZ_ERR_TRUNCATED:
    case PZ_ERR_TRAILING:
        return "check --raw-bytes and that the file is complete";
    case PZ_ERR_MEMORY:
        return "free some memory";
    default:
        return options.mode.format == PZ_FORMAT_1
                   ? "check --width, --raw-bytes and whether --codec is planezip2, or get the "
                     "file again"
                   : "check --codec, --width, --exponent-bits and --raw-bytes, or get the file "
                     "again";
    }
}

/* Chunks of format 2 are not decoded block by block. */
static void describe(const pz_where *where, char place[96])
{
    if (options.mode.format == PZ_FORMAT_1)
        snprintf(place, 96, "chunk %" PRIu64 ", block %" PRIu32 ", bit %" PRIu32, where->chunk,
                 where->block, where->bit);
    else
        snprintf(place, 96, "chunk %" PRIu64 ", bit %" PRIu32, where->chunk, where->bit);
}

static int fail_decode(const char *in, pz_status status, const pz_where *where)
{
    char place[96];

    describe(where, place);
    return fail(in, place, decode_hint(status), "%s", pz_status_text(status));
}

static int decode(const char *in, const char *out, const buffer *coded)
{
    size_t raw_bytes = (size_t)options.raw_bytes;
    pz_where where = {0};
    unsigned char *raw;
    pz_status result;

    /* A wrong size is refused before memory is taken for it: every chunk has a header. */
    if (raw_bytes != options.raw_bytes || pz_stream_chunks(raw_bytes) > coded->bytes / 2) {
        where.chunk = coded->bytes / 2;
        return fail_decode(in, PZ_ERR_TRUNCATED, &where);
    }
    raw = memory_keep(raw_bytes, 1);
    result = pz_stream_decode(options.mode, coded->data, coded->bytes, raw, raw_bytes, &where);
    if (result != PZ_OK)
        return fail_decode(in, result, &where);
    report(raw_bytes, coded->bytes);
    return output_save(out, options.force, raw, raw_bytes);
}

static int run(char **operands, size_t count, bool to_stream)
{
    const char *in = count > 0 ? operands[0] : "-", *out = count > 1 ? operands[1] : "-";
    buffer content;
    int status = check_mode();

    if (status == STATUS_OK)
        status = output_check(out, options.force, true);
    if (status == STATUS_OK)
        status = input_read(in, &content);
    if (status != STATUS_OK)
        return status;
    own(content.data, free);
    if (!to_stream)
        return decode(in, out, &content);
    if (options.raw_given && options.raw_bytes != content.bytes)
        return fail(in, NULL, "check --raw-bytes", "it has %zu bytes instead of %" PRIu64,
                    content.bytes, options.raw_bytes);
    return encode(in, out, &content);
}

static int run_encode(char **operands, size_t count)
{
    return run(operands, count, true);
}

static int run_decode(char **operands, size_t count)
{
    return run(operands, count, false);
}

static const command commands[] = {
    {
        .name = "stream encode",
        .usage = "--width W [--codec C [--exponent-bits E]] [-f] [IN [OUT]]",
        .summary = "Encode a file as a tensor stream.",
        .details = "Without IN and OUT, or for \"-\", standard input and output are used.",
        .options = encode_options,
        .operands_max = 2,
        .run = run_encode,
    },
    {
        .name = "stream decode",
        .usage = "--width W [--codec C [--exponent-bits E]] --raw-bytes N [-f] [IN [OUT]]",
        .summary = "Decode a tensor stream.",
        .details =
            "A stream does not tell its format, its symbols and its raw size.  With --codec\n"
            "planezip, streams of zvc, bpc, bx and zbx are decoded, too.",
        .options = decode_options,
        .operands_max = 2,
        .run = run_decode,
    },
};

const verb verb_stream = {.name = "stream", .commands = commands, .count = LENGTH(commands)};
