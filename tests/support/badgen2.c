/* Writes tests/golden/bad2.txt and tests/golden/accept2.txt: a stream for every row of
 * docs/format2.md, "What a decoder rejects", and every line of "What a decoder accepts".  All are
 * put together by hand here, part by part; no codec takes part.  A bad stream is complete and valid
 * but for its fault.
 *
 * Usage: badgen2 FOLDER */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"

enum { BLOCK_BYTES = 128, CHUNK_BYTES = 4096 };
enum { E, I, D, C };              /* modes */
enum { Z = 1, S = 2 };            /* flags of mode E */
enum { PACKED = 0x40, U = 0x80 }; /* Z and U in byte 0 of modes I and D */
enum { EXACT = 0x80 };            /* in a block header of theirs */
enum { CODE_ESCAPES = 4 };        /* the code of mode E with 0 for an escape, 100 for class 0 */

static FILE *bad_file, *accept_file;

/* Parts of payloads: w, e, m, N, B and x are those of the format. */

static unsigned symbols_per_block(unsigned w)
{
    return 8 * BLOCK_BYTES / w;
}

static void put_byte(struct bits *s, unsigned value)
{
    bits_put(s, 8, value);
}

static void put_bytes(struct bits *s, unsigned count, unsigned value)
{
    while (count-- > 0)
        put_byte(s, value);
}

/* Byte 0 of mode E, and the base of one byte. */
static void begin_e(struct bits *s, unsigned flags, unsigned j, unsigned base)
{
    put_byte(s, E | flags << 2 | j << 4);
    put_byte(s, base);
}

/* Byte 0 of modes I and D, Z = 0 and U = 0. */
static void begin(struct bits *s, unsigned mode, unsigned escape_width)
{
    put_byte(s, mode | (escape_width - 1) << 2);
}

/* The map of blocks with masks. */
static void put_map(struct bits *s, uint32_t blocks)
{
    bits_put(s, 32, blocks);
}

/* A mask of N bits, or another plane of a block, whose bits from..end-1 are set. */
static void put_block_plane(struct bits *s, unsigned w, unsigned from, unsigned end)
{
    for (unsigned i = 0; i < symbols_per_block(w); i++)
        bits_put(s, 1, i >= from && i < end);
}

/* A plane as the format prints bits, filled up to a byte. */
static void put_plane(struct bits *s, const char *bits)
{
    bits_code(s, bits);
    bits_align(s);
}

/* A whole chunk of zeros, as a last chunk of some blocks or less: what canonical encoders write
 * for floating-point numbers whose base has one byte. */
static void put_zeros_e(struct bits *s)
{
    begin_e(s, Z, 0, 0);
    put_map(s, 0);
}

/* The same for integers. */
static void put_zeros_i(struct bits *s)
{
    put_byte(s, I | U);
    put_byte(s, EXACT);
}

/* Streams. */

/* Headers first, then payloads. */
struct stream {
    unsigned chunks;
    size_t headers[4];
    struct bits payloads;
};

/* Adds a payload whose header says what is true. */
static void add_chunk(struct stream *t, const struct bits *s)
{
    t->headers[t->chunks++] = bits_bytes(s);
    for (size_t k = 0; k < bits_bytes(s); k++)
        put_byte(&t->payloads, s->bytes[k]);
}

/* Adds a raw chunk, or a part of one: the header stands for all of it. */
static void add_raw_chunk(struct stream *t, size_t header, const uint8_t *raw, size_t bytes)
{
    t->headers[t->chunks++] = header;
    for (size_t k = 0; k < bytes; k++)
        put_byte(&t->payloads, raw[k]);
}

static void add_zeros_e(struct stream *t)
{
    struct bits s = {0};

    put_zeros_e(&s);
    add_chunk(t, &s);
}

static struct stream one_chunk(const struct bits *s)
{
    struct stream t = {0};

    add_chunk(&t, s);
    return t;
}

static void print_hex(FILE *out, const uint8_t *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        fprintf(out, "%02x", bytes[k]);
}

static void print_stream(FILE *out, const struct stream *t)
{
    for (unsigned k = 0; k < t->chunks; k++)
        fprintf(out, "%02x%02x", (unsigned)(t->headers[k] & 0xFF), (unsigned)(t->headers[k] >> 8));
    print_hex(out, t->payloads.bytes, bits_bytes(&t->payloads));
    if (t->chunks == 0 && t->payloads.count == 0)
        fprintf(out, "-");
}

/* Cases. */

/* The faults, in the order of the rows of docs/format2.md, and the status of each. */
enum fault {
    HEADERS_TRUNCATED,
    HEADER_ABOVE_RAW,
    PAYLOAD_TRUNCATED,
    TRAILING_BYTES,
    CHUNK_OVERRUN,
    CHUNK_LEFTOVER,
    MODE_WITHOUT_EXPONENT,
    BASE,
    CONSTANT_BITS,
    MAP,
    EMPTY_MASK,
    MASK,
    CLASS_BELOW_ZERO,
    ESCAPED_EXPONENT,
    ESCAPE_WIDTH,
    BLOCK_BITS,
    BLOCK_BITS_NOT_EXACT,
    BLOCK_PADDING,
    QUOTIENT,
    PLANE_PADDING,
    SYMBOL_PADDING
};

static const struct {
    const char *fault, *status;
} fault_names[] = {
    {"headers_truncated", "PZ_ERR_TRUNCATED"},
    {"header_above_raw", "PZ_ERR_CHUNK_SIZE"},
    {"payload_truncated", "PZ_ERR_TRUNCATED"},
    {"trailing_bytes", "PZ_ERR_TRAILING"},
    {"chunk_overrun", "PZ_ERR_CHUNK_END"},
    {"chunk_leftover", "PZ_ERR_CHUNK_END"},
    {"mode_without_exponent", "PZ_ERR_MODE"},
    {"base", "PZ_ERR_RANGE"},
    {"constant_bits", "PZ_ERR_RANGE"},
    {"map", "PZ_ERR_MASK"},
    {"empty_mask", "PZ_ERR_MASK"},
    {"mask", "PZ_ERR_MASK"},
    {"class_below_zero", "PZ_ERR_RANGE"},
    {"escaped_exponent", "PZ_ERR_RANGE"},
    {"escape_width", "PZ_ERR_RANGE"},
    {"block_bits", "PZ_ERR_RANGE"},
    {"block_bits_not_exact", "PZ_ERR_RANGE"},
    {"block_padding", "PZ_ERR_PADDING"},
    {"quotient", "PZ_ERR_RANGE"},
    {"plane_padding", "PZ_ERR_PADDING"},
    {"symbol_padding", "PZ_ERR_PADDING"},
};

/* chunk is -1 where the fault belongs to none. */
static void bad_stream(const char *name, unsigned w, unsigned e, size_t raw_bytes, enum fault fault,
                       int chunk, const struct stream *t, const char *reason)
{
    fprintf(bad_file, "%s %u %u %zu %s %s ", name, w, e, raw_bytes, fault_names[fault].fault,
            fault_names[fault].status);
    if (chunk < 0)
        fprintf(bad_file, "- ");
    else
        fprintf(bad_file, "%d ", chunk);
    print_stream(bad_file, t);
    fprintf(bad_file, " # %s\n", reason);
}

/* One chunk, which has the fault. */
static void bad(const char *name, unsigned w, unsigned e, size_t raw_bytes, enum fault fault,
                const struct bits *s, const char *reason)
{
    struct stream t = one_chunk(s);

    bad_stream(name, w, e, raw_bytes, fault, 0, &t, reason);
}

