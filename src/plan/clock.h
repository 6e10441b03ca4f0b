/* How long a plan takes, and nothing else: the simulator (sim/sim.c) without reports, events and
 * checks, for the search that asks it a hundred thousand times.  Tests hold the two together. */
#ifndef PZI_PLAN_CLOCK_H
#define PZI_PLAN_CLOCK_H

#include "plan/rebuild.h"
#include "plan/swaps.h"
#include "sim/lane.h"

/* What runs: a plan with its replays and with the prefetches in the order of their requests. */
typedef struct pzi_clock_plan {
    const pz_action *actions;
    const pzi_rebuild *rebuild;
    const int32_t *prefetches; /* tensors that left */
    const int32_t *issue;      /* per saved tensor: operator before which it is requested */
    size_t n_prefetches;
} pzi_clock_plan;

/* Operators in a row at which no plan does anything: they run as one if memory is enough. */
typedef struct pzi_row {
    int32_t end;          /* one past the last operator */
    int64_t ns;           /* of all */
    uint64_t peak_bytes;  /* highest above what is live before */
    int64_t change_bytes; /* live after, less live before */
} pzi_row;

/* What is the same for all plans, and scratch space. */
typedef struct pzi_clock {
    const pzi_work *work;
    const pzi_copies *copies;
    int64_t *codec_out_ns, *codec_in_ns; /* per saved tensor: compute time of a software codec */
    int64_t *pack_ns, *pack_codec_ns;    /* compression in device memory, each way: time, compute */
    uint64_t *pack_frees;                /* what it frees */
    int64_t *spare_out, *spare_in;       /* rate that a swap of the tensor leaves for it */
    uint64_t *alloc_bytes, *free_bytes;  /* per operator, with nothing evicted */
    pzi_row *rows;                       /* per operator: the row that begins there */
    int32_t *by_last;   /* saved tensors that the forward pass uses, by their last use there */
    int32_t *by_access; /* all saved tensors in the order in which the backward pass asks */
    size_t n_by_last;
    uint64_t input_bytes;
    uint8_t *state; /* per saved tensor */
    int32_t *out_queue, *in_queue;
    int64_t *out_end_ns;
    int32_t *pack_queue, *unpack_queue;
    int32_t *outs, *leavers, *arrivals;
} pzi_clock;

/* The copies must outlive the clock; actual transfers take their time. */
pz_status pzi_clock_new(const pzi_work *work, const pz_setup *setup, const pzi_copies *copies,
                        pzi_clock *clock);
void pzi_clock_free(pzi_clock *clock);

/* From now on transfers have the ratios of another setup, and its copies. */
void pzi_clock_set(pzi_clock *clock, const pz_setup *setup, const pzi_copies *copies);

/* Total time with the optimizer step, as pzi_simulate() reports it.  INT64_MAX if the plan does not
 * run within budget_bytes, or takes longer than limit_ns. */
int64_t pzi_clock_run(pzi_clock *clock, const pzi_clock_plan *plan, uint64_t budget_bytes,
                      int64_t limit_ns);

#endif
