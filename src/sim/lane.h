/* Compression in device memory: how long it takes, what it leaves, and a queue of such work.
 *
 * A codec works on one tensor after the other, in each direction.  Its rate may change while it
 * works: an engine that is shared with swaps has for this what they leave.  Integers only, so that
 * times are the same everywhere. */
#ifndef PZI_SIM_LANE_H
#define PZI_SIM_LANE_H

#include "sim/work.h"

#define PZI_FULL_RATE INT64_C(65536)
#define PZI_NO_EVENT INT64_MAX

/* A queue of tensors; the first is being worked on if busy. */
typedef struct pzi_lane {
    int32_t *queue; /* room for every saved tensor */
    size_t begin, end;
    bool busy;
    int64_t left; /* work on the first, in nanoseconds at full rate times PZI_FULL_RATE */
    int64_t rate; /* 0 .. PZI_FULL_RATE */
    int64_t since_ns, begin_ns; /* left is of then; the work began then */
} pzi_lane;

static inline void pzi_lane_start(pzi_lane *lane, int64_t now_ns, int64_t work_ns)
{
    lane->busy = true;
    lane->left = work_ns * PZI_FULL_RATE;
    lane->since_ns = lane->begin_ns = now_ns;
}

/* Changes the rate from now on. */
static inline void pzi_lane_set_rate(pzi_lane *lane, int64_t now_ns, int64_t rate)
{
    if (lane->busy) {
        lane->left -= (now_ns - lane->since_ns) * lane->rate;
        lane->since_ns = now_ns;
    }
    lane->rate = rate;
}

/* When the work on the first tensor will be done at the present rate. */
static inline int64_t pzi_lane_end(const pzi_lane *lane)
{
    if (!lane->busy || lane->rate == 0)
        return PZI_NO_EVENT;
    return lane->since_ns + (lane->left + lane->rate - 1) / lane->rate;
}

/* Time to compress a saved tensor in device memory, or to restore it, at full rate. */
int64_t pzi_pack_ns(const pzi_work *work, pz_compress compress, size_t saved);

/* Compute time that this takes. */
int64_t pzi_pack_compute_ns(const pzi_work *work, pz_compress compress, size_t saved);

/* What compressing a saved tensor frees: its bytes, less those of the slots that hold the rest. */
uint64_t pzi_pack_frees(const pzi_work *work, const pz_setup *setup, size_t saved, double ratio);

/* The rate that is left for compression in device memory during a swap of a saved tensor. */
int64_t pzi_spare_rate(const pzi_work *work, pz_compress compress, size_t saved, double ratio,
                       bool to_host);

#endif