/* The symbols of a tensor, set one by one, for the raw side of a valid stream. */
struct tensor {
    unsigned w, e;
    size_t bytes;
    uint8_t content[2 * CHUNK_BYTES];
};

static void set_symbol(struct tensor *x, size_t index, uint64_t value)
{
    for (unsigned k = 0; k < x->w / 8; k++)
        x->content[index * (x->w / 8) + k] = (uint8_t)(value >> (8 * k));
}

static void set_symbols(struct tensor *x, size_t from, size_t count, uint64_t value)
{
    for (size_t i = from; i < from + count; i++)
        set_symbol(x, i, value);
}

static void accept_stream(const char *name, const struct tensor *x, const struct stream *t,
                          const char *reason)
{
    fprintf(accept_file, "%s %u %u ", name, x->w, x->e);
    print_hex(accept_file, x->content, x->bytes);
    fprintf(accept_file, x->bytes > 0 ? " " : "- ");
    print_stream(accept_file, t);
    fprintf(accept_file, " # %s\n", reason);
}

static void accept(const char *name, const struct tensor *x, const struct bits *s,
                   const char *reason)
{
    struct stream t = one_chunk(s);

    accept_stream(name, x, &t, reason);
}

/* Bad: headers and sizes. */

static void bad_headers(void)
{
    struct stream none = {0}, half = {0}, one = {0};

    bad_stream("headers_none", 16, 8, 1, HEADERS_TRUNCATED, -1, &none,
               "one byte of input, but the stream is empty");
    put_byte(&half.payloads, 5);
    bad_stream("headers_half", 16, 8, 128, HEADERS_TRUNCATED, -1, &half,
               "one byte of the only header");
    add_chunk(&one, &(struct bits){0});
    put_byte(&one.payloads, 1);
    bad_stream("headers_three_bytes", 8, 0, 4097, HEADERS_TRUNCATED, -1, &one,
               "two chunks, the second header is cut off");
}

static void bad_header_values(void)
{
    static const uint8_t zeros[CHUNK_BYTES + 1];
    struct stream above = {0}, second = {0}, full = {0};

    add_raw_chunk(&above, 11, zeros, 11);
    bad_stream("header_above_raw", 8, 4, 10, HEADER_ABOVE_RAW, 0, &above,
               "10 bytes of input, the header says 11 and 11 are there");
    add_zeros_e(&second);
    add_raw_chunk(&second, 4, zeros, 4);
    bad_stream("header_above_raw_second", 32, 8, 4096 + 3, HEADER_ABOVE_RAW, 1, &second,
               "3 bytes of input in chunk 1, its header says 4, a whole symbol");
    add_raw_chunk(&full, CHUNK_BYTES + 1, zeros, CHUNK_BYTES + 1);
    bad_stream("header_above_raw_full", 64, 0, 4096, HEADER_ABOVE_RAW, 0, &full,
               "4097 bytes for a full chunk");
}

static void bad_lengths(void)
{
    static const uint8_t raw[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct bits s = {0};
    struct stream coded = {0}, stored = {0}, second = {0};

    put_zeros_e(&s);
    coded = one_chunk(&s);
    coded.payloads.count -= 8;
    bad_stream("payload_truncated_coded", 16, 8, 128, PAYLOAD_TRUNCATED, 0, &coded,
               "the last byte of a coded payload is missing");
    add_raw_chunk(&stored, 8, raw, 7);
    bad_stream("payload_truncated_raw", 16, 5, 8, PAYLOAD_TRUNCATED, 0, &stored,
               "the last byte of a raw payload is missing");
    add_zeros_e(&second);
    add_raw_chunk(&second, 8, raw, 0);
    bad_stream("payload_missing_second", 16, 8, 4096 + 8, PAYLOAD_TRUNCATED, 1, &second,
               "chunk 0 is complete, the payload of chunk 1 is missing");
}

static void bad_trailing(void)
{
    static const uint8_t raw[3] = {1, 2, 3};
    struct bits s = {0};
    struct stream coded, stored = {0}, empty = {0};

    put_zeros_e(&s);
    coded = one_chunk(&s);
    put_byte(&coded.payloads, 0);
    bad_stream("trailing_coded", 32, 8, 128, TRAILING_BYTES, -1, &coded,
               "a zero byte after a coded chunk");
    add_raw_chunk(&stored, 2, raw, 3);
    bad_stream("trailing_raw", 8, 5, 2, TRAILING_BYTES, -1, &stored, "a byte after a raw chunk");
    put_byte(&empty.payloads, 0);
    bad_stream("trailing_empty", 8, 0, 0, TRAILING_BYTES, -1, &empty,
               "an empty input has an empty stream, here is a byte");
}

/* Bad: the end of a chunk. */

/* Cuts payloads of mode E after every part: float16, 64 symbols, of which the first 9 are coded.
 * The last one is an escape. */
static void bad_overruns_e(void)
{
    static const struct {
        const char *name;
        size_t bytes;
        const char *reason;
    } cuts[] = {
        {"overrun_no_payload", 0, "a header of 0: there is not even a mode"},
        {"overrun_e_base", 1, "ends before the base"},
        {"overrun_e_map", 5, "ends within the map"},
        {"overrun_e_mask", 13, "ends within the mask"},
        {"overrun_e_records", 14 + 8, "9 records of a byte, 8 are there"},
        {"overrun_e_planes", 14 + 9 + 1, "3 planes of 9 bits, half of the first is there"},
        {"overrun_e_signs", 14 + 9 + 6 + 1, "a plane of 9 signs, a byte is there"},
        {"overrun_e_levels", 14 + 9 + 8 + 1, "the second level is missing"},
        {"overrun_e_escapes", 14 + 9 + 8 + 2, "the escape is missing"},
    };
    struct bits s = {0};

    begin_e(&s, Z | S, CODE_ESCAPES, 15);
    put_map(&s, 1);
    put_block_plane(&s, 16, 0, 9);
    put_bytes(&s, 9, 0);        /* mantissas */
    put_plane(&s, "111111110"); /* code bit 1: 100 for class 0, at last 0 for an escape */
    put_bytes(&s, 4, 0);        /* mantissas */
    put_plane(&s, "100000001"); /* signs */
    put_plane(&s, "00000000");  /* code bit 2 */
    put_plane(&s, "00000000");  /* code bit 3 */
    put_byte(&s, 31);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        struct bits cut = s;

        cut.count = 8 * cuts[k].bytes;
        bad(cuts[k].name, 16, 5, 128, CHUNK_OVERRUN, &cut, cuts[k].reason);
    }
}

/* The same for mode D: 4 blocks whose planes have 2 bytes, one of them exact. */
static void bad_overruns_d(void)
{
    static const struct {
        const char *name;
        size_t bytes;
        const char *reason;
    } cuts[] = {
        {"overrun_d_blocks", 4, "ends before the last block header"},
        {"overrun_d_base_symbol", 12, "ends within the base symbol"},
        {"overrun_d_planes", 13 + 1, "ends within the plane of block 0"},
        {"overrun_d_f", 13 + 2 + 5, "ends within the plane F of block 3"},
        {"overrun_d_levels", 13 + 8 + 4, "the last level is missing"},
        {"overrun_d_escapes", 13 + 8 + 5 + 1, "an escape of 16 bits, 8 are there"},
    };
    struct bits s = {0};

    begin(&s, D, 16);
    put_byte(&s, EXACT | 1);
    put_bytes(&s, 3, 0);
    bits_put(&s, 64, 1000);
    put_block_plane(&s, 64, 0, 1);
    put_block_plane(&s, 64, 0, 0);
    put_block_plane(&s, 64, 0, 0);
    put_block_plane(&s, 64, 3, 4);
    for (unsigned l = 1; l <= 5; l++)
        put_plane(&s, "1");
    bits_put(&s, 16, 6);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        struct bits cut = s;

        cut.count = 8 * cuts[k].bytes;
        bad(cuts[k].name, 64, 11, 4 * BLOCK_BYTES, CHUNK_OVERRUN, &cut, cuts[k].reason);
    }
}

