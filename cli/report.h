/* The results of a simulated iteration, as columns that plan, simulate and sweep share. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "table.h"

#include <planezip/plan.h>

/* MORE(title) is the title of what only a full report shows: REPORT_SHOWN or REPORT_HIDDEN. */
#define REPORT_SHOWN(title) title
#define REPORT_HIDDEN(title) NULL

/* clang-format off */
#define REPORT_COLUMNS(MORE) \
    {"overhead", "overhead", COLUMN_PERCENT}, \
    {"total_ns", "total", COLUMN_NS}, \
    {"unlimited_ns", MORE("without a budget"), COLUMN_NS}, \
    {"compute_ns", MORE("operators"), COLUMN_NS}, \
    {"optimizer_ns", MORE("optimizer"), COLUMN_NS}, \
    {"replay_ns", "replay", COLUMN_NS}, \
    {"stall_memory_ns", "stall: memory", COLUMN_NS}, \
    {"stall_prefetch_ns", "stall: prefetch", COLUMN_NS}, \
    {"codec_ns", MORE("codec on the GPU"), COLUMN_NS}, \
    {"swapped_bytes", "bytes swapped", COLUMN_BYTES}, \
    {"d2h_wire_bytes", MORE("sent to host"), COLUMN_BYTES}, \
    {"h2d_wire_bytes", MORE("sent to device"), COLUMN_BYTES}, \
    {"d2h_busy_ns", MORE("link to host busy"), COLUMN_NS}, \
    {"h2d_busy_ns", MORE("link to device busy"), COLUMN_NS}, \
    {"replayed_ops", MORE("replayed operators"), COLUMN_COUNT}, \
    {"peak_bytes", MORE("highest memory"), COLUMN_BYTES}, \
    {"peak_ns", MORE("  at time"), COLUMN_NS}, \
    {"peak_op", MORE("  in operator"), COLUMN_COUNT}, \
    {"kept", "tensors kept", COLUMN_COUNT}, \
    {"swapped", "tensors swapped", COLUMN_COUNT}, \
    {"dropped", "tensors dropped", COLUMN_COUNT}, \
    {"compressed", MORE("tensors compressed"), COLUMN_COUNT}, \
    {"compressed_bytes", MORE("bytes compressed"), COLUMN_BYTES}, \
    {"packed_bytes", MORE("  to"), COLUMN_BYTES}
/* clang-format on */

enum { REPORT_CELLS = 24 };

/* The cells of these columns; report may be NULL for a run that does not exist. */
void report_add(table *results, const pz_report *report);

/* The cells of the columns "codec" and "ratios"; ratios is the file of the table or NULL. */
void report_codec(table *results, const char *codec, const char *ratios);

/* Raw bytes of the saved tensors by pz_action. */
void report_bytes(const pz_trace *trace, const pz_plan *plan, pz_precision precision,
                  uint64_t bytes[PZ_ACTIONS]);

/* "4.20 GiB, 37.50 % of the peak", which lives until the end. */
const char *report_budget(uint64_t budget_bytes, uint64_t peak_bytes);

#endif
