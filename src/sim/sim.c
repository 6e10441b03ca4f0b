/* The event-driven simulator (paper, section IV): one compute stream, two FIFO copy queues, a hard
 * memory budget.  Integer nanoseconds; no randomness.  The compute stream advances operator by
 * operator; copies proceed while it runs or waits.  A dataflow checker watches every read. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "sim/lane.h"
#include "sim/schedule.h"
#include "sim/timeline.h"

/* Where a storage is. */
enum place {
    ABSENT,    /* not produced yet, freed, or dropped */
    RESIDENT,  /* in memory and readable */
    LEAVING,   /* in memory and readable; its copy to the host or its compression is under way */
    AWAY,      /* in host memory only, or compressed */
    ON_THE_WAY /* memory taken, on its way back */
};

struct copy {
    int32_t saved;
    int64_t end_ns;
};

struct sim {
    const pzi_work *work;
    const pz_setup *setup;
    const pz_trace *trace;
    pzi_schedule *schedule;
    pzi_replayer *replayer;
    const pz_plan *plan;
    pz_report *report;
    pz_timeline *timeline;
    pzi_ledger *ledger; /* NULL: blocks do not matter */
    pz_diag *diag;

    int64_t now; /* compute stream */
    int32_t op;  /* that it is at, for messages */
    uint64_t live;
    uint8_t *place;  /* per storage */
    int32_t *holds;  /* per storage: the value in it */
    uint8_t *copied; /* per saved tensor: its copy to the host, or compressed, is complete */
    uint8_t *used;   /* per saved tensor: its last forward use is over */

    struct copy *out; /* D2H queue: all copies in order, with their completion times */
    size_t out_begin, out_end;
    int64_t out_free_ns; /* when the last queued copy completes */

    int32_t *requests; /* H2D queue: saved tensors in order of their requests */
    size_t in_begin, in_end;
    bool in_busy;      /* the first one is under way */
    int64_t in_end_ns; /* and completes then */
    uint8_t *requested;
    uint8_t *decoded;      /* per saved tensor: a software codec has been charged for its return */
    pzi_lane pack, unpack; /* compression in device memory, and back */
    size_t next_prefetch, next_ready, next_run;

    uint32_t *made; /* per value: the replay that made it, for the checker */
    uint32_t replay_number;
    bool compute_waits; /* an allocation waits: no prefetch may take memory before it */
};

static double actual_ratio(const struct sim *sim, int32_t saved)
{
    const double *ratios = sim->setup->actual ? sim->setup->actual : sim->setup->predicted;
    return ratios ? ratios[saved] : 1.0;
}

static bool is_compressed(const struct sim *sim, int32_t saved)
{
    return sim->plan->steps[saved].action == PZ_COMPRESS;
}

/* Memory that a tensor frees while it is away. */
static uint64_t freed_bytes(const struct sim *sim, int32_t saved)
{
    if (!is_compressed(sim, saved))
        return pzi_saved_bytes(sim->work, (size_t)saved);
    return pzi_pack_frees(sim->work, sim->setup, (size_t)saved, actual_ratio(sim, saved));
}

static const char *tensor_name(const struct sim *sim, int32_t saved)
{
    const int32_t op = sim->trace->saved[saved].ready_op;
    return op < 0 ? "input" : sim->trace->ops[op].name;
}

static int64_t storage_id(const struct sim *sim, int32_t storage)
{
    return sim->trace->storages[storage].id;
}

/* Memory ----------------------------------------------------------------------------------------
 */

/* The live set at the peak, which an earlier run without a timeline has found. */
static void record_live_set(const struct sim *sim)
{
    pz_timeline *timeline = sim->timeline;
    for (size_t s = 0; s < sim->trace->n_storages; s++) {
        const int32_t saved = sim->trace->storages[s].saved;
        uint64_t bytes = sim->place[s] == ABSENT ? 0 : sim->work->bytes[s];
        if (sim->place[s] == AWAY)
            bytes -= freed_bytes(sim, saved);
        if (bytes > 0)
            timeline->peak[timeline->n_peak++] = (pzi_live){storage_id(sim, (int32_t)s), bytes};
    }
}

static void take(struct sim *sim, uint64_t bytes, int64_t ns)
{
    if (bytes == 0)
        return;
    sim->live += bytes;
    pzi_timeline_sample(sim->timeline, ns, sim->live);
}

