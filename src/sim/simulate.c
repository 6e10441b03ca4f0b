/* The public face of the simulator: checks the setup, prepares the trace, runs the plan. */
#include <math.h>
#include <stdlib.h>

#include "base/diag.h"
#include "sim/sim.h"
#include "trace/plan.h"

static pz_status check_ratios(const double *ratios, size_t n, pz_diag *diag)
{
    for (size_t i = 0; ratios && i < n; i++)
        if (!(isfinite(ratios[i]) && ratios[i] > 0))
            return pzi_fail(diag, PZ_ERR_ARGUMENT, "the ratio of saved tensor %zu is %g", i,
                            ratios[i]);
    return PZ_OK;
}

static bool can_compress(const pz_setup *setup)
{
    return (setup->compress == PZ_COMPRESS_SOFTWARE ? setup->platform->software_bps
                                                    : setup->platform->engine_bps) > 0;
}

pz_status pzi_check_setup(const pz_setup *setup, pz_diag *diag)
{
    if (setup->size != sizeof *setup || !setup->trace || !setup->platform)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "the setup is not initialised");
    if (setup->budget_bytes > INT64_MAX)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "the budget is above 2^63 bytes");
    if (!(setup->search_seconds >= 0 && isfinite(setup->search_seconds)))
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "a search of %g seconds is none",
                        setup->search_seconds);
    if (setup->compress < PZ_COMPRESS_NONE || setup->compress > PZ_COMPRESS_SOFTWARE)
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "there is no such way to compress");
    if (setup->compress != PZ_COMPRESS_NONE && !can_compress(setup))
        return pzi_fail(diag, PZ_ERR_ARGUMENT,
                        "the platform has no %s that could compress in device memory; use one that "
                        "has",
                        setup->compress == PZ_COMPRESS_SOFTWARE ? "software codec" : "engine");
    const pz_status status = check_ratios(setup->predicted, setup->trace->n_saved, diag);
    return status == PZ_OK ? check_ratios(setup->actual, setup->trace->n_saved, diag) : status;
}

/* What a run needs besides its setup. */
struct stage {
    pzi_work work;
    pzi_replayer replayer;
};

/* A failure leaves nothing to free. */
static pz_status stage_new(const pz_trace *trace, const pz_platform *platform, struct stage *stage,
                           pz_diag *diag)
{
    const pz_status status = pzi_work_new(trace, platform, &stage->work, diag);
    if (status != PZ_OK || pzi_replayer_new(&stage->work, &stage->replayer) == PZ_OK)
        return status;
    pzi_work_free(&stage->work);
    return pzi_no_memory(diag);
}

static void stage_free(struct stage *stage)
{
    pzi_replayer_free(&stage->replayer);
    pzi_work_free(&stage->work);
}

static pz_status run(struct stage *stage, const pz_setup *setup, const pz_plan *plan,
                     pz_report *report, pz_timeline *timeline, pz_diag *diag)
{
    pz_status status =
        pzi_simulate(&stage->work, &stage->replayer, setup, plan, report, NULL, diag);
    if (status != PZ_OK || !timeline)
        return status;
    /* The live set at the peak can be told only when the peak is known: run it again. */
    timeline->peak_bytes = report->peak_bytes;
    return pzi_simulate(&stage->work, &stage->replayer, setup, plan, report, timeline, diag);
}

pz_status pz_simulate(const pz_setup *setup, const pz_plan *plan, pz_report *report,
                      pz_timeline **timeline, pz_diag *diag)
{
    pz_status status = pzi_check_setup(setup, diag);
    if (status != PZ_OK)
        return status;
    pz_timeline *recorded = NULL;
    struct stage stage;
    if (timeline && pzi_timeline_new(setup->trace, setup->budget_bytes, &recorded) != PZ_OK)
        return pzi_no_memory(diag);
    status = stage_new(setup->trace, setup->platform, &stage, diag);
    if (status == PZ_OK) {
        status = run(&stage, setup, plan, report, recorded, diag);
        stage_free(&stage);
    }
    if (status == PZ_OK && recorded && pzi_timeline_finish(recorded) != PZ_OK)
        status = pzi_no_memory(diag);
    if (status == PZ_OK && timeline)
        *timeline = recorded;
    else
        pz_timeline_free(recorded);
    return status;
}

static pz_status run_blocks(struct stage *stage, const pz_setup *setup, const pz_plan *plan,
                            uint64_t limit_bytes, pz_fragmentation *fragmentation, pz_diag *diag)
{
    pzi_ledger ledger;
    pz_report report;
    if (pzi_replayer_tell_moves(&stage->replayer) != PZ_OK ||
        pzi_ledger_new(&stage->work, limit_bytes, fragmentation, &ledger) != PZ_OK)
        return pzi_no_memory(diag);
    const pz_status status =
        pzi_simulate_blocks(&stage->work, &stage->replayer, setup, plan, &report, &ledger, diag);
    pzi_ledger_free(&ledger);
    return status;
}

pz_status pz_simulate_allocator(const pz_setup *setup, const pz_plan *plan, uint64_t limit_bytes,
                                pz_fragmentation *fragmentation, pz_diag *diag)
{
    struct stage stage;
    pz_status status = pzi_check_setup(setup, diag);
    if (status == PZ_OK)
        status = stage_new(setup->trace, setup->platform, &stage, diag);
    if (status != PZ_OK)
        return status;
    status = run_blocks(&stage, setup, plan, limit_bytes, fragmentation, diag);
    stage_free(&stage);
    return status;
}

static void fill_costs(const pzi_work *work, pzi_replayer *replayer, const pzi_residency *residency,
                       int64_t *swap_ns, int64_t *recompute_ns)
{
    const pz_trace *trace = work->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        swap_ns[i] = pz_platform_transfer_ns(work->platform, pzi_saved_bytes(work, i), 1.0, 1);
        const pzi_replay *replay =
            pzi_replay_build(replayer, residency, i, trace->saved[i].first_backward_use);
        recompute_ns[i] = replay ? replay->ns : INT64_MAX;
    }
}

pz_status pz_trace_costs(const pz_trace *trace, const pz_platform *platform, int64_t *swap_ns,
                         int64_t *recompute_ns, pz_diag *diag)
{
    struct stage stage;
    pz_status status = stage_new(trace, platform, &stage, diag);
    if (status != PZ_OK)
        return status;
    uint8_t *dropped = calloc(trace->n_saved + 1, sizeof *dropped);
    int32_t *back = calloc(trace->n_saved + 1, sizeof *back);
    if (dropped && back)
        fill_costs(&stage.work, &stage.replayer, &(pzi_residency){dropped, back, PZ_REPLAY_FREE},
                   swap_ns, recompute_ns);
    else
        status = pzi_no_memory(diag);
    free(dropped);
    free(back);
    stage_free(&stage);
    return status;
}
