/* A plan in the making: every change updates the memory profile and the replays that it touches, so
 * that the profile is always the one that the schedule of the plan would have. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plan/planner.h"

/* Lists -----------------------------------------------------------------------------------------
 */

void pzi_list_push(pzi_planner *p, pzi_list *list, int32_t item)
{
    int32_t *grown = pzi_grow(list->items, &list->room, list->n + 1, sizeof *grown);
    if (!grown) {
        p->no_memory = true;
        return;
    }
    list->items = grown;
    list->items[list->n++] = item;
}

static void copy_list(pzi_planner *p, pzi_list *to, const int32_t *items, size_t n)
{
    to->n = 0;
    for (size_t i = 0; i < n; i++)
        pzi_list_push(p, to, items[i]);
}

/* Changes that can be taken back -----------------------------------------------------------------
 */

static pzi_change *new_change(pzi_planner *p)
{
    pzi_change *grown = pzi_grow(p->journal, &p->room_journal, p->n_journal + 1, sizeof *grown);
    if (!grown) {
        p->no_memory = true;
        return NULL;
    }
    p->journal = grown;
    return &p->journal[p->n_journal++];
}

static void change_profile(pzi_planner *p, size_t first, size_t last, int64_t delta)
{
    pzi_change *c = last < first || delta == 0 ? NULL : new_change(p);
    if (!c)
        return;
    *c = (pzi_change){.first = first, .last = last, .delta = delta};
    pzi_range_max_add(&p->profile, first, last, delta);
}

/* owner: the saved tensor that the number belongs to, or PZI_NONE. */
static void set_cell(pzi_planner *p, int32_t *cell, int32_t value, int32_t owner)
{
    pzi_change *c = new_change(p);
    if (!c)
        return;
    *c = (pzi_change){.cell = cell, .old = *cell, .owner = owner};
    *cell = value;
}

static void take_back_changes(pzi_planner *p)
{
    while (p->n_journal > 0) {
        const pzi_change *c = &p->journal[--p->n_journal];
        if (c->cell)
            *c->cell = c->old;
        else
            pzi_range_max_add(&p->profile, c->first, c->last, -c->delta);
    }
}

static bool above_limit(const pzi_planner *p, const pzi_change *c)
{
    return c->delta > 0 &&
           pzi_range_max_get(&p->profile, c->first, c->last) > (int64_t)p->limit_bytes;
}

static void add_all(pzi_planner *p, int sign)
{
    for (size_t i = 0; i < p->n_journal; i++) {
        const pzi_change *c = &p->journal[i];
        if (!c->cell)
            pzi_range_max_add(&p->profile, c->first, c->last, sign * c->delta);
    }
}

/* True if the changes lift a range above the limit that was not above it before them. */
static bool lifts_above(pzi_planner *p)
{
    bool any = false;
    for (size_t i = 0; i < p->n_journal; i++) {
        p->journal[i].above = above_limit(p, &p->journal[i]);
        any = any || p->journal[i].above;
    }
    if (!any)
        return false;
    bool lifted = false;
    add_all(p, -1);
    for (size_t i = 0; i < p->n_journal && !lifted; i++) {
        const pzi_change *c = &p->journal[i];
        lifted = c->above && !above_limit(p, c);
        p->block =
            (pzi_block){c->first, c->last, pzi_range_max_get(&p->profile, c->first, c->last), true};
    }
    add_all(p, 1);
    return lifted;
}

/* Chains ----------------------------------------------------------------------------------------
 */

const pzi_replay *pzi_draft_replay(pzi_planner *p, int32_t saved)
{
    const pzi_residency residency = {p->dropped, p->back, PZ_REPLAY_FREE};
    const int32_t op = p->work->trace->saved[saved].first_backward_use;
    return pzi_replay_build(&p->replayer, &residency, (size_t)saved, op);
}

void pzi_chain_store(pzi_planner *p, pzi_chain *chain, const pzi_replay *replay)
{
    chain->possible = replay != NULL;
    chain->stale = false;
    chain->sources.n = 0;
    if (!replay)
        return;
    chain->ns = replay->ns;
    chain->peak_bytes = replay->peak_bytes;
    copy_list(p, &chain->sources, replay->sources, replay->n_sources);
}

static int32_t saved_of(const pzi_planner *p, int32_t storage)
{
    return p->work->trace->storages[storage].saved;
}

/* Enters saved among the users of its chain's sources. */
static void enter_users(pzi_planner *p, int32_t saved)
{
    const pzi_list *sources = &p->chains[saved].sources;
    for (size_t i = 0; i < sources->n; i++) {
        const int32_t source = saved_of(p, sources->items[i]);
        if (source != PZI_NONE)
            pzi_list_push(p, &p->users[source], saved);
    }
}