static void give_back(struct sim *sim, uint64_t bytes, int64_t ns)
{
    if (bytes == 0)
        return;
    sim->live -= bytes;
    pzi_timeline_sample(sim->timeline, ns, sim->live);
}

/* The live set is complete only after the places are set, so the peak is looked at then. */
static void look_at_peak(struct sim *sim, int64_t ns)
{
    if (sim->live <= sim->report->peak_bytes)
        return;
    sim->report->peak_bytes = sim->live;
    sim->report->peak_ns = ns;
    sim->report->peak_op = (size_t)sim->op;
    if (sim->timeline && sim->live == sim->timeline->peak_bytes)
        record_live_set(sim);
}

static bool fits(const struct sim *sim, uint64_t bytes)
{
    return sim->live + bytes <= sim->setup->budget_bytes;
}

/* Copy queues -----------------------------------------------------------------------------------
 */

static pz_event copy_event(const struct sim *sim, int32_t saved, bool to_host, int64_t begin_ns)
{
    const uint64_t bytes = pzi_saved_bytes(sim->work, (size_t)saved);
    const pz_platform *platform = sim->work->platform;
    const double ratio = actual_ratio(sim, saved);
    return (pz_event){
        .lane = to_host ? PZ_LANE_D2H : PZ_LANE_H2D,
        .kind = to_host ? "swap-out" : "prefetch",
        .name = tensor_name(sim, saved),
        .op = to_host ? sim->trace->saved[saved].ready_op : sim->schedule->need[saved],
        .tensor = saved,
        .begin_ns = begin_ns,
        .end_ns = begin_ns + pz_platform_transfer_ns(platform, bytes, ratio, to_host),
        .raw_bytes = bytes,
        .wire_bytes = pzi_wire_bytes(sim->work, (size_t)saved, ratio, to_host),
    };
}

int64_t pzi_codec_ns(const pzi_work *work, int32_t saved, double ratio, bool to_host)
{
    const pz_platform *platform = work->platform;
    if (platform->engine_bps > 0 || platform->software_bps <= 0)
        return 0;
    const uint64_t bytes = pzi_saved_bytes(work, (size_t)saved);
    if (pzi_wire_bytes(work, (size_t)saved, ratio, to_host) == bytes)
        return 0;
    return (int64_t)(platform->software_share * (double)bytes / platform->software_bps * 1e9);
}

static void run_codec(struct sim *sim, int32_t saved, bool to_host);

/* What the link leaves of the engine, from now on. */
static void share_engine(struct sim *sim, int64_t ns)
{
    const pz_compress compress = sim->setup->compress;
    int64_t out = PZI_FULL_RATE, in = PZI_FULL_RATE;
    if (sim->out_begin < sim->out_end) {
        const int32_t saved = sim->out[sim->out_begin].saved;
        out = pzi_spare_rate(sim->work, compress, (size_t)saved, actual_ratio(sim, saved), true);
    }
    if (sim->in_busy) {
        const int32_t saved = sim->requests[sim->in_begin];
        in = pzi_spare_rate(sim->work, compress, (size_t)saved, actual_ratio(sim, saved), false);
    }
    pzi_lane_set_rate(&sim->pack, ns, out);
    pzi_lane_set_rate(&sim->unpack, ns, in);
}

/* Copies are queued the moment the value is final; a D2H copy waits for nothing but its turn. */
static void queue_swap_out(struct sim *sim, int32_t saved)
{
    run_codec(sim, saved, true);
    const int64_t begin = sim->out_free_ns > sim->now ? sim->out_free_ns : sim->now;
    const pz_event event = copy_event(sim, saved, true, begin);
    sim->out[sim->out_end++] = (struct copy){saved, event.end_ns};
    sim->out_free_ns = event.end_ns;
    sim->place[sim->trace->saved[saved].storage] = LEAVING;
    sim->report->d2h_busy_ns += event.end_ns - begin;
    sim->report->d2h_wire_bytes += event.wire_bytes;
    sim->report->swapped_bytes += event.raw_bytes;
    pzi_timeline_add(sim->timeline, &event);
    share_engine(sim, sim->now);
}

