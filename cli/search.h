/* The options of policy best that plan and sweep share: what it may do and how it searches. */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "names.h"
#include "options.h"

#include <planezip/plan.h>

typedef struct search_options {
    uint64_t evaluations, seed;
    double seconds;
    pz_compress compress;
    uint64_t slot_bytes;
} search_options;

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
    OPTION(0, "slot", "SIZE", option_size, &(search).slot_bytes, \
           "size of the slots that they then lie in (64KiB)")
/* clang-format on */

static inline void search_set(const search_options *search, pz_setup *setup)
{
    setup->search_evaluations = search->evaluations;
    setup->search_seconds = search->seconds;
    setup->search_seed = search->seed;
    setup->compress = search->compress;
    setup->slot_bytes = search->slot_bytes;
}

#endif
