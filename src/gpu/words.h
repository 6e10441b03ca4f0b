/* What the kernels need on words of 32 bits, whatever the symbol width: counting, moving bits
 * together and apart, bits of a buffer, prefix sums and a transposition over a warp. */
#ifndef PZI_GPU_WORDS_H
#define PZI_GPU_WORDS_H

#include "gpu/dialect.h"

#include "codec/planecode.h"

#define PZI_NO_FAULT 0xffffffffu

enum {
    PZI_ROW_WORDS = 9,    /* of 32 bytes: lanes that have a row each meet in no bank */
    PZI_BLOCK_WORDS = 33, /* of a transposed block: the same for blocks */
    PZI_STREAM_SLACK = 8, /* words of a payload's place beside it: 15 bytes before, 16 behind */
    PZI_COUNTERS = 24,
    PZI_LEVELS = 6, /* of format 2: bits of a codeword */
    PZI_ESCAPE = 10,
    PZI_DEPTHS = 13, /* exponents below the largest one that can be classes */
    PZI_CODES = 16,
    /* The tables that a kernel gets: 16 times struct pzi_code2, then pzi_lengths2 as bytes. */
    PZI_CODE_BYTES = 104,
    PZI_CODE_CLASS = 32,
    PZI_CODE_LIMIT = 96,
    PZI_TABLES_BYTES = PZI_CODES * PZI_CODE_BYTES + 11 * PZI_CODES
};

PZI_FN uint32_t pzi_count32(uint32_t a)
{
#ifdef PZI_COUNT32
    return (uint32_t)PZI_COUNT32(a);
#else
    return pzi_count64(a);
#endif
}

/* The lowest `count` bits, 0 <= count <= 64. */
PZI_FN uint64_t pzi_low_bits(uint32_t count)
{
    return count == 0 ? 0 : ~(uint64_t)0 >> (64 - count);
}

/* Of a row of 32 symbols, those that are among the first `count` of all. */
PZI_FN uint32_t pzi_row_of(uint32_t count, uint32_t row)
{
    const uint32_t begin = row * 32;

    if (count <= begin)
        return 0;
    return (uint32_t)pzi_low_bits(count - begin < 32 ? count - begin : 32);
}

PZI_FN uint32_t pzi_bytes_of_bits(uint32_t bits)
{
    return (bits + 7) / 8;
}

/* The bits that move by 1, 2, 4, 8 and 16 places when those of the mask go together (Hacker's
 * Delight, section 7-4). */
PZI_FN void pzi_moves32(uint32_t mask, uint32_t moves[5])
{
    uint32_t gaps = ~mask << 1;

    for (uint32_t s = 0; s < 5; s++) {
        uint32_t odd = gaps;

        for (uint32_t shift = 1; shift < 32; shift *= 2)
            odd ^= odd << shift;
        moves[s] = odd & mask;
        mask = (mask ^ moves[s]) | moves[s] >> (1u << s);
        gaps &= ~odd;
    }
}

/* The bits of a at the ones of the mask, moved together at the low end; and back. */
PZI_FN uint32_t pzi_extract32(uint32_t a, uint32_t mask)
{
    uint32_t moves[5];

    pzi_moves32(mask, moves);
    a &= mask;
    for (uint32_t s = 0; s < 5; s++) {
        const uint32_t moving = a & moves[s];

        a = (a ^ moving) | moving >> (1u << s);
    }
    return a;
}

PZI_FN uint32_t pzi_deposit32(uint32_t a, uint32_t mask)
{
    uint32_t moves[5];

    pzi_moves32(mask, moves);
    for (uint32_t s = 5; s-- > 0;)
        a = (a & ~moves[s]) | (a << (1u << s) & moves[s]);
    return a & mask;
}

/* Puts `count` bits, 0 to 64, at bit `at` of words that are zero there, while other lanes put
 * theirs. */
PZI_FN void pzi_put_bits(PZ_LOCAL uint32_t *words, uint32_t at, uint64_t value, uint32_t count)
{
    const uint32_t shift = at % 32;
    const uint64_t low = value << shift;

    if ((uint32_t)low != 0)
        PZ_OR32(&words[at / 32], (uint32_t)low);
    if (shift + count > 32 && low >> 32 != 0)
        PZ_OR32(&words[at / 32 + 1], (uint32_t)(low >> 32));
    if (shift + count > 64 && value >> (64 - shift) != 0)
        PZ_OR32(&words[at / 32 + 2], (uint32_t)(value >> (64 - shift)));
}

/* 32 bits of two words from bit `shift` < 32 on. */
PZI_FN uint32_t pzi_between(uint32_t low, uint32_t high, uint32_t shift)
{
    return (uint32_t)((low | (uint64_t)high << 32) >> shift);
}

/* Of the bytes of low, 0 to 3, and of high, 4 to 7, those that the digits of `which` name, the last
 * digit for the first byte. */
PZI_FN uint32_t pzi_bytes_of(uint32_t low, uint32_t high, uint32_t which)
{
#ifdef __CUDACC__
    return __byte_perm(low, high, which);
#else
    uint32_t result = 0;

    for (uint32_t k = 0; k < 4; k++)
        result |= ((which >> (4 * k) & 4 ? high : low) >> (which >> (4 * k) & 3) * 8 & 0xff)
                  << (8 * k);
    return result;
#endif
}

