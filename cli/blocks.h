/* What PyTorch's allocator makes of a plan's memory, as simulate and plan print it. */
#ifndef CLI_BLOCKS_H
#define CLI_BLOCKS_H

#include "table.h"

#include <planezip/plan.h>

/* The option that asks for it. */
#define BLOCKS_OPTION(target, help) SWITCH(0, "allocator", target, help)

/* A run in blocks. */
typedef struct blocks {
    pz_fragmentation run;  /* in segments within the budget */
    uint64_t needed_bytes; /* the least limit of all segments found with which it runs */
} blocks;

/* Whether the plan runs within its budget.  A success even if it does not. */
pz_status blocks_run(const pz_setup *setup, const pz_plan *plan, blocks *result, pz_diag *diag);
bool blocks_fit(const blocks *self);

/* A table of one row. */
table *blocks_table(const pz_trace *trace, const blocks *self);

/* Prints it after the summary, or adds it to the object of the summary. */
void blocks_print(const table *self, FILE *stream);
void blocks_add_json(const table *self, json_t *object);

#endif
