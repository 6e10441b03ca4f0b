/* The traces of one model at several batch sizes: see family.h. */
#include "family.h"

#include "errors.h"
#include "memory.h"

#include <inttypes.h>
#include <string.h>

static family *find(family *families, size_t count, const char *model)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(families[i].traces[0]->info.model, model) == 0)
            return &families[i];
    return NULL;
}

/* Keeps the order of batch sizes. */
static int add(family *self, const sweep_trace *trace)
{
    size_t place = self->count;

    while (place > 0 && self->traces[place - 1]->info.batch > trace->info.batch)
        place--;
    if (place > 0 && self->traces[place - 1]->info.batch == trace->info.batch)
        return fail_usage("%s and %s are both of model '%s' and batch %" PRIu64,
                          self->traces[place - 1]->file, trace->file, trace->info.model,
                          trace->info.batch);
    memmove(&self->traces[place + 1], &self->traces[place],
            (self->count - place) * sizeof(self->traces[0]));
    self->traces[place] = trace;
    self->count++;
    return STATUS_OK;
}

int family_group(const sweep_trace *traces, size_t count, family **families, size_t *family_count)
{
    int status = STATUS_OK;

    *families = memory_keep(count, sizeof **families);
    *family_count = 0;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        family *found = find(*families, *family_count, traces[i].info.model);

        if (found == NULL) {
            found = &(*families)[(*family_count)++];
            found->traces = memory_keep(count, sizeof(found->traces[0]));
        }
        status = add(found, &traces[i]);
    }
    return status;
}

pz_status family_at(const family *self, uint64_t batch, pz_trace **trace, pz_diag *diag)
{
    size_t above = 0; /* the first one of at least that batch size */

    while (above < self->count && self->traces[above]->info.batch < batch)
        above++;
    if (self->count == 1 || (above < self->count && self->traces[above]->info.batch == batch))
        return pz_trace_scale(self->traces[self->count == 1 ? 0 : above]->trace, NULL, batch, trace,
                              diag);
    above = above == 0 ? 1 : above == self->count ? self->count - 1 : above;
    return pz_trace_scale(self->traces[above - 1]->trace, self->traces[above]->trace, batch, trace,
                          diag);
}
