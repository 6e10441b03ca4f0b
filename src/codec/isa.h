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

/* The payload of a chunk of format 2, as far as it is not yet read.  Behind its end,
 * PZI_READER2_SLACK bytes may be read. */
struct pzi_reader2 {
    const uint8_t *next, *end;
};

enum {
    PZI_READER2_SLACK = 1024,
    PZI_CHUNK2_ROOM = 12 * 1024 /* for any payload, and what is written behind it */
};

/* The inner loops of format 2 for one symbol width.  Each works on one chunk of n symbols, in
 * PZ_CHUNK_BYTES of memory; where the chunk is shorter, zeros follow. */
struct pzi_width2_ops {
    /* Writes the canonical payload, which may be larger than the chunk, and returns its size. */
    size_t (*encode)(pz_mode mode, const uint8_t *raw, unsigned n, uint8_t *to);

    /* Returns the size of the canonical payload. */
    size_t (*measure)(pz_mode mode, const uint8_t *raw, unsigned n, pz_encoding *encoding);

    /* Reads a payload.  On an error, the reader stands where the part begins that is wrong. */
    pz_status (*decode)(pz_mode mode, struct pzi_reader2 *from, uint8_t *raw, unsigned n);
};

struct pzi_ops {
    const char *name;
    uint32_t cpu_features;           /* PZI_CPU_* that it needs */
    struct pzi_width_ops width[4];   /* of 8, 16, 32, 64 bits */
    struct pzi_width2_ops width2[4]; /* the same of format 2 */
};

extern const struct pzi_ops pzi_ops_scalar;
#if defined(__x86_64__)
extern const struct pzi_ops pzi_ops_avx2;
extern const struct pzi_ops pzi_ops_avx512bw;
extern const struct pzi_ops pzi_ops_avx512;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
extern const struct pzi_ops pzi_ops_neon;
#endif

/* Of the active instruction set; width_bits is one of the four. */
const struct pzi_width_ops *pzi_active_ops(uint32_t width_bits);
const struct pzi_width2_ops *pzi_active_ops2(uint32_t width_bits);

#endif
