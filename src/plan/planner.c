/* What all plans of a setup share: empty profile, empty chains, scratch space. */
#include "plan/planner.h"

#include <stdlib.h>

static bool allocate(pzi_planner *p, const pz_trace *trace)
{
    const size_t n = trace->n_saved + 1;
    p->empty_chains = calloc(n, sizeof *p->empty_chains);
    p->use_position = calloc(n, sizeof *p->use_position);
    p->ready_position = calloc(n, sizeof *p->ready_position);
    p->action = calloc(n, sizeof *p->action);
    p->dropped = calloc(n, sizeof *p->dropped);
    p->back = calloc(n, sizeof *p->back);
    p->need = calloc(n, sizeof *p->need);
    p->end = calloc(trace->n_storages + 1, sizeof *p->end);
    p->readers = calloc(n, sizeof *p->readers);
    p->chains = calloc(n, sizeof *p->chains);
    p->users = calloc(n, sizeof *p->users);
    p->trial_of = calloc(n, sizeof *p->trial_of);
    p->rejected = calloc(n, sizeof *p->rejected);
    p->blocks = calloc(n, sizeof *p->blocks);
    p->replay_bytes = calloc(trace->n_ops, sizeof *p->replay_bytes);
    return p->empty_chains && p->use_position && p->ready_position && p->action && p->dropped &&
           p->back && p->need && p->end && p->readers && p->chains && p->users && p->trial_of &&
           p->rejected && p->blocks && p->replay_bytes &&
           pzi_range_max_new(2 * trace->n_ops, &p->empty_profile) == PZ_OK &&
           pzi_range_max_new(2 * trace->n_ops, &p->profile) == PZ_OK &&
           pzi_range_max_new(trace->n_saved, &p->d2h_ends) == PZ_OK &&
           pzi_range_max_new(trace->n_saved, &p->h2d_late) == PZ_OK &&
           pzi_scores_new(p->work, &p->scores) == PZ_OK &&
           pzi_replayer_new(p->work, &p->replayer) == PZ_OK;
}

/* A storage takes memory from the operator that produces it (an input: from the start) to its last
 * use. */
static pz_status fill_profile(pzi_planner *p)
{
    const pz_trace *trace = p->work->trace;
    int64_t *bytes = calloc(2 * trace->n_ops + 1, sizeof *bytes);
    if (!bytes)
        return PZ_ERR_MEMORY;
    for (size_t s = 0; s < trace->n_storages; s++) {
        const pzi_storage *storage = &trace->storages[s];
        if (p->work->bytes[s] == 0)
            continue;
        const size_t first = storage->op < 0 ? 0 : pzi_slot_of(storage->op);
        bytes[first] += (int64_t)p->work->bytes[s];
        bytes[pzi_slot_of(storage->last_use) + 1] -= (int64_t)p->work->bytes[s];
    }
    for (size_t i = 1; i < 2 * trace->n_ops; i++)
        bytes[i] += bytes[i - 1];
    pzi_range_max_fill(&p->empty_profile, bytes);
    free(bytes);
    return PZ_OK;
}

static void number_positions(pzi_planner *p)
{
    for (size_t k = 0; k < p->work->trace->n_saved; k++) {
        p->use_position[p->work->by_use[k]] = (int32_t)k;
        p->ready_position[p->work->by_ready[k]] = (int32_t)k;
    }
}

/* Nothing is dropped yet: the chains with every other tensor in memory. */
static pz_status fill_chains(pzi_planner *p)
{
    const pz_trace *trace = p->work->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        p->back[i] = trace->saved[i].first_backward_use;
        p->trial_of[i] = PZI_NONE;
    }
    for (size_t i = 0; i < trace->n_saved; i++)
        pzi_chain_store(p, &p->empty_chains[i], pzi_draft_replay(p, (int32_t)i));
    return p->no_memory ? PZ_ERR_MEMORY : PZ_OK;
}

pz_status pzi_planner_new(const pzi_work *work, pzi_planner *p)
{
    *p = (pzi_planner){.work = work};
    pz_status status = allocate(p, work->trace) ? fill_profile(p) : PZ_ERR_MEMORY;
    if (status == PZ_OK) {
        number_positions(p);
        status = fill_chains(p);
    }
    if (status != PZ_OK)
        pzi_planner_free(p);
    return status;
}

static void free_chains(pzi_chain *chains, size_t n)
{
    for (size_t i = 0; chains && i < n; i++)
        free(chains[i].sources.items);
    free(chains);
}

void pzi_planner_free(pzi_planner *p)
{
    const size_t n = p->work ? p->work->trace->n_saved : 0;
    free_chains(p->empty_chains, n);
    free_chains(p->chains, n);
    free_chains(p->trials, p->room_affected);
    for (size_t i = 0; p->users && p->trial_of && p->rejected && p->blocks && i < n; i++)
        free(p->users[i].items);
    free(p->users);
    free(p->use_position);
    free(p->ready_position);
    free(p->action);
    free(p->dropped);
    free(p->back);
    free(p->need);
    free(p->end);
    free(p->readers);
    free(p->touched.items);
    free(p->rejects.items);
    free(p->rejected);
    free(p->blocks);
    free(p->trial_of);
    pzi_scores_free(&p->scores);
    free(p->replay_bytes);
    free(p->journal);
    free(p->affected);
    pzi_range_max_free(&p->empty_profile);
    pzi_range_max_free(&p->profile);
    pzi_range_max_free(&p->d2h_ends);
    pzi_range_max_free(&p->h2d_late);
    if (p->replayer.work)
        pzi_replayer_free(&p->replayer);
    *p = (pzi_planner){0};
}
