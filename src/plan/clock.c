/* The simulator for the search.  Its rules, and the order in which things happen, are those of
 * sim/sim.c. */
#include "plan/clock.h"

#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "trace/plan.h"

enum { COPIED = 1, USED = 2, AWAY = 4, BACK = 8, REQUESTED = 16, DECODED = 32 };

#define NO_EVENT PZI_NO_EVENT
#define NO_OP INT32_MAX

/* Preparation -----------------------------------------------------------------------------------
 */

static void fill_operators(pzi_clock *c)
{
    const pz_trace *trace = c->work->trace;
    for (size_t i = 0; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->writes; k < op->writes_end; k++) {
            const int32_t value = trace->accesses[k].value;
            if (value != PZI_NONE && trace->values[value].previous == PZI_NONE)
                c->alloc_bytes[i] += c->work->bytes[trace->accesses[k].storage];
        }
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (storage->last_use == PZI_NONE)
            continue;
        c->free_bytes[storage->last_use] += c->work->bytes[s];
        if (storage->kind == PZI_INPUT)
            c->input_bytes += c->work->bytes[s];
    }
}

/* Marks the operators at which a plan may do something. */
static void mark_operators(pzi_clock *c)
{
    const pz_trace *trace = c->work->trace;
    for (size_t i = 0; i < trace->n_ops; i++)
        c->rows[i].end = (int32_t)i + 1;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const pzi_saved *saved = &trace->saved[i];
        if (saved->ready_op >= 0)
            c->rows[saved->ready_op].end = PZI_NONE;
        if (saved->last_forward_use >= 0)
            c->rows[saved->last_forward_use].end = PZI_NONE;
        c->rows[saved->first_backward_use].end = PZI_NONE;
    }
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (storage->last_use >= 0 &&
            (storage->saved >= 0 || storage->kind == PZI_INPUT || c->work->holdable[s]))
            c->rows[storage->last_use].end = PZI_NONE;
    }
}

/* From the last operator to the first: a row is its first operator and the row after it. */
static void fill_rows(pzi_clock *c)
{
    mark_operators(c);
    for (size_t i = c->work->trace->n_ops; i-- > 0;) {
        pzi_row *row = &c->rows[i];
        if (row->end == PZI_NONE)
            continue;
        row->ns = c->work->op_ns[i];
        row->peak_bytes = c->alloc_bytes[i];
        row->change_bytes = (int64_t)c->alloc_bytes[i] - (int64_t)c->free_bytes[i];
        const pzi_row *next = row + 1;
        if (i + 1 == c->work->trace->n_ops || next->end == PZI_NONE)
            continue;
        const int64_t later = row->change_bytes + (int64_t)next->peak_bytes;
        row->end = next->end;
        row->ns += next->ns;
        if (later > (int64_t)row->peak_bytes)
            row->peak_bytes = (uint64_t)later;
        row->change_bytes += next->change_bytes;
    }
}

static pz_status order_tensors(pzi_clock *c)
{
    const pz_trace *trace = c->work->trace;
    pzi_key *keys = calloc(trace->n_saved + 1, sizeof *keys);
    if (!keys)
        return PZ_ERR_MEMORY;
    for (size_t i = 0; i < trace->n_saved; i++)
        if (trace->saved[i].last_forward_use >= 0)
            keys[c->n_by_last++] = (pzi_key){trace->saved[i].last_forward_use, 0, (int32_t)i};
    pzi_sort_keys(keys, c->n_by_last);
    for (size_t k = 0; k < c->n_by_last; k++)
        c->by_last[k] = keys[k].saved;
    free(keys);
    return PZ_OK;
}

/* The first access of the backward pass to each tensor, in the order of the accesses. */
static void order_accesses(pzi_clock *c)
{
    const pz_trace *trace = c->work->trace;
    size_t n = 0;
    for (size_t i = trace->n_forward; i < trace->n_ops; i++) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const int32_t saved = trace->storages[trace->accesses[k].storage].saved;
            if (saved == PZI_NONE || c->state[saved])
                continue;
            c->state[saved] = 1;
            c->by_access[n++] = saved;
        }
    }
}