/* Compression in device memory writes over the tensor, so that it needs no memory. */
static void start_pack(struct sim *sim, int64_t ns)
{
    if (sim->pack.busy || sim->pack.begin == sim->pack.end)
        return;
    const size_t saved = (size_t)sim->pack.queue[sim->pack.begin];
    pzi_lane_start(&sim->pack, ns, pzi_pack_ns(sim->work, sim->setup->compress, saved));
}

static void queue_pack(struct sim *sim, int32_t saved)
{
    run_codec(sim, saved, true);
    const uint64_t bytes = pzi_saved_bytes(sim->work, (size_t)saved);
    sim->pack.queue[sim->pack.end++] = saved;
    sim->place[sim->trace->saved[saved].storage] = LEAVING;
    sim->report->compressed_bytes += bytes;
    sim->report->packed_bytes += bytes - freed_bytes(sim, saved);
    start_pack(sim, sim->now);
}

/* The tensor leaves memory once it is copied and the forward pass is done with it. */
static void leave(struct sim *sim, int32_t saved, int64_t ns)
{
    if (!sim->copied[saved] || !sim->used[saved])
        return;
    const uint64_t freed = freed_bytes(sim, saved);
    sim->place[sim->trace->saved[saved].storage] = AWAY;
    give_back(sim, freed, ns);
    if (freed > 0) /* an input may go before the first operator; that is the one then */
        pzi_ledger_leave(sim->ledger, sim->op < 0 ? 0 : sim->op, saved,
                         pzi_saved_bytes(sim->work, (size_t)saved) - freed);
}

/* Starts to restore the first tensor that is asked for, if it can be done at time ns. */
static void start_unpack(struct sim *sim, int64_t ns)
{
    if (sim->unpack.busy || sim->unpack.begin == sim->unpack.end || sim->compute_waits)
        return;
    const int32_t saved = sim->unpack.queue[sim->unpack.begin];
    const int32_t storage = sim->trace->saved[saved].storage;
    if (sim->place[storage] != AWAY || !fits(sim, freed_bytes(sim, saved)))
        return;
    take(sim, freed_bytes(sim, saved), ns);
    if (freed_bytes(sim, saved) > 0)
        pzi_ledger_return(sim->ledger, sim->op, saved);
    sim->place[storage] = ON_THE_WAY;
    look_at_peak(sim, ns);
    pzi_lane_start(&sim->unpack, ns, pzi_pack_ns(sim->work, sim->setup->compress, (size_t)saved));
}

/* Starts the first requested prefetch if it can go at time ns. */
static void start_prefetch(struct sim *sim, int64_t ns)
{
    if (sim->in_busy || sim->in_begin == sim->in_end || sim->compute_waits)
        return;
    const int32_t saved = sim->requests[sim->in_begin];
    const int32_t storage = sim->trace->saved[saved].storage;
    const uint64_t bytes = pzi_saved_bytes(sim->work, (size_t)saved);
    if (sim->place[storage] != AWAY || !fits(sim, bytes))
        return;
    const pz_event event = copy_event(sim, saved, false, ns);
    take(sim, bytes, ns);
    pzi_ledger_return(sim->ledger, sim->op, saved);
    sim->place[storage] = ON_THE_WAY;
    look_at_peak(sim, ns);
    sim->in_busy = true;
    sim->in_end_ns = event.end_ns;
    sim->report->h2d_busy_ns += event.end_ns - ns;
    sim->report->h2d_wire_bytes += event.wire_bytes;
    pzi_timeline_add(sim->timeline, &event);
    share_engine(sim, ns);
}

static void start_returns(struct sim *sim, int64_t ns)
{
    start_prefetch(sim, ns);
    start_unpack(sim, ns);
}

static void request_prefetch(struct sim *sim, int32_t saved)
{
    if (sim->requested[saved])
        return;
    sim->requested[saved] = 1;
    if (is_compressed(sim, saved))
        sim->unpack.queue[sim->unpack.end++] = saved;
    else
        sim->requests[sim->in_end++] = saved;
    start_returns(sim, sim->now);
}

#define NO_EVENT PZI_NO_EVENT

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_event_ns(const struct sim *sim)
{
    int64_t next = sim->out_begin < sim->out_end ? sim->out[sim->out_begin].end_ns : NO_EVENT;
    next = earlier(next, sim->in_busy ? sim->in_end_ns : NO_EVENT);
    return earlier(next, earlier(pzi_lane_end(&sim->pack), pzi_lane_end(&sim->unpack)));
}

