/* Many blocks, streams and sizes through planezip/gpu.h against the codec, on the device that
 * gpu/wanted.h says.  PZ_GPU_BLOCKS is how many blocks there have to be of each encoding, or mode
 * of format 2, in each type of symbols; with 100000 all sizes of tails and the whole sample of
 * activations are tried as well. */
#include "support/test.h"

#include <dirent.h>

#include "fuzz/symbols_fuzz.h"
#include "gpu/wanted.h"
#include "support/activations.h"
#include "support/chunkgen2.h"
#include "support/datagen.h"
#include "support/golden.h"
#include "support/rng.h"
#include "support/streamgen.h"
#include "support/streamgen2.h"

static const struct {
    unsigned w, e;
} types[] = {{8, 0},  {8, 4},  {8, 5},  {16, 0}, {16, 5},
             {16, 8}, {32, 0}, {32, 8}, {64, 0}, {64, 11}};

static const char *const codecs[] = {"planezip", "zvc", "bpc", "bx", "zbx"};

enum {
    TYPES = sizeof types / sizeof *types,
    CODECS = sizeof codecs / sizeof *codecs,
    CHUNKS = 2 * CHUNKGEN2_KINDS, /* of a batch */
    RAW_BYTES = CHUNKS * PZ_CHUNK_BYTES,
    ROOM = RAW_BYTES + 2 * CHUNKS,
    TAILS = PZ_CHUNK_BYTES + 104,
    BATCHES_MAX = 40000
};

static pz_gpu *gpu;
static pz_gpu_job job;
static uint8_t *device_raw, *device_coded;
static uint8_t raw[RAW_BYTES], back[RAW_BYTES], right[RAW_BYTES], coded[ROOM], expected[ROOM];

static uint64_t blocks_wanted(void)
{
    const char *const text = getenv("PZ_GPU_BLOCKS");

    return text != NULL ? (uint64_t)atoll(text) : 1;
}

static bool is_long(void)
{
    return blocks_wanted() >= 100000;
}

static void open_device(void)
{
    if (gpu != NULL)
        return;
    gpu = open_wanted();
    job = (pz_gpu_job){.size = sizeof job};
    CHECK_EQ_U64(pz_gpu_stream_new(gpu, &job.stream), PZ_OK);
    CHECK_EQ_U64(pz_gpu_workspace_bytes(RAW_BYTES, false, &job.workspace_bytes), PZ_OK);
    job.workspace = device_memory(gpu, job.workspace_bytes);
    job.result = device_memory(gpu, sizeof *job.result);
    device_raw = device_memory(gpu, RAW_BYTES);
    device_coded = device_memory(gpu, ROOM);
}

static void copy(void *to, const void *from, size_t bytes)
{
    CHECK_EQ_U64(pz_gpu_copy(gpu, job.stream, to, from, bytes), PZ_OK);
}

/* What the job found, once it and all copies have ended. */
static pz_gpu_result finish(void)
{
    pz_gpu_result result;

    copy(&result, job.result, sizeof result);
    CHECK_EQ_U64(pz_gpu_wait(gpu, job.stream), PZ_OK);
    return result;
}

/* ---- Against the codec ---------------------------------------------------------------------- */

/* Any bytes as a stream: the same data, or the same fault in the same chunk. */
static void check_decode(pz_mode mode, const uint8_t *stream, size_t bytes, size_t raw_bytes)
{
    pz_where where = {0, 0, 0}, found = {0, 0, 0};
    const pz_status status = pz_stream_decode(mode, stream, bytes, right, raw_bytes, &where);
    pz_gpu_result result;

    copy(device_coded, stream, bytes);
    CHECK_EQ_U64(pz_gpu_decompress(gpu, &job, mode, device_coded, bytes, device_raw, raw_bytes),
                 PZ_OK);
    copy(back, device_raw, raw_bytes);
    result = finish();
    CHECK_EQ_U64(pz_gpu_result_of(&result, &found), status);
    if (status == PZ_OK)
        CHECK_MEM(back, right, raw_bytes);
    else
        CHECK_EQ_U64(found.chunk, where.chunk);
}

/* Of raw; the stream is in expected then. */
static void check_encode(pz_mode mode, size_t raw_bytes)
{
    size_t bytes = 0;
    pz_gpu_result result;

    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, expected, sizeof expected, &bytes), PZ_OK);
    copy(device_raw, raw, raw_bytes);
    CHECK_EQ_U64(pz_gpu_compress(gpu, &job, mode, device_raw, raw_bytes, device_coded, ROOM),
                 PZ_OK);
    copy(coded, device_coded, bytes);
    result = finish();
    CHECK_EQ_U64(pz_gpu_result_of(&result, NULL), PZ_OK);
    CHECK_EQ_U64(result.coded_bytes, bytes);
    CHECK_MEM(coded, expected, bytes);
    check_decode(mode, expected, bytes, raw_bytes);
}

