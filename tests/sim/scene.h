/* A simulation written down as text: trace, platform, plan, budget, and what is expected.  The
 * format is described in tests/sim/schedules/README.md. */
#ifndef PZ_TEST_SCENE_H
#define PZ_TEST_SCENE_H

#include <planezip/plan.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCENE_STORAGES = 32,
    SCENE_OPS = 32,
    SCENE_TEXT = 1 << 14,
    SCENE_LINES = 64,
    SCENE_WORD = 40
};

struct scene_storage {
    char name[SCENE_WORD], kind[SCENE_WORD], dtype[SCENE_WORD];
    long long bytes;
    int op, slot;
    double predicted, actual;
    char action[SCENE_WORD];
    long prefetch_op;
};

struct scene_event {
    pz_lane lane;
    char kind[SCENE_WORD], who[SCENE_WORD];
    int64_t begin_ns, end_ns;
    unsigned line;
};

struct scene_field {
    char name[SCENE_WORD];
    int64_t value;
    unsigned line;
};

struct scene {
    char file[256], error[128];
    unsigned line;
    struct scene_storage storages[SCENE_STORAGES];
    size_t n_storages, n_inputs;
    int n_ops;
    bool backward, has_ratios, has_actual;
    pz_replay replay;
    char ops[SCENE_TEXT];
    size_t ops_bytes;
    char optimizer[SCENE_WORD];
    long parameters;
    pz_platform platform;
    pz_trace *trace;
    pz_plan *plan;
    double predicted[SCENE_STORAGES], actual[SCENE_STORAGES];
    pz_setup setup;
    char status[SCENE_WORD], path[SCENE_WORD];
    struct scene_event events[SCENE_LINES];
    size_t n_events;
    struct scene_field fields[SCENE_LINES];
    size_t n_fields;
};

static inline bool scene_fail(struct scene *s, const char *text, const char *word)
{
    snprintf(s->error, sizeof s->error, "%.60s: %.60s", text, word ? word : "(end of line)");
    return false;
}

static inline char *scene_word(void)
{
    return strtok(NULL, " \t\n");
}

/* The next word as a number, false at the end of the line or if it is none. */
static inline bool scene_number(struct scene *s, double *number)
{
    char *word = scene_word(), *end = NULL;

    *number = word ? strtod(word, &end) : 0;
    return word && *end == '\0' ? true : scene_fail(s, "not a number", word);
}

static inline bool scene_text(struct scene *s, char out[SCENE_WORD])
{
    const char *word = scene_word();

    if (!word || strlen(word) >= SCENE_WORD)
        return scene_fail(s, "word missing or too long", word);
    snprintf(out, SCENE_WORD, "%s", word);
    return true;
}