static void record_lane(struct sim *sim, const pzi_lane *lane, pz_lane which, int64_t ns)
{
    const int32_t saved = lane->queue[lane->begin];
    const uint64_t bytes = pzi_saved_bytes(sim->work, (size_t)saved);
    const bool packs = which == PZ_LANE_COMPRESS;
    pzi_timeline_add(sim->timeline, &(pz_event){.lane = which,
                                                .kind = packs ? "compress" : "restore",
                                                .name = tensor_name(sim, saved),
                                                .op = packs ? sim->trace->saved[saved].ready_op
                                                            : sim->schedule->need[saved],
                                                .tensor = saved,
                                                .begin_ns = lane->begin_ns,
                                                .end_ns = ns,
                                                .raw_bytes = bytes,
                                                .wire_bytes = bytes - freed_bytes(sim, saved)});
}

static void complete_pack(struct sim *sim, int64_t ns)
{
    record_lane(sim, &sim->pack, PZ_LANE_COMPRESS, ns);
    const int32_t saved = sim->pack.queue[sim->pack.begin++];
    sim->pack.busy = false;
    sim->copied[saved] = 1;
    leave(sim, saved, ns);
    start_pack(sim, ns);
}

static void complete_unpack(struct sim *sim, int64_t ns)
{
    record_lane(sim, &sim->unpack, PZ_LANE_RESTORE, ns);
    const int32_t saved = sim->unpack.queue[sim->unpack.begin++];
    sim->unpack.busy = false;
    sim->place[sim->trace->saved[saved].storage] = RESIDENT;
}

/* Completes what ends first; at the same time first what frees memory. */
static void complete_next(struct sim *sim)
{
    const int64_t ns = next_event_ns(sim);
    if (sim->out_begin < sim->out_end && sim->out[sim->out_begin].end_ns == ns) {
        const int32_t saved = sim->out[sim->out_begin++].saved;
        sim->copied[saved] = 1;
        leave(sim, saved, ns);
        share_engine(sim, ns);
    } else if (pzi_lane_end(&sim->pack) == ns) {
        complete_pack(sim, ns);
    } else if (sim->in_busy && sim->in_end_ns == ns) {
        const int32_t saved = sim->requests[sim->in_begin++];
        sim->place[sim->trace->saved[saved].storage] = RESIDENT;
        sim->in_busy = false;
        share_engine(sim, ns);
    } else {
        complete_unpack(sim, ns);
    }
    start_returns(sim, ns);
}

/* Moves the compute stream to time ns, completing the copies on the way. */
static void advance(struct sim *sim, int64_t ns)
{
    while (next_event_ns(sim) <= ns)
        complete_next(sim);
    sim->now = ns;
}

/* Compute stream --------------------------------------------------------------------------------
 */

static void run_for(struct sim *sim, const char *kind, const char *name, int32_t op, int32_t tensor,
                    int64_t ns)
{
    const pz_event event = {.lane = PZ_LANE_COMPUTE,
                            .kind = kind,
                            .name = name,
                            .op = op,
                            .tensor = tensor,
                            .begin_ns = sim->now,
                            .end_ns = sim->now + ns};
    if (ns > 0)
        pzi_timeline_add(sim->timeline, &event);
    advance(sim, sim->now + ns);
}

static void run_codec(struct sim *sim, int32_t saved, bool to_host)
{
    const int64_t ns = is_compressed(sim, saved)
                           ? pzi_pack_compute_ns(sim->work, sim->setup->compress, (size_t)saved)
                           : pzi_codec_ns(sim->work, saved, actual_ratio(sim, saved), to_host);
    if (ns == 0)
        return;
    sim->report->codec_ns += ns;
    run_for(sim, "codec", tensor_name(sim, saved), sim->op, saved, ns);
}

static void stalled(struct sim *sim, const char *kind, int64_t since_ns, int64_t *total)
{
    if (sim->now == since_ns)
        return;
    *total += sim->now - since_ns;
    const pz_event event = {.lane = PZ_LANE_COMPUTE,
                            .kind = kind,
                            .name = sim->trace->ops[sim->op].name,
                            .op = sim->op,
                            .tensor = PZI_NONE,
                            .begin_ns = since_ns,
                            .end_ns = sim->now};
    pzi_timeline_add(sim->timeline, &event);
}

