/* The prefix code of PLANES (docs/format.md): how long, how written, how read.  It knows the shape
 * of a plane (plane.h) but neither planes nor bit streams.
 *
 * Plain integer code without pointers, so that a compiler for GPUs can take the same file. */
#ifndef PZI_PLANECODE_H
#define PZI_PLANECODE_H

#include "codec/plane.h"

/* A code, or its part before the p bits of a verbatim plane: `length` bits, the first one lowest.
 */
typedef struct pzi_code {
    uint32_t bits;
    uint32_t length;
} pzi_code;

/* The codes as integers whose lowest bit is the first in the stream. */
#define PZI_CODE_VERBATIM 0x01u /* 1      */
#define PZI_CODE_RUN 0x02u      /* 01     */
#define PZI_CODE_ZERO 0x04u     /* 001    */
#define PZI_CODE_ONES 0x00u     /* 00000  */
#define PZI_CODE_RESET 0x10u    /* 00001  */
#define PZI_CODE_ADJACENT 0x08u /* 00010  */
#define PZI_CODE_ONE 0x18u      /* 00011  */

PZI_FN pzi_code pzi_code_of(uint32_t bits, uint32_t length)
{
    pzi_code code;

    code.bits = bits;
    code.length = length;
    return code;
}

/* L = ceil(log2(p)) for 1 <= p <= 128: bits of a position. */
PZI_FN uint32_t pzi_position_bits(uint32_t p)
{
    return p > 1 ? 64 - PZI_CLZ64((uint64_t)p - 1) : 0;
}

/* R = log2(w): bits of the field of a run. */
PZI_FN uint32_t pzi_run_bits(uint32_t w)
{
    return pzi_position_bits(w);
}

/* What codes without a plane save against 1 + p bits verbatim: those for a plane of ones or a
 * reset, and those with a position.  0 where the longer of the two is the canonical one. */
PZI_FN uint32_t pzi_brief_saves(uint32_t p)
{
    return p > 4 ? p - 4 : 0;
}

PZI_FN uint32_t pzi_place_saves(uint32_t p, uint32_t L)
{
    return p > 4 + L ? p - 4 - L : 0;
}

/* Whether such codes are canonical: docs/format.md, "Canonical choices". */
#define PZI_MIN_BRIEF 4
#define PZI_MIN_PLACE 7

/* Bits of the canonical code of a maximal run of zero planes. */
PZI_FN uint32_t pzi_run_cost(uint32_t run, uint32_t R)
{
    return run == 1 ? 3 : 2 + R;
}

/* A code with a position for a plane whose lowest 1 is at `lowest`. */
PZI_FN pzi_code pzi_place_code(uint32_t is_one, uint32_t lowest, uint32_t L)
{
    return pzi_code_of((is_one ? PZI_CODE_ONE : PZI_CODE_ADJACENT) | lowest << 5, 5 + L);
}

PZI_FN pzi_code pzi_brief_code(uint32_t is_ones)
{
    return pzi_code_of(is_ones ? PZI_CODE_ONES : PZI_CODE_RESET, 5);
}

/* The code of a maximal run of zero planes. */
PZI_FN pzi_code pzi_run_code(uint32_t run, uint32_t R)
{
    if (run == 1)
        return pzi_code_of(PZI_CODE_ZERO, 3);
    return pzi_code_of(PZI_CODE_RUN | (run - 2) << 2, 2 + R);
}

/* What a code says about the planes that follow. */
typedef enum pzi_token_kind {
    PZI_TOKEN_VERBATIM, /* the p bits of x follow */
    PZI_TOKEN_RUN,      /* `field` zero planes */
    PZI_TOKEN_ONES,
    PZI_TOKEN_RESET,
    PZI_TOKEN_ONE,     /* at position `field`, which may be out of range */
    PZI_TOKEN_ADJACENT /* the lower one at position `field`, which may be out of range */
} pzi_token_kind;

typedef struct pzi_token {
    pzi_token_kind kind;
    uint32_t field;
    uint32_t length; /* bits of the code, without those of a verbatim plane */
} pzi_token;

PZI_FN pzi_token pzi_token_of(pzi_token_kind kind, uint32_t field, uint32_t length)
{
    pzi_token token;

    token.kind = kind;
    token.field = field;
    token.length = length;
    return token;
}

/* The code at the lowest bits of `bits`, of which at least 12 are needed. */
PZI_FN pzi_token pzi_parse(uint64_t bits, uint32_t R, uint32_t L)
{
    if (bits & 1)
        return pzi_token_of(PZI_TOKEN_VERBATIM, 0, 1);
    if (bits & 2)
        return pzi_token_of(PZI_TOKEN_RUN, 2 + ((uint32_t)(bits >> 2) & ((1u << R) - 1)), 2 + R);
    if (bits & 4)
        return pzi_token_of(PZI_TOKEN_RUN, 1, 3);
    switch ((uint32_t)bits & 0x18) {
    case PZI_CODE_ONES:
        return pzi_token_of(PZI_TOKEN_ONES, 0, 5);
    case PZI_CODE_RESET:
        return pzi_token_of(PZI_TOKEN_RESET, 0, 5);
    case PZI_CODE_ONE:
        return pzi_token_of(PZI_TOKEN_ONE, (uint32_t)(bits >> 5) & ((1u << L) - 1), 5 + L);
    default:
        return pzi_token_of(PZI_TOKEN_ADJACENT, (uint32_t)(bits >> 5) & ((1u << L) - 1), 5 + L);
    }
}

#endif
