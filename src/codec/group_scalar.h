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

/* The entries of eight classes, by bits. */
static inline uint64_t pzi_look_up8(const uint8_t table[16], const uint8_t classes[8])
{
    uint64_t entries = 0;

    for (unsigned i = 0; i < 8; i++)
        entries |= (uint64_t)table[classes[i]] << (8 * i);
    return pzi_turn8(entries);
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
    *words = (struct pzi_words2){0};
    for (unsigned i = 0; i < PZI_GROUP; i += 8) {
        const uint64_t word = pzi_look_up8(code->word, classes + i);

        for (unsigned l = 0; l < PZI_LEVELS2; l++)
            words->bit[l] |= (word >> 8 * (5 - l) & 0xff) << i;
        words->escape |= (word >> 48 & 0xff) << i;
    }
    for (unsigned l = 1; l < PZI_LEVELS2; l++)
        words->more[l] = pzi_longer(words->bit, l, code->limit[l]);
}

/* The classes of the codewords whose bits are given, code bit l + 1 at bit[l * stride]; returns
 * which are escapes. */
static inline uint64_t pzi_classes_of(const uint64_t *bit, size_t stride,
                                      const struct pzi_code2 *code, uint8_t classes[PZI_GROUP])
{
    for (unsigned i = 0; i < PZI_GROUP; i += 8) {
        uint64_t codewords = 0;

        for (unsigned l = 0; l < PZI_LEVELS2; l++)
            codewords |= (bit[l * stride] >> i & 0xff) << 8 * (5 - l);
        codewords = pzi_turn8(codewords);
        for (unsigned k = 0; k < 8; k++)
            classes[i + k] = code->class_of[codewords >> (8 * k) & 0x3f];
    }
    return pzi_escapes(bit, stride, code);
}

#endif