static inline int scene_find(const struct scene *s, const char *name)
{
    for (size_t i = 0; name && i < s->n_storages; i++)
        if (strcmp(s->storages[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Index among the saved tensors, -1 if the storage is not saved. */
static inline int64_t scene_saved(const struct scene *s, const char *name)
{
    pz_saved saved;

    for (size_t i = 0; pz_trace_get_saved(s->trace, i, &saved) == PZ_OK; i++)
        if ((int)saved.storage == scene_find(s, name))
            return (int64_t)i;
    return -1;
}

static inline bool scene_report_field(const pz_report *r, const char *name, int64_t *value)
{
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {
        {"total", r->total_ns},
        {"unlimited", r->unlimited_ns},
        {"compute", r->compute_ns},
        {"optimizer", r->optimizer_ns},
        {"replay", r->replay_ns},
        {"stall-memory", r->stall_memory_ns},
        {"stall-prefetch", r->stall_prefetch_ns},
        {"codec", r->codec_ns},
        {"d2h-busy", r->d2h_busy_ns},
        {"h2d-busy", r->h2d_busy_ns},
        {"swapped", (int64_t)r->swapped_bytes},
        {"d2h-wire", (int64_t)r->d2h_wire_bytes},
        {"h2d-wire", (int64_t)r->h2d_wire_bytes},
        {"replayed-ops", (int64_t)r->replayed_ops},
        {"peak", (int64_t)r->peak_bytes},
        {"peak-ns", r->peak_ns},
        {"peak-op", (int64_t)r->peak_op},
        {"kept-tensors", (int64_t)r->kept},
        {"swapped-tensors", (int64_t)r->swapped},
        {"dropped-tensors", (int64_t)r->dropped},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].name, name) != 0)
            continue;
        *value = fields[i].value;
        return true;
    }
    return false;
}

/* platform KEY=VALUE...: rates in bytes per nanosecond, times in nanoseconds. */
static inline bool scene_platform(struct scene *s)
{
    pz_platform *p = &s->platform;

    for (char *word; (word = scene_word()) != NULL;) {
        char *equals = strchr(word, '=');
        if (!equals)
            return scene_fail(s, "not KEY=VALUE", word);
        *equals = '\0';
        const double value = strtod(equals + 1, NULL);
        if (strcmp(word, "d2h") == 0)
            p->d2h_bps = value * 1e9;
        else if (strcmp(word, "h2d") == 0)
            p->h2d_bps = value * 1e9;
        else if (strcmp(word, "engine") == 0)
            p->engine_bps = value * 1e9;
        else if (strcmp(word, "software") == 0)
            p->software_bps = value * 1e9;
        else if (strcmp(word, "share") == 0)
            p->software_share = value;
        else if (strcmp(word, "launch") == 0)
            p->launch_ns = (int64_t)value;
        else if (strcmp(word, "setup") == 0)
            p->transfer_ns = (int64_t)value;
        else if (strcmp(word, "gpus") == 0)
            p->gpus_per_link = (uint32_t)value;
        else if (strcmp(word, "precision") == 0)
            p->precision = strcmp(equals + 1, "bf16") == 0 ? PZ_BF16 : PZ_FP32;
        else
            return scene_fail(s, "unknown key", word);
    }
    return true;
}

/* storage NAME KIND BYTES [DTYPE] */
static inline bool scene_storage(struct scene *s)
{
    struct scene_storage *storage = &s->storages[s->n_storages];
    double bytes = 0;

    if (s->n_storages == SCENE_STORAGES)
        return scene_fail(s, "too many storages", NULL);
    *storage = (struct scene_storage){.op = -1, .slot = -1, .predicted = 1, .actual = 1};
    if (!scene_text(s, storage->name) || !scene_text(s, storage->kind) || !scene_number(s, &bytes))
        return false;
    storage->bytes = (long long)bytes;
    if (strcmp(storage->kind, "input") == 0)
        storage->slot = (int)s->n_inputs++;
    const char *dtype = scene_word();
    snprintf(storage->dtype, sizeof storage->dtype, "%s", dtype ? dtype : "float32");
    s->n_storages++;
    return true;
}

static inline void scene_append(struct scene *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void scene_append(struct scene *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    s->ops_bytes +=
        (size_t)vsnprintf(s->ops + s->ops_bytes, sizeof s->ops - s->ops_bytes, format, args);
    va_end(args);
}

/* The first operator that writes a storage produces it. */
static inline bool scene_access(struct scene *s, const char *word, int slot, bool first)
{
    const int index = scene_find(s, word);

    if (index < 0)
        return scene_fail(s, "unknown storage", word);
    scene_append(s, "%s%d", first ? "" : ",", index);
    struct scene_storage *storage = &s->storages[index];
    const bool produced = strcmp(storage->kind, "activation") == 0 ||
                          strcmp(storage->kind, "parameter_gradient") == 0;
    if (slot >= 0 && produced && storage->op < 0) {
        storage->op = s->n_ops;
        storage->slot = slot;
    }
    return true;
}

/* op NAME NS [moves=BYTES/FLOAT_BYTES] READS... [-> WRITES...] and view NAME READS... */
static inline bool scene_op(struct scene *s, bool view)
{
    char name[SCENE_WORD];
    double ns = 0;
    long bytes = 0, float_bytes = 0;
    int slot = -1;
    bool first = true;

    if (!scene_text(s, name) || (!view && !scene_number(s, &ns)))
        return false;
    char *word = scene_word();
    if (word && sscanf(word, "moves=%ld/%ld", &bytes, &float_bytes) == 2)
        word = scene_word();
    scene_append(s,
                 "%s{\"name\":\"%s\",\"phase\":\"%s\",\"view\":%s,\"flops\":%.0f,\"bytes\":%ld,"
                 "\"float_bytes\":%ld,\"reads\":[",
                 s->n_ops ? ",\n" : "", name, s->backward ? "backward" : "forward",
                 view ? "true" : "false", ns, bytes, float_bytes);
    for (; word; word = scene_word()) {
        if (strcmp(word, "->") == 0 && slot < 0) {
            scene_append(s, "],\"writes\":[");
            slot = 0;
            first = true;
            continue;
        }
        if (!scene_access(s, word, slot, first))
            return false;
        slot += slot >= 0;
        first = false;
    }
    scene_append(s, "%s]}", slot < 0 ? "],\"writes\":[" : "");
    s->n_ops++;
    return true;
}

/* plan swap NAME before OP | plan drop NAME */
static inline bool scene_plan(struct scene *s)
{
    char action[SCENE_WORD];
    const char *name;

    if (!scene_text(s, action))
        return false;
    const int index = scene_find(s, name = scene_word());
    if (index < 0)
        return scene_fail(s, "unknown storage", name);
    struct scene_storage *storage = &s->storages[index];
    snprintf(storage->action, sizeof storage->action, "%s", action);
    if (strcmp(action, "swap") != 0)
        return strcmp(action, "drop") == 0 ? true : scene_fail(s, "unknown action", action);
    double op = 0;
    const char *before = scene_word();
    if (!before || strcmp(before, "before") != 0 || !scene_number(s, &op))
        return scene_fail(s, "expected: before OP", before);
    storage->prefetch_op = (long)op;
    return true;
}

/* ratio NAME R and actual NAME R */
static inline bool scene_ratio(struct scene *s, bool actual)
{
    const char *name = scene_word();
    const int index = scene_find(s, name);

    if (index < 0)
        return scene_fail(s, "unknown storage", name);
    s->has_ratios = true;
    s->has_actual = s->has_actual || actual;
    return scene_number(s, actual ? &s->storages[index].actual : &s->storages[index].predicted);
}

/* expect status NAME PATH | expect event LANE KIND WHO BEGIN END | expect FIELD VALUE.  A tilde
 * in a kind or in a name stands for a blank. */
static inline bool scene_expect_event(struct scene *s)
{
    struct scene_event *event = &s->events[s->n_events];
    char lane[SCENE_WORD];
    double begin = 0, end = 0;

    if (s->n_events == SCENE_LINES)
        return scene_fail(s, "too many events", NULL);
    if (!scene_text(s, lane) || !scene_text(s, event->kind) || !scene_text(s, event->who) ||
        !scene_number(s, &begin) || !scene_number(s, &end))
        return false;
    event->lane = strcmp(lane, "d2h") == 0   ? PZ_LANE_D2H
                  : strcmp(lane, "h2d") == 0 ? PZ_LANE_H2D
                                             : PZ_LANE_COMPUTE;
    for (char *c = event->kind; *c; c++)
        *c = *c == '~' ? ' ' : *c;
    for (char *c = event->who; *c; c++)
        *c = *c == '~' ? ' ' : *c;
    event->begin_ns = (int64_t)begin;
    event->end_ns = (int64_t)end;
    event->line = s->line;
    s->n_events++;
    return true;
}

static inline bool scene_expect(struct scene *s)
{
    char name[SCENE_WORD];
    double value = 0;

    if (!scene_text(s, name))
        return false;
    if (strcmp(name, "event") == 0)
        return scene_expect_event(s);
    if (strcmp(name, "status") == 0)
        return scene_text(s, s->status) && scene_text(s, s->path);
    if (s->n_fields == SCENE_LINES)
        return scene_fail(s, "too many fields", NULL);
    struct scene_field *field = &s->fields[s->n_fields++];
    memcpy(field->name, name, sizeof name);
    if (!scene_number(s, &value))
        return false;
    field->value = (int64_t)value;
    field->line = s->line;
    return true;
}

static inline bool scene_number_line(struct scene *s, uint64_t *value)
{
    double number = 0;
    const bool ok = scene_number(s, &number);
    *value = (uint64_t)number;
    return ok;
}

static inline bool scene_statement(struct scene *s, char *line)
{
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    const char *word = strtok(line, " \t\n");
    if (!word)
        return true;
    if (strcmp(word, "platform") == 0)
        return scene_platform(s);
    if (strcmp(word, "storage") == 0)
        return scene_storage(s);
    if (strcmp(word, "op") == 0 || strcmp(word, "view") == 0)
        return scene_op(s, *word == 'v');
    if (strcmp(word, "plan") == 0)
        return scene_plan(s);
    if (strcmp(word, "ratio") == 0 || strcmp(word, "actual") == 0)
        return scene_ratio(s, *word == 'a');
    if (strcmp(word, "expect") == 0)
        return scene_expect(s);
    if (strcmp(word, "budget") == 0)
        return scene_number_line(s, &s->setup.budget_bytes);
    if (strcmp(word, "optimizer") == 0) {
        double parameters = 0;
        const bool ok = scene_text(s, s->optimizer) && scene_number(s, &parameters);
        s->parameters = (long)parameters;
        return ok;
    }
    if (strcmp(word, "replay") == 0) {
        const char *mode = scene_word();
        if (mode && strcmp(mode, "keep") == 0)
            s->replay = PZ_REPLAY_KEEP;
        else if (mode && strcmp(mode, "hold") == 0)
            s->replay = PZ_REPLAY_HOLD;
        return true;
    }
    s->backward = s->backward || strcmp(word, "backward") == 0;
    return strcmp(word, "backward") == 0 ? true : scene_fail(s, "unknown word", word);
}

static inline bool scene_make_trace(struct scene *s)
{
    static char json[2 * SCENE_TEXT];
    pz_diag diag;
    int n = snprintf(json, sizeof json,
                     "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"scene\",\"batch\":1,"
                     "\"optimizer\":\"%s\",\"parameters\":%ld,\"ops\":[%s],\"storages\":[",
                     s->optimizer, s->parameters, s->ops);

    for (size_t i = 0; i < s->n_storages; i++) {
        const struct scene_storage *storage = &s->storages[i];
        n += snprintf(json + n, sizeof json - (size_t)n,
                      "%s{\"id\":%zu,\"bytes\":%lld,\"dtype\":\"%s\",\"kind\":\"%s\",\"op\":%d,"
                      "\"slot\":%d}",
                      i ? "," : "", i, storage->bytes, storage->dtype, storage->kind, storage->op,
                      storage->slot);
    }
    n += snprintf(json + n, sizeof json - (size_t)n, "]}");
    if (pz_trace_parse(json, (size_t)n, &s->trace, &diag) == PZ_OK)
        return true;
    scene_fail(s, diag.path, diag.text);
    return false;
}

static inline bool scene_make_plan(struct scene *s)
{
    if (pz_plan_new(s->trace, &s->plan) != PZ_OK)
        return scene_fail(s, "no memory", NULL);
    pz_plan_set_replay(s->plan, s->replay);
    for (size_t i = 0; i < s->n_storages; i++) {
        const struct scene_storage *storage = &s->storages[i];
        const int64_t saved = scene_saved(s, storage->name);
        if (saved >= 0) {
            s->predicted[saved] = storage->predicted;
            s->actual[saved] = storage->actual;
        }
        if (storage->action[0] == '\0')
            continue;
        const pz_action action = strcmp(storage->action, "swap") == 0 ? PZ_SWAP : PZ_DROP;
        if (saved < 0 || pz_plan_set(s->plan, (size_t)saved, action, storage->prefetch_op) != PZ_OK)
            return scene_fail(s, "cannot be planned", storage->name);
    }
    return true;
}

/* False with line and error filled in.  To be freed in any case. */
static inline bool scene_read(struct scene *s, const char *folder, const char *name)
{
    char path[1024], line[512];
    bool ok = true;

    *s = (struct scene){.platform = {.math_flops = 1e9,
                                     .math_fraction = 1,
                                     .memory_bps = 1e9,
                                     .memory_fraction = 1,
                                     .d2h_bps = 1e9,
                                     .h2d_bps = 1e9,
                                     .gpus_per_link = 1},
                        .optimizer = "sgd",
                        .status = "PZ_OK"};
    snprintf(s->file, sizeof s->file, "%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return scene_fail(s, "cannot open", path);
    while (ok && fgets(line, sizeof line, file)) {
        s->line++;
        ok = scene_statement(s, line);
    }
    fclose(file);
    ok = ok && scene_make_trace(s) && scene_make_plan(s);
    s->setup.size = sizeof s->setup;
    s->setup.trace = s->trace;
    s->setup.platform = &s->platform;
    s->setup.predicted = s->has_ratios ? s->predicted : NULL;
    s->setup.actual = s->has_actual ? s->actual : NULL;
    return ok;
}

static inline void scene_free(struct scene *s)
{
    pz_plan_free(s->plan);
    pz_trace_free(s->trace);
}

#endif
