/* How fast the engine swaps: GB/s of raw bytes out and in, for each tier and for emulated links,
 * with and without the codec.  Arguments: FOLDER for the disk tier, and files of float32, each of
 * which becomes a tensor of at least 16 MiB by repetition; best of several runs. */
#include <planezip/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_TENSORS = 32, TENSOR_BYTES = 1 << 24, RUNS = 5 };

struct tensor {
    uint8_t *data, *back;
    size_t bytes;
    pz_swap *swap;
};

static struct tensor tensors[MAX_TENSORS];
static size_t count, raw_bytes;

static const struct {
    const char *tier;
    pz_tier kind;
    const char *codec; /* NULL: none */
    double link_bps;
} rows[] = {
    {"memory", PZ_TIER_MEMORY, NULL, 0},
    {"memory", PZ_TIER_MEMORY, "planezip2", 0},
    {"memory", PZ_TIER_MEMORY, "planezip2-fast", 0},
    {"memory", PZ_TIER_MEMORY, "planezip", 0},
    {"disk", PZ_TIER_DISK, NULL, 0},
    {"disk", PZ_TIER_DISK, "planezip2", 0},
    {"link 0.5 GB/s", PZ_TIER_MEMORY, NULL, 5e8},
    {"link 0.5 GB/s", PZ_TIER_MEMORY, "planezip2", 5e8},
    {"link 1 GB/s", PZ_TIER_MEMORY, NULL, 1e9},
    {"link 1 GB/s", PZ_TIER_MEMORY, "planezip2", 1e9},
    {"link 2 GB/s", PZ_TIER_MEMORY, NULL, 2e9},
    {"link 2 GB/s", PZ_TIER_MEMORY, "planezip2", 2e9},
};

static void check(pz_status status, const char *what)
{
    if (status == PZ_OK)
        return;
    fprintf(stderr, "engine_bench: %s: %s\n", what, pz_status_text(status));
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The file's bytes, over and over: chunks are coded on their own, so that repetition changes no
 * ratio. */
static void add_tensor(const char *file)
{
    FILE *const stream = fopen(file, "rb");
    struct tensor *const tensor = &tensors[count];
    size_t bytes;

    tensor->data = malloc(2 * (size_t)TENSOR_BYTES);
    tensor->back = malloc(2 * (size_t)TENSOR_BYTES);
    if (stream == NULL || tensor->data == NULL || tensor->back == NULL)
        check(PZ_ERR_IO, file);
    bytes = fread(tensor->data, 1, TENSOR_BYTES, stream) / PZ_CHUNK_BYTES * PZ_CHUNK_BYTES;
    fclose(stream);
    if (bytes == 0)
        check(PZ_ERR_TRUNCATED, file);
    for (tensor->bytes = bytes; tensor->bytes < TENSOR_BYTES; tensor->bytes += bytes)
        memcpy(tensor->data + tensor->bytes, tensor->data, bytes);
    memset(tensor->back, 1, tensor->bytes);
    raw_bytes += tensor->bytes;
    count++;
}

/* Seconds until all are out. */
static double swap_out(pz_engine *engine)
{
    const double start = now_s();

    for (size_t i = 0; i < count; i++) {
        const pz_swap_options options = {.size = sizeof options,
                                         .data = tensors[i].data,
                                         .bytes = tensors[i].bytes,
                                         .dtype = PZ_DTYPE_F32};

        check(pz_swap_out(engine, &options, true, &tensors[i].swap), "out");
    }
    check(pz_engine_wait(engine), "out");
    return now_s() - start;
}

static double swap_in(pz_engine *engine)
{
    const double start = now_s();
    double end;

    for (size_t i = 0; i < count; i++)
        check(pz_swap_in(tensors[i].swap, tensors[i].back, true), "in");
    check(pz_engine_wait(engine), "in");
    end = now_s();
    for (size_t i = 0; i < count; i++) {
        check(pz_swap_wait(tensors[i].swap), "in");
        if (memcmp(tensors[i].back, tensors[i].data, tensors[i].bytes) != 0)
            check(PZ_ERR_CHECK, "in");
        pz_swap_free(tensors[i].swap);
    }
    return end - start;
}

static void run(size_t row, pz_pool *pool, const char *folder)
{
    const pz_engine_options options = {.size = sizeof options,
                                       .tier = rows[row].kind,
                                       .pool = rows[row].kind == PZ_TIER_MEMORY ? pool : NULL,
                                       .directory = rows[row].kind == PZ_TIER_DISK ? folder : NULL,
                                       .codec = rows[row].codec,
                                       .bypass = rows[row].codec == NULL ? PZ_BYPASS_ALWAYS
                                                                         : PZ_BYPASS_NEVER,
                                       .link_bps = {rows[row].link_bps, rows[row].link_bps}};
    pz_engine_stats stats = {.size = sizeof stats};
    pz_engine *engine;
    double out_s = 1e9, in_s = 1e9;

    check(pz_engine_new(&options, &engine, NULL), folder);
    for (unsigned i = 0; i < RUNS; i++) {
        const double out = swap_out(engine), in = swap_in(engine);

        out_s = out < out_s ? out : out_s;
        in_s = in < in_s ? in : in_s;
    }
    check(pz_engine_get_stats(engine, &stats), "statistics");
    printf("%-14s %-15s %8.2f %9.2f %9.2f%s\n", rows[row].tier,
           rows[row].codec != NULL ? rows[row].codec : "none",
           (double)stats.directions[PZ_OUT].raw_bytes /
               (double)stats.directions[PZ_OUT].coded_bytes,
           (double)raw_bytes / out_s * 1e-9, (double)raw_bytes / in_s * 1e-9,
           rows[row].kind == PZ_TIER_DISK && !stats.is_direct ? "   through the page cache" : "");
    pz_engine_free(engine);
}

int main(int argc, char **argv)
{
    pz_pool_options options = {.size = sizeof options};
    pz_pool *pool;

    if (argc < 3 || argc - 2 > MAX_TENSORS) {
        fprintf(stderr, "usage: engine_bench FOLDER FILE...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        add_tensor(argv[i]);
    options.budget_bytes = raw_bytes + raw_bytes / 16 + count * 65536;
    check(pz_pool_new(&options, &pool), "pool");
    printf("%-14s %-15s %8s %9s %9s\n", "tier", "codec", "ratio", "out GB/s", "in GB/s");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        run(i, pool, argv[1]);
    check(pz_pool_free(pool), "pool");
    return 0;
}