/* The same for the parts that only mode C has: 10 constant bits of float32. */
static void bad_overruns_c(void)
{
    struct bits s = {0};

    put_byte(&s, C | Z << 2);
    put_byte(&s, 127);
    bad("overrun_c_count", 32, 8, 128, CHUNK_OVERRUN, &s, "ends before t");
    put_byte(&s, 10);
    put_byte(&s, 0x55);
    bad("overrun_c_constant", 32, 8, 128, CHUNK_OVERRUN, &s, "ends within the constant bits");
}

/* The bytes are there, but they belong to the payload of the next chunk. */
static void bad_overrun_into_next(void)
{
    struct bits s = {0}, next = {0};
    struct stream t = {0};

    begin_e(&s, 0, 0, 127);
    put_bytes(&s, 2047, 0); /* of 2048 records */
    add_chunk(&t, &s);
    begin_e(&next, Z, 0, 127);
    put_map(&next, 0);
    add_chunk(&t, &next);
    bad_stream("overrun_into_next", 16, 8, 4096 + 128, CHUNK_OVERRUN, 0, &t,
               "the last record of chunk 0 would be the first byte of chunk 1");
}

static void bad_leftovers(void)
{
    struct bits e = {0}, i = {0}, d = {0}, long_one = {0};

    put_zeros_e(&e);
    put_byte(&e, 0);
    bad("leftover_e", 16, 8, 128, CHUNK_LEFTOVER, &e, "the map is the end, a byte follows");
    put_zeros_i(&i);
    put_byte(&i, 0);
    bad("leftover_i", 8, 0, 128, CHUNK_LEFTOVER, &i, "block 0 has no planes, a byte follows");
    begin(&d, D, 1);
    put_byte(&d, 0);
    bits_put(&d, 32, 5);
    put_block_plane(&d, 32, 0, 0);
    put_byte(&d, 0);
    bad("leftover_d", 32, 8, 128, CHUNK_LEFTOVER, &d, "no code is longer than 1, a byte follows");
    begin_e(&long_one, 0, 0, 127);
    put_bytes(&long_one, 64 + 61, 0);
    bad("leftover_many", 16, 8, 128, CHUNK_LEFTOVER, &long_one, "61 bytes after 64 records");
}

/* Bad: modes. */

static void bad_modes(void)
{
    struct stream t = {0};
    struct bits first = {0}, second = {0};
    char name[32];

    for (unsigned w = 8; w <= 64; w *= 2) {
        struct bits e = {0}, c = {0};

        put_zeros_e(&e);
        snprintf(name, sizeof name, "mode_e_for_integers_w%u", w);
        bad(name, w, 0, 128, MODE_WITHOUT_EXPONENT, &e, "mode E, and e = 0");
        put_byte(&c, C);
        put_bytes(&c, 20, 1);
        snprintf(name, sizeof name, "mode_c_for_integers_w%u", w);
        bad(name, w, 0, 128, MODE_WITHOUT_EXPONENT, &c, "mode C, and e = 0");
    }
    put_zeros_i(&first);
    add_chunk(&t, &first);
    put_byte(&second, C);
    add_chunk(&t, &second);
    bad_stream("mode_c_second_chunk", 16, 0, 4096 + 2, MODE_WITHOUT_EXPONENT, 1, &t,
               "mode C in chunk 1, and e = 0");
}

/* Bad: mode E. */

static void bad_base(const char *name, unsigned w, unsigned e, unsigned base)
{
    struct bits s = {0};

    put_byte(&s, E | Z << 2);
    bits_put(&s, e > 8 ? 16 : 8, base);
    put_map(&s, 0);
    bad(name, w, e, 128, BASE, &s, "zeros only, and a base that is no exponent");
}

static void bad_bases(void)
{
    bad_base("base_e4", 8, 4, 16);
    bad_base("base_e4_large", 8, 4, 255);
    bad_base("base_e5", 8, 5, 32);
    bad_base("base_e5_w16", 16, 5, 32);
    bad_base("base_e11", 64, 11, 2048);
    bad_base("base_e11_large", 64, 11, 0x8000);
}

/* t constant bits in all coded symbols, of which there are none. */
static void bad_constant(const char *name, unsigned w, unsigned e, unsigned constant_bits)
{
    struct bits s = {0};

    put_byte(&s, C | Z << 2);
    bits_put(&s, e > 8 ? 16 : 8, 1);
    put_byte(&s, constant_bits);
    put_bytes(&s, (constant_bits + 7) / 8, 0);
    put_map(&s, 0);
    bad(name, w, e, 128, CONSTANT_BITS, &s, "no such number of constant bits");
}

static void bad_constants(void)
{
    bad_constant("constant_none", 16, 8, 0);
    bad_constant("constant_bits_e4", 8, 4, 4);
    bad_constant("constant_bits_e5", 8, 5, 3);
    bad_constant("constant_bits_float16", 16, 5, 11);
    bad_constant("constant_bits_bfloat16", 16, 8, 8);
    bad_constant("constant_bits_float32", 32, 8, 24);
    bad_constant("constant_bits_float64", 64, 11, 53);
    bad_constant("constant_bits_255", 64, 11, 255);
}

static void bad_map(const char *name, unsigned w, unsigned e, size_t raw_bytes, uint32_t blocks,
                    const char *reason)
{
    struct bits s = {0};

    put_byte(&s, E | Z << 2);
    bits_put(&s, e > 8 ? 16 : 8, 1);
    put_map(&s, blocks);
    bad(name, w, e, raw_bytes, MAP, &s, reason);
}

static void bad_maps(void)
{
    bad_map("map_second_of_one", 16, 8, 128, 2, "one block, map bit 1 is set");
    bad_map("map_last_bit", 64, 11, 31 * 128, UINT32_C(1) << 31, "31 blocks, map bit 31 is set");
    bad_map("map_after_short_block", 32, 8, 2 * 128 + 4, 8, "3 blocks, map bit 3 is set");
    bad_map("map_all", 8, 4, 10, 0xFFFFFFFE, "all map bits but that of the only block");
}

static void bad_masks(void)
{
    struct bits first = {0}, second = {0}, past = {0}, far = {0};

    begin_e(&first, Z, 0, 127);
    put_map(&first, 1);
    put_block_plane(&first, 16, 0, 0);
    bad("empty_mask", 16, 8, 128, EMPTY_MASK, &first, "block 0 has a mask, which is zero");
    begin_e(&second, Z, 0, 7);
    put_map(&second, 0xA);
    put_block_plane(&second, 8, 127, 128);
    put_block_plane(&second, 8, 0, 0);
    put_plane(&second, "0"); /* code bit 1 */
    put_bytes(&second, 3, 0);
    bad("empty_mask_last", 8, 4, 4 * 128, EMPTY_MASK, &second, "the mask of block 3 is zero");
    begin_e(&past, Z, 0, 127);
    put_map(&past, 1);
    put_block_plane(&past, 32, 8, 10);
    put_bytes(&past, 2 * 3, 0);
    bad("mask_past_end", 32, 8, 9 * 4, MASK, &past, "9 symbols, the mask has symbols 8 and 9");
    begin_e(&far, Z, 0, 127);
    put_map(&far, 2);
    put_block_plane(&far, 16, 0, 64);
    put_bytes(&far, 64, 0);
    bad("mask_full_in_short_block", 16, 8, 128 + 2 * 63, MASK, &far,
        "63 symbols in block 1, the mask has 64");
}