static pz_mode mode1_of(unsigned w, unsigned codec)
{
    pz_mode mode = {0};

    CHECK_EQ_U64(pz_mode_named(codecs[codec % CODECS], w, &mode), PZ_OK);
    return mode;
}

static pz_mode mode2_of(unsigned type, uint32_t level)
{
    return (pz_mode){types[type].w, level, PZ_FORMAT_2, types[type].e};
}

/* Chunks of all kinds; returns how many bytes, as the last one may be cut. */
static size_t fill(struct rng *rng, pz_mode mode)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        uint8_t *const chunk = raw + (size_t)i * PZ_CHUNK_BYTES;

        if (mode.format == PZ_FORMAT_1)
            datagen_fill(rng, (enum datagen_kind)(i % DATAGEN_KINDS), mode.width_bits, chunk,
                         PZ_CHUNK_BYTES);
        else
            chunkgen2_fill(rng, (enum chunkgen2_kind)(i % CHUNKGEN2_KINDS), mode.width_bits,
                           mode.exponent_bits, chunk);
    }
    return RAW_BYTES - PZ_CHUNK_BYTES + chunkgen2_size(rng);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* What encoders choose: an encoding of format 1, or a mode of format 2. */
static bool is_choice(pz_mode mode, unsigned encoding)
{
    if (mode.format == PZ_FORMAT_1)
        return encoding <= PZ_ZBX;
    if (mode.exponent_bits == 0)
        return encoding == PZ_INTEGERS || encoding == PZ_DIFFERENCES;
    return encoding == PZ_EXPONENTS || encoding == PZ_CONSTANTS || encoding == PZ_DIFFERENCES;
}

static uint64_t least(pz_mode mode, const uint64_t *blocks)
{
    uint64_t count = UINT64_MAX;

    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        if (is_choice(mode, i) && blocks[i] < count)
            count = blocks[i];
    return count;
}

static void print_blocks(pz_mode mode, const uint64_t *blocks)
{
    printf("format %u w%u e%u:", mode.format, mode.width_bits, mode.exponent_bits);
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        if (is_choice(mode, i))
            printf(" %" PRIu64, blocks[i]);
    printf(" blocks\n");
}

/* Half of the batches with that mode, half with others, which count as well. */
static pz_mode other_mode(pz_mode mode, unsigned batch)
{
    if (batch % 2 == 0)
        return mode;
    if (mode.format == PZ_FORMAT_1)
        return mode1_of(mode.width_bits, batch / 2);
    return (pz_mode){mode.width_bits, batch % 8 == 1 ? PZ_LEVEL_FAST : PZ_LEVEL_NORMAL, PZ_FORMAT_2,
                     mode.exponent_bits};
}

static void check_blocks(pz_mode mode)
{
    struct rng rng = {(uint64_t)mode.width_bits << 32 | mode.exponent_bits};
    uint64_t blocks[PZ_ENCODINGS] = {0};

    for (unsigned i = 0; least(mode, blocks) < blocks_wanted(); i++) {
        const pz_mode taken = other_mode(mode, i);
        const size_t raw_bytes = fill(&rng, mode);
        pz_stats stats;

        TEST_CONTEXT("w%u e%u, format %u, batch %u", mode.width_bits, mode.exponent_bits,
                     mode.format, i);
        job.groups = i % 4;
        check_encode(taken, raw_bytes);
        CHECK_EQ_U64(pz_stream_measure(taken, raw, raw_bytes, &stats), PZ_OK);
        for (unsigned k = 0; k < PZ_ENCODINGS; k++)
            blocks[k] += stats.blocks[k];
        if (!CHECK(i < BATCHES_MAX) || test_failures > 0)
            return;
    }
    job.groups = 0;
    if (is_long())
        print_blocks(mode, blocks);
}

TEST(blocks_of_format_1)
{
    open_device();
    for (unsigned w = 8; w <= 64; w *= 2)
        check_blocks(mode1_of(w, 0));
}

static void check_types(unsigned w)
{
    open_device();
    for (unsigned type = 0; type < TYPES; type++)
        if (types[type].w == w)
            check_blocks(mode2_of(type, PZ_LEVEL_NORMAL));
}

TEST(blocks_of_format_2_w8)
{
    check_types(8);
}

