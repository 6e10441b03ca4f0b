/* A tensor of more than 4 GiB.  Nearly all of it is pages that nobody has written, and the
 * decoder's output is one piece of memory mapped again and again, so that it takes little memory.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "planezip/planezip.h"
#include "support/rng.h"
#include "support/test.h"

#define GIB4 ((size_t)1 << 32)

enum { PIECE = 64 << 20, EXTRA = 3 * PZ_CHUNK_BYTES + 100 };

static const size_t raw_bytes = (size_t)1 << 32 | EXTRA;

static uint8_t *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return CHECK(at != MAP_FAILED) ? at : NULL;
}

/* Address space for the tensor, every piece of it the same memory. */
static uint8_t *map_repeated(void)
{
    uint8_t *all = map(raw_bytes + PIECE);
    const int file = memfd_create("piece", 0);

    if (all == NULL || !CHECK(file >= 0 && ftruncate(file, PIECE) == 0))
        return NULL;
    for (size_t at = 0; at < raw_bytes; at += PIECE)
        CHECK(mmap(all + at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
              MAP_FAILED);
    close(file);
    return all;
}

/* Random bytes around 4 GiB and at the ends, else zeros. */
static uint8_t *make_tensor(void)
{
    uint8_t *raw = map(raw_bytes);
    struct rng rng = {4};

    if (raw == NULL)
        return NULL;
    rng_fill(&rng, raw, 5000);
    rng_fill(&rng, raw + GIB4 - 5000, 7000);
    rng_fill(&rng, raw + raw_bytes - 300, 300);
    return raw;
}

static void check_ranges(pz_mode mode, const uint8_t *raw, const uint8_t *coded, size_t coded_bytes)
{
    static uint8_t back[4 * PZ_CHUNK_BYTES];
    const uint64_t chunks = pz_stream_chunks(raw_bytes), at[] = {0, 1, GIB4 / 4096 - 2, chunks - 4};
    uint64_t *offsets = malloc((size_t)(chunks + 1) * sizeof *offsets);

    if (!CHECK(offsets != NULL))
        return;
    CHECK_EQ_U64(pz_stream_index(coded, coded_bytes, raw_bytes, offsets, NULL), PZ_OK);
    CHECK_EQ_U64(offsets[chunks], coded_bytes);
    for (unsigned i = 0; i < 4; i++) {
        const size_t from = (size_t)at[i] * PZ_CHUNK_BYTES;
        const size_t bytes = raw_bytes - from < sizeof back ? raw_bytes - from : sizeof back;

        CHECK_EQ_U64(pz_stream_decode_chunks(mode, coded, coded_bytes, raw_bytes, offsets, at[i], 4,
                                             back, NULL),
                     PZ_OK);
        CHECK_MEM(back, raw + from, bytes);
    }
    free(offsets);
}

static void check_large(pz_mode mode)
{
    const pz_threads_options options = {sizeof options, 2, NULL, NULL};
    uint8_t *raw = make_tensor(), *back = map_repeated(), *coded, *again;
    size_t bound_bytes = 0, coded_bytes = 0, again_bytes = 0;
    pz_threads *threads = NULL;
    pz_stats stats;

    CHECK_EQ_U64(pz_threads_new(&options, &threads), PZ_OK);
    CHECK_EQ_U64(pz_stream_bound(raw_bytes, &bound_bytes), PZ_OK);
    CHECK_EQ_U64(bound_bytes, raw_bytes + 2 * ((GIB4 >> 12) + 4));
    coded = map(bound_bytes);
    again = map(bound_bytes);
    if (raw == NULL || back == NULL || coded == NULL || again == NULL)
        return;
    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, coded, bound_bytes, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(
        pz_stream_encode_on(threads, mode, raw, raw_bytes, again, bound_bytes, &again_bytes),
        PZ_OK);
    CHECK_EQ_U64(again_bytes, coded_bytes);
    CHECK(memcmp(again, coded, coded_bytes) == 0);
    CHECK_EQ_U64(pz_stream_measure_on(threads, mode, raw, raw_bytes, &stats), PZ_OK);
    CHECK_EQ_U64(stats.coded_bytes, coded_bytes);
    CHECK_EQ_U64(pz_stream_decode(mode, coded, coded_bytes, back, raw_bytes, NULL), PZ_OK);
    CHECK_MEM(back + GIB4, raw + GIB4, EXTRA);
    check_ranges(mode, raw, coded, coded_bytes);
    pz_threads_free(threads);
    munmap(raw, raw_bytes);
    munmap(back, raw_bytes + PIECE);
    munmap(coded, bound_bytes);
    munmap(again, bound_bytes);
}

TEST(more_than_4_gib)
{
    pz_mode mode = {0};

    CHECK(pz_mode_named("planezip", 16, &mode) == PZ_OK);
    check_large(mode);
}

TEST(more_than_4_gib_in_format_2)
{
    pz_mode mode = {0};

    CHECK(pz_mode_of("planezip2", PZ_PROFILE_NATIVE, PZ_DTYPE_BF16, &mode) == PZ_OK);
    check_large(mode);
}
