/* The options of policy best that plan and sweep share: what it may do and how it searches. */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "errors.h"
#include "names.h"
#include "options.h"

#include <planezip/plan.h>

typedef struct search_options {
    uint64_t evaluations, seed;
    double seconds;
    pz_compress compress;
    uint64_t slot_bytes;
} search_options;

static inline const char *search_parse_slot(const char *text, void *target)
{
    uint64_t *bytes = target;
    const char *problem = units_parse_bytes(text, bytes);

    return problem == NULL && *bytes == 0 ? "it must be greater than 0" : problem;
}

/* clang-format off */
#define SEARCH_OPTIONS(search) \
    OPTION(0, "search-plans", "N", option_count, &(search).evaluations, \
           "plans that policy best looks at (0: about a second's worth)"), \
    OPTION(0, "search-seconds", "S", option_seconds, &(search).seconds, \
           "search by the clock instead, which is not the same every time"), \
    OPTION(0, "search-seed", "N", option_count, &(search).seed, \
           "another search (0)"), \
    OPTION(0, "compress", "WHO", option_compress, &(search).compress, \
           "who may compress tensors in device memory: none (default),\n" \
           "spare (the engine, with what swaps leave of it), second (another\n" \
           "engine) or software"), \
    OPTION(0, "slot", "SIZE", search_parse_slot, &(search).slot_bytes, \
           "size of the slots that they then lie in (64KiB)")
/* clang-format on */

/* What would be ignored is a wrong command line. */
static inline int search_check(const search_options *search, bool searches)
{
    bool given = search->evaluations > 0 || search->seconds > 0 || search->seed > 0;

    if (!searches && given)
        return fail_usage("--search-plans, --search-seconds and --search-seed are for policy "
                          "'" PZ_POLICY_DEFAULT "'");
    if (!searches && (search->compress != PZ_COMPRESS_NONE || search->slot_bytes > 0))
        return fail_usage("--compress and --slot are for policy '" PZ_POLICY_DEFAULT "'");
    if (search->evaluations > 0 && search->seconds > 0)
        return fail_usage("--search-plans and --search-seconds exclude each other");
    if (search->slot_bytes > 0 && search->compress == PZ_COMPRESS_NONE)
        return fail_usage("--slot: nothing is compressed without --compress");
    return STATUS_OK;
}

static inline void search_set(const search_options *search, pz_setup *setup)
{
    setup->search_evaluations = search->evaluations;
    setup->search_seconds = search->seconds;
    setup->search_seed = search->seed;
    setup->compress = search->compress;
    setup->slot_bytes = search->slot_bytes;
}

#endif