TEST(blocks_of_format_2_w16)
{
    check_types(16);
}

TEST(blocks_of_format_2_w32)
{
    check_types(32);
}

TEST(blocks_of_format_2_w64)
{
    check_types(64);
}

/* ---- Sizes, streams, data of models --------------------------------------------------------- */

TEST(tails)
{
    const size_t step = is_long() ? 1 : 997;

    open_device();
    for (unsigned type = 0; type < TYPES; type++)
        for (size_t bytes = type % step; bytes <= TAILS; bytes += step) {
            struct rng rng = {bytes};

            TEST_CONTEXT("w%u e%u, %zu bytes", types[type].w, types[type].e, bytes);
            datagen_fill(&rng, bytes % 2 ? DATAGEN_MIXED : DATAGEN_FLOATS, types[type].w, raw,
                         bytes);
            check_encode(mode2_of(type, PZ_LEVEL_NORMAL), bytes);
            if (types[type].e == 0)
                check_encode(mode1_of(types[type].w, 0), bytes);
        }
}

/* Of the golden files, those that decoders must reject, and those that no encoder writes. */
TEST(golden_streams)
{
    static const enum golden_kind kinds[] = {GOLDEN_BAD, GOLDEN_ACCEPT, GOLDEN_BAD2,
                                             GOLDEN_ACCEPT2};
    unsigned count = 0;

    open_device();
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct golden *const g = golden_open(kinds[i]);

        while (golden_next(g)) {
            const pz_format format = kinds[i] < GOLDEN_STREAMS2 ? PZ_FORMAT_1 : PZ_FORMAT_2;

            TEST_CONTEXT("%s", g->name);
            CHECK(g->raw_bytes <= RAW_BYTES && g->coded_bytes <= ROOM);
            check_decode((pz_mode){g->w, PZ_LEVEL_NORMAL, format, g->e}, g->coded, g->coded_bytes,
                         g->raw_bytes);
            count++;
        }
        golden_close(g);
    }
    CHECK(count > 200);
}

/* An input of gpu_fuzz.c, which says what its bytes mean. */
static void check_input(const uint8_t *input, size_t bytes)
{
    const uint8_t kind = input[0];
    pz_mode mode = fuzz_symbols(kind);
    size_t raw_bytes = (size_t)(input[1] | input[2] << 8) % (2 * PZ_CHUNK_BYTES + 301);

    input += 3;
    bytes -= 3;
    if (kind & 32)
        mode = (pz_mode){mode.width_bits, 0, PZ_FORMAT_1, 0};
    if ((kind & 16) == 0) {
        check_decode(mode, input, bytes, raw_bytes);
        return;
    }
    raw_bytes = 1 + raw_bytes % PZ_CHUNK_BYTES;
    bytes = bytes < raw_bytes ? bytes : raw_bytes;
    coded[0] = (uint8_t)bytes;
    coded[1] = (uint8_t)(bytes >> 8);
    memcpy(coded + 2, input, bytes);
    check_decode(mode, coded, 2 + bytes, raw_bytes);
}

TEST(streams_of_the_corpus)
{
    static const char folder[] = PZ_SOURCE_DIR "/tests/fuzz/corpus/gpu_fuzz";
    static uint8_t input[RAW_BYTES];
    DIR *const corpus = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;

    open_device();
    while (corpus != NULL && (entry = readdir(corpus)) != NULL) {
        char path[1024];
        FILE *file;
        size_t bytes;

        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        TEST_CONTEXT("%s", entry->d_name);
        if (entry->d_name[0] == '.' || !CHECK((file = fopen(path, "rb")) != NULL))
            continue;
        bytes = fread(input, 1, sizeof input, file);
        fclose(file);
        if (bytes >= 3)
            check_input(input, bytes);
        count++;
    }
    CHECK(count > 200);
    if (corpus != NULL)
        closedir(corpus);
}

/* A bit of the first byte of each payload is wrong, so that chunks fail one after the other, by one
 * group. */
static void check_heads(pz_mode mode)
{
    struct rng rng = {mode.width_bits};
    uint64_t offsets[CHUNKS + 1];
    const size_t raw_bytes = fill(&rng, mode);
    size_t bytes = 0;

    TEST_CONTEXT("w%u e%u, format %u", mode.width_bits, mode.exponent_bits, mode.format);
    CHECK_EQ_U64(pz_stream_encode(mode, raw, raw_bytes, expected, sizeof expected, &bytes), PZ_OK);
    CHECK_EQ_U64(pz_stream_index(expected, bytes, raw_bytes, offsets, NULL), PZ_OK);
    job.groups = 1;
    for (unsigned i = 0; i < 8; i++) {
        memcpy(coded, expected, bytes);
        for (unsigned chunk = 0; chunk < CHUNKS; chunk++)
            coded[offsets[chunk]] ^= (uint8_t)(1u << rng_below(&rng, 8));
        check_decode(mode, coded, bytes, raw_bytes);
    }
    job.groups = 0;
}

