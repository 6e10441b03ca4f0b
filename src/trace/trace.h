/* A trace in memory: operators, storages, and what is derived from them once: values (a storage at
 * a version), saved tensors and lifetimes.  Data only, no decisions.  Operators are numbered in
 * order, storages in the order of the file. */
#ifndef PZI_TRACE_TRACE_H
#define PZI_TRACE_TRACE_H

#include <planezip/plan.h>
#include <stdbool.h>

#define PZI_NONE (-1)

/* Sums of these stay far from the ends of uint64_t, int64_t and the integers of a double. */
#define PZI_MAX_BYTES (INT64_C(1) << 48)
#define PZI_MAX_FLOPS (INT64_C(1) << 60)
#define PZI_MAX_COUNT (INT64_C(1) << 30)
#define PZI_MAX_ALL_BYTES (UINT64_C(1) << 56) /* of all storages together */

typedef enum pzi_kind {
    PZI_PARAMETER,
    PZI_BUFFER,
    PZI_INPUT,
    PZI_ACTIVATION,
    PZI_PARAMETER_GRADIENT
} pzi_kind;

typedef struct pzi_storage {
    uint64_t bytes;
    int64_t id; /* in the file */
    pzi_kind kind;
    bool float32;
    const char *dtype;
    int32_t op, slot;
    int32_t saved;       /* index of the saved tensor, or PZI_NONE */
    int32_t last_use;    /* last operator that reads or writes it; PZI_NONE if none does */
    int32_t final_value; /* its value at the end of the forward pass, or PZI_NONE */
} pzi_storage;

/* A storage at a version.  Persistent storages (parameters, buffers, their gradients) have none:
 * they are always there. */
typedef struct pzi_value {
    int32_t storage;
    int32_t op;       /* that wrote it; PZI_NONE for an input */
    int32_t previous; /* version that op overwrote in place, or PZI_NONE */
    int32_t next;     /* version that overwrites this one, or PZI_NONE */
    int32_t same_as;  /* equal value of another storage by which it is known; else itself */
    int32_t twin;     /* a value that is same_as this one, or PZI_NONE */
} pzi_value;

typedef struct pzi_access {
    int32_t storage;
    int32_t value; /* PZI_NONE for a persistent storage */
} pzi_access;

typedef struct pzi_op {
    const char *name;
    bool view;
    bool free_of_cost; /* views and allocations launch nothing */
    uint64_t flops, bytes, float_bytes;
    int64_t duration_ns;       /* as recorded, or PZI_NONE */
    uint32_t reads, reads_end; /* ranges of trace->accesses */
    uint32_t writes, writes_end;
} pzi_op;

typedef struct pzi_saved {
    int32_t storage;
    int32_t value; /* the version that the backward pass reads first */
    int32_t ready_op, last_forward_use, first_backward_use, last_use;
} pzi_saved;

struct pz_trace {
    const char *model;
    bool adamw;
    uint64_t batch, parameters, digest;
    size_t n_ops, n_forward, n_storages, n_accesses, n_values, n_saved;
    pzi_op *ops;
    pzi_storage *storages;
    pzi_access *accesses;
    pzi_value *values;
    pzi_saved *saved;
    char *strings; /* model and operator names, one after the other */
    uint64_t peak_bytes[2];
    size_t peak_op[2];
};

static inline bool pzi_persistent(pzi_kind kind)
{
    return kind != PZI_INPUT && kind != PZI_ACTIVATION;
}

/* Bytes of a storage at a precision: only float32 shrinks. */
static inline uint64_t pzi_storage_bytes(const pzi_storage *storage, pz_precision precision)
{
    return precision == PZ_BF16 && storage->float32 ? storage->bytes / 2 : storage->bytes;
}

/* The link's rate in one direction for one of the GPUs that share it. */
double pzi_link_bps(const pz_platform *platform, bool to_host);

/* Derives values, saved tensors, lifetimes, peaks and the digest of a trace whose operators,
 * storages and accesses stand.  PZ_ERR_MEANING for a trace that contradicts itself. */
pz_status pzi_flow_derive(pz_trace *trace, pz_diag *diag);

#endif
