/* The results of a simulated iteration: see report.h. */
#include "report.h"

#include "memory.h"
#include "units.h"

#include <string.h>

void report_add(table *results, const pz_report *report)
{
    if (report == NULL) {
        for (int i = 0; i < REPORT_CELLS; i++)
            table_none(results);
        return;
    }
    table_real(results, report->overhead);
    table_int(results, report->total_ns);
    table_int(results, report->unlimited_ns);
    table_int(results, report->compute_ns);
    table_int(results, report->optimizer_ns);
    table_int(results, report->replay_ns);
    table_int(results, report->stall_memory_ns);
    table_int(results, report->stall_prefetch_ns);
    table_int(results, report->codec_ns);
    table_size(results, report->swapped_bytes);
    table_size(results, report->d2h_wire_bytes);
    table_size(results, report->h2d_wire_bytes);
    table_int(results, report->d2h_busy_ns);
    table_int(results, report->h2d_busy_ns);
    table_size(results, report->replayed_ops);
    table_size(results, report->peak_bytes);
    table_int(results, report->peak_ns);
    table_size(results, report->peak_op);
    table_size(results, report->kept);
    table_size(results, report->swapped);
    table_size(results, report->dropped);
    table_size(results, report->compressed);
    table_size(results, report->compressed_bytes);
    table_size(results, report->packed_bytes);
}

void report_codec(table *results, const char *codec, const char *ratios)
{
    table_text(results, codec);
    if (strcmp(codec, "none") == 0)
        table_none(results);
    else
        table_text(results, ratios != NULL ? ratios : "none; every ratio is 1");
}

void report_bytes(const pz_trace *trace, const pz_plan *plan, pz_precision precision,
                  uint64_t bytes[PZ_ACTIONS])
{
    memset(bytes, 0, PZ_ACTIONS * sizeof *bytes);
    for (size_t i = 0; i < pz_plan_size(plan); i++) {
        pz_saved saved;

        if (pz_trace_get_saved(trace, i, &saved) == PZ_OK)
            bytes[pz_plan_action(plan, i)] += saved.bytes[precision];
    }
}

const char *report_budget(uint64_t budget_bytes, uint64_t peak_bytes)
{
    char text[UNITS_TEXT];

    return memory_text("%s, %.2f %% of the peak", units_bytes(budget_bytes, text),
                       100 * (double)budget_bytes / (double)peak_bytes);
}
