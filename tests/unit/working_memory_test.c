/* What the library needs besides the buffers of the caller: streams nothing but a stack of constant
 * size, containers what their contract says, and neither more for a few hostile bytes. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "planezip/planezip.h"
#include "support/allocations.h"
#include "support/datagen.h"
#include "support/memfile.h"
#include "support/test.h"

enum { LARGE = 1 << 20, STACK_PROMISED = 64 << 10, STACK = 256 << 10 };

static const char *const codecs[] = {"planezip", "zvc",       "bpc",           "bx",
                                     "zbx",      "planezip2", "planezip2-fast"};

/* ---- Streams ---- */

struct work {
    pz_threads *threads;
    pz_mode mode;
    size_t raw_bytes;
    bool right;
};

static uint8_t raw[LARGE], coded[LARGE + LARGE / 2048 + 2], back[LARGE];
static uint64_t offsets[LARGE / PZ_CHUNK_BYTES + 2];

/* Everything that can be done with a stream. */
static void *code(void *arg)
{
    struct work *const work = arg;
    const size_t bytes = work->raw_bytes;
    size_t coded_bytes = 0;
    pz_stats stats;

    work->right = pz_stream_measure_on(work->threads, work->mode, raw, bytes, &stats) == PZ_OK &&
                  pz_stream_encode_on(work->threads, work->mode, raw, bytes, coded, sizeof coded,
                                      &coded_bytes) == PZ_OK &&
                  coded_bytes == stats.coded_bytes &&
                  pz_stream_index(coded, coded_bytes, bytes, offsets, NULL) == PZ_OK &&
                  pz_stream_decode_chunks(work->mode, coded, coded_bytes, bytes, offsets, 0,
                                          pz_stream_chunks(bytes), back, NULL) == PZ_OK &&
                  pz_stream_decode_on(work->threads, work->mode, coded, coded_bytes, back, bytes,
                                      NULL) == PZ_OK;
    return NULL;
}

/* Calls use() for every instruction set, width and codec. */
static void for_all_modes(void (*use)(struct work *work), struct work *work)
{
    static const uint32_t exponents[] = {4, 8, 8, 11};
    struct rng rng = {1};

    for (unsigned i = 0; i < pz_isa_count() * 4; i++) {
        pz_isa_select(pz_isa_name(i / 4));
        datagen_fill(&rng, DATAGEN_MIXED, 8u << i % 4, raw, sizeof raw);
        for (unsigned k = 0; k < sizeof codecs / sizeof *codecs; k++) {
            TEST_CONTEXT("%s, w %u, %s", pz_isa_active(), 8u << i % 4, codecs[k]);
            CHECK(pz_mode_named(codecs[k], 8u << i % 4, &work->mode) == PZ_OK);
            use(work);
            if (work->mode.format == PZ_FORMAT_2) {
                work->mode.exponent_bits = exponents[i % 4];
                use(work);
            }
        }
    }
}

static void check_allocations(struct work *work)
{
    static const size_t sizes[] = {0, 1, 128, 256, 5000, 100000};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        work->raw_bytes = sizes[i];
        allocations_made = 0;
        code(work);
        CHECK(work->right);
        CHECK_EQ_U64(allocations_made, 0);
    }
}

TEST(streams_allocate_nothing)
{
    const pz_threads_options options = {sizeof options, 3, NULL, NULL};
    struct work work = {0};

    for_all_modes(check_allocations, &work);
    CHECK(pz_threads_new(&options, &work.threads) == PZ_OK);
    for_all_modes(check_allocations, &work);
    pz_threads_free(work.threads);
}

/* Bytes of a stack that a thread touches. */
static size_t stack_used(void *(*run)(void *arg), void *arg)
{
    enum { PAINT = 0x5a };
    uint8_t *const stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;

    if (!CHECK(stack != MAP_FAILED))
        return 0;
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    CHECK(pthread_create(&thread, &attributes, run, arg) == 0 && pthread_join(thread, NULL) == 0);
    pthread_attr_destroy(&attributes);
    while (untouched < STACK && stack[untouched] == PAINT)
        untouched++;
    munmap(stack, STACK);
    return STACK - untouched;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static size_t most_used;

static void check_stack(struct work *work)
{
    static const size_t sizes[] = {100, 5000, LARGE};

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        work->raw_bytes = sizes[i];
        const size_t used = stack_used(code, work);
        CHECK(work->right);
        most_used = used > most_used ? used : most_used;
    }
}

