/* What PyTorch's allocator makes of a plan's memory: see blocks.h. */
#include "blocks.h"

#include "memory.h"
#include "options.h"

/* How exactly the least limit is told. */
#define LIMIT_STEP_BYTES (UINT64_C(2) << 20)

static const column columns[] = {
    {"allocated_bytes", "blocks, at most", COLUMN_BYTES},
    {"needed_bytes", "segments needed", COLUMN_BYTES},
    {"fits", "fits the budget", COLUMN_TEXT},
    {"reserved_bytes", "segments, at most", COLUMN_BYTES},
    {"idle_bytes", "  free of that", COLUMN_BYTES},
    {"largest_free_bytes", "  largest free block", COLUMN_BYTES},
    {"failed_op", "no room in operator", COLUMN_COUNT},
    {"failed_op_name", "  which is", COLUMN_TEXT},
    {"failed_bytes", "  needs", COLUMN_BYTES},
    {"failed_free_bytes", "  with free bytes", COLUMN_BYTES},
    {"failed_largest_bytes", "  in blocks of at most", COLUMN_BYTES},
};
enum { SHOWN_IF_IT_FITS = 6 };

bool blocks_fit(const blocks *self)
{
    return self->run.failed_op < 0;
}

/* Bisection between the budget, which is too little, and what is reserved without a limit. */
static pz_status find_needed(const pz_setup *setup, const pz_plan *plan, uint64_t *needed_bytes,
                             pz_diag *diag)
{
    pz_fragmentation run = {0};
    uint64_t low = setup->budget_bytes;
    pz_status status = pz_simulate_allocator(setup, plan, INT64_MAX, &run, diag);

    *needed_bytes = run.reserved_bytes;
    while (status == PZ_OK && *needed_bytes > low + LIMIT_STEP_BYTES) {
        uint64_t middle = low + (*needed_bytes - low) / 2;

        status = pz_simulate_allocator(setup, plan, middle, &run, diag);
        if (status == PZ_OK && run.failed_op < 0)
            *needed_bytes = run.reserved_bytes;
        else
            low = middle;
    }
    return status;
}

pz_status blocks_run(const pz_setup *setup, const pz_plan *plan, blocks *result, pz_diag *diag)
{
    pz_status status = pz_simulate_allocator(setup, plan, setup->budget_bytes, &result->run, diag);

    if (status != PZ_OK)
        return status;
    result->needed_bytes = result->run.reserved_bytes;
    return blocks_fit(result) ? PZ_OK : find_needed(setup, plan, &result->needed_bytes, diag);
}

table *blocks_table(const pz_trace *trace, const blocks *self)
{
    const pz_fragmentation *run = &self->run;
    table *results = table_new(columns, blocks_fit(self) ? SHOWN_IF_IT_FITS : LENGTH(columns));

    table_size(results, run->allocated_bytes);
    table_size(results, self->needed_bytes);
    table_text(results, blocks_fit(self) ? "yes" : "no");
    table_size(results, run->reserved_bytes);
    table_size(results, run->idle_bytes);
    table_size(results, run->largest_free_bytes);
    if (blocks_fit(self))
        return results;
    table_int(results, run->failed_op);
    table_text(results, pz_trace_op_name(trace, (size_t)run->failed_op));
    table_size(results, run->failed_bytes);
    table_size(results, run->failed_free_bytes);
    table_size(results, run->failed_largest_bytes);
    return results;
}

void blocks_print(const table *self, FILE *stream)
{
    fprintf(stream, "\nIn blocks of PyTorch's allocator\n");
    table_record(self, stream);
}

void blocks_add_json(const table *self, json_t *object)
{
    if (json_object_set_new(object, "allocator", table_row_json(self, 0)) != 0)
        memory_fail();
}
