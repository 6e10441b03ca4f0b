/* Which block of the allocator a storage lies in while a plan runs, and what replays build on their
 * way: the simulator tells, the ledger passes it on to the allocator and keeps the highest marks.
 * When fragmentation leaves no room within the limit, it notes where, and goes on without one. */
#ifndef PZI_SIM_LEDGER_H
#define PZI_SIM_LEDGER_H

#include "sim/allocator.h"
#include "sim/replay.h"

typedef struct pzi_ledger {
    const pzi_work *work;
    pzi_allocator allocator;
    int32_t *storages; /* per storage: its block, or PZI_NONE */
    int32_t *packed;   /* per saved tensor: the block of its compressed form, or PZI_NONE */
    int32_t *values;   /* per value that a replay has made, the same */
    pz_fragmentation *report;
    int32_t op;  /* that the run is at */
    size_t move; /* of the replay under way: the first one of the step that it is at */
    bool no_memory;
} pzi_ledger;

/* PZ_ERR_MEMORY.  The report is written while the plan runs. */
pz_status pzi_ledger_new(const pzi_work *work, uint64_t limit_bytes, pz_fragmentation *report,
                         pzi_ledger *ledger);
void pzi_ledger_free(pzi_ledger *ledger);

/* In all of these ledger may be NULL: then nothing happens.  Giving what is not there is allowed.
 */
void pzi_ledger_take(pzi_ledger *ledger, int32_t op, int32_t storage);
void pzi_ledger_give(pzi_ledger *ledger, int32_t storage);

/* A saved tensor leaves memory, but for so many bytes, and is back. */
void pzi_ledger_leave(pzi_ledger *ledger, int32_t op, int32_t saved, uint64_t packed_bytes);
void pzi_ledger_return(pzi_ledger *ledger, int32_t op, int32_t saved);

/* Before and after operator k of a replay, and after all of it.  The replay has moves. */
void pzi_ledger_before(pzi_ledger *ledger, int32_t op, const pzi_replay *replay, size_t k);
void pzi_ledger_after(pzi_ledger *ledger, const pzi_replay *replay, size_t k);
void pzi_ledger_keep(pzi_ledger *ledger, const pzi_replay *replay);

#endif
