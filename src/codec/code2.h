/* The sixteen static codes of mode E (docs/format2.md, "Codes"), and the one of the levels of modes
 * I and D. */
#ifndef PZI_CODE2_H
#define PZI_CODE2_H

#include <stdint.h>

enum {
    PZI_CODES2 = 16,
    PZI_CODE2_BITS = 6, /* of the longest codeword */
    PZI_LEVELS2 = 6,    /* bits of a codeword: the first one, and those of the levels 1 to 5 */
    PZI_ESCAPE2 = 10,   /* the class of exponents outside the window */
    PZI_CLASSES2 = 11
};

/* Bit 5 - l of the tables word, more and the index of class_of belongs to code bit l + 1, so the
 * first code bit is bit 5. */
struct pzi_code2 {
    uint8_t word[16];     /* codeword of a class, left-aligned; bit 6 is set for the escape */
    uint8_t more[16];     /* bit 5 - l is set if the codeword of the class is longer than l */
    uint8_t class_of[64]; /* of a codeword, left-aligned */
    uint8_t limit[8];     /* T_l: a codeword goes on past level l if it is >= limit[l] so far */
};

extern const struct pzi_code2 pzi_codes2[PZI_CODES2];

/* Length of class c in code j at [c][j], for sums over a class in all codes at once. */
extern const uint16_t pzi_lengths2[PZI_CLASSES2][PZI_CODES2];

#endif
