/* How fast the codec is on real activations: ratio, and GB/s of raw bytes for size model, encoder
 * and decoder, on every instruction set that this CPU has and for several numbers of threads,
 * beside memcpy and peers in the same run.  Argument: the folder of the activations
 * (tests/data/README.md).  Environment: PZ_BENCH_MIB (64), PZ_BENCH_RUNS (5).
 *
 * Every data set is its 4096-byte chunks, repeated in random order, a new one each time: small
 * buffers that repeat, and zeros, would train the branch predictor and flatter everyone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <planezip/planezip.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = PZ_CHUNK_BYTES, MAX_RUNS = 99, MAX_LINE = 512 };

static size_t bench_bytes = (size_t)64 << 20;
static unsigned bench_runs = 5;
static double memcpy_bps, core_hz;

/* The buffers of all measurements, of bench_bytes of input. */
static uint8_t *raw, *coded, *back;
static size_t coded_capacity;

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "codec_bench: %s\n", what);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        fail("out of memory");
    memset(memory, 1, bytes);
    return memory;
}

/* ---- Data ----------------------------------------------------------------------------------- */

/* Chunks of one kind of all models, one after the other. */
struct pool {
    uint8_t *data;
    size_t chunks, room;
};

static void add_chunk(struct pool *pool, const uint8_t *chunk)
{
    if (pool->chunks == pool->room) {
        pool->room = pool->room != 0 ? 2 * pool->room : 64;
        pool->data = realloc(pool->data, pool->room * CHUNK);
        if (pool->data == NULL)
            fail("out of memory");
    }
    memcpy(pool->data + pool->chunks++ * CHUNK, chunk, CHUNK);
}

static void read_at(const char *path, long offset, uint8_t *to, size_t bytes)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL || fseek(file, offset, SEEK_SET) != 0 || fread(to, 1, bytes, file) != bytes)
        fail(path);
    fclose(file);
}

/* To nearest, ties to even; there are no NaNs. */
static void round_to_bf16(const uint8_t *from, uint8_t *to)
{
    for (size_t i = 0; i < CHUNK / 2; i++) {
        const uint8_t *f = from + 4 * i;
        uint32_t u = f[0] | (uint32_t)f[1] << 8 | (uint32_t)f[2] << 16 | (uint32_t)f[3] << 24;

        u += 0x7fff + (u >> 16 & 1);
        to[2 * i] = (uint8_t)(u >> 16);
        to[2 * i + 1] = (uint8_t)(u >> 24);
    }
}

/* Field number `column` of a line of the index; there are no quotes. */
static const char *field(const char *line, unsigned column)
{
    while (column-- > 0) {
        line = strchr(line, ',');
        if (line == NULL)
            fail("index.csv: too few columns");
        line++;
    }
    return line;
}

/* Every whole chunk of `kind` once: masks and indices have a line for each of two widths. */
static struct pool read_pool(const char *folder, const char *kind)
{
    const bool is_bf16 = strcmp(kind, "bf16") == 0;
    const bool is_float = is_bf16 || strcmp(kind, "f32") == 0;
    struct pool pool = {NULL, 0, 0};
    char path[1024], line[MAX_LINE], wanted[16];
    uint8_t bytes[2 * CHUNK], chunk[CHUNK];
    FILE *index;