const pzi_chain *pzi_draft_chain(pzi_planner *p, int32_t saved)
{
    pzi_chain *chain = &p->chains[saved];
    if (chain->stale) {
        pzi_chain_store(p, chain, pzi_draft_replay(p, saved));
        enter_users(p, saved);
    }
    return chain;
}

static bool reads(const pzi_chain *chain, int32_t storage)
{
    for (size_t i = 0; i < chain->sources.n; i++)
        if (chain->sources.items[i] == storage)
            return true;
    return false;
}

/* Drafts ----------------------------------------------------------------------------------------
 */

static void start_saved(pzi_planner *p, size_t i)
{
    p->action[i] = PZ_KEEP;
    p->dropped[i] = 0;
    p->readers[i] = 0;
    p->need[i] = p->back[i] = p->work->trace->saved[i].first_backward_use;
    p->users[i].n = 0;
    const pzi_chain *empty = &p->empty_chains[i];
    pzi_chain *chain = &p->chains[i];
    chain->ns = empty->ns;
    chain->peak_bytes = empty->peak_bytes;
    chain->possible = empty->possible;
    chain->stale = false;
    copy_list(p, &chain->sources, empty->sources.items, empty->sources.n);
}

void pzi_draft_start(pzi_planner *p, uint64_t limit_bytes)
{
    const pz_trace *trace = p->work->trace;
    p->limit_bytes = limit_bytes;
    p->n_journal = p->n_affected = p->touched.n = 0;
    for (size_t i = 0; i < trace->n_saved; i++)
        start_saved(p, i);
    for (size_t i = 0; i < trace->n_saved; i++)
        enter_users(p, (int32_t)i);
    for (size_t s = 0; s < trace->n_storages; s++)
        p->end[s] = trace->storages[s].last_use;
    memset(p->replay_bytes, 0, trace->n_ops * sizeof *p->replay_bytes);
    pzi_range_max_copy(&p->profile, &p->empty_profile);
}

void pzi_draft_swap(pzi_planner *p, int32_t saved)
{
    const int32_t last = p->work->trace->saved[saved].last_forward_use;
    p->action[saved] = PZ_SWAP;
    pzi_draft_touch(p, saved);
    pzi_range_max_add(&p->profile, pzi_slot_of(last) + 1, pzi_slot_before(p->need[saved]) - 1,
                      -(int64_t)pzi_saved_bytes(p->work, (size_t)saved));
}

/* A replay before op reads the storage: it must be back by then and stay until then. */
static void need_source(pzi_planner *p, int32_t storage, int32_t op)
{
    const int64_t bytes = (int64_t)p->work->bytes[storage];
    const int32_t saved = saved_of(p, storage);
    if (saved != PZI_NONE && p->need[saved] > op) {
        if (p->action[saved] == PZ_SWAP)
            change_profile(p, pzi_slot_before(op), pzi_slot_before(p->need[saved]) - 1, bytes);
        set_cell(p, &p->need[saved], op, saved);
        pzi_draft_touch(p, saved);
    }
    if (p->end[storage] < op) {
        change_profile(p, pzi_slot_of(p->end[storage]) + 1, pzi_slot_of(op), bytes);
        set_cell(p, &p->end[storage], op, saved);
    }
}

/* The chain that a dropped tensor has in the trial: its new one if the drop affects it. */
static const pzi_chain *trial_chain(const pzi_planner *p, int32_t saved)
{
    const int32_t trial = p->trial_of[saved];
    return trial == PZI_NONE ? &p->chains[saved] : &p->trials[trial];
}

static void end_trial(pzi_planner *p)
{
    for (size_t i = 0; i < p->n_affected; i++)
        p->trial_of[p->affected[i]] = PZI_NONE;
}

/* The first tensor, by place in work->by_use, with the same first backward use. */
static size_t group_of(const pzi_planner *p, int32_t saved)
{
    const pzi_work *work = p->work;
    const int32_t op = work->trace->saved[saved].first_backward_use;
    size_t k = (size_t)p->use_position[saved];
    while (k > 0 && work->trace->saved[work->by_use[k - 1]].first_backward_use == op)
        k--;
    return k;
}

static bool in_group(const pzi_planner *p, size_t place, int32_t op)
{
    const pzi_work *work = p->work;
    return place < work->trace->n_saved &&
           work->trace->saved[work->by_use[place]].first_backward_use == op;
}

/* Peak of the replays before operator op, one after the other: each target stays.  any is one of
 * the tensors first used by op. */
