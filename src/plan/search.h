/* Local search for a faster plan: changes the actions of a tensor or a few, keeps what is better
 * and, ever less often, what is worse.  A plan above the budget pays a price per byte, so that the
 * way from one good plan to the next may lead past it.  The same seed gives the same plan. */
#ifndef PZI_PLAN_SEARCH_H
#define PZI_PLAN_SEARCH_H

#include "plan/eval.h"

typedef struct pzi_search_limits {
    uint64_t evaluations; /* how many plans are looked at */
    double seconds;       /* if above 0: how long, instead */
    uint64_t seed;
    pz_replay mode; /* of the plans looked at */
} pzi_search_limits;

/* The best plan so far. */
typedef struct pzi_found {
    pz_action *actions; /* of the caller, one per saved tensor */
    pz_replay replay;
    int64_t ns;
} pzi_found;

/* Improves *found, which must fit the budget; what it does is added up in *info. */
pz_status pzi_search(pzi_eval *eval, const pzi_search_limits *limits, pzi_found *found,
                     pz_search_info *info);

#endif
