/* Writes tests/golden/bad.txt and tests/golden/accept.txt: a stream for every row of
 * docs/format.md, "What a decoder rejects", and every line of "What a decoder accepts".  All are
 * put together by hand here, field by field; no codec takes part.  A bad stream is complete and
 * valid but for its fault.
 *
 * Usage: badgen FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"

enum { RAW, ZVC, BX, DBX, ZBX };
enum { BLOCK_BYTES = 128, CHUNK_BYTES = 4096 };

static FILE *bad_file, *accept_file;

/* Pieces of blocks: w, N, p and L are those of the format. */

static unsigned symbols_per_block(unsigned w)
{
    return 8 * BLOCK_BYTES / w;
}

static unsigned run_field_bits(unsigned w)
{
    return w == 8 ? 3 : w == 16 ? 4 : w == 32 ? 5 : 6;
}

static void put_tag(struct bits *s, unsigned tag)
{
    bits_put(s, 3, tag);
}

/* `01`: 2 or more zero planes. */
static void put_run(struct bits *s, unsigned w, unsigned planes)
{
    bits_code(s, "01");
    bits_put(s, run_field_bits(w), planes - 2);
}

/* `00011`: a single one; a position of L bits. */
static void put_one(struct bits *s, unsigned L, unsigned position)
{
    bits_code(s, "00011");
    bits_put(s, L, position);
}

/* `00010`: two adjacent ones. */
static void put_pair(struct bits *s, unsigned L, unsigned position)
{
    bits_code(s, "00010");
    bits_put(s, L, position);
}

/* `1`: a verbatim plane of p bits up to 64, bit 0 of the plane is bit 0 of x. */
static void put_verbatim(struct bits *s, unsigned p, uint64_t x)
{
    bits_code(s, "1");
    bits_put(s, p, x);
}

/* A block of zeros as canonical encoders write it. */
static void put_zero_block(struct bits *s, unsigned w)
{
    put_tag(s, BX);
    put_run(s, w, w);
}

/* A RAW block that begins with byte `first`; its other bytes are zero. */
static void put_raw_block(struct bits *s, uint8_t first)
{
    put_tag(s, RAW);
    bits_put(s, 8, first);
    for (unsigned k = 1; k < BLOCK_BYTES; k++)
        bits_put(s, 8, 0);
}

/* A mask of N bits whose first n are ones. */
static void put_mask(struct bits *s, unsigned w, unsigned n)
{
    for (unsigned i = 0; i < symbols_per_block(w); i++)
        bits_put(s, 1, i < n);
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
        bits_put(&t->payloads, 8, s->bytes[k]);
}

/* Adds a raw chunk, or a part of one: the header stands for all of it. */
static void add_raw_chunk(struct stream *t, size_t header, const uint8_t *raw, size_t bytes)
{
    t->headers[t->chunks++] = header;
    for (size_t k = 0; k < bytes; k++)
        bits_put(&t->payloads, 8, raw[k]);
}