/* The same in modes I and D. */
static void bad_packed_masks(void)
{
    struct bits map = {0}, empty = {0}, past = {0}, cut = {0};

    put_byte(&map, D | PACKED | U);
    put_map(&map, 4);
    bad("packed_map", 32, 8, 2 * 128, MAP, &map, "mode D, two blocks, map bit 2 is set");
    put_byte(&empty, I | PACKED | U);
    put_map(&empty, 1);
    put_block_plane(&empty, 8, 0, 0);
    put_byte(&empty, EXACT);
    bad("packed_empty_mask", 8, 0, 128, EMPTY_MASK, &empty, "mode I, the mask of block 0 is zero");
    put_byte(&past, D | PACKED | U);
    put_map(&past, 1);
    put_block_plane(&past, 16, 9, 11);
    put_byte(&past, EXACT);
    bits_put(&past, 16, 7);
    bad("packed_mask", 16, 8, 2 * 10, MASK, &past, "mode D, 10 symbols, the mask has symbol 10");
    put_byte(&cut, I | PACKED);
    put_bytes(&cut, 3, 0);
    bad("packed_map_cut", 64, 0, 128, CHUNK_OVERRUN, &cut, "mode I, ends within the map");
}

/* No symbol is coded: the header for all blocks, which are none, is there and valid, and so is the
 * base symbol. */
static void bad_packed_nothing(void)
{
    struct bits header = {0}, bits = {0}, base = {0};

    put_byte(&header, I | PACKED | U);
    put_map(&header, 0);
    bad("packed_header_cut", 16, 8, 128, CHUNK_OVERRUN, &header, "ends before the header");
    put_byte(&bits, I | PACKED | U);
    put_map(&bits, 0);
    put_byte(&bits, 16);
    bad("packed_header", 16, 8, 128, BLOCK_BITS_NOT_EXACT, &bits, "w bits and a quotient");
    put_byte(&base, D | PACKED);
    put_map(&base, 0);
    put_byte(&base, 0);
    bad("packed_base_symbol_cut", 16, 8, 128, CHUNK_OVERRUN, &base, "half of the base symbol");
}

/* 65 of 128 symbols are coded, so that the second of their blocks has one. */
static void bad_packed_block(void)
{
    struct bits s = {0};

    put_byte(&s, D | PACKED | U);
    put_map(&s, 3);
    put_block_plane(&s, 16, 0, 64);
    put_block_plane(&s, 16, 0, 1);
    put_byte(&s, EXACT | 1);
    bits_put(&s, 16, 0x3F80);
    put_block_plane(&s, 16, 3, 4);
    put_block_plane(&s, 16, 1, 2);
    bad("packed_block_padding", 16, 8, 2 * 128, BLOCK_PADDING, &s,
        "65 symbols are coded, bit 1 of the second block is 1");
}

/* Class `k` (codeword of code 0: 10 for class 1, 110 for class 2) with a base below it. */
static void bad_classes(void)
{
    struct bits one = {0}, two = {0}, wide = {0};

    begin_e(&one, 0, 0, 0);
    put_bytes(&one, 63, 0);
    put_byte(&one, 0x80); /* code bit 1 of symbol 63 */
    put_plane(&one, "0");
    bad("class_1_base_0", 16, 8, 128, CLASS_BELOW_ZERO, &one, "the last symbol has class 1");
    begin_e(&two, 0, 0, 1);
    put_plane(&two, "1"); /* code bit 1, then 3 planes of mantissa */
    put_bytes(&two, 15 + 3 * 16, 0);
    put_plane(&two, "1");
    put_plane(&two, "0");
    bad("class_2_base_1", 8, 4, 128, CLASS_BELOW_ZERO, &two, "the first symbol has class 2");
    put_byte(&wide, E | 1 << 4); /* code 1: 0 is class 1 */
    bits_put(&wide, 16, 0);
    put_bytes(&wide, 16 * 6 + 5 * 2, 0);
    bad("class_1_base_0_w64", 64, 11, 128, CLASS_BELOW_ZERO, &wide, "all symbols have class 1");
}

/* The only coded symbol, one of two blocks, is an escape: code bit 1 is 0. */
static void bad_escape(const char *name, unsigned w, unsigned e, unsigned exponent)
{
    struct bits s = {0};
    unsigned m = w - 1 - e;

    put_byte(&s, E | Z << 2 | CODE_ESCAPES << 4);
    bits_put(&s, e > 8 ? 16 : 8, 3);
    put_map(&s, 1);
    put_block_plane(&s, w, 4, 5);
    put_bytes(&s, (m + 1) / 8 + (m + 1) % 8, 0);
    bits_put(&s, e > 8 ? 16 : 8, exponent);
    bad(name, w, e, 2 * 128, ESCAPED_EXPONENT, &s, "an escape that is no exponent");
}

static void bad_escapes(void)
{
    bad_escape("escape_e4", 8, 4, 16);
    bad_escape("escape_e4_large", 8, 4, 255);
    bad_escape("escape_e5", 8, 5, 32);
    bad_escape("escape_e5_w16", 16, 5, 64);
    bad_escape("escape_e11", 64, 11, 2048);
    bad_escape("escape_e11_large", 64, 11, 0xFFFF);
}

/* Bad: modes I and D. */

static void bad_widths(unsigned w)
{
    struct bits width = {0}, above = {0}, inexact = {0}, last = {0};
    char name[48];

    if (w < 16) {
        begin(&width, I, w + 1);
        put_byte(&width, EXACT);
        snprintf(name, sizeof name, "escape_width_w%u", w);
        bad(name, w, 0, 128, ESCAPE_WIDTH, &width, "escapes of w + 1 bits, and no escape");
    }
    begin(&above, I, 1);
    put_byte(&above, EXACT);
    put_byte(&above, EXACT | (w + 1));
    for (unsigned p = 0; p <= w; p++)
        put_block_plane(&above, w, 0, 0);
    snprintf(name, sizeof name, "block_bits_w%u", w);
    bad(name, w, 0, 2 * 128, BLOCK_BITS, &above, "block 1 has w + 1 bits");
    begin(&inexact, D, 1);
    put_byte(&inexact, EXACT);
    put_byte(&inexact, w);
    bits_put(&inexact, w, 1);
    for (unsigned p = 0; p <= w; p++)
        put_block_plane(&inexact, w, 0, 0);
    snprintf(name, sizeof name, "block_bits_not_exact_w%u", w);
    bad(name, w, 0, 2 * 128, BLOCK_BITS_NOT_EXACT, &inexact, "block 1 has w bits and a quotient");
    begin(&last, I, 1);
    put_byte(&last, 127);
    snprintf(name, sizeof name, "block_bits_127_w%u", w);
    bad(name, w, 0, 128, BLOCK_BITS, &last, "block 0 has 127 bits");
}