    snprintf(path, sizeof path, "%s/index.csv", folder);
    index = fopen(path, "r");
    if (index == NULL)
        fail(path);
    snprintf(wanted, sizeof wanted, "%s,", kind);
    while (fgets(line, sizeof line, index) != NULL) {
        if (strchr(line, ',') == NULL || strncmp(field(line, 5), wanted, strlen(wanted)) != 0)
            continue;
        if (atoi(field(line, 7)) != CHUNK || (!is_float && atoi(field(line, 8)) != 32))
            continue;
        snprintf(path, sizeof path, "%s/%.*s.%s", folder, (int)strcspn(line, ","), line,
                 is_float ? "f32" : "other");
        read_at(path, atol(field(line, 6)) * (is_bf16 ? 2 : 1), bytes, is_bf16 ? 2 * CHUNK : CHUNK);
        if (is_bf16)
            round_to_bf16(bytes, chunk);
        add_chunk(&pool, is_bf16 ? chunk : bytes);
    }
    fclose(index);
    if (pool.chunks == 0)
        fail("index.csv: no chunk of that kind");
    return pool;
}

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = random_state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Fills `raw`: permutations of the pool, one after another. */
static void tile(const struct pool *pool)
{
    size_t *order = allocate(pool->chunks * sizeof *order);

    for (size_t i = 0; i < pool->chunks; i++)
        order[i] = i;
    for (size_t at = 0; at < bench_bytes / CHUNK; at++) {
        const size_t i = at % pool->chunks;
        const size_t pick = i + (size_t)(next_random() % (pool->chunks - i));
        const size_t chosen = order[pick];

        order[pick] = order[i];
        order[i] = chosen;
        memcpy(raw + at * CHUNK, pool->data + chosen * CHUNK, CHUNK);
    }
    free(order);
}

/* ---- Timing --------------------------------------------------------------------------------- */

/* One thread is timed by the processor time that it takes, which on a busy machine is still what an
 * idle one would show as time; several by the time that passes. */
static clockid_t clock_used = CLOCK_PROCESS_CPUTIME_ID;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* GB/s, median, of a function of the buffers above. */
static double rate_of(void (*run)(const void *), const void *what)
{
    double rates[MAX_RUNS];

    for (unsigned i = 0; i < bench_runs; i++) {
        const double begin = now_s();

        run(what);
        rates[i] = (double)bench_bytes / (now_s() - begin);
    }
    return median(rates, bench_runs);
}

static void run_memcpy(const void *unused)
{
    (void)unused;
    memcpy(back, raw, bench_bytes);
}

#if defined(__x86_64__)
#include <emmintrin.h>

static void run_streaming_copy(const void *unused)
{
    (void)unused;
    for (size_t i = 0; i < bench_bytes; i += 64)
        for (size_t k = 0; k < 64; k += 16)
            _mm_stream_si128((__m128i *)(back + i + k),
                             _mm_loadu_si128((const __m128i *)(raw + i + k)));
    _mm_sfence();
}

/* The clock of the core under load: one cycle for each of a chain of additions. */
static double measure_hz(void)
{
    const uint64_t steps = 200 * 1000 * 1000;
    const double begin = now_s();
    uint64_t left = steps;

    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(left) : : "cc");
    return (double)steps / (now_s() - begin);
}
#else
#define run_streaming_copy run_memcpy

static double measure_hz(void)
{
    return 0;
}
#endif

/* ---- Codec and peers ------------------------------------------------------------------------ */

/* What is measured, through one loop. */
struct codec {
    const char *name;
    void (*measure)(const void *codec); /* NULL if there is none */
    void (*encode)(const void *codec);
    void (*decode)(const void *codec);
    pz_mode mode;
    pz_threads *threads;
};

static size_t coded_bytes;

static void check(pz_status status)
{
    if (status != PZ_OK)
        fail(pz_status_text(status));
}

static void measure(const void *what)
{
    const struct codec *codec = what;
    pz_stats stats;

    check(pz_stream_measure_on(codec->threads, codec->mode, raw, bench_bytes, &stats));
}

static void encode(const void *what)
{
    const struct codec *codec = what;

    check(pz_stream_encode_on(codec->threads, codec->mode, raw, bench_bytes, coded, coded_capacity,
                              &coded_bytes));
}

static void decode(const void *what)
{
    const struct codec *codec = what;

    check(pz_stream_decode_on(codec->threads, codec->mode, coded, coded_bytes, back, bench_bytes,
                              NULL));
}

