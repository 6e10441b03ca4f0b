/* The activations that come with the tests (tests/data/README.md): 4096-byte chunks of tensors that
 * five models save in training, and what each codec makes of each of them.  The bfloat16 chunks are
 * derived here from the float32 ones, by rounding to nearest even. */
#ifndef PZ_TEST_ACTIVATIONS_H
#define PZ_TEST_ACTIVATIONS_H

#include <stddef.h>
#include <stdint.h>

enum { ACTIVATION_TAGS = 5 }; /* RAW, ZVC, BX, DBX, ZBX */

/* The order of the columns of the index. */
enum activation_codec {
    ACTIVATION_ZVC,
    ACTIVATION_BPC,
    ACTIVATION_BX,
    ACTIVATION_ZBX,
    ACTIVATION_PLANEZIP,
    ACTIVATION_BDI,
    ACTIVATION_CODECS
};

struct activation {
    char model[32];
    char cls[32];  /* of the producer, as "Conv output" */
    char kind[8];  /* f32, bf16, int64 or bool */
    size_t offset; /* of the chunk in the data of its model and kind */
    size_t bytes;
    unsigned w;
    uint64_t coded_bytes[ACTIVATION_CODECS]; /* of the chunk as a tensor of its own */
    uint64_t blocks[ACTIVATION_TAGS];        /* encodings that codec planezip chooses */
    const uint8_t *data;
};

struct activations {
    struct activation *chunks;
    size_t count;
};

/* The index and all data.  Ends the program with a message if something is missing or wrong. */
struct activations *activations_load(void);

void activations_free(struct activations *activations);

/* The bfloat16 nearest to the float32 with these bits, ties to even; a NaN stays one, quiet. */
uint16_t activations_bf16(uint32_t f32);

#endif
