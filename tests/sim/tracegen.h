/* Random small traces for properties: a forward pass with in-place operators, clones, views,
 * aten.empty and several outputs, and a backward pass that reads what it likes of it in reverse.
 * The same seed gives the same trace everywhere. */
#ifndef PZ_TEST_TRACEGEN_H
#define PZ_TEST_TRACEGEN_H

#include <planezip/plan.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rng.h"

enum { TRACEGEN_STORAGES = 400, TRACEGEN_TEXT = 1 << 17 };

struct tracegen_storage {
    const char *kind, *dtype;
    unsigned bytes;
    int op, slot;
};

struct tracegen {
    struct rng *rng;
    struct tracegen_storage storages[TRACEGEN_STORAGES];
    int n_storages, n_ops, n_inputs;
    int forward[TRACEGEN_STORAGES]; /* storages of the forward pass, in order of production */
    int n_forward;
    int parameter;
    int gradient; /* storage of the last gradient, -1 before the first */
    char text[TRACEGEN_TEXT];
    size_t bytes;
};

static inline void tracegen_print(struct tracegen *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void tracegen_print(struct tracegen *g, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g->bytes += (size_t)vsnprintf(g->text + g->bytes, sizeof g->text - g->bytes, format, args);
    va_end(args);
}

static inline int tracegen_storage(struct tracegen *g, const char *kind, int op, int slot)
{
    static const char *const dtypes[] = {"float32", "float32", "float32", "int64", "bool"};

    /* One random number a statement: the order of evaluation is the compiler's affair. */
    const char *dtype = dtypes[rng_below(g->rng, 5)];
    const uint64_t most = rng_one_in(g->rng, 3) ? 2000 : 200;
    const unsigned bytes = (unsigned)(2 * (1 + rng_below(g->rng, most)));

    g->storages[g->n_storages] = (struct tracegen_storage){
        .kind = kind,
        .dtype = dtype,
        .bytes = bytes,
        .op = op,
        .slot = slot,
    };
    return g->n_storages++;
}

static inline int tracegen_activation(struct tracegen *g, int slot)
{
    return tracegen_storage(g, "activation", g->n_ops, slot);
}

static inline void tracegen_list(struct tracegen *g, const int *ids, int n)
{
    for (int i = 0; i < n; i++)
        tracegen_print(g, "%s%d", i ? "," : "", ids[i]);
}

static inline void tracegen_op(struct tracegen *g, const char *name, bool forward, const int *reads,
                               int n_reads, const int *writes, int n_writes)
{
    const bool view = n_writes == 0;
    const unsigned bytes = view ? 0 : (unsigned)rng_below(g->rng, 5000);
    const unsigned float_bytes = (unsigned)rng_below(g->rng, bytes + 1);
    const unsigned flops = view ? 0 : (unsigned)rng_below(g->rng, 3000);

    tracegen_print(g, "%s{\"name\":\"%s\",\"phase\":\"%s\",\"view\":%s,\"reads\":[",
                   g->n_ops ? ",\n" : "", name, forward ? "forward" : "backward",
                   view ? "true" : "false");
    tracegen_list(g, reads, n_reads);
    tracegen_print(g, "],\"writes\":[");
    tracegen_list(g, writes, n_writes);
    tracegen_print(g, "],\"flops\":%u,\"bytes\":%u,\"float_bytes\":%u}", flops, bytes, float_bytes);
    g->n_ops++;
}

/* One of the last few storages of the forward pass, now and then any of them. */
static inline int tracegen_recent(struct tracegen *g)
{
    const int window = rng_one_in(g->rng, 5) || g->n_forward < 3 ? g->n_forward : 3;

    return g->forward[g->n_forward - 1 - (int)rng_below(g->rng, (uint64_t)window)];
}

static inline bool tracegen_is_input(const struct tracegen *g, int storage)
{
    return strcmp(g->storages[storage].kind, "input") == 0;
}

static inline void tracegen_keep(struct tracegen *g, int storage)
{
    g->forward[g->n_forward++] = storage;
}

static inline void tracegen_in_place(struct tracegen *g, int storage)
{
    int reads[2] = {storage, tracegen_recent(g)};

    tracegen_op(g, "relu_", true, reads, 1 + (int)rng_below(g->rng, 2), &storage, 1);
}

static inline void tracegen_clone(struct tracegen *g)
{
    const int original = tracegen_recent(g);
    const int copy = tracegen_activation(g, 0);

    g->storages[copy].bytes = g->storages[original].bytes;
    g->storages[copy].dtype = g->storages[original].dtype;
    tracegen_op(g, "aten.clone.default", true, &original, 1, &copy, 1);
    tracegen_keep(g, copy);
    if (!rng_one_in(g->rng, 4) && (!tracegen_is_input(g, original) || rng_one_in(g->rng, 4)))
        tracegen_in_place(g, original);
}

static inline void tracegen_empty(struct tracegen *g)
{
    const int fresh = tracegen_activation(g, 0);
    int reads[2] = {tracegen_recent(g), fresh};

    tracegen_op(g, "aten.empty.memory_format", true, NULL, 0, &fresh, 1);
    tracegen_op(g, "fill_", true, reads, 1 + (int)rng_below(g->rng, 2), &fresh, 1);
    tracegen_keep(g, fresh);
}

static inline void tracegen_forward_op(struct tracegen *g)
{
    static const char *const names[] = {"conv", "bn", "linear"};
    int reads[3], writes[3];
    const int n_reads = 1 + (int)rng_below(g->rng, 2);
    const int n_writes = rng_one_in(g->rng, 4) ? 2 + (int)rng_below(g->rng, 2) : 1;

    /* Now and then something that is made of parameters alone. */
    const bool alone = rng_one_in(g->rng, 12);
    for (int i = 0; i < n_reads; i++)
        reads[i] = alone ? g->parameter : tracegen_recent(g);
    for (int i = 0; i < n_writes; i++)
        writes[i] = tracegen_activation(g, i);
    tracegen_op(g, names[rng_below(g->rng, 3)], true, reads, n_reads, writes, n_writes);
    for (int i = 0; i < n_writes; i++)
        tracegen_keep(g, writes[i]);
}

static inline void tracegen_forward(struct tracegen *g)
{
    const uint64_t choice = rng_below(g->rng, 12);
    const int storage = tracegen_recent(g);

    if (choice < 2 && (!tracegen_is_input(g, storage) || rng_one_in(g->rng, 5)))
        tracegen_in_place(g, storage);
    else if (choice == 2)
        tracegen_clone(g);
    else if (choice == 3)
        tracegen_op(g, "aten.view.default", true, &storage, 1, NULL, 0);
    else if (choice == 4)
        tracegen_empty(g);
    else
        tracegen_forward_op(g);
}

/* The backward operator of forward storage number k: reads it, or a neighbour, and the gradient. */
static inline void tracegen_backward(struct tracegen *g, int k)
{
    int reads[4], writes[2], n_reads = 0, n_writes = 0;

    if (!rng_one_in(g->rng, 4))
        reads[n_reads++] = g->forward[k];
    if (rng_one_in(g->rng, 3))
        reads[n_reads++] = g->forward[rng_below(g->rng, (uint64_t)g->n_forward)];
    if (g->gradient >= 0)
        reads[n_reads++] = g->gradient;
    if (rng_one_in(g->rng, 8) && n_reads > 0) {
        tracegen_op(g, "aten.view.default", false, reads, n_reads, NULL, 0);
        return;
    }
    if (rng_one_in(g->rng, 6) && g->gradient >= 0)
        writes[n_writes++] = g->gradient; /* accumulates in place */
    else
        writes[n_writes++] = tracegen_activation(g, 0);
    if (rng_one_in(g->rng, 10) && n_reads > 0 && reads[0] != writes[0])
        writes[n_writes++] = reads[0]; /* overwrites what it reads */
    else if (rng_one_in(g->rng, 4))
        writes[n_writes] = tracegen_storage(g, "parameter_gradient", g->n_ops, n_writes),
        n_writes++;
    tracegen_op(g, "backward", false, reads, n_reads, writes, n_writes);
    g->gradient = writes[0];
}

static inline void tracegen_inputs(struct tracegen *g, int n)
{
    for (int i = 0; i < n; i++)
        tracegen_keep(g, tracegen_storage(g, "input", -1, i));
    g->parameter = tracegen_storage(g, "parameter", -1, -1);
}

static inline void tracegen_text(struct tracegen *g, struct rng *rng, int forward_ops)
{
    memset(g, 0, sizeof *g);
    g->rng = rng;
    g->gradient = -1;
    tracegen_print(g, "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"random\","
                      "\"batch\":1,\"optimizer\":\"sgd\",\"parameters\":7,\"ops\":[");
    tracegen_inputs(g, 1 + (int)rng_below(rng, 2));
    for (int i = 0; i < forward_ops; i++)
        tracegen_forward(g);
    for (int k = g->n_forward; k-- > 0;)
        tracegen_backward(g, k);
    if (rng_one_in(rng, 3))
        tracegen_backward(g, 0);
    tracegen_print(g, "],\"storages\":[");
    for (int i = 0; i < g->n_storages; i++)
        tracegen_print(g,
                       "%s{\"id\":%d,\"bytes\":%u,\"dtype\":\"%s\",\"kind\":\"%s\",\"op\":%d,"
                       "\"slot\":%d}",
                       i ? ",\n" : "", i, g->storages[i].bytes, g->storages[i].dtype,
                       g->storages[i].kind, g->storages[i].op, g->storages[i].slot);
    tracegen_print(g, "]}");
}

/* A trace with that many steps of the forward pass; NULL with a message if the parser refuses it.
 */
static inline pz_trace *tracegen_make(struct rng *rng, int forward_ops)
{
    static struct tracegen g;
    pz_trace *trace = NULL;
    pz_diag diag;

    tracegen_text(&g, rng, forward_ops);
    if (pz_trace_parse(g.text, g.bytes, &trace, &diag) != PZ_OK) {
        printf("random trace: %s: %s\n", diag.path, diag.text);
        return NULL;
    }
    return trace;
}

/* A platform on which copies of a few hundred bytes and operators take about as long. */
static inline pz_platform tracegen_platform(struct rng *rng)
{
    pz_platform p = {.name = "random",
                     .math_flops = 1e9,
                     .math_fraction = 1,
                     .memory_bps = 1e9,
                     .memory_fraction = 1};

    p.gpus_per_link = 1 + (uint32_t)rng_below(rng, 2);
    p.launch_ns = (int64_t)rng_below(rng, 100);
    p.transfer_ns = (int64_t)rng_below(rng, 100);
    p.precision = rng_one_in(rng, 2) ? PZ_BF16 : PZ_FP32;
    p.d2h_bps = 1e8 * (double)(1 + rng_below(rng, 30));
    p.h2d_bps = 1e8 * (double)(1 + rng_below(rng, 30));
    if (!rng_one_in(rng, 3))
        p.engine_bps = 1e8 * (double)(1 + rng_below(rng, 60));
    else if (rng_one_in(rng, 2))
        p.software_bps = 1e8 * (double)(1 + rng_below(rng, 60));
    p.software_share = 0.5;
    return p;
}

/* Ratios of the saved tensors, 1 to 5; to be freed. */
static inline double *tracegen_ratios(struct rng *rng, size_t n)
{
    double *ratios = malloc((n + 1) * sizeof *ratios);

    for (size_t i = 0; ratios && i < n; i++)
        ratios[i] = rng_one_in(rng, 4) ? 1 : 1 + (double)rng_below(rng, 400) / 100;
    return ratios;
}

#endif
