/* The scalar bit transposition that vec_scalar.tmpl.h builds on: four 16 x 16 bit matrices side by
 * side in the 16-bit fields of 16 words.  Whatever its width, a block of 128 bytes is such a word
 * array; only the order of loading differs. */
#ifndef PZI_VEC_SCALAR_H
#define PZI_VEC_SCALAR_H

#include <stdint.h>

/* Exchanges the off-diagonal squares of `size` rows and columns; mask selects, in every 16-bit
 * field, the columns whose number lacks the bit `size`. */
static inline void pzi_swap_squares(uint64_t rows[16], unsigned size, uint64_t mask)
{
    for (unsigned top = 0; top < 16; top += 2 * size) {
        for (unsigned k = top; k < top + size; k++) {
            const uint64_t differ = ((rows[k] >> size) ^ rows[k + size]) & mask;

            rows[k] ^= differ << size;
            rows[k + size] ^= differ;
        }
    }
}

/* Transposes all four matrices; its own inverse. */
static inline void pzi_transpose(uint64_t rows[16])
{
    pzi_swap_squares(rows, 8, 0x00ff00ff00ff00ffu);
    pzi_swap_squares(rows, 4, 0x0f0f0f0f0f0f0f0fu);
    pzi_swap_squares(rows, 2, 0x3333333333333333u);
    pzi_swap_squares(rows, 1, 0x5555555555555555u);
}

#endif
