/* The options of the search that plan and sweep share. */
#ifndef CLI_SEARCH_H
#define CLI_SEARCH_H

#include "options.h"

#include <planezip/plan.h>

typedef struct search_options {
    uint64_t evaluations, seed;
    double seconds;
} search_options;

/* clang-format off */
#define SEARCH_OPTIONS(search) \
    OPTION(0, "search-plans", "N", option_count, &(search).evaluations, \
           "plans that policy best looks at (0: about a second's worth)"), \
    OPTION(0, "search-seconds", "S", option_seconds, &(search).seconds, \
           "search by the clock instead, which is not the same every time"), \
    OPTION(0, "search-seed", "N", option_count, &(search).seed, \
           "another search (0)")
/* clang-format on */

static inline void search_set(const search_options *search, pz_setup *setup)
{
    setup->search_evaluations = search->evaluations;
    setup->search_seconds = search->seconds;
    setup->search_seed = search->seed;
}

#endif
