/* The prefix code of PLANES by itself: every plane of few bits, against the rules of docs/format.md
 * spelled out. */
#include "codec/planecode.h"

#include "support/test.h"

enum { MAX_P = 9, R = 4 };

/* Positions of the ones of x among the ones of all. */
static uint64_t compacted(uint64_t x, uint64_t all)
{
    uint64_t front = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < 64; i++)
        if (all >> i & 1)
            front |= (x >> i & 1) << n++;
    return front;
}

static uint32_t shape_by_the_rules(uint64_t x, uint64_t b, unsigned p)
{
    uint32_t shape = x == ((uint64_t)1 << p) - 1 ? PZI_SHAPE_ONES : 0;

    if (b == 0)
        shape |= PZI_SHAPE_RESET;
    for (unsigned i = 0; i < p; i++) {
        if (x == (uint64_t)1 << i)
            shape |= PZI_SHAPE_ONE;
        if (i + 1 < p && x == (uint64_t)3 << i)
            shape |= PZI_SHAPE_ADJACENT;
    }
    return shape;
}

/* Every set `all` of the lowest bits, shifted to the top of the word as well, and every plane x in
 * it: the shape is that of the compacted plane. */
TEST(shapes_with_gaps)
{
    for (uint64_t all = 1; all < 1u << MAX_P; all++) {
        const unsigned p = pzi_count64(all), up = 64 - MAX_P;

        for (uint64_t x = 1; x <= all; x++) {
            const uint32_t expected = shape_by_the_rules(compacted(x & all, all), 1, p);

            if ((x & ~all) != 0)
                continue;
            CHECK_EQ_U64(pzi_p64_shape(x, 1, all), expected);
            CHECK_EQ_U64(pzi_p64_shape(x << up, 1, all << up), expected);
            CHECK_EQ_U64(pzi_p64_shape(x, 0, all), expected | PZI_SHAPE_RESET);
        }
    }
}

/* The same for the pair of words, at every place where it crosses from one to the other. */
TEST(shapes_with_gaps_in_pairs)
{
    const pzi_p128 none = {0, 0}, some = {0, 1};

    for (unsigned up = 64 - MAX_P; up <= 64; up++) {
        for (uint64_t all = 1; all < 1u << MAX_P; all++) {
            const pzi_p128 positions = {up == 64 ? 0 : all << up,
                                        up == 64 ? all : all >> (64 - up)};

            for (uint64_t x = 1; x <= all; x++) {
                const pzi_p128 plane = {up == 64 ? 0 : x << up, up == 64 ? x : x >> (64 - up)};
                const uint32_t expected =
                    shape_by_the_rules(compacted(x & all, all), 1, pzi_count64(all));

                if ((x & ~all) != 0)
                    continue;
                CHECK_EQ_U64(pzi_p128_shape(plane, some, positions), expected);
                CHECK_EQ_U64(pzi_p128_shape(plane, none, positions), expected | PZI_SHAPE_RESET);
            }
        }
    }
}

/* The least of the lengths that apply, of equal ones the first of the list: docs/format.md,
 * "Canonical choices". */
static pzi_code code_by_the_rules(uint64_t x, uint64_t b, unsigned p, unsigned L)
{
    const uint32_t shape = shape_by_the_rules(x, b, p);
    uint32_t position = 0, length = 1 + p;
    pzi_code code = {0x01, 1};

    while ((x >> position & 1) == 0)
        position++;
    if (shape & PZI_SHAPE_ADJACENT && 5 + L <= length)
        code = (pzi_code){0x08 | position << 5, length = 5 + L};
    if (shape & PZI_SHAPE_ONE && 5 + L <= length)
        code = (pzi_code){0x18 | position << 5, length = 5 + L};
    if (shape & PZI_SHAPE_RESET && 5 <= length)
        code = (pzi_code){0x10, length = 5};
    if (shape & PZI_SHAPE_ONES && 5 <= length)
        code = (pzi_code){0x00, 5};
    return code;
}