void pzi_clock_set(pzi_clock *c, const pz_setup *setup, const pzi_copies *copies)
{
    const double *ratios = setup->actual ? setup->actual : setup->predicted;
    c->copies = copies;
    for (size_t i = 0; i < c->work->trace->n_saved; i++) {
        const double ratio = ratios ? ratios[i] : 1.0;
        c->codec_out_ns[i] = pzi_codec_ns(c->work, (int32_t)i, ratio, true);
        c->codec_in_ns[i] = pzi_codec_ns(c->work, (int32_t)i, ratio, false);
        c->pack_ns[i] = pzi_pack_ns(c->work, setup->compress, i);
        c->pack_codec_ns[i] = pzi_pack_compute_ns(c->work, setup->compress, i);
        c->pack_frees[i] = pzi_pack_frees(c->work, setup, i, ratio);
        c->spare_out[i] = pzi_spare_rate(c->work, setup->compress, i, ratio, true);
        c->spare_in[i] = pzi_spare_rate(c->work, setup->compress, i, ratio, false);
    }
}

pz_status pzi_clock_new(const pzi_work *work, const pz_setup *setup, const pzi_copies *copies,
                        pzi_clock *c)
{
    const size_t n = work->trace->n_saved + 1, n_ops = work->trace->n_ops + 1;
    *c = (pzi_clock){
        .work = work,
        .codec_out_ns = calloc(n, sizeof *c->codec_out_ns),
        .codec_in_ns = calloc(n, sizeof *c->codec_in_ns),
        .pack_ns = calloc(n, sizeof *c->pack_ns),
        .pack_codec_ns = calloc(n, sizeof *c->pack_codec_ns),
        .pack_frees = calloc(n, sizeof *c->pack_frees),
        .spare_out = calloc(n, sizeof *c->spare_out),
        .spare_in = calloc(n, sizeof *c->spare_in),
        .pack_queue = calloc(n, sizeof *c->pack_queue),
        .unpack_queue = calloc(n, sizeof *c->unpack_queue),
        .alloc_bytes = calloc(n_ops, sizeof *c->alloc_bytes),
        .free_bytes = calloc(n_ops, sizeof *c->free_bytes),
        .rows = calloc(n_ops, sizeof *c->rows),
        .by_last = calloc(n, sizeof *c->by_last),
        .by_access = calloc(n, sizeof *c->by_access),
        .state = calloc(n, sizeof *c->state),
        .out_queue = calloc(n, sizeof *c->out_queue),
        .in_queue = calloc(n, sizeof *c->in_queue),
        .out_end_ns = calloc(n, sizeof *c->out_end_ns),
        .outs = calloc(n, sizeof *c->outs),
        .leavers = calloc(n, sizeof *c->leavers),
        .arrivals = calloc(n, sizeof *c->arrivals),
    };
    if (!c->pack_ns || !c->pack_codec_ns || !c->pack_frees || !c->spare_out || !c->spare_in ||
        !c->pack_queue || !c->unpack_queue || !c->codec_out_ns || !c->codec_in_ns ||
        !c->alloc_bytes || !c->free_bytes || !c->rows || !c->by_last || !c->by_access ||
        !c->state || !c->out_queue || !c->in_queue || !c->out_end_ns || !c->outs || !c->leavers ||
        !c->arrivals || order_tensors(c) != PZ_OK) {
        pzi_clock_free(c);
        return PZ_ERR_MEMORY;
    }
    fill_operators(c);
    fill_rows(c);
    order_accesses(c);
    pzi_clock_set(c, setup, copies);
    return PZ_OK;
}

