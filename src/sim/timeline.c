/* Recording a timeline and writing it as Chrome trace JSON, which Perfetto opens. */
#include "sim/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/json.h"

pz_status pzi_timeline_new(const pz_trace *trace, uint64_t budget_bytes, pz_timeline **timeline)
{
    pz_timeline *t = calloc(1, sizeof *t);
    if (!t)
        return PZ_ERR_MEMORY;
    t->peak = calloc(trace->n_storages + 1, sizeof *t->peak);
    t->model = trace->model;
    t->budget_bytes = budget_bytes;
    *timeline = t;
    if (t->peak)
        return PZ_OK;
    pz_timeline_free(t);
    *timeline = NULL;
    return PZ_ERR_MEMORY;
}

void pz_timeline_free(pz_timeline *timeline)
{
    if (!timeline)
        return;
    free(timeline->strings);
    free(timeline->events);
    free(timeline->samples);
    free(timeline->peak);
    free(timeline);
}

void pzi_timeline_add(pz_timeline *timeline, const pz_event *event)
{
    if (!timeline || timeline->failed)
        return;
    pz_event *grown =
        pzi_grow(timeline->events, &timeline->room_events, timeline->n_events + 1, sizeof *grown);
    timeline->failed = !grown;
    if (!grown)
        return;
    timeline->events = grown;
    timeline->events[timeline->n_events++] = *event;
}

void pzi_timeline_sample(pz_timeline *timeline, int64_t ns, uint64_t live_bytes)
{
    if (!timeline || timeline->failed)
        return;
    pzi_sample *grown = pzi_grow(timeline->samples, &timeline->room_samples,
                                 timeline->n_samples + 1, sizeof *grown);
    timeline->failed = !grown;
    if (!grown)
        return;
    timeline->samples = grown;
    timeline->samples[timeline->n_samples++] = (pzi_sample){ns, live_bytes};
}

static int compare_peak(const void *a, const void *b)
{
    const pzi_live *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->storage > y->storage) - (x->storage < y->storage);
}

static const char *keep_string(char **end, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *kept = memcpy(*end, text, bytes);
    *end += bytes;
    return kept;
}

pz_status pzi_timeline_finish(pz_timeline *timeline)
{
    if (timeline->failed)
        return PZ_ERR_MEMORY;
    size_t bytes = strlen(timeline->model) + 1;
    for (size_t i = 0; i < timeline->n_events; i++)
        bytes += strlen(timeline->events[i].name) + 1;
    timeline->strings = malloc(bytes);
    if (!timeline->strings)
        return PZ_ERR_MEMORY;
    char *end = timeline->strings;
    timeline->model = keep_string(&end, timeline->model);
    for (size_t i = 0; i < timeline->n_events; i++)
        timeline->events[i].name = keep_string(&end, timeline->events[i].name);
    qsort(timeline->peak, timeline->n_peak, sizeof *timeline->peak, compare_peak);
    return PZ_OK;
}

size_t pz_timeline_events(const pz_timeline *timeline)
{
    return timeline->n_events;
}

pz_status pz_timeline_event(const pz_timeline *timeline, size_t index, pz_event *event)
{
    if (index >= timeline->n_events)
        return PZ_ERR_ARGUMENT;
    *event = timeline->events[index];
    return PZ_OK;
}

size_t pz_timeline_peak_count(const pz_timeline *timeline)
{
    return timeline->n_peak;
}

pz_status pz_timeline_peak(const pz_timeline *timeline, size_t index, size_t *storage,
                           uint64_t *bytes)
{
    if (index >= timeline->n_peak)
        return PZ_ERR_ARGUMENT;
    *storage = (size_t)timeline->peak[index].storage;
    *bytes = timeline->peak[index].bytes;
    return PZ_OK;
}

/* Chrome trace -----------------------------------------------------------------------------------
 */

/* One process, one thread per lane; timestamps are microseconds. */
static double microseconds(int64_t ns)
{
    return (double)ns / 1000.0;
}

static json_t *name_json(const char *what, int tid, const char *name)
{
    return json_pack("{s:s,s:s,s:i,s:i,s:{s:s}}", "ph", "M", "name", what, "pid", 1, "tid", tid,
                     "args", "name", name);
}

static json_t *event_json(const pz_event *event, bool *whole)
{
    json_t *args = json_pack("{s:I}", "op", (json_int_t)event->op);
    if (event->tensor >= 0)
        pzi_json_set(args, "saved_tensor", json_integer(event->tensor), whole);
    if (event->raw_bytes > 0) {
        pzi_json_set(args, "raw_bytes", json_integer((json_int_t)event->raw_bytes), whole);
        pzi_json_set(args, "wire_bytes", json_integer((json_int_t)event->wire_bytes), whole);
    }
    const bool stall = strncmp(event->kind, "stall", strlen("stall")) == 0;
    return json_pack("{s:s,s:s,s:s,s:i,s:i,s:f,s:f,s:o}", "ph", "X", "name",
                     stall ? event->kind : event->name, "cat", event->kind, "pid", 1, "tid",
                     (int)event->lane + 1, "ts", microseconds(event->begin_ns), "dur",
                     microseconds(event->end_ns - event->begin_ns), "args", args);
}

static json_t *counter_json(const char *name, int64_t ns, uint64_t bytes)
{
    return json_pack("{s:s,s:s,s:i,s:f,s:{s:I}}", "ph", "C", "name", name, "pid", 1, "ts",
                     microseconds(ns), "args", "bytes", (json_int_t)bytes);
}

static void add_names(json_t *list, const pz_timeline *timeline, bool *whole)
{
    pzi_json_append(list, name_json("process_name", 0, timeline->model), whole);
    pzi_json_append(list, name_json("thread_name", PZ_LANE_COMPUTE + 1, "compute"), whole);
    pzi_json_append(list, name_json("thread_name", PZ_LANE_D2H + 1, "D2H copies"), whole);
    pzi_json_append(list, name_json("thread_name", PZ_LANE_H2D + 1, "H2D copies"), whole);
    pzi_json_append(list, name_json("thread_name", PZ_LANE_COMPRESS + 1, "compress"), whole);
    pzi_json_append(list, name_json("thread_name", PZ_LANE_RESTORE + 1, "restore"), whole);
}

pz_status pz_timeline_json(const pz_timeline *timeline, char **text)
{
    bool whole = true;
    json_t *list = json_array();
    add_names(list, timeline, &whole);
    int64_t end_ns = 0;
    for (size_t i = 0; i < timeline->n_events; i++) {
        pzi_json_append(list, event_json(&timeline->events[i], &whole), &whole);
        if (timeline->events[i].end_ns > end_ns)
            end_ns = timeline->events[i].end_ns;
    }
    for (size_t i = 0; i < timeline->n_samples; i++)
        pzi_json_append(
            list,
            counter_json("live bytes", timeline->samples[i].ns, timeline->samples[i].live_bytes),
            &whole);
    pzi_json_append(list, counter_json("budget", 0, timeline->budget_bytes), &whole);
    pzi_json_append(list, counter_json("budget", end_ns, timeline->budget_bytes), &whole);
    json_t *root = json_pack("{s:s,s:o}", "displayTimeUnit", "ms", "traceEvents", list);
    return pzi_json_text(root, whole, PZI_DIGITS_TYPED, text);
}