static void bad_block_paddings(void)
{
    struct bits plane = {0}, exact = {0}, f = {0}, second = {0};

    begin(&plane, I, 1);
    put_byte(&plane, 1);
    put_block_plane(&plane, 8, 100, 101);
    put_block_plane(&plane, 8, 0, 0);
    bad("block_padding_plane", 8, 0, 100, BLOCK_PADDING, &plane, "100 symbols, bit 100 is 1");
    begin(&exact, D, 1);
    put_byte(&exact, EXACT | 2);
    bits_put(&exact, 16, 9);
    put_block_plane(&exact, 16, 0, 0);
    put_block_plane(&exact, 16, 62, 64);
    bad("block_padding_exact", 16, 8, 2 * 63, BLOCK_PADDING, &exact, "63 symbols, bit 63 is 1");
    begin(&f, I, 1);
    put_byte(&f, 0);
    put_block_plane(&f, 32, 31, 32);
    bad("block_padding_f", 32, 0, 4 * 31, BLOCK_PADDING, &f,
        "31 symbols, bit 31 of F is 1; no level has a bit of it");
    begin(&second, D, 1);
    put_byte(&second, EXACT);
    put_byte(&second, EXACT | 1);
    bits_put(&second, 64, 7);
    put_block_plane(&second, 64, 1, 2);
    bad("block_padding_second", 64, 11, 128 + 8, BLOCK_PADDING, &second,
        "one symbol in block 1, bit 1 is 1");
}

/* k bits, symbol 2 is an escape of the quotient. */
static void bad_quotient(const char *name, unsigned w, unsigned e, unsigned mode, unsigned k,
                         unsigned width, uint64_t quotient)
{
    struct bits s = {0};

    begin(&s, mode, width);
    put_byte(&s, k);
    if (mode == D)
        bits_put(&s, w, 1);
    for (unsigned p = 0; p < k; p++)
        put_block_plane(&s, w, 0, 0);
    put_block_plane(&s, w, 2, 3);
    for (unsigned l = 1; l <= 5; l++)
        put_plane(&s, "1");
    bits_put(&s, width, quotient);
    bits_align(&s);
    bad(name, w, e, 128, QUOTIENT, &s, "a quotient that leads to 2^w or above");
}

static void bad_quotients(void)
{
    bad_quotient("quotient_w8", 8, 0, I, 3, 6, 32);
    bad_quotient("quotient_w8_top", 8, 4, D, 5, 8, 8);
    bad_quotient("quotient_w16", 16, 8, D, 8, 9, 256);
    bad_quotient("quotient_w32", 32, 0, I, 17, 16, UINT64_C(1) << 15);
    bad_quotient("quotient_w64", 64, 0, I, 50, 16, UINT64_C(1) << 14);
    bad_quotient("quotient_w64_all", 64, 11, D, 49, 16, UINT16_MAX);
}

/* Quotients that need no escape: q = 2 and k = w - 1 lead to 2^w as well. */
static void bad_small_quotient(void)
{
    struct bits s = {0};

    begin(&s, I, 1);
    put_byte(&s, EXACT);
    put_byte(&s, 7);
    for (unsigned p = 0; p < 7; p++)
        put_block_plane(&s, 8, 0, 0);
    put_block_plane(&s, 8, 0, 1);
    put_plane(&s, "1");
    put_plane(&s, "0");
    bad("quotient_without_escape", 8, 0, 2 * 128, QUOTIENT, &s,
        "quotient 2 with 7 bits leads to 256");
}

/* Bad: bits that fill up planes. */

static void bad_plane_paddings(void)
{
    struct bits first = {0}, last = {0}, sign = {0}, escape = {0}, constant = {0};

    begin_e(&first, 0, 0, 15);
    put_bytes(&first, 13, 0);
    put_plane(&first, "0000000000000 1");
    put_bytes(&first, 2 * 2, 0);
    bad("plane_padding_first", 16, 5, 2 * 13, PLANE_PADDING, &first,
        "13 symbols, bit 13 of the first of three planes is 1");
    begin_e(&last, 0, 0, 15);
    put_bytes(&last, 13 + 2 * 2, 0);
    put_plane(&last, "0000000000000 001");
    bad("plane_padding_last", 16, 5, 2 * 13, PLANE_PADDING, &last,
        "13 symbols, bit 15 of the last of three planes is 1");
    begin_e(&sign, S, 0, 127);
    put_bytes(&sign, 9, 0);
    put_plane(&sign, "000000000 01");
    bad("plane_padding_sign", 16, 8, 2 * 9, PLANE_PADDING, &sign, "9 signs, bit 10 is 1");
    begin(&escape, I, 5);
    put_byte(&escape, 0);
    put_block_plane(&escape, 8, 0, 1);
    for (unsigned l = 1; l <= 5; l++)
        put_plane(&escape, "1");
    put_plane(&escape, "11111 001");
    bad("plane_padding_escapes", 8, 0, 128, PLANE_PADDING, &escape,
        "one escape of 5 bits, bit 7 of the plane is 1");
    put_byte(&constant, C | Z << 2);
    put_byte(&constant, 127);
    put_byte(&constant, 3);
    put_plane(&constant, "101 00001");
    put_map(&constant, 0);
    bad("plane_padding_constant", 16, 8, 128, PLANE_PADDING, &constant,
        "3 constant bits, bit 7 of their plane is 1");
}

/* Each level in turn has a bit too many.  Mode E: class 3 of code 0, 111000. */
static void bad_level_paddings(void)
{
    char name[32];

    for (unsigned bad_level = 1; bad_level <= 5; bad_level++) {
        struct bits e = {0}, d = {0};

        begin_e(&e, 0, 0, 127);
        put_bytes(&e, 15, 0);
        put_byte(&e, 0x80);
        for (unsigned l = 1; l <= 5; l++)
            put_plane(&e, l == bad_level ? (l < 3 ? "1 1" : "0 1") : (l < 3 ? "1" : "0"));
        snprintf(name, sizeof name, "level_padding_e_%u", bad_level);
        bad(name, 16, 8, 32, PLANE_PADDING, &e, "a level of one value, bit 1 is 1");
        begin(&d, D, 3);
        put_byte(&d, 0);
        bits_put(&d, 32, 0);
        put_block_plane(&d, 32, 5, 6);
        for (unsigned l = 1; l <= 5; l++)
            put_plane(&d, l == bad_level ? "1 0000001" : "1");
        put_plane(&d, "011"); /* 6 */
        snprintf(name, sizeof name, "level_padding_d_%u", bad_level);
        bad(name, 32, 8, 128, PLANE_PADDING, &d, "a level of one value, bit 7 is 1");
    }
}

/* Bad: bytes that fill up the last symbol. */

static void bad_symbol_paddings(void)
{
    struct bits e = {0}, i = {0}, d = {0}, z = {0};

    begin_e(&e, 0, 0, 127);
    put_bytes(&e, 20, 0);
    bad("symbol_padding_e", 16, 8, 39, SYMBOL_PADDING, &e, "39 bytes, byte 39 would be 0x3f");
    begin(&i, I, 1);
    put_byte(&i, EXACT | 57);
    for (unsigned p = 0; p < 57; p++)
        put_block_plane(&i, 64, 15, 15 + p / 56); /* bit 56 of the last symbol */
    bad("symbol_padding_i", 64, 0, 127, SYMBOL_PADDING, &i, "127 bytes, byte 127 would be 1");
    begin(&d, D, 1);
    put_byte(&d, EXACT);
    bits_put(&d, 32, 0x01020304);
    bad("symbol_padding_d", 32, 8, 41, SYMBOL_PADDING, &d,
        "41 bytes, equal symbols of which the last is cut off after 0x04");
    put_byte(&z, E | Z << 2);
    bits_put(&z, 16, 1);
    put_map(&z, 2);
    put_block_plane(&z, 64, 0, 1);
    put_bytes(&z, 6 + 5, 0);
    bad("symbol_padding_z", 64, 11, 128 + 1, SYMBOL_PADDING, &z,
        "129 bytes, symbol 16 has the exponent 1");
}