static int64_t replay_peak(const pzi_planner *p, int32_t op, int32_t any)
{
    int64_t rebuilt = 0, peak = 0;
    for (size_t k = group_of(p, any); in_group(p, k, op); k++) {
        const int32_t saved = p->work->by_use[k];
        if (!p->dropped[saved])
            continue;
        const int64_t needed = rebuilt + (int64_t)trial_chain(p, saved)->peak_bytes;
        peak = needed > peak ? needed : peak;
        rebuilt += (int64_t)pzi_saved_bytes(p->work, (size_t)saved);
    }
    return peak;
}

static void refresh_replays(pzi_planner *p, int32_t saved)
{
    const int32_t op = p->work->trace->saved[saved].first_backward_use;
    const int64_t peak = replay_peak(p, op, saved);
    change_profile(p, pzi_slot_before(op), pzi_slot_before(op), peak - p->replay_bytes[op]);
    p->replay_bytes[op] = peak;
}

static bool add_trial(pzi_planner *p, int32_t saved)
{
    size_t room = p->room_affected;
    int32_t *affected = pzi_grow(p->affected, &room, p->n_affected + 1, sizeof *affected);
    p->affected = affected ? affected : p->affected;
    room = p->room_affected;
    pzi_chain *trials = pzi_grow(p->trials, &room, p->n_affected + 1, sizeof *trials);
    p->trials = trials ? trials : p->trials;
    if (!affected || !trials) {
        p->no_memory = true;
        return false;
    }
    memset(trials + p->room_affected, 0, (room - p->room_affected) * sizeof *trials);
    p->room_affected = room;
    pzi_chain_store(p, &trials[p->n_affected], pzi_draft_replay(p, saved));
    p->trial_of[saved] = (int32_t)p->n_affected;
    affected[p->n_affected++] = saved;
    return trials[p->n_affected - 1].possible;
}

/* New chains for the dropped tensors that read what is being dropped. */
static bool try_chains(pzi_planner *p, int32_t saved)
{
    const int32_t storage = p->work->trace->saved[saved].storage;
    p->n_affected = 0;
    if (!add_trial(p, saved))
        return false;
    for (size_t i = 0; i < p->users[saved].n; i++) {
        const int32_t user = p->users[saved].items[i];
        if (p->dropped[user] && p->trial_of[user] == PZI_NONE && reads(&p->chains[user], storage) &&
            !add_trial(p, user))
            return false;
    }
    return true;
}

static void apply_trial(pzi_planner *p, int32_t saved)
{
    const pz_trace *trace = p->work->trace;
    const pzi_saved *tensor = &trace->saved[saved];
    const int64_t bytes = (int64_t)pzi_saved_bytes(p->work, (size_t)saved);
    const size_t before_use = pzi_slot_before(tensor->first_backward_use);
    set_cell(p, &p->need[saved], tensor->first_backward_use, saved);
    /* In the slot of its replay it is among the bytes of the replay. */
    change_profile(p, pzi_slot_of(tensor->last_forward_use) + 1, before_use, -bytes);
    if (p->end[tensor->storage] > tensor->last_use) {
        change_profile(p, pzi_slot_of(tensor->last_use) + 1, pzi_slot_of(p->end[tensor->storage]),
                       -bytes);
        set_cell(p, &p->end[tensor->storage], tensor->last_use, saved);
    }
    for (size_t i = 0; i < p->n_affected; i++)
        refresh_replays(p, p->affected[i]);
    for (size_t i = 0; i < p->n_affected; i++) {
        const int32_t op = trace->saved[p->affected[i]].first_backward_use;
        const pzi_list *sources = &p->trials[i].sources;
        for (size_t k = 0; k < sources->n; k++)
            need_source(p, sources->items[k], op);
    }
}

static void count_readers(pzi_planner *p, const pzi_chain *chain, int32_t step)
{
    for (size_t i = 0; i < chain->sources.n; i++) {
        const int32_t source = saved_of(p, chain->sources.items[i]);
        if (source == PZI_NONE)
            continue;
        p->readers[source] += step;
        pzi_draft_touch(p, source);
    }
}

static void swap_chains(pzi_chain *a, pzi_chain *b)
{
    const pzi_chain t = *a;
    *a = *b;
    *b = t;
}

/* A number that belongs to a source has changed: what drops with that source do may have, too. */
static void forget_users(pzi_planner *p, int32_t source)
{
    for (size_t k = 0; source != PZI_NONE && k < p->users[source].n; k++)
        p->blocks[p->users[source].items[k]].holds = false;
    for (size_t k = 0; source == PZI_NONE && k < p->work->trace->n_saved; k++)
        p->blocks[k].holds = false;
}

/* The replays before the first use of a tensor have changed: so has what another replay adds there,
 * of a tensor first used there too or of one that makes a replay there longer. */
