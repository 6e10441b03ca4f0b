/* Codewords of a group of 64 symbols in plain C: the part of the vocabulary of format 2 that does
 * not depend on the symbol width, see group_scalar.tmpl.h. */
#ifndef PZI_GROUP_SCALAR_H
#define PZI_GROUP_SCALAR_H

#include "codec/words2.h"

/* Bit j of byte i becomes bit i of byte j. */
static inline uint64_t pzi_turn8(uint64_t x)
{
    uint64_t differ = (x ^ x >> 7) & 0x00aa00aa00aa00aau;

    x ^= differ ^ differ << 7;
    differ = (x ^ x >> 14) & 0x0000cccc0000ccccu;
    x ^= differ ^ differ << 14;
    differ = (x ^ x >> 28) & 0x00000000f0f0f0f0u;
    return x ^ differ ^ differ << 28;
}

/* Byte j of row i becomes byte i of row j. */
static inline void pzi_turn_bytes(uint64_t rows[8])
{
    static const uint64_t masks[3] = {0x00000000ffffffffu, 0x0000ffff0000ffffu,
                                      0x00ff00ff00ff00ffu};

    for (unsigned step = 0, size = 4; size > 0; step++, size /= 2)
        for (unsigned top = 0; top < 8; top += 2 * size)
            for (unsigned k = top; k < top + size; k++) {
                const uint64_t differ = ((rows[k] >> 8 * size) ^ rows[k + size]) & masks[step];

                rows[k] ^= differ << 8 * size;
                rows[k + size] ^= differ;
            }
}

/* The bits of 64 bytes as words, bit j of all as word j; and back. */
static inline void pzi_words_of_bytes(const uint64_t bytes[8], uint64_t words[8])
{
    for (unsigned i = 0; i < 8; i++)
        words[i] = pzi_turn8(bytes[i]);
    pzi_turn_bytes(words);
}

static inline void pzi_bytes_of_words(uint64_t words[8])
{
    pzi_turn_bytes(words);
    for (unsigned i = 0; i < 8; i++)
        words[i] = pzi_turn8(words[i]);
}

/* The symbols whose codewords are longer than l: those that are at least T_l, bit by bit from the
 * last one of l. */
static inline uint64_t pzi_longer(const uint64_t *bit, unsigned l, unsigned limit)
{
    uint64_t more = UINT64_MAX;

    if (limit == 1u << PZI_CODE2_BITS)
        return 0;
    for (unsigned i = l; i-- > 0;)
        more = limit >> (5 - i) & 1 ? bit[i] & more : bit[i] | more;
    return more;
}

/* Those with the codeword of the escape. */
static inline uint64_t pzi_escapes(const uint64_t *bit, size_t stride, const struct pzi_code2 *code)
{
    uint64_t escapes = UINT64_MAX;

    for (unsigned l = 0; l < PZI_LEVELS2; l++) {
        if (l > 0 && !(code->more[PZI_ESCAPE2] >> (5 - l) & 1))
            break;
        escapes &= code->word[PZI_ESCAPE2] >> (5 - l) & 1 ? bit[l * stride] : ~bit[l * stride];
    }
    return escapes;
}

static inline void pzi_words_of(const uint8_t classes[PZI_GROUP], const struct pzi_code2 *code,
                                struct pzi_words2 *words)
{
    uint64_t codewords[8], bits[8];

    for (unsigned i = 0; i < 8; i++) {
        codewords[i] = 0;
        for (unsigned k = 0; k < 8; k++)
            codewords[i] |= (uint64_t)code->word[classes[8 * i + k]] << (8 * k);
    }
    pzi_words_of_bytes(codewords, bits);
    for (unsigned l = 0; l < PZI_LEVELS2; l++)
        words->bit[l] = bits[5 - l];
    words->escape = bits[6];
    words->more[0] = 0;
    for (unsigned l = 1; l < PZI_LEVELS2; l++)
        words->more[l] = pzi_longer(words->bit, l, code->limit[l]);
}

/* The classes of the codewords whose bits are given, code bit l + 1 at bit[l * stride]; returns
 * which are escapes. */
static inline uint64_t pzi_classes_of(const uint64_t *bit, size_t stride,
                                      const struct pzi_code2 *code, uint8_t classes[PZI_GROUP])
{
    uint64_t codewords[8];

    for (unsigned j = 0; j < 8; j++)
        codewords[j] = j < PZI_LEVELS2 ? bit[(5 - j) * stride] : 0;
    pzi_bytes_of_words(codewords);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned k = 0; k < 8; k++)
            classes[8 * i + k] = code->class_of[codewords[i] >> (8 * k) & 0x3f];
    return pzi_escapes(bit, stride, code);
}

#endif