/* A fault in a chunk after others, and another one behind it, which is not reached. */
static void bad_second_chunk(void)
{
    struct bits s = {0};
    struct stream t = {0};

    add_zeros_e(&t);
    begin_e(&s, Z, 0, 0);
    put_map(&s, UINT32_C(1) << 31);
    put_block_plane(&s, 32, 0, 0);
    add_chunk(&t, &s);
    add_zeros_e(&t);
    bad_stream("empty_mask_second_chunk", 32, 8, 2 * 4096 + 128, EMPTY_MASK, 1, &t,
               "the mask of the last block of chunk 1 is zero");
}

static void all_bad(void)
{
    bad_headers();
    bad_header_values();
    bad_lengths();
    bad_trailing();
    bad_overruns_e();
    bad_overruns_d();
    bad_overruns_c();
    bad_overrun_into_next();
    bad_leftovers();
    bad_modes();
    bad_bases();
    bad_constants();
    bad_maps();
    bad_masks();
    bad_packed_masks();
    bad_packed_nothing();
    bad_packed_block();
    bad_classes();
    bad_escapes();
    for (unsigned w = 8; w <= 64; w *= 2)
        bad_widths(w);
    bad_block_paddings();
    bad_quotients();
    bad_small_quotient();
    bad_plane_paddings();
    bad_level_paddings();
    bad_symbol_paddings();
    bad_second_chunk();
}

/* Accepted: mode E.  Symbols are bfloat16 if nothing else is said: m = 7, records of one byte. */

static const char *const code_lengths[] = {
    "12366666666", "21366666666", "22235666666", "32233556666", "33366666651", "33555443235",
    "33566665441", "34543323555", "41245666666", "42224556666", "43223446666", "43322446666",
    "44442234566", "52224456666", "54322345566", "63223355666",
};

/* The codeword of a value of code j, aligned to the left in 6 bits: the share of all codewords that
 * come before it. */
static unsigned codeword(unsigned j, unsigned value)
{
    const char *length = code_lengths[j];
    unsigned sum = 0;

    for (unsigned other = 0; other < 11; other++)
        if (length[other] < length[value] || (length[other] == length[value] && other < value))
            sum += 64u >> (length[other] - '0');
    return sum;
}

/* Every class and the escape three times, with base 100 and escapes on both sides. */
static void accept_code(unsigned j)
{
    static const unsigned escaped[] = {0, 90, 255};
    struct tensor x = {16, 8, 2 * 33, {0}};
    struct bits s = {0};
    char name[32];

    begin_e(&s, 0, j, 100);
    for (unsigned i = 0; i < 33; i++) {
        unsigned value = i % 11, exponent = value < 10 ? 100 - value : escaped[i / 11];

        set_symbol(&x, i, exponent << 7 | i);
        put_byte(&s, i | codeword(j, value) >> 5 << 7);
    }
    for (unsigned l = 1; l <= 5; l++) {
        for (unsigned i = 0; i < 33; i++)
            if (code_lengths[j][i % 11] > (char)('0' + l))
                bits_put(&s, 1, codeword(j, i % 11) >> (5 - l));
        bits_align(&s);
    }
    for (unsigned k = 0; k < 3; k++)
        put_byte(&s, escaped[k]);
    snprintf(name, sizeof name, "code_%u", j);
    accept(name, &x, &s, "every value of this code");
}

/* 24 times the same exponent, in code 0. */
static void accept_base(const char *name, unsigned base, unsigned exponent, const char *reason)
{
    struct tensor x = {16, 8, 2 * 24, {0}};
    struct bits s = {0};
    unsigned value = base - exponent;

    set_symbols(&x, 0, 24, exponent << 7);
    begin_e(&s, 0, 0, base);
    put_bytes(&s, 24, codeword(0, value) >> 5 << 7);
    for (unsigned l = 1; code_lengths[0][value] > (char)('0' + l); l++)
        put_bytes(&s, 3, codeword(0, value) >> (5 - l) & 1 ? 0xFF : 0);
    accept(name, &x, &s, reason);
}

static void accept_bases(void)
{
    accept_base("base_is_exponent", 127, 127, "equal floats in mode E, though mode D is smaller");
    accept_base("base_above", 130, 127, "class 3 throughout");
    accept_base("base_0", 0, 0, "zeros as class 0 of base 0, Z = 0");
    accept_base("class_9_base_9", 9, 0, "zeros as class 9 of base 9, Z = 0");
    accept_base("base_255", 255, 246, "class 9 of the largest base");
}

/* All symbols of the first of two blocks are coded, the second is zero. */
static void accept_escape(const char *name, unsigned base, unsigned exponent, const char *reason)
{
    struct tensor x = {16, 8, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, 64, exponent << 7 | 1);
    begin_e(&s, Z, CODE_ESCAPES, base);
    put_map(&s, 1);
    put_block_plane(&s, 16, 0, 64);
    put_bytes(&s, 64, 1);
    put_bytes(&s, 64, exponent);
    accept(name, &x, &s, reason);
}

static void accept_escapes(void)
{
    accept_escape("escape_in_window", 127, 127, "escapes of the exponent that class 0 means");
    accept_escape("escape_below", 127, 3, "escapes below the window");
    accept_escape("escape_above", 0, 255, "escapes above the base");
    accept_escape("escape_of_0", 127, 0, "escapes of the exponent 0");
}

/* 40 floats whose mantissas end alike, in mode C with all m bits and with one, and in mode E. */
static void accept_constant(const char *name, unsigned mode, unsigned constant_bits,
                            const char *reason)
{
    struct tensor x = {16, 8, 2 * 40, {0}};
    struct bits s = {0};

    for (unsigned i = 0; i < 40; i++)
        set_symbol(&x, i, (i % 3 == 0 ? 0x3F00 : 0x3F80) | 0x55);
    put_byte(&s, mode);
    put_byte(&s, 127);
    if (mode == C) {
        put_byte(&s, constant_bits);
        put_byte(&s, 0x55 & ((1u << constant_bits) - 1));
    }
    for (unsigned i = 0; constant_bits == 0 && i < 40; i++)
        put_byte(&s, 0x55 | (i % 3 == 0 ? 0x80 : 0));
    for (unsigned i = 0; constant_bits > 0 && i < 40; i++)
        bits_put_one(&s, i % 3 == 0);
    for (unsigned bit = 7; constant_bits > 0 && bit-- > constant_bits;)
        put_bytes(&s, 5, 0x55 >> bit & 1 ? 0xFF : 0);
    for (unsigned i = 0; i < 40; i++) /* code 0: 0 for class 0, 10 for class 1 */
        if (i % 3 == 0)
            bits_put_one(&s, 0);
    bits_align(&s);
    accept(name, &x, &s, reason);
}

static void accept_constants(void)
{
    accept_constant("constant_7", C, 7, "7 constant bits; canonical");
    accept_constant("constant_2", C, 2, "7 constant bits, of which 2 are taken");
    accept_constant("constant_0", E, 0, "7 constant bits, in mode E");
}

