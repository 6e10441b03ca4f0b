/* Containers: round trips through both readers, the order of calls, short reads and writes, and
 * files that end too early. */
#include <planezip/planezip.h>
#include <stdlib.h>

#include "support/datagen.h"
#include "support/memfile.h"
#include "support/rng.h"
#include "support/test.h"

enum { SEGMENT = 3 * PZ_PAGE_BYTES }; /* several pages in several segments stay small */

struct sample {
    pz_tensor tensor;
    uint64_t shape[4];
    uint8_t *raw;
    uint64_t raw_bytes;
};

/* What tensors are coded with. */
struct coder {
    const char *codec;
    pz_profile profile;
};

static const struct coder default_coder = {"planezip2", PZ_PROFILE_NATIVE};

static void sample_make(struct sample *sample, struct rng *rng, const char *name, pz_dtype dtype,
                        struct coder coder, uint32_t rank, const uint64_t *shape)
{
    *sample = (struct sample){
        .tensor = {.size = sizeof sample->tensor, .name = name, .dtype = dtype, .rank = rank}};
    for (uint32_t i = 0; i < rank; i++)
        sample->shape[i] = shape[i];
    sample->tensor.shape = sample->shape;
    CHECK(pz_mode_of(coder.codec, coder.profile, dtype, &sample->tensor.mode) == PZ_OK);
    CHECK(pz_tensor_bytes(dtype, rank, sample->shape, &sample->raw_bytes) == PZ_OK);
    sample->raw = malloc((size_t)sample->raw_bytes + 1);
    datagen_fill(rng, DATAGEN_MIXED, sample->tensor.mode.width_bits, sample->raw,
                 (size_t)sample->raw_bytes);
}

