/* What packing rows gives, tried on files of them: ibp measure and ibp cache. */
#ifndef CLI_IBP_TRIAL_H
#define CLI_IBP_TRIAL_H

#include "row_file.h"

#include <stdbool.h>

/* Sizes beside those of planezip2, and rates.  Prints its errors and returns an exit status. */
int ibp_trial_measure(char **files, size_t count, const row_options *options, bool json);

/* Look-ups of rows by numbers that are skewed, through caches of several sizes. */
typedef struct ibp_cache_options {
    double skew;      /* row number k of some order is looked up in proportion to k^-skew */
    uint64_t lookups; /* that are counted, behind as many that fill the cache; 0: a number of them
                         by that of the rows */
    double link_bps;
    uint64_t line_bytes; /* of what is moved at once */
} ibp_cache_options;

int ibp_trial_cache(const char *name, const row_options *options, const ibp_cache_options *cache,
                    bool json);

#endif