static void accept_masks(void)
{
    struct tensor x = {16, 8, 2 * BLOCK_BYTES, {0}}, zeros = x;
    struct bits full = {0}, coded_zero = {0}, all = {0};

    set_symbols(&x, 0, 128, 0x3F80);
    begin_e(&full, Z, 0, 127);
    put_map(&full, 3);
    put_block_plane(&full, 16, 0, 64);
    put_block_plane(&full, 16, 0, 64);
    put_bytes(&full, 128, 0);
    accept("masks_full", &x, &full, "Z = 1, and no symbol is zero");
    begin_e(&coded_zero, Z, 0, 0);
    put_map(&coded_zero, 2);
    put_block_plane(&coded_zero, 16, 63, 64);
    put_byte(&coded_zero, 0);
    accept("coded_zero", &zeros, &coded_zero, "the last symbol is coded, and zero");
    put_zeros_e(&all);
    accept("zeros", &zeros, &all, "two blocks of zeros; canonical");
}

static void accept_signs(void)
{
    struct tensor x = {16, 8, 2 * 24, {0}}, minus = x;
    struct bits s = {0}, n = {0};

    set_symbols(&x, 0, 24, 0x3F80);
    begin_e(&s, S, 0, 127);
    put_bytes(&s, 24 + 3, 0);
    accept("signs_none", &x, &s, "S = 1, and no symbol is negative");
    set_symbols(&minus, 0, 24, 0x8000);
    begin_e(&n, S, 0, 0);
    put_bytes(&n, 24, 0);
    put_bytes(&n, 3, 0xFF);
    accept("minus_zeros", &minus, &n, "24 times -0, which is no zero symbol");
}

/* Mode E at every pair with exponents: zeros but for one symbol, the last one, of exponent 2^e - 1
 * and mantissa 2^m - 2, negative. */
static void accept_last_symbol(unsigned w, unsigned e)
{
    unsigned N = symbols_per_block(w), m = w - 1 - e;
    struct tensor x = {w, e, 3 * BLOCK_BYTES, {0}};
    struct bits s = {0};
    char name[32];

    set_symbol(&x, 3 * (size_t)N - 1, (w == 64 ? 0 : UINT64_C(1) << w) - 2);
    put_byte(&s, E | (Z | S) << 2);
    bits_put(&s, e > 8 ? 16 : 8, (1u << e) - 1);
    put_map(&s, 4);
    put_block_plane(&s, w, N - 1, N);
    bits_put(&s, (m + 1) / 8 * 8, (UINT64_C(1) << m) - 2);
    for (unsigned bit = m + 1; bit-- > (m + 1) / 8 * 8;)
        put_byte(&s, bit > 0 && bit < m);
    put_byte(&s, 1);
    snprintf(name, sizeof name, "last_symbol_w%u_e%u", w, e);
    accept(name, &x, &s,
           w == 8 ? "one symbol, bit 0 alone of it is 0; canonical"
                  : "one symbol, bit 0 alone of it is 0, though mode D costs less");
}

/* Accepted: modes I and D. */

/* A block of zeros with k bits more than it needs, and an exact one. */
static void accept_wide_block(unsigned w)
{
    struct tensor x = {w, 0, 2 * BLOCK_BYTES, {0}};
    struct bits exact = {0}, inexact = {0}, width = {0};
    char name[32];

    begin(&exact, I, 1);
    put_byte(&exact, EXACT | w);
    put_byte(&exact, EXACT);
    put_bytes(&exact, BLOCK_BYTES, 0);
    snprintf(name, sizeof name, "block_exact_w%u", w);
    accept(name, &x, &exact, "zeros in w planes");
    begin(&inexact, I, 1);
    put_byte(&inexact, EXACT);
    put_byte(&inexact, w - 1);
    put_bytes(&inexact, BLOCK_BYTES, 0);
    snprintf(name, sizeof name, "block_not_exact_w%u", w);
    accept(name, &x, &inexact, "zeros in w - 1 planes and a quotient");
    begin(&width, I, w < 16 ? w : 16);
    put_byte(&width, EXACT);
    put_byte(&width, EXACT);
    snprintf(name, sizeof name, "escape_width_w%u", w);
    accept(name, &x, &width, "the widest escapes, of which there are none");
}

/* z = 0, 2^w - 1, 2^w - 1, 0 ...: from 0 to the lowest integer and back. */
static void accept_differences(unsigned w)
{
    struct tensor x = {w, 0, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};
    char name[32];

    x.content[2 * (w / 8) - 1] = 0x80;
    begin(&s, D, 1);
    put_byte(&s, EXACT | w);
    put_byte(&s, EXACT);
    bits_put(&s, w, 0);
    for (unsigned p = 0; p < w; p++)
        put_block_plane(&s, w, 1, 3);
    snprintf(name, sizeof name, "difference_extremes_w%u", w);
    accept(name, &x, &s, "0, 2^(w-1), 0: the difference is 2^(w-1) both times");
}

/* The same in the order of floating-point numbers: from +0 to the NaN of all ones, which is lowest.
 */
static void accept_float_differences(unsigned w, unsigned e)
{
    struct tensor x = {w, e, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};
    char name[40];

    set_symbol(&x, 1, UINT64_MAX);
    begin(&s, D, 1);
    put_byte(&s, EXACT | w);
    put_byte(&s, EXACT);
    bits_put(&s, w, 0);
    for (unsigned p = 0; p < w; p++)
        put_block_plane(&s, w, 1, 3);
    snprintf(name, sizeof name, "difference_extremes_w%u_e%u", w, e);
    accept(name, &x, &s, "+0, the lowest NaN, +0: the difference is 2^(w-1) both times");
}

static void accept_base_symbol(unsigned w)
{
    struct tensor x = {w, 0, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};
    char name[32];

    begin(&s, D, 1);
    put_byte(&s, EXACT | 2);
    put_byte(&s, EXACT);
    bits_put(&s, w, UINT64_MAX);
    put_block_plane(&s, w, 0, 0);
    put_block_plane(&s, w, 0, 1);
    snprintf(name, sizeof name, "base_symbol_w%u", w);
    accept(name, &x, &s, "zeros; the base symbol is -1, and z_0 is 2");
}

/* Symbol 2 is `quotient`, escaped with w bits or 16. */
static void accept_quotient(const char *name, unsigned w, uint64_t quotient, const char *reason)
{
    struct tensor x = {w, 0, BLOCK_BYTES, {0}};
    struct bits s = {0};
    unsigned width = w < 16 ? w : 16;

    set_symbol(&x, 2, quotient);
    begin(&s, I, width);
    s.bytes[0] |= U;
    put_byte(&s, 0);
    put_block_plane(&s, w, 2, 3);
    for (unsigned l = 1; l <= 5; l++)
        put_plane(&s, "1");
    bits_put(&s, width, quotient);
    accept(name, &x, &s, reason);
}

static void accept_quotients(void)
{
    accept_quotient("quotient_0", 16, 0, "an escape of the quotient 0");
    accept_quotient("quotient_5", 32, 5, "an escape of the quotient 5");
    accept_quotient("quotient_largest_w8", 8, 0xFF, "an escape of 8 bits");
    accept_quotient("quotient_largest_w64", 64, UINT16_MAX, "an escape of 16 bits");
}

/* One header for three blocks, one for each of them, and one for a single block. */
static void accept_headers(void)
{
    struct tensor x = {16, 0, 2 * BLOCK_BYTES + 10, {0}}, one = {16, 0, 10, {0}};
    struct bits u = {0}, each = {0}, single = {0};

    put_byte(&u, I | U);
    put_byte(&u, EXACT);
    accept("header_for_all", &x, &u, "U = 1; canonical");
    put_byte(&each, I);
    put_bytes(&each, 3, EXACT);
    accept("headers_equal", &x, &each, "U = 0, and all block headers are equal");
    put_byte(&single, I);
    put_byte(&single, EXACT);
    accept("header_of_one", &one, &single, "U = 0, and there is one block");
}