void pzi_clock_free(pzi_clock *c)
{
    free(c->codec_out_ns);
    free(c->codec_in_ns);
    free(c->pack_ns);
    free(c->pack_codec_ns);
    free(c->pack_frees);
    free(c->spare_out);
    free(c->spare_in);
    free(c->pack_queue);
    free(c->unpack_queue);
    free(c->alloc_bytes);
    free(c->free_bytes);
    free(c->rows);
    free(c->by_last);
    free(c->by_access);
    free(c->state);
    free(c->out_queue);
    free(c->in_queue);
    free(c->out_end_ns);
    free(c->outs);
    free(c->leavers);
    free(c->arrivals);
    *c = (pzi_clock){0};
}

/* Running ---------------------------------------------------------------------------------------
 */

struct run {
    pzi_clock *c;
    const pzi_clock_plan *plan;
    const pzi_saved *saved;
    uint64_t budget, live;
    int64_t now, out_free_ns, in_end_ns;
    int64_t next_ns; /* when the next copy completes */
    pzi_lane pack, unpack;
    int64_t spare_ns; /* waiting and codec time that the limit still allows */
    size_t n_outs, n_leavers, n_arrivals;
    size_t out, leaver, arrival, prefetch, replay; /* next of each list */
    size_t out_begin, out_end, in_begin, in_end;
    bool in_busy, compute_waits;
};

static uint64_t bytes_of(const struct run *r, int32_t saved)
{
    return r->c->work->bytes[r->saved[saved].storage];
}

static bool is_compressed(const struct run *r, int32_t saved)
{
    return r->plan->actions[saved] == PZ_COMPRESS;
}