static void forget_group(pzi_planner *p, int32_t saved)
{
    const int32_t op = p->work->trace->saved[saved].first_backward_use;
    for (size_t k = group_of(p, saved); in_group(p, k, op); k++) {
        const int32_t member = p->work->by_use[k];
        const pzi_list *sources = &p->chains[member].sources;
        p->blocks[member].holds = false;
        for (size_t i = 0; p->dropped[member] && i < sources->n; i++) {
            const int32_t source = saved_of(p, sources->items[i]);
            if (source != PZI_NONE)
                p->blocks[source].holds = false;
        }
    }
}

/* Forgets why drops were rejected wherever the trial has changed what they would do. */
static void forget_blocks(pzi_planner *p)
{
    for (size_t i = 0; i < p->n_journal; i++) {
        const pzi_change *c = &p->journal[i];
        /* A kept tensor takes memory whenever it is needed. */
        const bool is_need = c->owner != PZI_NONE && c->cell == &p->need[c->owner];
        if (c->cell && !(is_need && p->action[c->owner] != PZ_SWAP))
            forget_users(p, c->owner);
    }
    for (size_t i = 0; i < p->n_affected; i++)
        forget_group(p, p->affected[i]);
}

/* Makes the trial the draft. */
static void commit(pzi_planner *p, int32_t saved)
{
    p->action[saved] = PZ_DROP;
    forget_blocks(p);
    pzi_draft_touch(p, saved);
    for (size_t i = 0; i < p->n_affected; i++) {
        const int32_t user = p->affected[i];
        if (user != saved)
            count_readers(p, &p->chains[user], -1);
        swap_chains(&p->chains[user], &p->trials[i]);
        count_readers(p, &p->chains[user], 1);
        enter_users(p, user);
    }
    const int32_t storage = p->work->trace->saved[saved].storage;
    for (size_t i = 0; i < p->users[saved].n; i++) {
        const int32_t user = p->users[saved].items[i];
        if (!p->dropped[user] && reads(&p->chains[user], storage)) {
            p->chains[user].stale = true;
            p->blocks[user].holds = false;
        }
    }
    p->n_journal = 0;
    end_trial(p);
}

/* Takes the trial back; the replay peaks are those of the old chains again. */
static void reject(pzi_planner *p, int32_t saved)
{
    pzi_draft_touch(p, saved);
    take_back_changes(p);
    end_trial(p);
    p->dropped[saved] = 0;
    for (size_t i = 0; i < p->n_affected; i++) {
        const int32_t op = p->work->trace->saved[p->affected[i]].first_backward_use;
        p->replay_bytes[op] = replay_peak(p, op, p->affected[i]);
    }
}

bool pzi_draft_drop(pzi_planner *p, int32_t saved)
{
    p->n_journal = 0;
    p->dropped[saved] = 1;
    p->block = (pzi_block){1, 0, INT64_MIN, true};
    if (try_chains(p, saved)) {
        apply_trial(p, saved);
        if (!lifts_above(p)) {
            commit(p, saved);
            return true;
        }
    }
    reject(p, saved);
    return false;
}

/* Prefetch points -------------------------------------------------------------------------------
 */

/* The earliest operator from which the tensor fits until it is needed. */
static int32_t prefetch_point(const pzi_planner *p, int32_t saved)
{
    const int64_t bytes = (int64_t)pzi_saved_bytes(p->work, (size_t)saved);
    const size_t need_slot = pzi_slot_before(p->need[saved]);
    const size_t full =
        pzi_range_max_last_above(&p->profile, need_slot, (int64_t)p->limit_bytes - bytes);
    int32_t point = full == SIZE_MAX ? 0 : (int32_t)((full + 2) / 2);
    const int32_t last = p->work->trace->saved[saved].last_forward_use;
    if (point <= last)
        point = last + 1;
    return point < p->need[saved] ? point : p->need[saved];
}

void pzi_draft_finish(pzi_planner *p, pz_plan *plan)
{
    const size_t n = p->work->trace->n_saved;
    pzi_key *fetches = calloc(n + 1, sizeof *fetches);
    if (!fetches) {
        p->no_memory = true;
        return;
    }
    size_t n_fetches = 0;
    for (size_t i = 0; i < n; i++) {
        plan->steps[i] = (pzi_step){p->action[i], PZI_NONE};
        if (p->action[i] == PZ_SWAP)
            fetches[n_fetches++] = (pzi_key){p->need[i], 0, (int32_t)i};
    }
    pzi_sort_keys(fetches, n_fetches);
    for (size_t k = 0; k < n_fetches; k++) {
        const int32_t saved = fetches[k].saved;
        const int32_t point = prefetch_point(p, saved);
        pzi_range_max_add(&p->profile, pzi_slot_before(point), pzi_slot_before(p->need[saved]) - 1,
                          (int64_t)pzi_saved_bytes(p->work, (size_t)saved));
        plan->steps[saved].prefetch_op = point;
    }
    free(fetches);
}