/* 32 or 64 bits from bit `at` on. */
PZI_FN uint32_t pzi_bits32(PZ_LOCAL const uint32_t *words, uint32_t at)
{
    return pzi_between(words[at / 32], words[at / 32 + 1], at % 32);
}

PZI_FN uint64_t pzi_bits64(PZ_LOCAL const uint32_t *words, uint32_t at)
{
    return pzi_bits32(words, at) | (uint64_t)pzi_bits32(words, at + 32) << 32;
}

/* 32 bytes, four a word: bit j of byte i becomes bit i of word j. */
PZI_FN uint64_t pzi_turn8x8(uint64_t x)
{
    uint64_t differ = (x ^ x >> 7) & 0x00aa00aa00aa00aau;

    x ^= differ ^ differ << 7;
    differ = (x ^ x >> 14) & 0x0000cccc0000ccccu;
    x ^= differ ^ differ << 14;
    differ = (x ^ x >> 28) & 0x00000000f0f0f0f0u;
    return x ^ differ ^ differ << 28;
}

PZI_FN void pzi_planes_of_bytes(PZ_LOCAL uint32_t *row)
{
    uint64_t turned[4];

    for (uint32_t i = 0; i < 4; i++)
        turned[i] = pzi_turn8x8(row[2 * i] | (uint64_t)row[2 * i + 1] << 32);
    for (uint32_t j = 0; j < 8; j++)
        row[j] = (uint32_t)(turned[0] >> (8 * j) & 0xff) |
                 (uint32_t)(turned[1] >> (8 * j) & 0xff) << 8 |
                 (uint32_t)(turned[2] >> (8 * j) & 0xff) << 16 |
                 (uint32_t)(turned[3] >> (8 * j) & 0xff) << 24;
}

/* And back. */
PZI_FN void pzi_bytes_of_planes(PZ_LOCAL uint32_t *row)
{
    uint32_t words[8];

    for (uint32_t j = 0; j < 8; j++)
        words[j] = row[j];
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t turned = 0;

        for (uint32_t j = 0; j < 8; j++)
            turned |= (uint64_t)(words[j] >> (8 * i) & 0xff) << (8 * j);
        turned = pzi_turn8x8(turned);
        row[2 * i] = (uint32_t)turned;
        row[2 * i + 1] = (uint32_t)(turned >> 32);
    }
}

/* In each lane the sum of x over the lanes below; returns that of all lanes. */
PZI_FN uint32_t pzi_scan(PZ_LOCAL struct pzi_lanes *lanes, uint32_t *x)
{
    PZ_LANE_VAR(uint32_t, sum);
    PZ_LANE_VAR(uint32_t, below);
    uint32_t total;

    for (PZ_EACH_LANE(lanes))
        sum[PZ_SLOT] = x[PZ_SLOT];
    for (uint32_t step = 1; step < PZ_LANES; step *= 2) {
        PZ_SHUFFLE(lanes, below, sum, lane - step);
        for (PZ_EACH_LANE(lanes))
            sum[PZ_SLOT] += lane >= step ? below[PZ_SLOT] : 0;
    }
    for (PZ_EACH_LANE(lanes))
        x[PZ_SLOT] = sum[PZ_SLOT] - x[PZ_SLOT];
    PZ_BROADCAST(lanes, total, sum, PZ_LANES - 1);
    return total;
}

/* The same for 64 bits, but with the lane itself. */
PZI_FN uint64_t pzi_running_sum(PZ_LOCAL struct pzi_lanes *lanes, uint64_t *x)
{
    PZ_LANE_VAR(uint64_t, below);
    uint64_t total;

    for (uint32_t step = 1; step < PZ_LANES; step *= 2) {
        PZ_SHUFFLE(lanes, below, x, lane - step);
        for (PZ_EACH_LANE(lanes))
            x[PZ_SLOT] += lane >= step ? below[PZ_SLOT] : 0;
    }
    PZ_BROADCAST(lanes, total, x, PZ_LANES - 1);
    return total;
}

/* And without. */
PZI_FN uint64_t pzi_scan64(PZ_LOCAL struct pzi_lanes *lanes, uint64_t *x)
{
    PZ_LANE_VAR(uint64_t, own);
    uint64_t total;

    for (PZ_EACH_LANE(lanes))
        own[PZ_SLOT] = x[PZ_SLOT];
    total = pzi_running_sum(lanes, x);
    for (PZ_EACH_LANE(lanes))
        x[PZ_SLOT] -= own[PZ_SLOT];
    return total;
}

/* x as a row of a matrix of 32 x 32 bits in each lane; then its column.  Of two lanes the first
 * gives away the upper bits of each 2 * step, the second the lower ones. */
PZI_FN void pzi_transpose32(PZ_LOCAL struct pzi_lanes *lanes, uint32_t *x)
{
    PZ_LANE_VAR(uint32_t, other);
    uint32_t mask = 0x0000ffffu;

    for (uint32_t step = 16; step > 0; step /= 2, mask ^= mask << step) {
        PZ_SHUFFLE(lanes, other, x, lane ^ step);
        for (PZ_EACH_LANE(lanes)) {
            const uint32_t is_second = lane & step, keep = is_second ? ~mask : mask;
            const uint32_t up = is_second ? 32 - step : step;

            x[PZ_SLOT] = (x[PZ_SLOT] & keep) |
                         (pzi_between(other[PZ_SLOT], other[PZ_SLOT], 32 - up) & ~keep);
        }
    }
}

#endif