static pz_status out_of_memory(const struct sim *sim, uint64_t bytes)
{
    char path[40];
    snprintf(path, sizeof path, "ops[%d]", sim->op);
    return pzi_fail_at(sim->diag, PZ_ERR_INFEASIBLE, path,
                       "%s needs %llu bytes with %llu live of a budget of %llu, and nothing "
                       "under way frees memory; raise the budget or plan again",
                       sim->trace->ops[sim->op].name, (unsigned long long)bytes,
                       (unsigned long long)sim->live, (unsigned long long)sim->setup->budget_bytes);
}

static bool frees_memory_later(const struct sim *sim)
{
    return sim->out_begin < sim->out_end || sim->pack.busy;
}

/* Waits until bytes fit.  Only completed swap-outs and compressions can help. */
static pz_status wait_for_memory(struct sim *sim, uint64_t bytes)
{
    const int64_t since = sim->now;
    sim->compute_waits = true;
    while (!fits(sim, bytes) && frees_memory_later(sim)) {
        const int64_t ns = next_event_ns(sim);
        complete_next(sim);
        sim->now = ns > sim->now ? ns : sim->now;
    }
    sim->compute_waits = false;
    stalled(sim, "stall: memory", since, &sim->report->stall_memory_ns);
    if (!fits(sim, bytes))
        return out_of_memory(sim, bytes);
    take(sim, bytes, sim->now);
    return PZ_OK;
}

/* Waits until a tensor that left is back, asking for it if nobody has. */
static pz_status wait_for_tensor(struct sim *sim, int32_t saved)
{
    const int32_t storage = sim->trace->saved[saved].storage;
    const int64_t since = sim->now;
    request_prefetch(sim, saved);
    while (sim->place[storage] != RESIDENT) {
        const int64_t ns = next_event_ns(sim);
        if (ns == NO_EVENT)
            return out_of_memory(sim, pzi_saved_bytes(sim->work, (size_t)saved));
        complete_next(sim);
        sim->now = ns > sim->now ? ns : sim->now;
    }
    stalled(sim, "stall: prefetch", since, &sim->report->stall_prefetch_ns);
    return PZ_OK;
}

static pz_status wait_if_away(struct sim *sim, int32_t storage)
{
    const int32_t saved = sim->trace->storages[storage].saved;
    if (saved == PZI_NONE || !pzi_leaves(sim->plan->steps[saved].action))
        return PZ_OK;
    if (!sim->used[saved] || sim->place[storage] == ABSENT)
        return PZ_OK;
    const pz_status status = sim->place[storage] == RESIDENT ? PZ_OK : wait_for_tensor(sim, saved);
    if (status == PZ_OK && !sim->decoded[saved]) {
        sim->decoded[saved] = 1;
        run_codec(sim, saved, false);
    }
    return status;
}

/* Dataflow checker ------------------------------------------------------------------------------
 */

static bool readable(const struct sim *sim, int32_t storage)
{
    return sim->place[storage] == RESIDENT || sim->place[storage] == LEAVING;
}

static bool in_place_of(const struct sim *sim, int32_t value)
{
    const int32_t storage = sim->trace->values[value].storage;
    return readable(sim, storage) && sim->holds[storage] == value;
}

static pz_status not_there(const struct sim *sim, int32_t op, int32_t storage)
{
    char path[40];
    snprintf(path, sizeof path, "ops[%d]", op);
    return pzi_fail_at(sim->diag, PZ_ERR_DATAFLOW, path,
                       "%s reads storage %lld, whose value is not in memory",
                       sim->trace->ops[op].name, (long long)storage_id(sim, storage));
}

static pz_status check_reads(const struct sim *sim, int32_t op)
{
    const pzi_op *o = &sim->trace->ops[op];
    for (uint32_t k = o->reads; k < o->reads_end; k++) {
        const pzi_access *access = &sim->trace->accesses[k];
        if (access->value != PZI_NONE && !in_place_of(sim, access->value))
            return not_there(sim, op, access->storage);
    }
    return PZ_OK;
}