/* A full chunk of zero blocks. */
static void add_zero_chunk(struct stream *t, unsigned w)
{
    struct bits s = {0};

    for (unsigned k = 0; k < CHUNK_BYTES / BLOCK_BYTES; k++)
        put_zero_block(&s, w);
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

/* The faults, in the order of the rows of docs/format.md, and the status of each. */
enum fault {
    HEADERS_TRUNCATED,
    HEADER_ABOVE_RAW,
    PAYLOAD_TRUNCATED,
    TRAILING_BYTES,
    CHUNK_OVERRUN,
    CHUNK_LEFTOVER,
    CHUNK_PADDING,
    RESERVED_TAG,
    ZVC_ZERO_SYMBOL,
    ZBX_ZERO_SYMBOL,
    DELTA_BELOW,
    DELTA_ABOVE,
    RUN_PAST_END,
    POSITION_OUTSIDE,
    PAIR_OUTSIDE,
    ZERO_PLANE,
    BLOCK_PADDING
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
    {"chunk_padding", "PZ_ERR_PADDING"},
    {"reserved_tag", "PZ_ERR_TAG"},
    {"zvc_zero_symbol", "PZ_ERR_ZERO_SYMBOL"},
    {"zbx_zero_symbol", "PZ_ERR_ZERO_SYMBOL"},
    {"delta_below", "PZ_ERR_DELTA"},
    {"delta_above", "PZ_ERR_DELTA"},
    {"run_past_end", "PZ_ERR_RUN"},
    {"position_outside", "PZ_ERR_POSITION"},
    {"pair_outside", "PZ_ERR_POSITION"},
    {"zero_plane", "PZ_ERR_ZERO_PLANE"},
    {"block_padding", "PZ_ERR_PADDING"},
};

static void print_place(int place)
{
    if (place < 0)
        fprintf(bad_file, "- ");
    else
        fprintf(bad_file, "%d ", place);
}

/* chunk and block are -1 where the fault belongs to none. */
static void bad_stream(const char *name, unsigned w, size_t raw_bytes, enum fault fault, int chunk,
                       int block, const struct stream *t, const char *reason)
{
    fprintf(bad_file, "%s %u %zu %s %s ", name, w, raw_bytes, fault_names[fault].fault,
            fault_names[fault].status);
    print_place(chunk);
    print_place(block);
    print_stream(bad_file, t);
    fprintf(bad_file, " # %s\n", reason);
}

/* One chunk of one block, which has the fault. */
static void bad_block(const char *name, unsigned w, enum fault fault, const struct bits *s,
                      const char *reason)
{
    struct stream t = one_chunk(s);

    bad_stream(name, w, BLOCK_BYTES, fault, 0, 0, &t, reason);
}

/* The symbols of a tensor, set one by one, for the raw side of a valid stream. */
struct tensor {
    unsigned w;
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
    fprintf(accept_file, "%s %u ", name, x->w);
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

    bad_stream("headers_none", 16, 1, HEADERS_TRUNCATED, -1, -1, &none,
               "one byte of input, but the stream is empty");
    bits_put(&half.payloads, 8, 5);
    bad_stream("headers_half", 16, 128, HEADERS_TRUNCATED, -1, -1, &half,
               "one byte of the only header");
    add_chunk(&one, &(struct bits){0});
    bits_put(&one.payloads, 8, 1);
    bad_stream("headers_three_bytes", 8, 4097, HEADERS_TRUNCATED, -1, -1, &one,
               "two chunks, the second header is cut off");
}

static void bad_header_values(void)
{
    static const uint8_t zeros[CHUNK_BYTES + 1];
    struct stream above = {0}, second = {0}, full = {0};

    add_raw_chunk(&above, 11, zeros, 11);
    bad_stream("header_above_raw", 8, 10, HEADER_ABOVE_RAW, 0, -1, &above,
               "10 bytes of input, the header says 11 and 11 are there");
    add_zero_chunk(&second, 32);
    add_raw_chunk(&second, 128, zeros, 128);
    bad_stream("header_above_raw_second", 32, 4096 + 3, HEADER_ABOVE_RAW, 1, -1, &second,
               "3 bytes of input in chunk 1, its header says 128, a whole block");
    add_raw_chunk(&full, CHUNK_BYTES + 1, zeros, CHUNK_BYTES + 1);
    bad_stream("header_above_raw_full", 64, 4096, HEADER_ABOVE_RAW, 0, -1, &full,
               "4097 bytes for a full chunk");
}

static void bad_lengths(void)
{
    static const uint8_t raw[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct bits s = {0};
    struct stream coded = {0}, stored = {0}, second = {0};

    put_zero_block(&s, 16);
    coded = one_chunk(&s);
    coded.payloads.count -= 8;
    bad_stream("payload_truncated_coded", 16, 128, PAYLOAD_TRUNCATED, 0, -1, &coded,
               "the last byte of a coded payload is missing");
    add_raw_chunk(&stored, 8, raw, 7);
    bad_stream("payload_truncated_raw", 16, 8, PAYLOAD_TRUNCATED, 0, -1, &stored,
               "the last byte of a raw payload is missing");
    add_zero_chunk(&second, 16);
    add_raw_chunk(&second, 8, raw, 0);
    bad_stream("payload_missing_second", 16, 4096 + 8, PAYLOAD_TRUNCATED, 1, -1, &second,
               "chunk 0 is complete, the payload of chunk 1 is missing");
}

static void bad_trailing(void)
{
    static const uint8_t raw[3] = {1, 2, 3};
    struct bits s = {0};
    struct stream coded, stored = {0}, empty = {0};

    put_zero_block(&s, 32);
    coded = one_chunk(&s);
    bits_put(&coded.payloads, 8, 0);
    bad_stream("trailing_coded", 32, 128, TRAILING_BYTES, -1, -1, &coded,
               "a zero byte after a coded chunk");
    add_raw_chunk(&stored, 2, raw, 3);
    bad_stream("trailing_raw", 8, 2, TRAILING_BYTES, -1, -1, &stored, "a byte after a raw chunk");
    bits_put(&empty.payloads, 8, 0);
    bad_stream("trailing_empty", 8, 0, TRAILING_BYTES, -1, -1, &empty,
               "an empty input has an empty stream, here is a byte");
}

/* Bad: the end of a chunk. */

static void bad_overruns(void)
{
    struct bits nothing = {0}, tag = {0}, mask = {0}, field = {0}, second = {0};
    struct stream t = one_chunk(&nothing);

    bad_stream("overrun_no_payload", 16, 128, CHUNK_OVERRUN, 0, 0, &t,
               "a header of 0: there is not even a tag");
    put_tag(&tag, RAW);
    bits_put(&tag, 64, 1);
    bad_block("overrun_raw", 64, CHUNK_OVERRUN, &tag, "a RAW block with 1 of its 16 symbols");
    put_tag(&mask, ZVC);
    bits_put(&mask, 13, 0);
    bad_block("overrun_mask", 32, CHUNK_OVERRUN, &mask, "the mask of ZVC ends after 13 of 32 bits");
    put_tag(&field, BX);
    put_run(&field, 16, 14);
    bits_code(&field, "1 100101"); /* plane 1 verbatim, to the end of byte 1 */
    bad_block("overrun_verbatim", 16, CHUNK_OVERRUN, &field, "a verbatim plane with 6 of 64 bits");
    put_zero_block(&second, 8);
    t = one_chunk(&second);
    bad_stream("overrun_second_block", 8, 129, CHUNK_OVERRUN, 0, 1, &t,
               "two blocks of input, the payload ends after the first one");
}

/* The bits of a field are there, but the last ones lie in the payload of the next chunk. */
static void bad_overrun_into_next(void)
{
    struct bits s = {0}, next = {0};
    struct stream t = {0};

    for (unsigned k = 0; k < 31; k++)
        put_zero_block(&s, 8); /* 8 bits each */
    put_tag(&s, BX);
    bits_code(&s, "01 000"); /* a run of 2 planes of 8; 6 are missing */
    add_chunk(&t, &s);
    put_zero_block(&next, 8);
    add_chunk(&t, &next);
    bad_stream("overrun_into_next", 8, 4096 + 128, CHUNK_OVERRUN, 0, 31, &t,
               "the last block of chunk 0 needs bits of chunk 1");
}

static void bad_leftovers(void)
{
    struct bits whole = {0}, part = {0};
    struct stream t;

    put_zero_block(&whole, 8); /* 8 bits, then a byte that nothing needs */
    bits_put(&whole, 8, 0);
    t = one_chunk(&whole);
    bad_stream("leftover_byte", 8, 128, CHUNK_LEFTOVER, 0, -1, &t,
               "the block ends with byte 0, the header says 2");
    put_zero_block(&part, 16); /* 9 bits, 7 of padding, then a byte */
    bits_put(&part, 7 + 8, 0);
    t = one_chunk(&part);
    bad_stream("leftover_after_padding", 16, 128, CHUNK_LEFTOVER, 0, -1, &t,
               "the block and its padding end with byte 1, the header says 3");
}

static void bad_chunk_paddings(void)
{
    struct bits first = {0}, last = {0};
    struct stream t;

    put_zero_block(&first, 32); /* 10 bits */
    bits_code(&first, "100000");
    t = one_chunk(&first);
    bad_stream("chunk_padding_first", 32, 128, CHUNK_PADDING, 0, -1, &t,
               "the first bit after the block is 1");
    put_zero_block(&last, 16); /* 9 bits */
    bits_code(&last, "0000001");
    t = one_chunk(&last);
    bad_stream("chunk_padding_last", 16, 128, CHUNK_PADDING, 0, -1, &t,
               "the last bit of the payload is 1");
}

/* Bad: tags and symbols. */

static void bad_tags(void)
{
    static const char *const names[] = {"tag_5", "tag_6", "tag_7"};
    struct bits second = {0};
    struct stream t;

    for (unsigned tag = 5; tag <= 7; tag++) {
        struct bits s = {0};

        put_tag(&s, tag);
        put_run(&s, 16, 16);
        bad_block(names[tag - 5], 16, RESERVED_TAG, &s, "a reserved tag");
    }
    for (unsigned k = 0; k < 7; k++)
        put_zero_block(&second, 16);
    put_tag(&second, 5);
    t = one_chunk(&second);
    bad_stream("tag_5_later", 16, 8 * 128, RESERVED_TAG, 0, 7, &t, "a reserved tag in block 7");
}

static void bad_zero_symbols(void)
{
    struct bits zvc = {0}, zbx = {0}, all = {0};

    put_tag(&zvc, ZVC);
    put_mask(&zvc, 16, 2);
    bits_put(&zvc, 16, 7);
    bits_put(&zvc, 16, 0);
    bad_block("zvc_zero_symbol", 16, ZVC_ZERO_SYMBOL, &zvc, "the second non-zero symbol is 0");
    put_tag(&zbx, ZBX);
    put_mask(&zbx, 32, 3);
    put_run(&zbx, 32, 31);
    put_verbatim(&zbx, 3, 5); /* plane 0: the symbols 1, 0, 1 */
    bad_block("zbx_zero_symbol", 32, ZBX_ZERO_SYMBOL, &zbx, "the second of three symbols is 0");
    put_tag(&all, ZBX);
    put_mask(&all, 64, 1);
    put_run(&all, 64, 64);
    bad_block("zbx_all_zero", 64, ZBX_ZERO_SYMBOL, &all, "one non-zero symbol, all planes zero");
}

static void bad_zero_symbol_last(void)
{
    struct bits s = {0};

    put_tag(&s, ZBX);
    put_mask(&s, 8, 128);
    put_run(&s, 8, 7);
    bits_code(&s, "1"); /* plane 0 verbatim: 127 ones and a zero */
    for (unsigned i = 0; i < 128; i++)
        bits_put(&s, 1, i < 127);
    bad_block("zbx_zero_symbol_full_mask", 8, ZBX_ZERO_SYMBOL, &s,
              "the mask is full, symbol 127 is 0");
}

/* Bad: deltas. */

/* DBX whose deltas are all "+1" or all "-1". */
static void put_equal_deltas(struct bits *s, unsigned w, uint64_t first, const char *delta)
{
    put_tag(s, DBX);
    bits_put(s, w, first);
    if (strcmp(delta, "-1") == 0) {
        bits_code(s, "00000"); /* the sign plane: ones; the planes below equal it */
        put_run(s, w, w);
    } else {
        put_run(s, w, w); /* planes w .. 1 are zero */
        bits_code(s, "00000");
    }
}

static void bad_deltas(unsigned w)
{
    uint64_t N = symbols_per_block(w), greatest = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
    char name[32];
    struct bits below = {0}, above = {0};

    snprintf(name, sizeof name, "delta_below_w%u", w);
    put_equal_deltas(&below, w, N - 2, "-1");
    bad_block(name, w, DELTA_BELOW, &below, "counts down from N - 2: the last delta leads to -1");
    snprintf(name, sizeof name, "delta_above_w%u", w);
    put_equal_deltas(&above, w, greatest - (N - 2), "+1");
    bad_block(name, w, DELTA_ABOVE, &above, "counts up: the last delta leads to 2^w");
}

/* The first delta of -2^w, whose low w bits are zero: it leads nowhere from any symbol. */
static void bad_delta_least(void)
{
    struct bits s = {0};

    put_tag(&s, DBX);
    bits_put(&s, 16, 0xFFFF);
    put_one(&s, 6, 0);      /* plane 16: delta 0 is negative */
    bits_code(&s, "00001"); /* plane 15 before the XOR: zero */
    put_run(&s, 16, 15);    /* and so are the others */
    bad_block("delta_least", 16, DELTA_BELOW, &s, "65535 and a delta of -65536");
}

/* Bad: planes. */

static void bad_runs(unsigned w)
{
    struct bits bx = {0}, dbx = {0}, rest = {0};
    char name[32];

    snprintf(name, sizeof name, "run_bx_w%u", w);
    put_tag(&bx, BX);
    put_run(&bx, w, w + 1);
    bad_block(name, w, RUN_PAST_END, &bx, "w + 1 zero planes, BX has w");
    snprintf(name, sizeof name, "run_dbx_w%u", w);
    put_tag(&dbx, DBX);
    bits_put(&dbx, w, 1);
    bits_code(&dbx, "001");
    put_run(&dbx, w, w + 1);
    bad_block(name, w, RUN_PAST_END, &dbx, "a zero plane and a run of w + 1, DBX has w + 1 in all");
    snprintf(name, sizeof name, "run_at_last_plane_w%u", w);
    put_tag(&rest, BX);
    put_run(&rest, w, w - 1);
    put_run(&rest, w, 2);
    bad_block(name, w, RUN_PAST_END, &rest, "plane 0 is left, the run has 2");
}

static void bad_run_zbx(void)
{
    struct bits s = {0};

    put_tag(&s, ZBX);
    put_mask(&s, 16, 1);
    bits_code(&s, "00000"); /* plane 15: the symbol is 0x8000 or more */
    put_run(&s, 16, 16);
    bad_block("run_zbx", 16, RUN_PAST_END, &s, "15 planes are left, the run has 16");
}

static void bad_positions(void)
{
    struct bits dbx = {0}, zbx = {0}, wide = {0};

    put_tag(&dbx, DBX);
    bits_put(&dbx, 64, 1);
    put_run(&dbx, 64, 64);
    put_one(&dbx, 4, 15); /* p = 15, L = 4 */
    bad_block("position_dbx", 64, POSITION_OUTSIDE, &dbx, "position 15 in a plane of 15 bits");
    put_tag(&zbx, ZBX);
    put_mask(&zbx, 16, 5);
    bits_code(&zbx, "00000"); /* plane 15 */
    put_run(&zbx, 16, 14);
    put_one(&zbx, 3, 5); /* p = 5, L = 3 */
    bad_block("position_zbx", 16, POSITION_OUTSIDE, &zbx, "position 5 in a plane of 5 bits");
    put_tag(&wide, DBX);
    bits_put(&wide, 8, 1);
    put_run(&wide, 8, 8);
    put_one(&wide, 7, 127); /* p = 127, L = 7 */
    bad_block("position_dbx_w8", 8, POSITION_OUTSIDE, &wide, "position 127 in a plane of 127 bits");
}

/* BX: the first plane that is not zero is plane 0, with two ones from `position` on. */
static void bad_pair_bx(const char *name, unsigned w, unsigned L)
{
    struct bits s = {0};

    put_tag(&s, BX);
    put_run(&s, w, w - 1);
    put_pair(&s, L, symbols_per_block(w) - 1);
    bad_block(name, w, PAIR_OUTSIDE, &s, "the lower one is the last bit, the upper one outside");
}

static void bad_pairs(void)
{
    struct bits dbx = {0}, narrow = {0}, far = {0};

    bad_pair_bx("pair_bx_w8", 8, 7);
    bad_pair_bx("pair_bx_w16", 16, 6);
    bad_pair_bx("pair_bx_w32", 32, 5);
    bad_pair_bx("pair_bx_w64", 64, 4);
    put_tag(&dbx, DBX);
    bits_put(&dbx, 32, 1);
    put_run(&dbx, 32, 32);
    put_pair(&dbx, 5, 30);
    bad_block("pair_dbx", 32, PAIR_OUTSIDE, &dbx, "positions 30 and 31 in a plane of 31 bits");
    put_tag(&narrow, ZBX);
    put_mask(&narrow, 16, 1);
    put_run(&narrow, 16, 15);
    put_pair(&narrow, 0, 0); /* p = 1, L = 0 */
    bad_block("pair_one_bit_plane", 16, PAIR_OUTSIDE, &narrow, "two ones in a plane of 1 bit");
    put_tag(&far, DBX);
    bits_put(&far, 32, 1);
    put_run(&far, 32, 32);
    put_pair(&far, 5, 31);
    bad_block("pair_lower_outside", 32, PAIR_OUTSIDE, &far, "the lower one is outside already");
}

static void bad_zero_planes_at_top(void)
{
    struct bits bx = {0}, dbx = {0}, zbx = {0};

    put_tag(&bx, BX);
    bits_code(&bx, "00001");
    put_run(&bx, 16, 15);
    bad_block("zero_plane_top_bx", 16, ZERO_PLANE, &bx, "00001 at the top plane");
    put_tag(&dbx, DBX);
    bits_put(&dbx, 32, 9);
    bits_code(&dbx, "00001");
    put_run(&dbx, 32, 32);
    bad_block("zero_plane_top_dbx", 32, ZERO_PLANE, &dbx, "00001 at the sign plane");
    put_tag(&zbx, ZBX);
    put_mask(&zbx, 8, 2);
    bits_code(&zbx, "00001");
    put_run(&zbx, 8, 6);
    bits_code(&zbx, "00000");
    bad_block("zero_plane_top_zbx", 8, ZERO_PLANE, &zbx, "00001 at the top plane of ZBX");
}

static void bad_zero_planes_below(void)
{
    struct bits run = {0}, twice = {0}, cancelled = {0};

    put_tag(&run, BX);
    put_run(&run, 64, 63);
    bits_code(&run, "00001");
    bad_block("zero_plane_after_run", 64, ZERO_PLANE, &run, "00001 after zero planes only");
    put_tag(&twice, BX);
    bits_code(&twice, "00000 00001 00001"); /* plane 15 ones, 14 zero, 13 again */
    put_run(&twice, 16, 13);
    bad_block("zero_plane_twice", 16, ZERO_PLANE, &twice, "00001 below a 00001");
    put_tag(&cancelled, BX);
    put_one(&cancelled, 6, 9);
    put_one(&cancelled, 6, 9); /* cancels the plane above */
    bits_code(&cancelled, "00001");
    put_run(&cancelled, 16, 13);
    bad_block("zero_plane_cancelled", 16, ZERO_PLANE, &cancelled,
              "00001 below a plane that its code made zero");
}

/* Bad: padding of the last block. */

static void bad_block_paddings(void)
{
    struct bits symbol = {0}, part = {0}, second = {0};
    struct stream t;

    put_tag(&symbol, BX);
    put_run(&symbol, 16, 15);
    put_one(&symbol, 6, 63);
    t = one_chunk(&symbol);
    bad_stream("block_padding_last_symbol", 16, 126, BLOCK_PADDING, 0, 0, &t,
               "126 bytes of input, symbol 63 is 1");
    put_tag(&part, BX);
    put_run(&part, 32, 8);
    put_one(&part, 5, 31); /* plane 23 of symbol 31 ... */
    bits_code(&part, "00001");
    put_run(&part, 32, 22); /* ... alone: byte 126 is 0x80 */
    t = one_chunk(&part);
    bad_stream("block_padding_in_symbol", 32, 126, BLOCK_PADDING, 0, 0, &t,
               "126 bytes of input, byte 126 within symbol 31 is not zero");
    put_zero_block(&second, 64);
    put_tag(&second, ZVC);
    bits_put(&second, 16, 1 << 15);
    bits_put(&second, 64, UINT64_C(1) << 63);
    t = one_chunk(&second);
    bad_stream("block_padding_last_byte", 64, 128 + 127, BLOCK_PADDING, 0, 1, &t,
               "255 bytes of input, the last byte of block 1 is 0x80");
}

/* A fault in a block after others, in a chunk after others. */
static void bad_second_chunk(void)
{
    struct bits s = {0};
    struct stream t = {0};

    add_zero_chunk(&t, 32);
    put_zero_block(&s, 32);
    put_zero_block(&s, 32);
    put_tag(&s, BX);
    bits_code(&s, "00001");
    put_run(&s, 32, 31);
    add_chunk(&t, &s);
    bad_stream("zero_plane_second_chunk", 32, 4096 + 3 * 128, ZERO_PLANE, 1, 2, &t,
               "00001 at the top plane of block 2 of chunk 1");
}

static void all_bad(void)
{
    bad_headers();
    bad_header_values();
    bad_lengths();
    bad_trailing();
    bad_overruns();
    bad_overrun_into_next();
    bad_leftovers();
    bad_chunk_paddings();
    bad_tags();
    bad_zero_symbols();
    bad_zero_symbol_last();
    for (unsigned w = 8; w <= 64; w *= 2)
        bad_deltas(w);
    bad_delta_least();
    for (unsigned w = 8; w <= 64; w *= 2)
        bad_runs(w);
    bad_run_zbx();
    bad_positions();
    bad_pairs();
    bad_zero_planes_at_top();
    bad_zero_planes_below();
    bad_block_paddings();
    bad_second_chunk();
}

/* Accepted: encodings. */

/* Every encoding for a block of zeros, then a canonical one, so that the chunk shrinks. */
static void accept_zeros(unsigned w)
{
    struct tensor x = {w, 2 * BLOCK_BYTES, {0}};
    char name[32];

    for (unsigned tag = RAW; tag <= ZBX; tag++) {
        struct bits s = {0};

        if (tag == RAW)
            put_raw_block(&s, 0);
        else
            put_tag(&s, tag);
        if (tag == ZVC || tag == ZBX)
            put_mask(&s, w, 0);
        if (tag == BX)
            put_run(&s, w, w);
        if (tag == DBX) {
            bits_put(&s, w, 0);
            put_run(&s, w, w + 1);
        }
        put_zero_block(&s, w);
        snprintf(name, sizeof name, "zeros_as_tag_%u_w%u", tag, w);
        accept(name, &x, &s,
               tag == BX ? "two blocks of zeros in BX; canonical"
                         : "a block of zeros in this encoding, then one in BX");
    }
}

static void accept_full_masks(void)
{
    struct tensor x = {64, 2 * BLOCK_BYTES, {0}};
    struct bits zvc = {0}, zbx = {0};

    set_symbols(&x, 0, 16, 1);
    put_tag(&zvc, ZVC);
    put_mask(&zvc, 64, 16);
    for (unsigned i = 0; i < 16; i++)
        bits_put(&zvc, 64, 1);
    put_zero_block(&zvc, 64);
    accept("zvc_full_mask", &x, &zvc, "ZVC without a zero symbol");
    put_tag(&zbx, ZBX);
    put_mask(&zbx, 64, 16);
    put_run(&zbx, 64, 63);
    bits_code(&zbx, "00000");
    put_zero_block(&zbx, 64);
    accept("zbx_full_mask", &x, &zbx, "ZBX without a zero symbol");
}

static void accept_extreme_deltas(unsigned w)
{
    uint64_t N = symbols_per_block(w), greatest = w == 64 ? UINT64_MAX : (UINT64_C(1) << w) - 1;
    struct tensor x = {w, BLOCK_BYTES, {0}}, up = x, down = x;
    struct bits s = {0}, counts_up = {0}, counts_down = {0};
    char name[32];

    /* 0, greatest, 0, 0 ..: deltas 2^w - 1 (01..1), -(2^w - 1) (10..01), 0 ... */
    set_symbol(&x, 1, greatest);
    put_tag(&s, DBX);
    bits_put(&s, w, 0);
    put_one(&s, 10 - run_field_bits(w), 1);  /* plane w: delta 1; L = log2(N) */
    put_pair(&s, 10 - run_field_bits(w), 0); /* plane w - 1: delta 0 alone, both differ */
    put_run(&s, w, w - 2);                   /* planes w - 2 .. 1 */
    put_one(&s, 10 - run_field_bits(w), 1);  /* plane 0: both deltas */
    snprintf(name, sizeof name, "delta_extremes_w%u", w);
    accept(name, &x, &s, "0, 2^w - 1, 0: the greatest and the least delta that may be");
    for (unsigned i = 0; i < N; i++) {
        set_symbol(&up, i, greatest - (N - 1) + i);
        set_symbol(&down, i, N - 1 - i);
    }
    put_equal_deltas(&counts_up, w, greatest - (N - 1), "+1");
    snprintf(name, sizeof name, "delta_up_to_end_w%u", w);
    accept(name, &up, &counts_up, "counts up to 2^w - 1; canonical");
    put_equal_deltas(&counts_down, w, N - 1, "-1");
    snprintf(name, sizeof name, "delta_down_to_0_w%u", w);
    accept(name, &down, &counts_down, "counts down to 0; canonical but for w = 64");
}

/* Accepted: zero planes. */

static void accept_zero_planes(void)
{
    struct tensor x = {16, BLOCK_BYTES, {0}};
    struct bits verbatim = {0}, pieces = {0}, singles = {0};

    put_tag(&verbatim, BX);
    put_run(&verbatim, 16, 7);
    put_verbatim(&verbatim, 64, 0);
    put_run(&verbatim, 16, 8);
    accept("zero_plane_verbatim", &x, &verbatim, "plane 8 verbatim, all zero");
    put_tag(&pieces, BX);
    put_run(&pieces, 16, 2);
    put_run(&pieces, 16, 9);
    bits_code(&pieces, "001");
    put_run(&pieces, 16, 4);
    accept("run_in_pieces", &x, &pieces, "16 zero planes as 2 + 9 + 1 + 4");
    put_tag(&singles, BX);
    for (unsigned j = 0; j < 16; j++)
        bits_code(&singles, "001");
    accept("run_of_singles", &x, &singles, "16 times a single zero plane");
}

static void accept_long_run(void)
{
    struct tensor x = {8, BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, 128, 0xA5);
    put_tag(&s, DBX);
    bits_put(&s, 8, 0xA5);
    put_run(&s, 8, 9);
    accept("run_longest", &x, &s, "a run of w + 1, all planes of DBX; canonical");
}

/* Accepted: non-zero planes. */

/* Symbols of plane 0 only: b_0 = x_0, in one of the codes that describe it. */
static void accept_plane0(const char *name, unsigned w, uint64_t ones, const char *code, unsigned L,
                          unsigned position, const char *reason)
{
    struct tensor x = {w, BLOCK_BYTES, {0}};
    struct bits s = {0};
    unsigned N = symbols_per_block(w);

    for (unsigned i = 0; i < N; i++)
        set_symbol(&x, i, ones >> i & 1);
    put_tag(&s, BX);
    put_run(&s, w, w - 1);
    bits_code(&s, code);
    if (strcmp(code, "1") == 0)
        bits_put(&s, N, ones);
    else
        bits_put(&s, L, position);
    accept(name, &x, &s, reason);
}

static void accept_plane_codes(void)
{
    accept_plane0("ones_verbatim", 32, 0xFFFFFFFF, "1", 0, 0, "a plane of ones verbatim");
    accept_plane0("one_bit_verbatim", 16, 1 << 9, "1", 0, 0, "a single one verbatim");
    accept_plane0("two_bits_verbatim", 64, 3 << 9, "1", 0, 0, "two neighbours verbatim");
    accept_plane0("one_bit_first", 64, 1, "00011", 4, 0, "position 0; canonical");
    accept_plane0("one_bit_last", 64, 1 << 15, "00011", 4, 15, "the last position; canonical");
    accept_plane0("two_bits_first", 32, 3, "00010", 5, 0, "positions 0 and 1; canonical");
    accept_plane0("two_bits_last", 32, UINT64_C(3) << 30, "00010", 5, 30,
                  "the last two positions; canonical");
}

/* The first n symbols are 1, as ZBX: p = n. */
static void accept_narrow(const char *name, unsigned n, const char *code, const char *reason)
{
    struct tensor x = {32, BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, n, 1);
    put_tag(&s, ZBX);
    put_mask(&s, 32, n);
    put_run(&s, 32, 31);
    bits_code(&s, code);
    accept(name, &x, &s, reason);
}

static void accept_narrow_planes(void)
{
    accept_narrow("p1_ones", 1, "00000", "p = 1: all ones");
    accept_narrow("p1_one_bit", 1, "00011", "p = 1: a single one, its position has 0 bits");
    accept_narrow("p1_verbatim", 1, "1 1", "p = 1: verbatim; canonical");
    accept_narrow("p2_ones", 2, "00000", "p = 2: all ones");
    accept_narrow("p2_two_bits", 2, "00010 0", "p = 2: two neighbours, at position 0");
    accept_narrow("p3_ones", 3, "00000", "p = 3: all ones, one bit longer than verbatim");
    accept_narrow("p4_verbatim", 4, "1 1111", "p = 4: verbatim, as long as all ones");
}

/* Symbols 3, 3, 1, 3, 3: x_0 = b_0 XOR b_1 has a single one; for p = 5 verbatim is shorter. */
static void accept_narrow_position(void)
{
    struct tensor x = {16, BLOCK_BYTES, {0}};
    struct bits s = {0};

    set_symbols(&x, 0, 5, 3);
    set_symbol(&x, 2, 1);
    put_tag(&s, ZBX);
    put_mask(&s, 16, 5);
    put_run(&s, 16, 14);
    put_verbatim(&s, 5, 0x1B);
    put_one(&s, 3, 2);
    accept("p5_one_bit", &x, &s, "p = 5: a position of 3 bits, longer than verbatim");
}

/* All symbols 2: b_1 ones, b_0 zero, so x_0 is ones too, and three codes describe it. */
static void accept_zero_before_xor(void)
{
    struct tensor x = {64, BLOCK_BYTES, {0}}, one = x;
    struct bits later = {0}, verbatim = {0}, single = {0};

    set_symbols(&x, 0, 16, 2);
    put_tag(&later, BX);
    put_run(&later, 64, 62);
    bits_code(&later, "00000 00001");
    accept("zero_before_xor_for_ones", &x, &later, "00001, an encoder writes 00000");
    put_tag(&verbatim, BX);
    put_run(&verbatim, 64, 62);
    bits_code(&verbatim, "00000");
    put_verbatim(&verbatim, 16, 0xFFFF);
    accept("zero_before_xor_verbatim", &x, &verbatim, "verbatim where 00000 and 00001 would do");
    set_symbol(&one, 7, 2);
    put_tag(&single, BX);
    put_run(&single, 64, 62);
    put_one(&single, 4, 7);
    put_one(&single, 4, 7);
    accept("zero_before_xor_one_bit", &one, &single, "a single one, an encoder writes 00001");
}

/* Accepted: chunks. */

static void accept_chunks(void)
{
    struct tensor zeros = {16, BLOCK_BYTES, {0}}, two = {8, 2, {0}}, none = {8, 0, {0}};
    struct stream stored = {0}, empty = {0};
    struct bits s = {0};

    add_raw_chunk(&stored, BLOCK_BYTES, zeros.content, BLOCK_BYTES);
    accept_stream("raw_chunk_of_zeros", &zeros, &stored, "raw though coding would shrink it");
    put_zero_block(&s, 8);
    accept("two_bytes_in_one", &two, &s, "2 bytes of input in a payload of 1; canonical");
    accept_stream("empty", &none, &empty, "an empty input; canonical");
}

/* The last chunk is raw, and the one before is not; then the other way round. */
static void accept_mixed_chunks(void)
{
    struct tensor x = {32, CHUNK_BYTES + 3, {0}}, y = {32, CHUNK_BYTES + 64, {0}};
    struct stream coded_raw = {0}, raw_coded = {0};
    struct bits s = {0};

    x.content[CHUNK_BYTES] = 9;
    x.content[CHUNK_BYTES + 2] = 200;
    add_zero_chunk(&coded_raw, 32);
    add_raw_chunk(&coded_raw, 3, x.content + CHUNK_BYTES, 3);
    accept_stream("coded_then_raw", &x, &coded_raw,
                  "a chunk of zeros, then 3 raw bytes; canonical");
    y.content[0] = 77;
    add_raw_chunk(&raw_coded, CHUNK_BYTES, y.content, CHUNK_BYTES);
    put_zero_block(&s, 32);
    add_chunk(&raw_coded, &s);
    accept_stream("raw_then_coded", &y, &raw_coded, "a raw chunk, then half a block of zeros");
}

/* A payload one byte smaller than its chunk: the largest that can be coded.  1027 + 1007 bits. */
static void accept_largest_payload(void)
{
    struct tensor x = {64, 2 * BLOCK_BYTES, {0}};
    struct bits s = {0};

    x.content[0] = 0x5A;
    put_raw_block(&s, 0x5A);
    put_tag(&s, BX);
    for (unsigned j = 0; j < 58; j++)
        put_verbatim(&s, 16, 0);
    for (unsigned j = 0; j < 6; j++)
        bits_code(&s, "001");
    accept("largest_payload", &x, &s, "a payload of 255 bytes for 256 bytes of input");
}

static void all_accepted(void)
{
    for (unsigned w = 8; w <= 64; w *= 2)
        accept_zeros(w);
    accept_full_masks();
    for (unsigned w = 8; w <= 64; w *= 2)
        accept_extreme_deltas(w);
    accept_zero_planes();
    accept_long_run();
    accept_plane_codes();
    accept_narrow_planes();
    accept_narrow_position();
    accept_zero_before_xor();
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
        fprintf(stderr, "badgen: %s: cannot be created\n", path);
        exit(1);
    }
    return file;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: badgen FOLDER\n");
        return 2;
    }
    bad_file = create(argv[1], "bad.txt");
    fprintf(bad_file, "# Streams that a decoder rejects, made by tests/support/badgen.c.\n"
                      "# name w raw_bytes fault status chunk block coded # reason\n");
    all_bad();
    fclose(bad_file);
    accept_file = create(argv[1], "accept.txt");
    fprintf(accept_file, "# Valid streams that encoders need not write, made by badgen.c.\n"
                         "# name w raw coded # reason\n");
    all_accepted();
    fclose(accept_file);
    return 0;
}
