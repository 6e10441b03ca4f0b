/* What a sweep goes over: traces with their ratio tables, platforms with their variants. */
#ifndef CLI_SWEEP_SETUP_H
#define CLI_SWEEP_SETUP_H

#include "options.h"

#include <planezip/plan.h>

/* The ratio table of a model; NULL: none. */
typedef struct sweep_table {
    const char *file;
    pz_predictor *predictor;
} sweep_table;

/* A trace and the tables of its model. */
typedef struct sweep_trace {
    const char *file;
    pz_trace *trace;
    pz_trace_info info;
    sweep_table ratios, actual;
} sweep_trace;

/* Reads the traces, and finds for each the table of its model among the files and those of the
 * folder (NULL: none).  It is an error if tables are given and none or several fit. */
int sweep_load_traces(const word_list *files, const word_list *ratios, const char *ratios_folder,
                      sweep_trace **traces);

/* The same for the ratios that transfers really have. */
int sweep_load_actual(const word_list *files, sweep_trace *traces, size_t count);

/* Values that replace those of a platform; lists may be empty. */
typedef struct sweep_overrides {
    double *link_bps, *engine_bps, *engine_per_link;
    size_t links, engines, engines_per_link;
} sweep_overrides;

/* Every platform with every override. */
int sweep_load_platforms(const word_list *names, const sweep_overrides *overrides,
                         pz_platform **platforms, size_t *count);

/* Ratios of a table for a trace, those above 1 multiplied and at least 1; computed once for each
 * codec, precision, signature and factor; NULL without a table and for the codec "none".  To be
 * called from one thread. */
int sweep_ratios(const sweep_trace *trace, const sweep_table *table, const char *codec,
                 pz_precision precision, pz_signature signature, double times,
                 const double **ratios);

#endif