TEST(streams_with_wrong_heads)
{
    open_device();
    for (unsigned type = 0; type < TYPES; type++) {
        check_heads(mode2_of(type, PZ_LEVEL_NORMAL));
        if (types[type].e == 0)
            check_heads(mode1_of(types[type].w, 0));
    }
}

/* A valid stream of any kind that the format allows, of one chunk or two; returns its size. */
static size_t make_stream(struct rng *rng, unsigned type, bool is_first, size_t raw_bytes)
{
    const unsigned w = types[type].w, e = types[type].e;
    uint64_t counts1[STREAMGEN_FEATURES] = {0}, counts2[STREAMGEN2_FEATURES] = {0};

    for (size_t k = 0; k < 2; k++)
        chunkgen2_fill(rng, (enum chunkgen2_kind)rng_below(rng, CHUNKGEN2_KINDS), w, e,
                       raw + k * PZ_CHUNK_BYTES);
    return is_first ? streamgen_make(rng, w, raw, raw_bytes, expected, counts1)
                    : streamgen2_make(rng, w, e, raw, raw_bytes, expected, counts2);
}

TEST(generated_and_damaged_streams)
{
    const unsigned rounds = is_long() ? 4000 : 3 * TYPES;

    open_device();
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned type = i % TYPES;
        const bool is_first = i / TYPES % 3 == 0;
        const pz_mode mode =
            is_first ? mode1_of(types[type].w, 0) : mode2_of(type, PZ_LEVEL_NORMAL);
        struct rng rng = {UINT64_C(1) << 63 | i};
        const size_t raw_bytes = chunkgen2_size(&rng) + (rng_one_in(&rng, 8) ? 200 : 0);
        const size_t bytes = make_stream(&rng, type, is_first, raw_bytes);

        TEST_CONTEXT("w%u e%u, format %u, round %u", types[type].w, types[type].e, mode.format, i);
        check_decode(mode, expected, bytes, raw_bytes);
        for (unsigned k = 0; k < 4; k++) {
            memcpy(coded, expected, bytes);
            coded[rng_below(&rng, bytes)] ^= (uint8_t)(1u << rng_below(&rng, 8));
            check_decode(mode, coded, k == 3 ? rng_below(&rng, bytes) : bytes, raw_bytes);
        }
    }
}

/* Chunks that follow one another and have the same symbols, as a tensor; returns their bytes. */
static size_t join(const struct activations *all, size_t from, size_t *next)
{
    size_t bytes = 0, i = from;

    while (i < all->count && i - from < CHUNKS && all->chunks[i].w == all->chunks[from].w &&
           strcmp(all->chunks[i].kind, all->chunks[from].kind) == 0 &&
           (i == from || bytes == (i - from) * PZ_CHUNK_BYTES)) {
        memcpy(raw + bytes, all->chunks[i].data, all->chunks[i].bytes);
        bytes += all->chunks[i++].bytes;
    }
    *next = i;
    return bytes;
}

TEST(activations)
{
    struct activations *const all = activations_load();
    size_t next = 0, bytes = 0;

    open_device();
    for (size_t i = 0; i < all->count; i = is_long() ? next : next + all->count / 10) {
        const struct activation *const first = &all->chunks[i];
        const bool is_float = first->kind[0] == 'f' || strcmp(first->kind, "bf16") == 0;
        const size_t raw_bytes = join(all, i, &next);

        TEST_CONTEXT("%s, %s, %s, chunk %zu", first->model, first->kind, first->cls, i);
        check_encode((pz_mode){first->w, PZ_LEVEL_NORMAL, PZ_FORMAT_2, is_float ? 8 : 0},
                     raw_bytes);
        check_encode(mode1_of(first->w, 0), raw_bytes);
        bytes += raw_bytes;
    }
    if (is_long())
        printf("%zu chunks, %zu bytes\n", all->count, bytes);
    activations_free(all);
}

TEST(zz_close)
{
    open_device();
    pz_gpu_free(gpu, PZ_GPU_DEVICE, job.workspace);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, job.result);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_raw);
    pz_gpu_free(gpu, PZ_GPU_DEVICE, device_coded);
    pz_gpu_stream_free(gpu, job.stream);
    pz_gpu_close(gpu);
}
