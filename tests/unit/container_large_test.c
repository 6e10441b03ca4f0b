/* A tensor of more than 4 GiB, almost all zeros, through a container that is made, read front to
 * back and read at random in memory for its coded form. */
#include <planezip/planezip.h>
#include <stdlib.h>

#include "support/memfile.h"
#include "support/test.h"

enum { PIECE = PZ_SEGMENT_BYTES };

static const uint64_t pieces = 258; /* 4 GiB and 32 MiB */

/* Every piece is zero but for its number. */
static void fill(uint8_t *raw, uint64_t piece)
{
    memset(raw, 0, PIECE);
    memcpy(raw + 1000, &piece, sizeof piece);
}

static void write_file(struct memfile *file, uint8_t *raw)
{
    const uint64_t shape[] = {pieces, PIECE, 1};
    pz_tensor tensor = {
        .size = sizeof tensor, .name = "large", .dtype = PZ_DTYPE_U8, .rank = 3, .shape = shape};
    pz_writer *writer = memfile_writer(file, 0);

    pz_mode_of("planezip2", PZ_PROFILE_NATIVE, tensor.dtype, &tensor.mode);
    CHECK(pz_writer_begin(writer, &tensor) == PZ_OK);
    for (uint64_t piece = 0; piece < pieces; piece++) {
        fill(raw, piece);
        CHECK(pz_writer_data(writer, raw, PIECE) == PZ_OK);
    }
    CHECK(pz_writer_end(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
}

static void scan_file(struct memfile *file, uint8_t *raw)
{
    const pz_tensor *tensor;
    pz_reader *reader;
    const void *got;
    size_t bytes;

    CHECK(memfile_scan(file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    for (uint64_t piece = 0; piece < pieces; piece++) {
        fill(raw, piece);
        CHECK(pz_reader_segment(reader, &got, &bytes, NULL) == PZ_OK);
        if (!CHECK_EQ_U64(bytes, PIECE) || !CHECK_MEM(got, raw, PIECE))
            break;
    }
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    CHECK(tensor == NULL);
    pz_reader_free(reader);
}

TEST(more_than_4_gib)
{
    struct memfile file = {0};
    uint8_t *raw = malloc(PIECE);
    pz_reader *reader;
    uint64_t number;

    write_file(&file, raw);
    CHECK(file.bytes < UINT64_C(1) << 28);
    scan_file(&file, raw);
    CHECK(memfile_open(&file, &reader, NULL) == PZ_OK);
    CHECK_EQ_U64(pz_reader_tensor(reader, 0)->raw_bytes, pieces * PIECE);
    for (uint64_t piece = 0; piece < pieces; piece += 257) {
        CHECK(pz_reader_read(reader, 0, piece * PIECE + 1000, 8, &number, NULL) == PZ_OK);
        CHECK_EQ_U64(number, piece);
    }
    /* Over the border between two segments, above 4 GiB. */
    CHECK(pz_reader_read(reader, 0, 257 * (uint64_t)PIECE - 5000, 10000, raw, NULL) == PZ_OK);
    CHECK_EQ_U64(raw[5000 + 1000], 1);
    CHECK_EQ_U64(raw[5000 + 1001], 1);
    pz_reader_free(reader);
    free(raw);
    free(file.data);
}