/* Symbols first..first+count-1 of a block of 64 are coded, all of them 0x3F80. */
static void accept_packed(const char *name, unsigned mode, unsigned first, unsigned count,
                          const char *reason)
{
    struct tensor x = {16, mode == I ? 0 : 8, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, first, count, 0x3F80);
    put_byte(&s, mode | PACKED | U);
    put_map(&s, count > 0 ? 1 : 0);
    if (count > 0)
        put_block_plane(&s, 16, first, first + count);
    put_byte(&s, EXACT | (mode == I ? 14 : 0));
    if (mode == D)
        bits_put(&s, 16, 0x3F80);
    for (unsigned p = 0; mode == I && count > 0 && p < 14; p++)
        put_block_plane(&s, 16, 0, p < 7 ? 0 : count);
    accept(name, &x, &s, reason);
}

/* Z = 1 in modes I and D. */
static void accept_all_packed(void)
{
    struct tensor zeros = {32, 8, BLOCK_BYTES, {0}};
    struct bits none = {0}, coded_zero = {0};

    accept_packed("packed_d", D, 3, 40, "40 equal floats between zeros; canonical");
    accept_packed("packed_i", I, 20, 44, "mode I with Z = 1");
    accept_packed("packed_d_nothing", D, 0, 0, "mode D with Z = 1, and all is zero");
    accept_packed("packed_i_nothing", I, 0, 0, "mode I with Z = 1, and all is zero");
    put_byte(&none, I | PACKED);
    put_map(&none, 0);
    accept("packed_no_header", &zeros, &none, "no block is coded, and no header is there");
    put_byte(&coded_zero, I | PACKED);
    put_map(&coded_zero, 1);
    put_block_plane(&coded_zero, 32, 5, 9);
    put_byte(&coded_zero, EXACT);
    accept("packed_coded_zero", &zeros, &coded_zero, "four symbols are coded, and zero");
}

/* Quotients 0 .. 5 without an escape, in a block that is short. */
static void accept_small_quotients(void)
{
    struct tensor x = {8, 0, 100, {0}};
    struct bits s = {0};

    for (unsigned i = 0; i < 100; i++)
        set_symbol(&x, i, i % 6);
    begin(&s, I, 1);
    put_byte(&s, 0);
    for (unsigned i = 0; i < 128; i++)
        bits_put(&s, 1, i < 100 && i % 6 > 0);
    for (unsigned l = 1; l <= 5; l++) {
        for (unsigned i = 0; i < 100; i++)
            if (i % 6 >= l)
                bits_put(&s, 1, i % 6 > l);
        bits_align(&s);
    }
    accept("quotients_all", &x, &s, "0 to 5 in turn, with k = 0");
}

static void accept_integers_for_floats(void)
{
    struct tensor x = {32, 8, BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, 32, 1);
    begin(&s, I, 1);
    put_byte(&s, EXACT | 1);
    put_block_plane(&s, 32, 0, 32);
    accept("mode_i_for_floats", &x, &s, "32 times the least float, mode I");
}

/* Accepted: chunks. */

static void accept_chunks(void)
{
    struct tensor zeros = {16, 8, BLOCK_BYTES, {0}}, three = {8, 0, 3, {0}}, none = {8, 4, 0, {0}};
    struct stream stored = {0}, empty = {0};
    struct bits s = {0};

    add_raw_chunk(&stored, BLOCK_BYTES, zeros.content, BLOCK_BYTES);
    accept_stream("raw_chunk_of_zeros", &zeros, &stored, "raw though coding would shrink it");
    put_zeros_i(&s);
    accept("three_bytes_in_two", &three, &s, "3 bytes of input in a payload of 2; canonical");
    accept_stream("empty", &none, &empty, "an empty input; canonical");
}

/* The last chunk is raw, and the one before is not; then the other way round. */
static void accept_mixed_chunks(void)
{
    struct tensor x = {32, 8, CHUNK_BYTES + 3, {0}}, y = {32, 8, CHUNK_BYTES + 64, {0}};
    struct stream coded_raw = {0}, raw_coded = {0};

    x.content[CHUNK_BYTES] = 9;
    x.content[CHUNK_BYTES + 2] = 200;
    add_zeros_e(&coded_raw);
    add_raw_chunk(&coded_raw, 3, x.content + CHUNK_BYTES, 3);
    accept_stream("coded_then_raw", &x, &coded_raw,
                  "a chunk of zeros, then 3 raw bytes; canonical");
    y.content[0] = 77;
    add_raw_chunk(&raw_coded, CHUNK_BYTES, y.content, CHUNK_BYTES);
    add_zeros_e(&raw_coded);
    accept_stream("raw_then_coded", &y, &raw_coded, "a raw chunk, then half a block of zeros");
}

/* A payload one byte smaller than its chunk: the largest that can be coded. */
static void accept_largest_payload(void)
{
    struct tensor x = {8, 0, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, 128, 0x55);
    set_symbols(&x, 128, 96, 0x40);
    begin(&s, I, 1);
    put_byte(&s, EXACT | 8);
    put_byte(&s, 6);
    for (unsigned p = 0; p < 8; p++)
        put_block_plane(&s, 8, 0, p % 2 == 0 ? 128 : 0);
    for (unsigned p = 0; p < 6; p++)
        put_block_plane(&s, 8, 0, 0);
    put_block_plane(&s, 8, 0, 96); /* 96 times quotient 1, then 0 */
    put_bytes(&s, 12, 0);
    accept("largest_payload", &x, &s, "a payload of 255 bytes for 256 bytes of input");
}

static void all_accepted(void)
{
    for (unsigned j = 0; j < 16; j++)
        accept_code(j);
    accept_bases();
    accept_escapes();
    accept_constants();
    accept_masks();
    accept_signs();
    accept_last_symbol(8, 4);
    accept_last_symbol(8, 5);
    accept_last_symbol(16, 5);
    accept_last_symbol(16, 8);
    accept_last_symbol(32, 8);
    accept_last_symbol(64, 11);
    for (unsigned w = 8; w <= 64; w *= 2)
        accept_wide_block(w);
    for (unsigned w = 8; w <= 64; w *= 2)
        accept_differences(w);
    for (unsigned w = 8; w <= 64; w *= 2)
        accept_base_symbol(w);
    accept_float_differences(8, 4);
    accept_float_differences(16, 8);
    accept_float_differences(32, 8);
    accept_float_differences(64, 11);
    accept_quotients();
    accept_headers();
    accept_all_packed();
    accept_small_quotients();
    accept_integers_for_floats();
    accept_chunks();
    accept_mixed_chunks();
    accept_largest_payload();
}

/* Files. */

static FILE *create(const char *folder, const char *name)
{
    char path[1024];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "badgen2: %s: cannot be created\n", path);
        exit(1);
    }
    return file;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: badgen2 FOLDER\n");
        return 2;
    }
    bad_file = create(argv[1], "bad2.txt");
    fprintf(bad_file, "# Streams that a decoder rejects, made by tests/support/badgen2.c.\n"
                      "# name w e raw_bytes fault status chunk coded # reason\n");
    all_bad();
    fclose(bad_file);
    accept_file = create(argv[1], "accept2.txt");
    fprintf(accept_file, "# Valid streams that encoders need not write, made by badgen2.c.\n"
                         "# name w e raw coded # reason\n");
    all_accepted();
    fclose(accept_file);
    return 0;
}
