/* Random chunks for format 2, of many kinds: above all such whose sampled blocks, by which an
 * encoder chooses (docs/format2.md, "Canonical choices"), say little about the rest. */
#ifndef PZ_TEST_CHUNKGEN2_H
#define PZ_TEST_CHUNKGEN2_H

#include <stddef.h>
#include <stdint.h>

#include "rng.h"

enum { CHUNKGEN2_BYTES = 4096 };

enum chunkgen2_kind {
    CHUNKGEN2_DATA,     /* one of datagen_kind */
    CHUNKGEN2_FLOATS,   /* datagen_fill_floats() */
    CHUNKGEN2_SMOOTH,   /* numbers close to the one before, also across zero */
    CHUNKGEN2_MASK,     /* two symbols in runs */
    CHUNKGEN2_SPECIAL,  /* zeros, subnormals, infinities, NaNs, the least and the greatest */
    CHUNKGEN2_INTEGERS, /* another number of bits in each block */
    CHUNKGEN2_SIMPLE,   /* those above are parts of those that follow */
    CHUNKGEN2_ABOUT = CHUNKGEN2_SIMPLE, /* datagen_fill_about() */
    CHUNKGEN2_UNSAMPLED,                /* one kind where the sample is, another elsewhere */
    CHUNKGEN2_CHANGE,                   /* one kind, and from some symbol on another */
    CHUNKGEN2_EMPTY_BLOCKS,             /* one kind between blocks of zeros */
    CHUNKGEN2_DROPPED,                  /* one kind, of which some symbols are zero */
    CHUNKGEN2_OUTLIERS,                 /* one kind, but for a few bits anywhere */
    CHUNKGEN2_KINDS
};

/* Fills a chunk with symbols of w bits, e of them exponent. */
void chunkgen2_fill(struct rng *rng, enum chunkgen2_kind kind, unsigned w, unsigned e,
                    uint8_t chunk[CHUNKGEN2_BYTES]);

/* How much of a chunk to take: often all, else any number of bytes from 1 on, small ones more often
 * than large ones. */
size_t chunkgen2_size(struct rng *rng);

#endif