/* As block.tmpl.h asks for codes and costs: first what is brief, then what has a place. */
static pzi_code code_by_shape(uint32_t shape, uint64_t x, unsigned p, unsigned L, uint32_t *cost)
{
    *cost = 1 + p;
    if (p >= PZI_MIN_BRIEF && shape & (PZI_SHAPE_ONES | PZI_SHAPE_RESET)) {
        *cost -= pzi_brief_saves(p);
        return pzi_brief_code(shape & PZI_SHAPE_ONES);
    }
    if (p >= PZI_MIN_PLACE && shape & (PZI_SHAPE_ONE | PZI_SHAPE_ADJACENT)) {
        *cost -= pzi_place_saves(p, L);
        return pzi_place_code(shape & PZI_SHAPE_ONE, pzi_p64_lowest(x), L);
    }
    return pzi_code_of(PZI_CODE_VERBATIM, 1);
}

TEST(codes_and_costs_of_planes)
{
    for (unsigned p = 1; p <= MAX_P; p++) {
        const unsigned L = pzi_position_bits(p);

        for (uint64_t x = 1; x < (uint64_t)1 << p; x++) {
            for (uint64_t b = 0; b < 2; b++) {
                const uint32_t shape = pzi_p64_shape(x, b, pzi_p64_below(p));
                const pzi_code expected = code_by_the_rules(x, b, p, L);
                uint32_t cost;
                const pzi_code code = code_by_shape(shape, x, p, L, &cost);

                TEST_CONTEXT("p %u, x 0x%x, b %u", p, (unsigned)x, (unsigned)b);
                CHECK_EQ_U64(code.bits, expected.bits);
                CHECK_EQ_U64(code.length, expected.length);
                CHECK_EQ_U64(cost, code.length == 1 ? 1 + p : code.length);
            }
        }
    }
    for (unsigned p = 1; p <= 128; p++) {
        CHECK((pzi_brief_saves(p) == 0) == (p <= PZI_MIN_BRIEF));
        CHECK((pzi_place_saves(p, pzi_position_bits(p)) == 0) == (p <= PZI_MIN_PLACE));
    }
}

TEST(fields)
{
    static const struct {
        unsigned p, L;
    } cases[] = {{1, 0},  {2, 1},  {3, 2},  {4, 2},  {5, 3},   {8, 3},   {9, 4},  {15, 4},
                 {16, 4}, {17, 5}, {32, 5}, {33, 6}, {127, 7}, {128, 7}, {63, 6}, {64, 6}};

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ_U64(pzi_position_bits(cases[i].p), cases[i].L);
    CHECK_EQ_U64(pzi_run_bits(8), 3);
    CHECK_EQ_U64(pzi_run_bits(16), 4);
    CHECK_EQ_U64(pzi_run_bits(32), 5);
    CHECK_EQ_U64(pzi_run_bits(64), 6);
}

TEST(runs_come_back)
{
    for (unsigned run = 1; run <= 17; run++) {
        const pzi_code code = pzi_run_code(run, R);
        const pzi_token token = pzi_parse(code.bits | UINT64_MAX << code.length, R, 6);

        CHECK_EQ_U64(code.length, pzi_run_cost(run, R));
        CHECK_EQ_U64(token.kind, PZI_TOKEN_RUN);
        CHECK_EQ_U64(token.field, run);
        CHECK_EQ_U64(token.length, code.length);
    }
}

static void check_token(const char *code, pzi_token_kind kind, unsigned field)
{
    pzi_token token;
    uint64_t bits = 0;

    for (unsigned k = 0; code[k] != '\0'; k++)
        bits |= (uint64_t)(code[k] == '1') << k;
    token = pzi_parse(bits | UINT64_MAX << strlen(code), R, 6);
    TEST_CONTEXT("%s", code);
    CHECK_EQ_U64(token.kind, kind);
    CHECK_EQ_U64(token.field, field);
    CHECK_EQ_U64(token.length, strlen(code));
}

TEST(codes_as_the_format_prints_them)
{
    check_token("1", PZI_TOKEN_VERBATIM, 0);
    check_token("010000", PZI_TOKEN_RUN, 2);
    check_token("011000", PZI_TOKEN_RUN, 3);
    check_token("011111", PZI_TOKEN_RUN, 17);
    check_token("001", PZI_TOKEN_RUN, 1);
    check_token("00000", PZI_TOKEN_ONES, 0);
    check_token("00001", PZI_TOKEN_RESET, 0);
    check_token("00010100000", PZI_TOKEN_ADJACENT, 1);
    check_token("00010011111", PZI_TOKEN_ADJACENT, 62);
    check_token("00011000000", PZI_TOKEN_ONE, 0);
    check_token("00011111111", PZI_TOKEN_ONE, 63);
}
