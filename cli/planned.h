/* Plans with the world that they run in, as simulate, explain and diff read them.  What is read
 * lives until the program ends.  Every function prints its own error and returns an exit status. */
#ifndef CLI_PLANNED_H
#define CLI_PLANNED_H

#include "options.h"

#include <planezip/plan.h>

/* What these commands are told. */
typedef struct planned_options {
    const char *trace, *platform, *ratios, *codec;
    budget budget;
} planned_options;

option_parser planned_codec; /* const char **: a codec that has ratios, or none */

/* clang-format off */
#define PLANNED_OPTIONS(world) \
    OPTION_NEEDED('t', "trace", "TRACE", option_text, &(world).trace, "trace of the iteration"), \
    OPTION_NEEDED('p', "platform", "PLATFORM", option_text, &(world).platform, \
                  "built-in platform or file"), \
    OPTION('r', "ratios", "TABLE", option_text, &(world).ratios, \
           "ratios of the transfers (every ratio is 1)"), \
    OPTION('c', "codec", "CODEC", planned_codec, &(world).codec, \
           "planezip, zvc or none instead of the plan's codec"), \
    OPTION('b', "budget", "B", option_budget, &(world).budget, \
           "memory for activations instead of the plan's budget")
/* clang-format on */

/* A trace on a platform. */
typedef struct planned_world {
    const planned_options *options;
    pz_trace *trace;
    pz_trace_info info;
    pz_platform platform;
} planned_world;

/* A plan in it, and the setup with which it runs. */
typedef struct planned {
    const planned_world *world;
    const char *file;
    pz_plan *plan;
    pz_plan_info info;
    const char *codec;
    pz_setup setup;
} planned;

int planned_read_world(const planned_options *options, planned_world *world);

/* world and self must outlive what is made of them.  Warns of a plan that was made for another
 * platform or model. */
int planned_read(const planned_world *world, const char *file, planned *self);

/* Warns if the plan compresses and no ratios are given, so that its run is not the one that it was
 * made for. */
void planned_warn(const planned *self);

/* The exit status of a run that failed, with its message, and with that warning if the plan did not
 * fit. */
int planned_fail(const planned *self, pz_status result, const pz_diag *diag);

#endif