/* The caller's thread does the parts of all threads. */
static void run_here(void *user, void (*task)(void *arg, size_t i), void *arg, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

TEST(the_stack_is_as_promised)
{
    const pz_threads_options options = {sizeof options, 3, run_here, NULL};
    struct work work = {0};
    size_t empty;

    if (TEST_SANITIZED) /* which has stacks of its own */
        return;
    empty = stack_used(do_nothing, NULL);
    for_all_modes(check_stack, &work);
    CHECK(pz_threads_new(&options, &work.threads) == PZ_OK);
    for_all_modes(check_stack, &work);
    pz_threads_free(work.threads);
    TEST_CONTEXT("%zu bytes, of which %zu are of an empty thread", most_used, empty);
    CHECK(most_used > empty);
    CHECK(most_used - empty < STACK_PROMISED);
}

/* ---- Containers ---- */

static void write_file(struct memfile *file, size_t bytes, uint64_t segment_bytes)
{
    pz_tensor tensor = {.size = sizeof tensor, .name = "name", .dtype = PZ_DTYPE_U8, .rank = 1};
    const uint64_t shape = bytes;
    pz_writer *writer = memfile_writer(file, segment_bytes);

    tensor.shape = &shape;
    pz_mode_named("planezip", 8, &tensor.mode);
    CHECK(pz_writer_begin(writer, &tensor) == PZ_OK);
    CHECK(pz_writer_data(writer, raw, bytes) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_OK && pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
}

static void scan_file(struct memfile *file)
{
    const pz_tensor *tensor = NULL;
    const void *data;
    size_t bytes = 1;
    pz_reader *reader = NULL;

    CHECK(memfile_scan(file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    while (bytes > 0 && CHECK(pz_reader_segment(reader, &data, &bytes, NULL) == PZ_OK))
        continue;
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK && tensor == NULL);
    pz_reader_free(reader);
}

/* The last bytes of the tensor, at random access. */
static void read_end(struct memfile *file)
{
    uint8_t end[5];
    pz_reader *reader = NULL;

    CHECK(memfile_open(file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_read(reader, 0, pz_reader_tensor(reader, 0)->raw_bytes - 5, 5, end, NULL) ==
          PZ_OK);
    pz_reader_free(reader);
}

/* Bytes asked for by `use`. */
static size_t memory_of(void (*use)(struct memfile *file), struct memfile *file)
{
    allocations_bytes = 0;
    use(file);
    return allocations_bytes;
}

TEST(a_tiny_tensor_takes_little)
{
    static uint8_t place[4096];
    struct memfile file = {.data = place, .capacity = sizeof place};

    memset(raw, 0, 256);
    allocations_bytes = 0;
    write_file(&file, 256, 0);
    CHECK(allocations_bytes < 16384);
    CHECK(memory_of(scan_file, &file) < 16384);
    CHECK(memory_of(read_end, &file) < 2 * PZ_PAGE_BYTES);
}

TEST(containers_take_a_segment_whatever_their_size)
{
    static uint8_t place[2 * LARGE];
    struct rng rng = {3};
    size_t scanned[2], read[2];

    rng_fill(&rng, raw, sizeof raw);
    for (unsigned i = 0; i < 2; i++) {
        struct memfile file = {.data = place, .capacity = sizeof place};

        allocations_bytes = 0;
        write_file(&file, i == 0 ? LARGE / 4 : LARGE, PZ_PAGE_BYTES);
        CHECK(allocations_bytes < 6 * PZ_PAGE_BYTES);
        scanned[i] = memory_of(scan_file, &file);
        read[i] = memory_of(read_end, &file);
        CHECK(scanned[i] < 8 * PZ_PAGE_BYTES && read[i] < 8 * PZ_PAGE_BYTES);
    }
    CHECK(scanned[1] < scanned[0] + 4096 && read[1] < read[0] + 4096);
}

/* Cut anywhere, with any byte changed: no more than the whole file takes. */
TEST(damage_takes_no_memory)
{
    static uint8_t whole[4096], place[4096];
    struct memfile file = {.data = whole, .capacity = sizeof whole};
    const pz_tensor *tensor;

    write_file(&file, 256, 0);
    for (size_t i = 0; i < 2 * file.bytes; i++) {
        struct memfile damaged = {.data = place, .bytes = i < file.bytes ? i : file.bytes};
        pz_reader *reader = NULL;

        memcpy(place, whole, file.bytes);
        if (i >= file.bytes)
            place[i - file.bytes] ^= 0xff;
        allocations_bytes = 0;
        if (memfile_open(&damaged, &reader, NULL) == PZ_OK)
            pz_reader_free(reader);
        if (memfile_scan(&damaged, &reader, NULL) == PZ_OK) {
            if (pz_reader_next(reader, &tensor, NULL) == PZ_OK && tensor != NULL)
                pz_reader_next(reader, &tensor, NULL);
            pz_reader_free(reader);
        }
        TEST_CONTEXT("case %zu of %zu", i, 2 * file.bytes);
        CHECK(allocations_bytes < 65536);
    }
}