static uint64_t freed_bytes(const struct run *r, int32_t saved)
{
    return is_compressed(r, saved) ? r->c->pack_frees[saved] : bytes_of(r, saved);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void note_next(struct run *r)
{
    int64_t next = r->out_begin < r->out_end ? r->c->out_end_ns[r->out_begin] : NO_EVENT;
    next = sooner(next, r->in_busy ? r->in_end_ns : NO_EVENT);
    if (r->pack.busy || r->unpack.busy)
        next = sooner(next, sooner(pzi_lane_end(&r->pack), pzi_lane_end(&r->unpack)));
    r->next_ns = next;
}

/* What the link leaves of the engine from now on. */
static void share_engine(struct run *r, int64_t ns)
{
    const pzi_clock *c = r->c;
    const bool out = r->out_begin < r->out_end;
    pzi_lane_set_rate(&r->pack, ns, out ? c->spare_out[c->out_queue[r->out_begin]] : PZI_FULL_RATE);
    pzi_lane_set_rate(&r->unpack, ns,
                      r->in_busy ? c->spare_in[c->in_queue[r->in_begin]] : PZI_FULL_RATE);
    note_next(r);
}

static void leave(struct run *r, int32_t saved)
{
    uint8_t *state = &r->c->state[saved];
    if ((*state & (COPIED | USED)) != (COPIED | USED))
        return;
    *state |= AWAY;
    r->live -= freed_bytes(r, saved);
}

static void start_pack(struct run *r, int64_t ns)
{
    if (!r->pack.busy && r->pack.begin < r->pack.end) {
        pzi_lane_start(&r->pack, ns, r->c->pack_ns[r->pack.queue[r->pack.begin]]);
        note_next(r);
    }
}

static void start_unpack(struct run *r, int64_t ns)
{
    if (r->unpack.busy || r->unpack.begin == r->unpack.end || r->compute_waits)
        return;
    const int32_t saved = r->unpack.queue[r->unpack.begin];
    if (!(r->c->state[saved] & AWAY) || r->live + r->c->pack_frees[saved] > r->budget)
        return;
    r->live += r->c->pack_frees[saved];
    pzi_lane_start(&r->unpack, ns, r->c->pack_ns[saved]);
    note_next(r);
}

static void start_prefetch(struct run *r, int64_t ns)
{
    if (r->in_busy || r->in_begin == r->in_end || r->compute_waits)
        return;
    const int32_t saved = r->c->in_queue[r->in_begin];
    const uint64_t bytes = bytes_of(r, saved);
    if (!(r->c->state[saved] & AWAY) || r->live + bytes > r->budget)
        return;
    r->live += bytes;
    r->in_busy = true;
    r->in_end_ns = ns + r->c->copies->in_ns[saved];
    share_engine(r, ns);
}

static void start_returns(struct run *r, int64_t ns)
{
    start_prefetch(r, ns);
    start_unpack(r, ns);
}

static void request(struct run *r, int32_t saved)
{
    if (r->c->state[saved] & REQUESTED)
        return;
    r->c->state[saved] |= REQUESTED;
    if (is_compressed(r, saved))
        r->unpack.queue[r->unpack.end++] = saved;
    else
        r->c->in_queue[r->in_end++] = saved;
    start_returns(r, r->now);
}

static void complete_next(struct run *r)
{
    const int64_t ns = r->next_ns;
    uint8_t *state = r->c->state;
    if (r->out_begin < r->out_end && r->c->out_end_ns[r->out_begin] == ns) {
        const int32_t saved = r->c->out_queue[r->out_begin++];
        state[saved] |= COPIED;
        leave(r, saved);
        share_engine(r, ns);
    } else if (r->pack.busy && pzi_lane_end(&r->pack) == ns) {
        const int32_t saved = r->pack.queue[r->pack.begin++];
        r->pack.busy = false;
        state[saved] |= COPIED;
        leave(r, saved);
        start_pack(r, ns);
    } else if (r->in_busy && r->in_end_ns == ns) {
        state[r->c->in_queue[r->in_begin++]] |= BACK;
        r->in_busy = false;
        share_engine(r, ns);
    } else {
        state[r->unpack.queue[r->unpack.begin++]] |= BACK;
        r->unpack.busy = false;
    }
    note_next(r);
    start_returns(r, ns);
}

static void advance(struct run *r, int64_t ns)
{
    const int64_t end = r->now + ns;
    while (r->next_ns <= end)
        complete_next(r);
    r->now = end;
}

static void run_codec(struct run *r, int64_t ns)
{
    if (ns == 0)
        return;
    r->spare_ns -= ns;
    advance(r, ns);
}

static void wait_for_next(struct run *r)
{
    const int64_t ns = r->next_ns;
    complete_next(r);
    if (ns > r->now) {
        r->spare_ns -= ns - r->now;
        r->now = ns;
    }
}

/* Takes memory, waiting for what leaves; false if the plan fails or is too slow. */
static bool take(struct run *r, uint64_t bytes)
{
    if (r->live + bytes > r->budget) {
        r->compute_waits = true;
        while (r->live + bytes > r->budget && (r->out_begin < r->out_end || r->pack.busy))
            wait_for_next(r);
        r->compute_waits = false;
        if (r->live + bytes > r->budget || r->spare_ns < 0)
            return false;
    }
    r->live += bytes;
    return true;
}

static bool await_tensor(struct run *r, int32_t saved)
{
    uint8_t *state = &r->c->state[saved];
    if (!(*state & BACK)) {
        request(r, saved);
        while (!(*state & BACK)) {
            if (r->next_ns == NO_EVENT)
                return false;
            wait_for_next(r);
        }
    }
    if (!(*state & DECODED)) {
        *state |= DECODED;
        run_codec(r,
                  is_compressed(r, saved) ? r->c->pack_codec_ns[saved] : r->c->codec_in_ns[saved]);
    }
    return r->spare_ns >= 0;
}

static bool run_replay(struct run *r, const pzi_rebuilt *replay)
{
    const pzi_recipe *recipe = replay->recipe;
    const pz_trace *trace = r->c->work->trace;
    for (size_t k = 0; k < recipe->n_sources; k++) {
        const int32_t saved = trace->storages[recipe->sources[k]].saved;
        if (saved != PZI_NONE && pzi_leaves(r->plan->actions[saved]) && !await_tensor(r, saved))
            return false;
    }
    for (size_t k = 0; k < recipe->n_steps; k++) {
        if (!take(r, recipe->steps[k].alloc_bytes))
            return false;
        advance(r, recipe->steps[k].ns);
        r->live -= recipe->steps[k].free_bytes;
        start_returns(r, r->now);
    }
    return true;
}

static void queue_out(struct run *r, int32_t saved)
{
    pzi_clock *c = r->c;
    if (is_compressed(r, saved)) {
        run_codec(r, c->pack_codec_ns[saved]);
        r->pack.queue[r->pack.end++] = saved;
        start_pack(r, r->now);
        return;
    }
    run_codec(r, c->codec_out_ns[saved]);
    const int64_t begin = r->out_free_ns > r->now ? r->out_free_ns : r->now;
    r->out_free_ns = begin + c->copies->out_ns[saved];
    c->out_queue[r->out_end] = saved;
    c->out_end_ns[r->out_end++] = r->out_free_ns;
    share_engine(r, r->now);
}

static bool before_op(struct run *r, int32_t op)
{
    const pzi_clock_plan *plan = r->plan;
    const pzi_rebuild *rebuild = plan->rebuild;
    while (r->prefetch < plan->n_prefetches && plan->issue[plan->prefetches[r->prefetch]] <= op)
        request(r, plan->prefetches[r->prefetch++]);
    while (r->replay < rebuild->n_runs && rebuild->runs[r->replay].op == op)
        if (!run_replay(r, &rebuild->runs[r->replay++]))
            return false;
    while (r->arrival < r->n_arrivals &&
           r->saved[r->c->arrivals[r->arrival]].first_backward_use == op)
        if (!await_tensor(r, r->c->arrivals[r->arrival++]))
            return false;
    return true;
}

static void after_op(struct run *r, int32_t op)
{
    while (r->out < r->n_outs && r->saved[r->c->outs[r->out]].ready_op <= op)
        queue_out(r, r->c->outs[r->out++]);
    for (; r->leaver < r->n_leavers && r->saved[r->c->leavers[r->leaver]].last_forward_use == op;
         r->leaver++) {
        const int32_t saved = r->c->leavers[r->leaver];
        r->c->state[saved] |= USED;
        if (r->plan->actions[saved] == PZ_DROP)
            r->live -= bytes_of(r, saved);
        else
            leave(r, saved);
    }
}

static int32_t earlier(int32_t a, bool more, int32_t b)
{
    return more && b < a ? b : a;
}

/* The next operator before or after which the plan asks for something. */
static int32_t next_special(const struct run *r)
{
    const pzi_clock *c = r->c;
    const pzi_clock_plan *plan = r->plan;
    int32_t op = NO_OP;
    if (r->prefetch < plan->n_prefetches)
        op = plan->issue[plan->prefetches[r->prefetch]];
    if (r->replay < plan->rebuild->n_runs)
        op = earlier(op, true, plan->rebuild->runs[r->replay].op);
    if (r->arrival < r->n_arrivals)
        op = earlier(op, true, r->saved[c->arrivals[r->arrival]].first_backward_use);
    if (r->out < r->n_outs)
        op = earlier(op, true, r->saved[c->outs[r->out]].ready_op);
    if (r->leaver < r->n_leavers)
        op = earlier(op, true, r->saved[c->leavers[r->leaver]].last_forward_use);
    return op;
}

/* Runs the row that begins at the operator, if memory is enough, the plan asks for nothing and no
 * copy begins or completes before its end; returns the operator after it, else op. */
static int32_t run_row(struct run *r, int32_t op, int32_t special)
{
    const pzi_row *row = &r->c->rows[op];
    if (row->end == PZI_NONE || row->end > special || op == special ||
        r->live + row->peak_bytes > r->budget || r->next_ns <= r->now + row->ns ||
        (!r->in_busy && r->in_begin != r->in_end) ||
        (!r->unpack.busy && r->unpack.begin != r->unpack.end))
        return op;
    r->now += row->ns;
    r->live += (uint64_t)row->change_bytes;
    return row->end;
}

static bool run_op(struct run *r, int32_t op, bool special)
{
    const pzi_clock *c = r->c;
    if (special && !before_op(r, op))
        return false;
    if (!take(r, c->alloc_bytes[op]))
        return false;
    advance(r, c->work->op_ns[op]);
    if (special)
        after_op(r, op);
    r->live -= c->free_bytes[op];
    start_returns(r, r->now);
    return true;
}

static bool run_ops(struct run *r)
{
    const int32_t n = (int32_t)r->c->work->trace->n_ops;
    int32_t special = next_special(r);
    for (int32_t op = 0; op < n;) {
        const int32_t after = run_row(r, op, special);
        if (after > op) {
            op = after;
            continue;
        }
        if (!run_op(r, op, op == special))
            return false;
        if (op == special)
            special = next_special(r);
        op++;
    }
    return r->spare_ns >= 0;
}

/* The lists of the plan, each in the order in which its events happen. */
static void list_events(struct run *r)
{
    pzi_clock *c = r->c;
    const pz_action *actions = r->plan->actions;
    const pzi_work *work = c->work;
    const size_t n = work->trace->n_saved;
    for (size_t k = 0; k < n; k++) {
        if (pzi_leaves(actions[work->by_ready[k]]))
            c->outs[r->n_outs++] = work->by_ready[k];
        if (pzi_leaves(actions[c->by_access[k]]))
            c->arrivals[r->n_arrivals++] = c->by_access[k];
    }
    for (size_t k = 0; k < c->n_by_last; k++)
        if (actions[c->by_last[k]] != PZ_KEEP)
            c->leavers[r->n_leavers++] = c->by_last[k];
    for (size_t k = 0; k < n; k++)
        c->state[k] = r->saved[k].last_forward_use < 0 ? USED : 0;
}

/* Storages that replays need longer are freed later. */
static void move_frees(pzi_clock *c, const pzi_rebuild *rebuild, bool back)
{
    for (size_t k = 0; k < rebuild->n_extended; k++) {
        const int32_t storage = rebuild->extended[k];
        const uint64_t bytes = back ? 0 - c->work->bytes[storage] : c->work->bytes[storage];
        c->free_bytes[c->work->trace->storages[storage].last_use] -= bytes;
        c->free_bytes[rebuild->end[storage]] += bytes;
    }
}

int64_t pzi_clock_run(pzi_clock *c, const pzi_clock_plan *plan, uint64_t budget_bytes,
                      int64_t limit_ns)
{
    const pzi_work *work = c->work;
    const int64_t least =
        work->start_ns[work->trace->n_ops] + plan->rebuild->ns + work->optimizer_ns;
    struct run r = {
        .c = c,
        .plan = plan,
        .saved = work->trace->saved,
        .budget = budget_bytes,
        .live = c->input_bytes,
        .next_ns = NO_EVENT,
        .pack = {.queue = c->pack_queue, .rate = PZI_FULL_RATE},
        .unpack = {.queue = c->unpack_queue, .rate = PZI_FULL_RATE},
        .spare_ns = limit_ns - least,
    };
    if (r.spare_ns < 0 || r.live > r.budget)
        return INT64_MAX;
    list_events(&r);
    move_frees(c, plan->rebuild, false);
    after_op(&r, PZI_NONE);
    const bool ran = run_ops(&r);
    move_frees(c, plan->rebuild, true);
    return ran ? r.now + work->optimizer_ns : INT64_MAX;
}