static void print_rate(double bps)
{
    printf(" %7.2f %5.2f", bps / 1e9, bps / memcpy_bps);
    if (core_hz > 0)
        printf(" %5.0f", PZ_BLOCK_BYTES * core_hz / bps);
    else
        printf("     -");
}

static void print_codec(const char *data, const struct codec *codec)
{
    double encode_bps, decode_bps;

    encode_bps = rate_of(codec->encode, codec);
    memset(back, 0, bench_bytes);
    decode_bps = rate_of(codec->decode, codec);
    if (memcmp(raw, back, bench_bytes) != 0)
        fail("what was decoded differs");
    printf("%-14s %-11s %6.3f", data, codec->name, (double)bench_bytes / (double)coded_bytes);
    if (codec->measure != NULL)
        print_rate(rate_of(codec->measure, codec));
    else
        printf("       -     -     -");
    print_rate(encode_bps);
    print_rate(decode_bps);
    putchar('\n');
    fflush(stdout);
}

static void print_isas(const char *data, unsigned w)
{
    for (unsigned i = pz_isa_count(); i-- > 0;) {
        struct codec codec = {pz_isa_name(i), measure, encode, decode, {0, 0}, NULL};

        check(pz_isa_select(pz_isa_name(i)));
        check(pz_mode_named("planezip", w, &codec.mode));
        print_codec(data, &codec);
    }
    check(pz_isa_select(pz_isa_name(pz_isa_count() - 1)));
}

/* One thread by the same clock first, then powers of two up to the number of processors. */
static void print_threads(const char *data, unsigned w)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    clock_used = CLOCK_MONOTONIC;
    for (unsigned count = 1; count <= processors && count <= 64; count *= 2) {
        const pz_threads_options options = {sizeof options, count, NULL, NULL};
        struct codec codec = {NULL, measure, encode, decode, {0, 0}, NULL};
        char name[32];

        snprintf(name, sizeof name, "%u thread%s", count, count > 1 ? "s" : "");
        codec.name = name;
        check(pz_mode_named("planezip", w, &codec.mode));
        check(pz_threads_new(&options, &codec.threads));
        print_codec(data, &codec);
        pz_threads_free(codec.threads);
    }
    clock_used = CLOCK_PROCESS_CPUTIME_ID;
}

/* How long a call for a tiny tensor takes. */
static void print_tiny(void)
{
    enum { BYTES = 256, CALLS = 20000 };
    const size_t places = bench_bytes / BYTES;
    pz_mode mode;
    size_t bytes[CALLS], at = 0;
    double begin, encode_ns, decode_ns;

    check(pz_mode_named("planezip", 16, &mode));
    begin = now_s();
    for (size_t i = 0; i < CALLS; i++, at += BYTES + 2)
        check(pz_stream_encode(mode, raw + i * 7 % places * BYTES, BYTES, coded + at, BYTES + 2,
                               &bytes[i]));
    encode_ns = (now_s() - begin) / CALLS * 1e9;
    at = 0;
    begin = now_s();
    for (size_t i = 0; i < CALLS; i++, at += BYTES + 2)
        check(pz_stream_decode(mode, coded + at, bytes[i], back, BYTES, NULL));
    decode_ns = (now_s() - begin) / CALLS * 1e9;
    printf("One call for 256 bytes of bf16: encode %.0f ns, decode %.0f ns\n", encode_ns,
           decode_ns);
}

/* ---- Peers, if they are installed: opened at run time, so that nothing is required ----------- */

static void *library;

static void *function(const char *name)
{
    void *const found = dlsym(library, name);

    if (found == NULL)
        fail(name);
    return found;
}

static void encode_lz4(const void *unused)
{
    int (*compress)(const char *, char *, int, int);

    (void)unused;
    *(void **)&compress = function("LZ4_compress_default");
    coded_bytes =
        (size_t)compress((const char *)raw, (char *)coded, (int)bench_bytes, (int)coded_capacity);
}

