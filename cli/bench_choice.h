/* What bench times: codecs, instruction sets, numbers of threads, profiles, as the options say or
 * by default all that the machine has. */
#ifndef CLI_BENCH_CHOICE_H
#define CLI_BENCH_CHOICE_H

#include "options.h"

#include <planezip/planezip.h>

#include <stdbool.h>
#include <stddef.h>

/* The lists of the options; empty ones are not given. */
typedef struct bench_wishes {
    word_list codecs, isas, threads, profiles;
} bench_wishes;

typedef struct bench_choice {
    const char **ours; /* codecs of ours */
    size_t ours_count;
    unsigned *peers; /* indices for pzb_peer_open(), of libraries that are there */
    size_t peer_count;
    const char **missing_peers; /* names of those that are not */
    size_t missing_count;
    const char **isas; /* fastest first */
    size_t isa_count;
    unsigned *threads; /* more or other than one thread, with the first of isas; else none */
    size_t thread_count;
    pz_profile *profiles;
    size_t profile_count;
} bench_choice;

/* What is chosen lives until the program ends.  Prints its errors: an unknown word is a wrong
 * command line, a peer that was asked for and is not there is not. */
int bench_choose(const bench_wishes *wishes, bench_choice *choice);

#endif
