/* A table as the loops over rows use it: masks and values as words of 64 bits, and what can be
 * computed of them once.  Which bytes of a row participate is a mask of lanes: a lane is a group,
 * or a word where groups are larger. */
#ifndef PZI_IBP_TABLE_H
#define PZI_IBP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "planezip/ibp.h"

/* The steps that move the bits of a lane together, by 1, 2, 4 ... 32 places: which bits of a word
 * each of them moves.  Backwards, they move bits to their places. */
enum { PZI_IBP_STEPS = 6 };

struct pzi_ibp_word {
    uint64_t step[PZI_IBP_STEPS];
    uint8_t kept[8]; /* bits of each lane that are stored if it participates */
};

struct pz_ibp_table {
    pz_ibp_shape shape;
    size_t row_bytes;
    size_t groups;
    size_t map_bytes;     /* of the bits of the groups */
    size_t words;         /* whole ones of a row; a last one of tail_bytes follows */
    unsigned tail_bytes;  /* 0..7 */
    unsigned lane_bits;   /* 8, 16, 32 or 64 */
    unsigned group_words; /* log2 of the words of a group; 0 for smaller groups, too */
    bool one_load;        /* every mask has 8 bits of each word, so that the others fit one load */

    /* words + 1 each; what is behind the row is 0.  keep has the bits of the row that are not in
     * the mask; start, with one more, how many of them are in the words before. */
    uint64_t *mask, *value, *keep;
    uint32_t *start;
    struct pzi_ibp_word *word;
};

/* The bits of the word that belong to the row. */
static inline uint64_t pzi_ibp_valid(const pz_ibp_table *table, size_t word)
{
    return word < table->words ? UINT64_MAX : (UINT64_C(1) << 8 * table->tail_bytes) - 1;
}

/* Whether the format has the shape. */
pz_status pzi_ibp_check_shape(const pz_ibp_shape *shape);

#endif