static void decode_lz4(const void *unused)
{
    int (*decompress)(const char *, char *, int, int);

    (void)unused;
    *(void **)&decompress = function("LZ4_decompress_safe");
    decompress((const char *)coded, (char *)back, (int)coded_bytes, (int)bench_bytes);
}

static void encode_zstd(const void *unused)
{
    size_t (*compress)(void *, size_t, const void *, size_t, int);

    (void)unused;
    *(void **)&compress = function("ZSTD_compress");
    coded_bytes = compress(coded, coded_capacity, raw, bench_bytes, 1);
}

static void decode_zstd(const void *unused)
{
    size_t (*decompress)(void *, size_t, const void *, size_t);

    (void)unused;
    *(void **)&decompress = function("ZSTD_decompress");
    decompress(back, bench_bytes, coded, coded_bytes);
}

static void print_peers(const char *data)
{
    static const struct {
        const char *library;
        struct codec codec;
    } peers[] = {
        {"liblz4.so.1", {"lz4", NULL, encode_lz4, decode_lz4, {0, 0}, NULL}},
        {"libzstd.so.1", {"zstd -1", NULL, encode_zstd, decode_zstd, {0, 0}, NULL}},
    };

    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        library = dlopen(peers[i].library, RTLD_NOW);
        if (library == NULL)
            continue;
        print_codec(data, &peers[i].codec);
        dlclose(library);
    }
}

/* ---- Program -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *kind;
    unsigned w;
    bool with_peers;
} sets[] = {
    {"bf16", "bf16", 16, true},
    {"f32", "f32", 32, true},
    {"masks, w 32", "bool", 32, false},
    {"masks, w 8", "bool", 8, false},
    {"indices, w 32", "int64", 32, false},
    {"indices, w 64", "int64", 64, false},
};

static size_t number_of(const char *name, size_t otherwise, size_t most)
{
    const char *text = getenv(name);
    const long number = text != NULL ? atol(text) : (long)otherwise;

    if (number < 1 || (size_t)number > most)
        fail(name);
    return (size_t)number;
}

static void print_head(void)
{
    memcpy_bps = rate_of(run_memcpy, NULL);
    core_hz = measure_hz();
    printf("Codec on %zu MiB of activations of five models, median of %u runs\n", bench_bytes >> 20,
           bench_runs);
    printf("memcpy %.2f GB/s, non-temporal copy %.2f GB/s, core clock %.2f GHz\n", memcpy_bps / 1e9,
           rate_of(run_streaming_copy, NULL) / 1e9, core_hz / 1e9);
    printf("%-14s %-11s %6s %19s %19s %19s\n", "", "", "", "size model", "encode", "decode");
    printf("%-14s %-11s %6s", "data", "codec", "ratio");
    for (unsigned i = 0; i < 3; i++)
        printf(" %7s %5s %5s", "GB/s", "x mem", "cyc");
    putchar('\n');
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage: codec_bench FOLDER");
    bench_bytes = number_of("PZ_BENCH_MIB", 64, 4096) << 20;
    bench_runs = (unsigned)number_of("PZ_BENCH_RUNS", 5, MAX_RUNS);
    random_state = (uint64_t)time(NULL);
    check(pz_stream_bound(bench_bytes, &coded_capacity));
    coded_capacity += bench_bytes / 16; /* for the peers */
    raw = allocate(bench_bytes);
    back = allocate(bench_bytes);
    coded = allocate(coded_capacity);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        struct pool pool = read_pool(argv[1], sets[i].kind);

        tile(&pool);
        if (i == 0)
            print_head();
        print_isas(sets[i].name, sets[i].w);
        if (sets[i].with_peers) {
            print_threads(sets[i].name, sets[i].w);
            print_peers(sets[i].name);
        }
        if (i == 0)
            print_tiny();
        free(pool.data);
    }
    return 0;
}