/* A replayed operator reads what this replay made, or a value (or its clone) from memory. */
static pz_status check_replay_reads(const struct sim *sim, int32_t op)
{
    const pzi_op *o = &sim->trace->ops[op];
    for (uint32_t k = o->reads; k < o->reads_end; k++) {
        if (sim->trace->accesses[k].value == PZI_NONE)
            continue;
        const int32_t value = sim->trace->values[sim->trace->accesses[k].value].same_as;
        const int32_t twin = sim->trace->values[value].twin;
        const bool there = sim->made[value] == sim->replay_number || in_place_of(sim, value) ||
                           (twin != PZI_NONE && in_place_of(sim, twin));
        if (!there)
            return not_there(sim, op, sim->trace->accesses[k].storage);
    }
    return PZ_OK;
}

/* Replays ---------------------------------------------------------------------------------------
 */

static pz_status replay_op(struct sim *sim, const pzi_replay *replay, size_t k, int32_t target)
{
    const int32_t op = replay->ops[k];
    pz_status status = check_replay_reads(sim, op);
    if (status == PZ_OK)
        status = wait_for_memory(sim, replay->alloc_bytes[k]);
    if (status != PZ_OK)
        return status;
    look_at_peak(sim, sim->now);
    pzi_ledger_before(sim->ledger, sim->op, replay, k);
    run_for(sim, "replay", sim->trace->ops[op].name, op, target, replay->step_ns[k]);
    sim->report->replay_ns += replay->step_ns[k];
    sim->report->replayed_ops++;
    const pzi_op *o = &sim->trace->ops[op];
    for (uint32_t a = o->writes; a < o->writes_end; a++)
        if (sim->trace->accesses[a].value != PZI_NONE)
            sim->made[sim->trace->accesses[a].value] = sim->replay_number;
    give_back(sim, replay->free_bytes[k], sim->now);
    pzi_ledger_after(sim->ledger, replay, k);
    start_returns(sim, sim->now);
    return PZ_OK;
}

static pz_status run_replay(struct sim *sim, size_t run)
{
    const pzi_replay *replay = pzi_schedule_replay(sim->schedule, sim->replayer, run);
    const int32_t target = sim->schedule->runs[run].target;
    pz_status status = PZ_OK;
    sim->replay_number++;
    for (size_t k = 0; status == PZ_OK && k < replay->n_sources; k++)
        status = wait_if_away(sim, replay->sources[k]);
    for (size_t k = 0; status == PZ_OK && k < replay->n_ops; k++)
        status = replay_op(sim, replay, k, target);
    for (size_t k = 0; status == PZ_OK && k < replay->n_kept; k++) {
        const pzi_saved *saved = &sim->trace->saved[replay->kept[k]];
        sim->place[saved->storage] = RESIDENT;
        sim->holds[saved->storage] = saved->value;
    }
    if (status == PZ_OK)
        pzi_ledger_keep(sim->ledger, replay);
    return status;
}

/* Operators -------------------------------------------------------------------------------------
 */

static pz_status before_op(struct sim *sim)
{
    const pzi_schedule *schedule = sim->schedule;
    pz_status status = PZ_OK;
    while (sim->next_prefetch < schedule->n_prefetches &&
           schedule->issue[schedule->prefetches[sim->next_prefetch]] <= sim->op)
        request_prefetch(sim, schedule->prefetches[sim->next_prefetch++]);
    while (status == PZ_OK && sim->next_run < schedule->n_runs &&
           schedule->runs[sim->next_run].op == sim->op)
        status = run_replay(sim, sim->next_run++);
    const pzi_op *op = &sim->trace->ops[sim->op];
    for (uint32_t k = op->reads; status == PZ_OK && k < op->writes_end; k++)
        status = wait_if_away(sim, sim->trace->accesses[k].storage);
    return status;
}

/* Fresh outputs count as live from the start of the operator; their values are there at its end. */
static void place_outputs(struct sim *sim)
{
    const pzi_op *op = &sim->trace->ops[sim->op];
    for (uint32_t k = op->writes; k < op->writes_end; k++) {
        const pzi_access *access = &sim->trace->accesses[k];
        if (access->value == PZI_NONE)
            continue;
        sim->holds[access->storage] = access->value;
        if (sim->trace->values[access->value].previous == PZI_NONE)
            pzi_ledger_take(sim->ledger, sim->op, access->storage);
        if (sim->place[access->storage] == ABSENT)
            sim->place[access->storage] = RESIDENT;
    }
}

static void free_storage(struct sim *sim, int32_t storage)
{
    if (sim->place[storage] == ABSENT)
        return;
    sim->place[storage] = ABSENT;
    pzi_ledger_give(sim->ledger, storage);
    give_back(sim, sim->work->bytes[storage], sim->now);
}

