/* Coded sizes of data under every codec: what measure adds up and prints. */
#ifndef CLI_SIZES_H
#define CLI_SIZES_H

#include <planezip/planezip.h>

/* planezip, zvc, bpc, bx, zbx, bdi, which is no mode of the stream, planezip2, planezip2-fast. */
enum {
    SIZES_PLANEZIP = 0,
    SIZES_ZVC = 1,
    SIZES_BX = 3,
    SIZES_BDI = 5,
    SIZES_PLANEZIP2 = 6,
    SIZES_CODECS = 8
};
extern const char *const sizes_codecs[SIZES_CODECS];

typedef struct sizes {
    uint64_t raw_bytes;
    uint64_t coded_bytes[SIZES_CODECS];
    uint64_t blocks[PZ_ENCODINGS]; /* of planezip up to PZ_ZBX, then of planezip2 */
} sizes;

/* What the data is made of: symbols of format 1, and the type, which tells those of format 2. */
typedef struct sizes_symbols {
    unsigned width_bits;
    pz_dtype dtype; /* 0: not known; format 2 takes integers of width_bits then */
} sizes_symbols;

/* Adds the sizes of data, coded as a stream of its own. */
pz_status sizes_add(sizes *sum, const sizes_symbols *symbols, const void *data, size_t bytes);

/* Adds what others add up to. */
void sizes_join(sizes *sum, const sizes *other);

/* Raw over coded bytes; NaN without data. */
double sizes_ratio(const sizes *self, unsigned codec);

/* float32 to bfloat16, both little-endian: to nearest, ties to even; every NaN becomes 0x7fc0. */
void sizes_to_bf16(const unsigned char *f32, size_t elements, unsigned char *bf16);

#endif
