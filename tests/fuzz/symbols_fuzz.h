/* The symbols of format 2 from a byte of a fuzzer's input. */
#ifndef PZ_SYMBOLS_FUZZ_H
#define PZ_SYMBOLS_FUZZ_H

#include "planezip/planezip.h"

static inline pz_mode fuzz_symbols(uint8_t byte)
{
    static const struct {
        unsigned char w, e;
    } pairs[10] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
                   {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};
    const unsigned i = (byte & 15) % 10;

    return (pz_mode){pairs[i].w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, pairs[i].e};
}

#endif