/* After the last forward use a dropped tensor goes, and a swapped one goes if it is copied. */
static void evict(struct sim *sim, int32_t storage)
{
    const int32_t saved = sim->trace->storages[storage].saved;
    if (saved == PZI_NONE || sim->trace->saved[saved].last_forward_use != sim->op ||
        sim->used[saved])
        return;
    sim->used[saved] = 1;
    if (sim->plan->steps[saved].action == PZ_DROP)
        free_storage(sim, storage);
    else if (pzi_leaves(sim->plan->steps[saved].action))
        leave(sim, saved, sim->now);
}

static void after_op(struct sim *sim)
{
    const pzi_work *work = sim->work;
    while (sim->next_ready < sim->trace->n_saved) {
        const int32_t saved = work->by_ready[sim->next_ready];
        if (sim->trace->saved[saved].ready_op > sim->op)
            break;
        sim->next_ready++;
        if (sim->plan->steps[saved].action == PZ_SWAP)
            queue_swap_out(sim, saved);
        else if (is_compressed(sim, saved))
            queue_pack(sim, saved);
    }
    if (sim->op < 0)
        return;
    const pzi_op *op = &sim->trace->ops[sim->op];
    for (uint32_t k = op->reads; k < op->writes_end; k++)
        evict(sim, sim->trace->accesses[k].storage);
    for (int32_t s = sim->schedule->free_head[sim->op]; s != PZI_NONE;
         s = sim->schedule->free_next[s])
        free_storage(sim, s);
    start_returns(sim, sim->now);
}

static pz_status run_op(struct sim *sim)
{
    pz_status status = before_op(sim);
    if (status == PZ_OK)
        status = check_reads(sim, sim->op);
    if (status == PZ_OK)
        status = wait_for_memory(sim, pzi_output_bytes(sim->work, sim->op));
    if (status != PZ_OK)
        return status;
    place_outputs(sim);
    look_at_peak(sim, sim->now);
    const int64_t ns = sim->work->op_ns[sim->op];
    run_for(sim, "op", sim->trace->ops[sim->op].name, sim->op, PZI_NONE, ns);
    sim->report->compute_ns += ns;
    after_op(sim);
    return PZ_OK;
}

/* Inputs are there, and count, from the start. */
static pz_status place_inputs(struct sim *sim)
{
    const pz_trace *trace = sim->trace;
    uint64_t bytes = 0;
    for (size_t s = 0; s < trace->n_storages; s++) {
        sim->holds[s] = PZI_NONE;
        if (trace->storages[s].kind != PZI_INPUT || trace->storages[s].last_use == PZI_NONE)
            continue;
        sim->place[s] = RESIDENT;
        pzi_ledger_take(sim->ledger, 0, (int32_t)s);
        bytes += sim->work->bytes[s];
    }
    for (size_t i = 0; i < trace->n_saved; i++)
        sim->used[i] = trace->saved[i].last_forward_use < 0;
    for (size_t v = 0; v < trace->n_values && trace->values[v].op == PZI_NONE; v++)
        sim->holds[trace->values[v].storage] = (int32_t)v;
    sim->op = 0;
    const pz_status status = wait_for_memory(sim, bytes);
    look_at_peak(sim, 0);
    sim->op = PZI_NONE;
    if (status == PZ_OK)
        after_op(sim);
    return status;
}

static pz_status run_iteration(struct sim *sim)
{
    pz_status status = place_inputs(sim);
    for (size_t i = 0; status == PZ_OK && i < sim->trace->n_ops; i++) {
        sim->op = (int32_t)i;
        status = run_op(sim);
    }
    if (status != PZ_OK)
        return status;
    run_for(sim, "optimizer", "optimizer step", PZI_NONE, PZI_NONE, sim->work->optimizer_ns);
    sim->report->optimizer_ns = sim->work->optimizer_ns;
    return PZ_OK;
}

