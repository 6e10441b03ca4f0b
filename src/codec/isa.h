/* The codec's inner loops, once per instruction set: which exist, which runs.  An isa_*.c compiles
 * the same templates (block.tmpl.h) for every symbol width and fills one pzi_ops. */
#ifndef PZI_ISA_H
#define PZI_ISA_H

#include <stdint.h>

#include "base/bits.h"
#include "planezip/planezip.h"

/* The inner loops for one symbol width.  Each works on whole blocks of one chunk. */
struct pzi_width_ops {
    /* Adds the canonical encodings of the blocks to stats: blocks[] and payload_bits. */
    void (*measure)(uint32_t encodings, const uint8_t *raw, unsigned blocks, pz_stats *stats);

    /* Writes the canonical block streams. */
    void (*encode)(uint32_t encodings, const uint8_t *raw, unsigned blocks,
                   struct pzi_bit_writer *writer);

    /* Reads `blocks` block streams.  *done is the number of blocks before the error; the reader
     * then stands where the error is (pz_where). */
    pz_status (*decode)(struct pzi_bit_reader *reader, uint8_t *raw, unsigned blocks,
                        unsigned *done);
};

struct pzi_ops {
    const char *name;
    uint32_t cpu_features;         /* PZI_CPU_* that it needs */
    struct pzi_width_ops width[4]; /* of 8, 16, 32, 64 bits */
};

extern const struct pzi_ops pzi_ops_scalar;
#if defined(__x86_64__)
extern const struct pzi_ops pzi_ops_avx2;
extern const struct pzi_ops pzi_ops_avx512bw;
extern const struct pzi_ops pzi_ops_avx512;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
extern const struct pzi_ops pzi_ops_neon;
#endif

/* Of the active instruction set; NULL if width_bits is none of the four. */
const struct pzi_width_ops *pzi_active_ops(uint32_t width_bits);

#endif
