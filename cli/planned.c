/* Plans with the world that they run in: see planned.h. */
#include "planned.h"

#include "errors.h"
#include "input.h"
#include "names.h"

#include <string.h>

const char *planned_codec(const char *text, void *target)
{
    if (strcmp(text, "none") != 0)
        return option_codec(text, target) == NULL ? NULL : "known are planezip, zvc and none";
    *(const char **)target = "none";
    return NULL;
}

int planned_read_world(const planned_options *options, planned_world *world)
{
    int status = input_trace(options->trace, &world->trace);

    world->options = options;
    if (status == STATUS_OK)
        status = input_platform(options->platform, &world->platform);
    if (status != STATUS_OK)
        return status;
    pz_trace_get_info(world->trace, &world->info);
    return STATUS_OK;
}

static int find_budget(planned *self)
{
    const planned_world *world = self->world;
    uint64_t peak_bytes;
    int status =
        input_peak(world->options->trace, world->trace, world->platform.precision, &peak_bytes);

    if (status != STATUS_OK)
        return status;
    if (world->options->budget.text != NULL)
        return options_budget(&world->options->budget, peak_bytes, &self->setup.budget_bytes);
    self->setup.budget_bytes = self->info.budget_bytes;
    if (self->info.budget_bytes == 0)
        return fail(self->file, "budget_bytes", "give --budget", "the plan has no budget");
    return STATUS_OK;
}

static int find_ratios(planned *self)
{
    const planned_world *world = self->world;
    double *ratios;
    int status;

    self->codec = world->options->codec != NULL ? world->options->codec : self->info.codec;
    status = input_file_ratios(world->options->ratios, world->trace, self->codec,
                               world->platform.precision, PZ_BY_TENSOR, &ratios);
    self->setup.predicted = ratios;
    return status;
}

/* What such a plan costs is not what it was made to cost. */
static void warn_about_origin(const planned *self)
{
    const planned_world *world = self->world;
    const pz_plan_info *info = &self->info;

    if (info->platform[0] != '\0' && strcmp(info->platform, world->platform.name) != 0)
        warn("%s: it was made for platform %s, and runs on %s", self->file, info->platform,
             world->platform.name);
    if (info->model[0] != '\0' &&
        strncmp(info->model, world->info.model, sizeof info->model - 1) != 0)
        warn("%s: it was made for model '%s', and runs with the trace of '%s'", self->file,
             info->model, world->info.model);
}

int planned_read(const planned_world *world, const char *file, planned *self)
{
    int status = input_plan(world->trace, file, &self->plan);

    if (status != STATUS_OK)
        return status;
    self->world = world;
    self->file = file;
    pz_plan_get_info(self->plan, &self->info);
    self->setup = (pz_setup){
        .size = sizeof self->setup,
        .trace = world->trace,
        .platform = &world->platform,
        .compress = self->info.compress,
        .slot_bytes = self->info.slot_bytes,
    };
    status = find_budget(self);
    if (status == STATUS_OK)
        status = find_ratios(self);
    if (status == STATUS_OK)
        warn_about_origin(self);
    return status;
}

void planned_warn(const planned *self)
{
    if (self->world->options->ratios == NULL && strcmp(self->codec, "none") != 0)
        warn("%s: without --ratios every ratio is 1", self->file);
}

int planned_fail(const planned *self, pz_status result, const pz_diag *diag)
{
    const planned_options *options = self->world->options;

    if (result == PZ_ERR_INFEASIBLE)
        planned_warn(self);
    if (result == PZ_ERR_MEANING) /* neither is the plan's fault */
        return fail_run(options->trace, options->platform, result, diag);
    return fail_status(self->file, result, diag);
}