static void summarise(struct sim *sim)
{
    pz_report *report = sim->report;
    const pzi_work *work = sim->work;
    report->total_ns = sim->now;
    report->unlimited_ns = work->start_ns[sim->trace->n_ops] + work->optimizer_ns;
    report->overhead =
        report->unlimited_ns > 0 ? (double)report->total_ns / (double)report->unlimited_ns - 1 : 0;
    for (size_t i = 0; i < sim->plan->n; i++) {
        report->kept += sim->plan->steps[i].action == PZ_KEEP;
        report->swapped += sim->plan->steps[i].action == PZ_SWAP;
        report->dropped += sim->plan->steps[i].action == PZ_DROP;
        report->compressed += sim->plan->steps[i].action == PZ_COMPRESS;
    }
}

static bool allocate(struct sim *sim)
{
    const pz_trace *trace = sim->trace;
    sim->place = calloc(trace->n_storages + 1, sizeof *sim->place);
    sim->holds = calloc(trace->n_storages + 1, sizeof *sim->holds);
    sim->copied = calloc(trace->n_saved + 1, sizeof *sim->copied);
    sim->used = calloc(trace->n_saved + 1, sizeof *sim->used);
    sim->out = calloc(trace->n_saved + 1, sizeof *sim->out);
    sim->requests = calloc(trace->n_saved + 1, sizeof *sim->requests);
    sim->requested = calloc(trace->n_saved + 1, sizeof *sim->requested);
    sim->decoded = calloc(trace->n_saved + 1, sizeof *sim->decoded);
    sim->pack.queue = calloc(trace->n_saved + 1, sizeof *sim->pack.queue);
    sim->unpack.queue = calloc(trace->n_saved + 1, sizeof *sim->unpack.queue);
    sim->pack.rate = sim->unpack.rate = PZI_FULL_RATE;
    sim->made = calloc(trace->n_values + 1, sizeof *sim->made);
    return sim->place && sim->holds && sim->copied && sim->used && sim->out && sim->requests &&
           sim->requested && sim->decoded && sim->pack.queue && sim->unpack.queue && sim->made;
}

static void release(struct sim *sim)
{
    free(sim->place);
    free(sim->holds);
    free(sim->copied);
    free(sim->used);
    free(sim->out);
    free(sim->requests);
    free(sim->requested);
    free(sim->decoded);
    free(sim->pack.queue);
    free(sim->unpack.queue);
    free(sim->made);
}

static pz_status check_compression(const pz_setup *setup, const pz_plan *plan, pz_diag *diag)
{
    for (size_t i = 0; setup->compress == PZ_COMPRESS_NONE && i < plan->n; i++)
        if (plan->steps[i].action == PZ_COMPRESS)
            return pzi_fail(diag, PZ_ERR_ARGUMENT,
                            "the plan compresses in device memory; say who does so");
    return PZ_OK;
}

static pz_status simulate(const pzi_work *work, pzi_replayer *replayer, const pz_setup *setup,
                          const pz_plan *plan, pz_report *report, pz_timeline *timeline,
                          pzi_ledger *ledger, pz_diag *diag)
{
    pzi_schedule schedule;
    pz_status status = pzi_schedule_new(work, replayer, plan, &schedule, diag);
    if (status != PZ_OK)
        return status;
    *report = (pz_report){0};
    status = check_compression(setup, plan, diag);
    if (status != PZ_OK) {
        pzi_schedule_free(&schedule);
        return status;
    }
    struct sim sim = {
        .work = work,
        .setup = setup,
        .trace = work->trace,
        .schedule = &schedule,
        .replayer = replayer,
        .plan = plan,
        .report = report,
        .timeline = timeline,
        .ledger = ledger,
        .diag = diag,
    };
    status = allocate(&sim) ? run_iteration(&sim) : pzi_no_memory(diag);
    if (status == PZ_OK)
        summarise(&sim);
    release(&sim);
    pzi_schedule_free(&schedule);
    return status;
}

pz_status pzi_simulate(const pzi_work *work, pzi_replayer *replayer, const pz_setup *setup,
                       const pz_plan *plan, pz_report *report, pz_timeline *timeline, pz_diag *diag)
{
    return simulate(work, replayer, setup, plan, report, timeline, NULL, diag);
}

pz_status pzi_simulate_blocks(const pzi_work *work, pzi_replayer *replayer, const pz_setup *setup,
                              const pz_plan *plan, pz_report *report, pzi_ledger *ledger,
                              pz_diag *diag)
{
    const pz_status status = simulate(work, replayer, setup, plan, report, NULL, ledger, diag);
    return status == PZ_OK && ledger->no_memory ? pzi_no_memory(diag) : status;
}
