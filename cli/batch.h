/* What compress, decompress and test share: several files in one call, one after the other, going
 * on after one that fails; folders; where the result goes and what becomes of the input. */
#ifndef CLI_BATCH_H
#define CLI_BATCH_H

#include "options.h"

#include <planezip/planezip.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct batch_options {
    const char *output;
    uint64_t threads;
    bool force, to_standard, keep, remove, recursive;
} batch_options;

/* clang-format off */
#define BATCH_OPTIONS(target) \
    OPTION('o', "output", "FILE", option_text, &(target).output, \
           "where the result goes; one input only"), \
    SWITCH('c', "stdout", &(target).to_standard, "write to standard output"), \
    SWITCH('f', "force", &(target).force, "overwrite outputs; write to a terminal"), \
    SWITCH('k', "keep", &(target).keep, "keep the input (default)"), \
    SWITCH(0, "rm", &(target).remove, "remove the input after it was written whole"), \
    BATCH_INPUTS(target)
#define BATCH_INPUTS(target) \
    SWITCH('r', "recursive", &(target).recursive, "go through folders"), \
    OPTION('T', "threads", "N", option_count, &(target).threads, \
           "threads; 0 (default) is all cores")
/* clang-format on */

typedef struct batch {
    const batch_options *options;
    /* Does one file.  out is "-", a file that may be written, or NULL if there are no outputs. */
    int (*work)(const char *in, const char *out, pz_threads *threads);
    /* The default name of the output, which lives until the end; NULL after a message.  Itself NULL
     * if there are no outputs. */
    const char *(*name_output)(const char *in);
    /* Whether a file of a folder is one to work on. */
    bool (*wants)(const char *name);
    bool joins; /* several outputs make sense one after another */
} batch;

/* No file is standard input.  Returns the worst exit status. */
int batch_run(const batch *self, char **files, size_t count);

/* The name without its folders. */
const char *batch_base_name(const char *path);

bool batch_has_suffix(const char *name, const char *suffix);

#endif