static bool same_shape(const pz_tensor *a, const pz_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* Segments are whole chunks, so their counts add up to those of the tensor as one stream. */
static void check_counts(const struct sample *sample, const pz_tensor *view)
{
    pz_stats stats;

    CHECK(pz_stream_measure(sample->tensor.mode, sample->raw, (size_t)sample->raw_bytes, &stats) ==
          PZ_OK);
    CHECK_EQ_U64(view->stream_bytes, stats.coded_bytes);
    CHECK_EQ_U64(view->chunks, stats.chunks);
    CHECK_EQ_U64(view->raw_chunks, stats.raw_chunks);
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        CHECK_EQ_U64(view->blocks[i], stats.blocks[i]);
}

static void check_view(const struct sample *sample, const pz_tensor *view)
{
    CHECK_STR(view->name, sample->tensor.name);
    CHECK_EQ_U64(view->dtype, sample->tensor.dtype);
    CHECK_EQ_U64(view->mode.format, sample->tensor.mode.format);
    CHECK_EQ_U64(view->mode.width_bits, sample->tensor.mode.width_bits);
    CHECK_EQ_U64(view->mode.exponent_bits, sample->tensor.mode.exponent_bits);
    CHECK_EQ_U64(view->mode.encodings, sample->tensor.mode.encodings);
    CHECK(same_shape(view, &sample->tensor));
    CHECK_EQ_U64(view->raw_bytes, sample->raw_bytes);
    check_counts(sample, view);
}

/* Writes data in pieces of random sizes, or at once. */
static void write_data(pz_writer *writer, struct rng *rng, const struct sample *sample, bool pieces)
{
    size_t at = 0, bytes = (size_t)sample->raw_bytes;

    while (pieces && at < bytes) {
        size_t some = (size_t)rng_below(rng, SEGMENT) + 1;

        some = some < bytes - at ? some : bytes - at;
        CHECK(pz_writer_data(writer, sample->raw + at, some) == PZ_OK);
        at += some;
    }
    if (!pieces)
        CHECK(pz_writer_data(writer, sample->raw, bytes) == PZ_OK);
}

static void write_file(struct memfile *file, struct rng *rng, struct sample *samples, size_t count,
                       bool pieces)
{
    pz_writer *writer = memfile_writer(file, SEGMENT);

    for (size_t i = 0; i < count; i++) {
        CHECK(pz_writer_begin(writer, &samples[i].tensor) == PZ_OK);
        write_data(writer, rng, &samples[i], pieces);
        CHECK(pz_writer_end(writer) == PZ_OK);
    }
    CHECK(pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
}

static void scan_tensor(pz_reader *reader, const struct sample *sample, const pz_tensor *view)
{
    uint64_t at = 0;

    for (;;) {
        const void *raw;
        size_t bytes;

        if (!CHECK(pz_reader_segment(reader, &raw, &bytes, NULL) == PZ_OK) || bytes == 0)
            break;
        if (!CHECK(bytes <= sample->raw_bytes - at))
            return;
        CHECK_MEM(raw, sample->raw + at, bytes);
        at += bytes;
    }
    CHECK_EQ_U64(at, sample->raw_bytes);
    check_view(sample, view);
}

static void scan_file(struct memfile *file, const struct sample *samples, size_t count)
{
    const pz_tensor *view;
    pz_reader *reader;

    if (!CHECK(memfile_scan(file, &reader, NULL) == PZ_OK))
        return;
    for (size_t i = 0; i < count; i++) {
        CHECK(pz_reader_next(reader, &view, NULL) == PZ_OK);
        if (CHECK(view != NULL))
            scan_tensor(reader, &samples[i], view);
    }
    CHECK(pz_reader_next(reader, &view, NULL) == PZ_OK);
    CHECK(view == NULL);
    CHECK(pz_reader_next(reader, &view, NULL) == PZ_OK);
    CHECK(view == NULL);
    pz_reader_free(reader);
}

/* Ranges around every border, and random ones. */
static void read_ranges(pz_reader *reader, struct rng *rng, uint64_t index,
                        const struct sample *sample)
{
    const size_t bytes = (size_t)sample->raw_bytes;
    uint8_t *to = malloc(bytes + 1);

    CHECK(pz_reader_read(reader, index, 0, bytes, to, NULL) == PZ_OK);
    CHECK_MEM(to, sample->raw, bytes);
    for (int i = 0; i < 20 && bytes > 0; i++) {
        size_t from = (size_t)rng_below(rng, bytes), some;

        if (rng_one_in(rng, 3))
            from -= from % (rng_one_in(rng, 2) ? PZ_PAGE_BYTES : PZ_CHUNK_BYTES);
        some = (size_t)rng_below(rng, bytes - from + 1);
        if (rng_one_in(rng, 2))
            some = some < 100 ? some : 100;
        to[some] = 0xa5;
        CHECK(pz_reader_read(reader, index, from, some, to, NULL) == PZ_OK);
        CHECK_MEM(to, sample->raw + from, some);
        CHECK_EQ_U64(to[some], 0xa5);
    }
    CHECK(pz_reader_read(reader, index, bytes, 0, NULL, NULL) == PZ_OK);
    CHECK(pz_reader_read(reader, index, bytes, 1, to, NULL) == PZ_ERR_ARGUMENT);
    CHECK(pz_reader_read(reader, index, UINT64_MAX, 2, to, NULL) == PZ_ERR_ARGUMENT);
    free(to);
}

static void read_file(struct memfile *file, struct rng *rng, const struct sample *samples,
                      size_t count)
{
    uint64_t stored = 0;
    pz_reader *reader;

    if (!CHECK(memfile_open(file, &reader, NULL) == PZ_OK))
        return;
    CHECK_EQ_U64(pz_reader_count(reader), count);
    for (size_t i = 0; i < count; i++) {
        const pz_tensor *view = pz_reader_tensor(reader, i);

        check_view(&samples[i], view);
        read_ranges(reader, rng, i, &samples[i]);
        stored += view->stored_bytes;
    }
    CHECK(stored < file->bytes);
    CHECK(pz_reader_tensor(reader, count) == NULL);
    CHECK_EQ_U64(pz_reader_find(reader, "none of them"), PZ_UNKNOWN);
    pz_reader_free(reader);
}

static void round_trip(struct rng *rng, struct sample *samples, size_t count)
{
    struct memfile whole = {0}, pieces = {.piece = 13};

    write_file(&whole, rng, samples, count, false);
    write_file(&pieces, rng, samples, count, true);
    CHECK_EQ_U64(whole.bytes, pieces.bytes);
    CHECK_MEM(whole.data, pieces.data, whole.bytes);
    for (size_t piece = 0; piece < 20; piece += 11) {
        whole.piece = piece;
        scan_file(&whole, samples, count);
        read_file(&whole, rng, samples, count);
    }
    free(whole.data);
    free(pieces.data);
}

static void samples_free(struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(samples[i].raw);
}

static const struct coder coders[] = {{"planezip2", PZ_PROFILE_NATIVE},
                                      {"planezip2-fast", PZ_PROFILE_NATIVE},
                                      {"planezip", PZ_PROFILE_NATIVE},
                                      {"planezip", PZ_PROFILE_PAPER}};

TEST(every_type_in_both_formats_and_profiles)
{
    static const uint64_t shape[] = {3, 7, 8};
    struct rng rng = {1};

    for (unsigned k = 0; k < sizeof coders / sizeof coders[0]; k++) {
        struct sample samples[PZ_DTYPES - 1];

        TEST_CONTEXT("%s, profile %u", coders[k].codec, (unsigned)coders[k].profile);
        for (unsigned i = 0; i < PZ_DTYPES - 1; i++)
            sample_make(&samples[i], &rng, pz_dtype_name((pz_dtype)(i + 1)), (pz_dtype)(i + 1),
                        coders[k], 3, shape);
        round_trip(&rng, samples, PZ_DTYPES - 1);
        samples_free(samples, PZ_DTYPES - 1);
    }
}

/* docs/container.md, "Types": how format 2 takes them apart. */
TEST(symbols_of_every_type)
{
    static const struct {
        unsigned width_bits, exponent_bits;
    } symbols[PZ_DTYPES] = {
        [PZ_DTYPE_BOOL] = {8, 0},        [PZ_DTYPE_U8] = {8, 0},
        [PZ_DTYPE_I8] = {8, 0},          [PZ_DTYPE_U16] = {16, 0},
        [PZ_DTYPE_I16] = {16, 0},        [PZ_DTYPE_U32] = {32, 0},
        [PZ_DTYPE_I32] = {32, 0},        [PZ_DTYPE_U64] = {64, 0},
        [PZ_DTYPE_I64] = {64, 0},        [PZ_DTYPE_F16] = {16, 5},
        [PZ_DTYPE_BF16] = {16, 8},       [PZ_DTYPE_F32] = {32, 8},
        [PZ_DTYPE_F64] = {64, 11},       [PZ_DTYPE_C64] = {32, 8},
        [PZ_DTYPE_C128] = {64, 11},      [PZ_DTYPE_F8_E4M3] = {8, 4},
        [PZ_DTYPE_F8_E5M2] = {8, 5},     [PZ_DTYPE_F8_E8M0] = {8, 0},
        [PZ_DTYPE_F8_E4M3FNUZ] = {8, 4}, [PZ_DTYPE_F8_E5M2FNUZ] = {8, 5},
        [PZ_DTYPE_F6_E2M3] = {8, 0},     [PZ_DTYPE_F6_E3M2] = {8, 0},
        [PZ_DTYPE_F4] = {8, 0},
    };

    for (unsigned i = 1; i < PZ_DTYPES; i++)
        for (unsigned profile = 0; profile < PZ_PROFILES; profile++) {
            pz_mode mode = {0};

            TEST_CONTEXT("%s", pz_dtype_name((pz_dtype)i));
            CHECK(pz_mode_of("planezip2", (pz_profile)profile, (pz_dtype)i, &mode) == PZ_OK);
            CHECK_EQ_U64(mode.width_bits, symbols[i].width_bits);
            CHECK_EQ_U64(mode.exponent_bits, symbols[i].exponent_bits);
        }
}

TEST(shapes_without_elements_and_without_dimensions)
{
    static const uint64_t shapes[][4] = {{0}, {0, 5}, {1, 0}, {0}, {2, 0, 3}, {1, 1, 1, 1}};
    static const uint32_t ranks[] = {1, 2, 2, 0, 3, 4};
    struct sample samples[6];
    struct rng rng = {2};

    for (unsigned i = 0; i < 6; i++)
        sample_make(&samples[i], &rng, "", PZ_DTYPE_F32, default_coder, ranks[i], shapes[i]);
    round_trip(&rng, samples, 6);
    samples_free(samples, 6);
    round_trip(&rng, NULL, 0);
}

TEST(sizes_around_every_border)
{
    static const uint64_t borders[] = {
        128,     PZ_CHUNK_BYTES,          PZ_PAGE_BYTES, 2 * PZ_PAGE_BYTES,
        SEGMENT, SEGMENT + PZ_PAGE_BYTES, 2 * SEGMENT};
    struct rng rng = {3};

    for (unsigned i = 0; i < sizeof borders / sizeof borders[0]; i++) {
        struct sample samples[6];

        TEST_CONTEXT("border %u", (unsigned)borders[i]);
        for (unsigned j = 0; j < 6; j++) {
            const uint64_t length = borders[i] - 1 + j % 3;

            sample_make(&samples[j], &rng, "bytes", PZ_DTYPE_U8, coders[j / 3 * 3], 1, &length);
        }
        round_trip(&rng, samples, 6);
        samples_free(samples, 6);
    }
}

TEST(a_length_that_is_known_at_the_end)
{
    const uint64_t shape[] = {1000, 3};
    struct memfile file = {0};
    struct sample sample;
    struct rng rng = {4};
    pz_writer *writer = memfile_writer(&file, SEGMENT);

    sample_make(&sample, &rng, "open", PZ_DTYPE_BF16, default_coder, 2, shape);
    sample.shape[0] = PZ_UNKNOWN;
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_OK);
    write_data(writer, &rng, &sample, true);
    CHECK(pz_writer_data(writer, "x", 1) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_ERR_ARGUMENT); /* no whole number of rows */
    CHECK(pz_writer_data(writer, "23456", 5) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
    sample.raw = realloc(sample.raw, (size_t)sample.raw_bytes + 6);
    memcpy(sample.raw + sample.raw_bytes, "x23456", 6);
    sample.raw_bytes += 6;
    sample.shape[0] = 1001;
    scan_file(&file, &sample, 1);
    read_file(&file, &rng, &sample, 1);
    free(file.data);
    samples_free(&sample, 1);
}

TEST(metadata)
{
    static const pz_metadata of_file[] = {{"source.header", "a\0b", 3}, {"empty", NULL, 0}};
    static const pz_metadata of_tensor[] = {{"fortran_order", "1", 1}, {"k", "vv", 2}};
    struct memfile file = {0};
    struct sample sample;
    struct rng rng = {5};
    pz_writer *writer = memfile_writer(&file, 0);
    const pz_metadata *entries;
    pz_reader *reader;
    size_t count;

    sample_make(&sample, &rng, "scalar", PZ_DTYPE_F64, default_coder, 0, NULL);
    sample.tensor.metadata = of_tensor;
    sample.tensor.metadata_count = 2;
    CHECK(pz_writer_metadata(writer, of_file, 2) == PZ_OK);
    CHECK(pz_writer_metadata(writer, of_file, 2) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_OK);
    write_data(writer, &rng, &sample, false);
    CHECK(pz_writer_end(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
    scan_file(&file, &sample, 1);
    CHECK(memfile_open(&file, &reader, NULL) == PZ_OK);
    entries = pz_reader_metadata(reader, &count);
    CHECK_EQ_U64(count, 2);
    CHECK_STR(entries[0].key, "source.header");
    CHECK_EQ_U64(entries[0].value_bytes, 3);
    CHECK_MEM(entries[0].value, "a\0b", 3);
    CHECK_STR(entries[1].key, "empty");
    CHECK_EQ_U64(entries[1].value_bytes, 0);
    entries = pz_reader_tensor(reader, 0)->metadata;
    CHECK_EQ_U64(pz_reader_tensor(reader, 0)->metadata_count, 2);
    CHECK_STR(entries[0].key, "fortran_order");
    CHECK_MEM(entries[1].value, "vv", 2);
    CHECK_EQ_U64(pz_reader_find(reader, "scalar"), 0);
    pz_reader_free(reader);
    free(file.data);
    samples_free(&sample, 1);
}

TEST(wrong_calls_of_a_writer)
{
    const uint64_t shape[] = {4}, overflow[] = {UINT64_C(1) << 62, 8};
    struct memfile file = {0};
    struct sample sample;
    struct rng rng = {6};
    pz_writer *writer = memfile_writer(&file, 0);
    pz_tensor wrong;
    pz_writer_options options = {.size = sizeof options, .write = memfile_write};

    sample_make(&sample, &rng, "x", PZ_DTYPE_F32, default_coder, 1, shape);
    CHECK(pz_writer_data(writer, "x", 1) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_end(writer) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.name = NULL;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.dtype = PZ_DTYPES;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.mode.width_bits = 24;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.mode.exponent_bits = 5; /* of 32 */
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.mode.encodings = 1u << PZ_RAW | 1u << PZ_INTEGERS;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.mode.format = 3;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    wrong = sample.tensor;
    wrong.rank = 2;
    wrong.shape = overflow;
    CHECK(pz_writer_begin(writer, &wrong) == PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(file.bytes, 0);
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_OK);
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_finish(writer) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_data(writer, sample.raw, 15) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_data(writer, sample.raw, 2) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_data(writer, sample.raw + 15, 1) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_ERR_ARGUMENT);
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_ERR_ARGUMENT);
    pz_writer_free(writer);
    scan_file(&file, &sample, 1);
    options.segment_bytes = 5000;
    CHECK(pz_writer_new(&options, &writer) == PZ_ERR_ARGUMENT);
    options.segment_bytes = 2 * (uint64_t)PZ_SEGMENT_MAX_BYTES;
    CHECK(pz_writer_new(&options, &writer) == PZ_ERR_ARGUMENT);
    pz_writer_free(NULL);
    free(file.data);
    samples_free(&sample, 1);
}

/* Writes until the first error, which every later call must repeat. */
static pz_status write_until_error(struct memfile *file, const struct sample *sample)
{
    pz_writer *writer = memfile_writer(file, PZ_CHUNK_BYTES);
    pz_status status = pz_writer_begin(writer, &sample->tensor);

    if (status == PZ_OK)
        status = pz_writer_data(writer, sample->raw, (size_t)sample->raw_bytes);
    if (status == PZ_OK)
        status = pz_writer_end(writer);
    if (status == PZ_OK)
        status = pz_writer_finish(writer);
    else
        CHECK(pz_writer_data(writer, sample->raw, 1) != PZ_OK);
    pz_writer_free(writer);
    return status;
}

TEST(writing_fails_at_every_byte)
{
    const uint64_t shape[] = {3000};
    struct memfile whole = {0};
    struct sample sample;
    struct rng rng = {7};

    sample_make(&sample, &rng, "x", PZ_DTYPE_F32, default_coder, 1, shape);
    CHECK(write_until_error(&whole, &sample) == PZ_OK);
    for (size_t at = 1; at < whole.bytes; at += 1 + at / 50) {
        struct memfile file = {.piece = 1 + at % 40, .fail_at = at, .out_of_room = at % 2 == 0};

        CHECK(write_until_error(&file, &sample) == PZ_ERR_IO);
        free(file.data);
    }
    free(whole.data);
    samples_free(&sample, 1);
}

TEST(reading_fails_at_every_byte)
{
    const uint64_t shape[] = {3000};
    struct memfile file = {0};
    struct sample sample;
    struct rng rng = {8};
    uint8_t *to;

    sample_make(&sample, &rng, "x", PZ_DTYPE_F32, default_coder, 1, shape);
    to = malloc((size_t)sample.raw_bytes);
    CHECK(write_until_error(&file, &sample) == PZ_OK);
    for (size_t at = 1; at < file.bytes; at += 1 + at / 50) {
        pz_status status;
        pz_reader *reader;
        const pz_tensor *view;
        pz_diag diag = {0};

        file.fail_at = at;
        reader = NULL;
        status = memfile_scan(&file, &reader, &diag);
        for (bool end = status != PZ_OK; !end; end = status != PZ_OK || view == NULL)
            status = pz_reader_next(reader, &view, &diag);
        CHECK(status == PZ_ERR_IO);
        CHECK(diag.text[0] != '\0');
        pz_reader_free(reader);
        if (memfile_open(&file, &reader, &diag) == PZ_OK) {
            CHECK(pz_reader_read(reader, 0, 0, (size_t)sample.raw_bytes, to, &diag) == PZ_ERR_IO);
            pz_reader_free(reader);
        }
    }
    free(to);
    free(file.data);
    samples_free(&sample, 1);
}

/* What can be read of a file that was cut off: all whole segments. */
TEST(an_unfinished_file_gives_its_whole_segments)
{
    const uint64_t shape[] = {5 * PZ_CHUNK_BYTES};
    struct memfile file = {0};
    struct sample sample;
    struct rng rng = {9};
    pz_writer *writer = memfile_writer(&file, PZ_CHUNK_BYTES);
    size_t before;

    sample_make(&sample, &rng, "cut", PZ_DTYPE_U8, default_coder, 1, shape);
    CHECK(pz_writer_begin(writer, &sample.tensor) == PZ_OK);
    CHECK(pz_writer_data(writer, sample.raw, 3 * PZ_CHUNK_BYTES) == PZ_OK);
    before = file.bytes;
    CHECK(pz_writer_data(writer, sample.raw + 3 * PZ_CHUNK_BYTES, PZ_CHUNK_BYTES) == PZ_OK);
    pz_writer_free(writer);
    for (size_t bytes = before; bytes < file.bytes; bytes += 100) {
        struct memfile cut = {.data = file.data, .bytes = bytes};
        pz_diag diag = {0};
        pz_reader *reader;
        const pz_tensor *view;
        const void *raw;
        size_t got;

        TEST_CONTEXT("cut at %zu", bytes);
        CHECK(memfile_open(&cut, &reader, &diag) == PZ_ERR_TRUNCATED);
        CHECK(strstr(diag.text, "unfinished") != NULL);
        CHECK(memfile_scan(&cut, &reader, NULL) == PZ_OK);
        CHECK(pz_reader_next(reader, &view, NULL) == PZ_OK);
        for (size_t i = 0; i < 3; i++) {
            CHECK(pz_reader_segment(reader, &raw, &got, NULL) == PZ_OK);
            CHECK_EQ_U64(got, PZ_CHUNK_BYTES);
            CHECK_MEM(raw, sample.raw + i * PZ_CHUNK_BYTES, got);
        }
        for (int again = 0; again < 2; again++) {
            diag = (pz_diag){0};
            CHECK(pz_reader_segment(reader, &raw, &got, &diag) == PZ_ERR_TRUNCATED);
            CHECK_EQ_U64(got, 0);
            CHECK(strstr(diag.path, "tensor 'cut', segment 3") != NULL);
        }
        CHECK(pz_reader_next(reader, &view, NULL) == PZ_ERR_TRUNCATED);
        pz_reader_free(reader);
    }
    free(file.data);
    samples_free(&sample, 1);
}

TEST(wrong_calls_of_a_reader)
{
    pz_reader_options options = {.size = sizeof options};
    struct memfile file = {0};
    const pz_tensor *view;
    pz_reader *reader;
    struct rng rng = {10};

    CHECK(pz_reader_new(NULL, &reader, NULL) == PZ_ERR_ARGUMENT);
    CHECK(pz_reader_new(&options, &reader, NULL) == PZ_ERR_ARGUMENT);
    options.read = memfile_read;
    options.read_at = memfile_read_at;
    CHECK(pz_reader_new(&options, &reader, NULL) == PZ_ERR_ARGUMENT);
    write_file(&file, &rng, NULL, 0, false);
    CHECK(memfile_open(&file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_next(reader, &view, NULL) == PZ_ERR_ARGUMENT);
    CHECK(pz_reader_read(reader, 0, 0, 0, NULL, NULL) == PZ_ERR_ARGUMENT);
    pz_reader_free(reader);
    CHECK(memfile_scan(&file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_read(reader, 0, 0, 0, NULL, NULL) == PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_reader_count(reader), 0);
    pz_reader_free(reader);
    pz_reader_free(NULL);
    free(file.data);
}
