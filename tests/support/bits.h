/* A sequence of bits in the order of docs/format.md, "Bit order", for the programs that make
 * streams by hand. */
#ifndef PZ_TEST_BITS_H
#define PZ_TEST_BITS_H

#include <stddef.h>
#include <stdint.h>

/* Enough for a chunk in any encoding of both formats. */
enum { BITS_MAX_BYTES = 16384 };

struct bits {
    size_t count;
    uint8_t bytes[BITS_MAX_BYTES]; /* zero from bit `count` on */
};

static inline void bits_put_one(struct bits *bits, unsigned bit)
{
    bits->bytes[bits->count / 8] |= (uint8_t)((bit & 1u) << (bits->count % 8));
    bits->count++;
}

/* A field of m bits. */
static inline void bits_put(struct bits *bits, unsigned m, uint64_t value)
{
    for (unsigned k = 0; k < m; k++)
        bits_put_one(bits, (unsigned)(value >> k) & 1u);
}

/* Bits as the format prints them, the first one first; blanks in between are skipped. */
static inline void bits_code(struct bits *bits, const char *code)
{
    for (; *code != '\0'; code++)
        if (*code != ' ')
            bits_put_one(bits, *code == '1');
}

/* Zero bits to the end of the byte. */
static inline void bits_align(struct bits *bits)
{
    bits->count = (bits->count + 7) / 8 * 8;
}

static inline void bits_append(struct bits *bits, const struct bits *more)
{
    for (size_t k = 0; k < more->count; k++)
        bits_put_one(bits, more->bytes[k / 8] >> (k % 8) & 1u);
}

/* Bytes begun. */
static inline size_t bits_bytes(const struct bits *bits)
{
    return (bits->count + 7) / 8;
}

#endif
