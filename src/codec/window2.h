/* The window of mode E: which exponents are classes, in which code (docs/format2.md, "Canonical
 * choices"). */
#ifndef PZI_WINDOW2_H
#define PZI_WINDOW2_H

#include <stdint.h>

#include "codec/code2.h"

/* Class c = 0 .. 9 is the exponent base - c. */
struct pzi_window2 {
    unsigned base;
    unsigned code; /* j */
};

enum { PZI_SHIFTS2 = 4, PZI_DEPTHS2 = PZI_ESCAPE2 + PZI_SHIFTS2 - 1 };

/* What is known of the sample. */
struct pzi_survey2 {
    unsigned symbols;               /* that are coded */
    unsigned blocks;                /* with such a symbol */
    unsigned largest;               /* exponent of these symbols, 0 if there are none */
    uint16_t at_depth[PZI_DEPTHS2]; /* how many have the exponent largest - d */
};

/* The cost of the survey's symbols in each code, if base is largest - shift. */
static inline void pzi_window_costs(const struct pzi_survey2 *survey, unsigned shift,
                                    unsigned escape_bits, uint16_t cost[PZI_CODES2])
{
    unsigned inside = 0;

    for (unsigned c = 0; c < PZI_ESCAPE2; c++)
        inside += survey->at_depth[shift + c];
    for (unsigned j = 0; j < PZI_CODES2; j++)
        cost[j] =
            (uint16_t)((survey->symbols - inside) * (pzi_lengths2[PZI_ESCAPE2][j] + escape_bits));
    for (unsigned c = 0; c < PZI_ESCAPE2; c++)
        for (unsigned j = 0; j < PZI_CODES2; j++)
            cost[j] = (uint16_t)(cost[j] + survey->at_depth[shift + c] * pzi_lengths2[c][j]);
}

/* The canonical window, and its cost, which is below 2^16: a sample has 1024 symbols at most. */
static inline unsigned pzi_best_window(const struct pzi_survey2 *survey, unsigned escape_bits,
                                       struct pzi_window2 *window)
{
    unsigned best = UINT32_MAX;

    for (unsigned shift = 0; shift < PZI_SHIFTS2 && shift <= survey->largest; shift++) {
        uint16_t cost[PZI_CODES2];

        pzi_window_costs(survey, shift, escape_bits, cost);
        for (unsigned j = 0; j < PZI_CODES2; j++) {
            if (cost[j] < best) {
                best = cost[j];
                *window = (struct pzi_window2){survey->largest - shift, j};
            }
        }
    }
    return best;
}

#endif
