/* The golden containers: what is written today is what lies in tests/golden/container, and that can
 * be read.  A change of these files is a change of the format.  Written anew with
 *     PZ_WRITE_GOLDEN=tests/golden/container build/tests/container_golden_test */
#include <planezip/planezip.h>
#include <stdlib.h>

#include "support/memfile.h"
#include "support/pzfiles.h"
#include "support/test.h"

static const struct {
    const char *name;
    unsigned format;
    size_t tensors;
    uint64_t segment_bytes;
} files[] = {
    {"none.pz", 1, 0, 0},
    {"one.pz", 1, 1, 0},
    {"small_segments.pz", 1, 1, PZ_CHUNK_BYTES},
    {"all.pz", 1, PZFILES_TENSORS, 0},
    {"format2.pz", 2, PZFILES_TENSORS, 0},
    {"format2_small_segments.pz", 2, 1, PZ_CHUNK_BYTES},
};

static void write_golden(const char *folder, const char *name, const struct memfile *file)
{
    char path[1024];
    FILE *stream;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    stream = fopen(path, "wb");
    if (!CHECK(stream != NULL))
        return;
    CHECK(fwrite(file->data, 1, file->bytes, stream) == file->bytes);
    CHECK(fclose(stream) == 0);
}

static void read_golden(const char *name, struct memfile *file)
{
    char path[1024];
    FILE *stream;

    snprintf(path, sizeof path, "%s/tests/golden/container/%s", PZ_SOURCE_DIR, name);
    stream = fopen(path, "rb");
    if (!CHECK(stream != NULL))
        return;
    file->data = malloc(1 << 20);
    file->bytes = fread(file->data, 1, 1 << 20, stream);
    fclose(stream);
}

/* Every tensor, by the index, is what was written. */
static void check_content(struct memfile *file, unsigned format, size_t tensors)
{
    pz_reader *reader;

    if (!CHECK(memfile_open(file, &reader, NULL) == PZ_OK))
        return;
    CHECK_EQ_U64(pz_reader_count(reader), tensors);
    for (size_t i = 0; i < tensors; i++) {
        const char *const name = pzfiles_tensors[format - 1][i].name;
        uint64_t bytes;
        uint8_t *expected = pzfiles_raw(format, i, &bytes), *raw = malloc((size_t)bytes + 1);

        CHECK_STR(pz_reader_tensor(reader, i)->name, name);
        CHECK_EQ_U64(pz_reader_tensor(reader, i)->mode.format, format);
        CHECK_EQ_U64(pz_reader_find(reader, name), i);
        CHECK(pz_reader_read(reader, i, 0, (size_t)bytes, raw, NULL) == PZ_OK);
        CHECK_MEM(raw, expected, (size_t)bytes);
        free(raw);
        free(expected);
    }
    pz_reader_free(reader);
}

TEST(golden_containers)
{
    const char *folder = getenv("PZ_WRITE_GOLDEN");

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct memfile now = {0}, golden = {0};

        TEST_CONTEXT("%s", files[i].name);
        CHECK(pzfiles_write(&now, files[i].format, files[i].tensors, files[i].segment_bytes) ==
              PZ_OK);
        if (folder != NULL)
            write_golden(folder, files[i].name, &now);
        read_golden(files[i].name, &golden);
        if (CHECK_EQ_U64(now.bytes, golden.bytes))
            CHECK_MEM(now.data, golden.data, now.bytes);
        if (golden.data != NULL)
            check_content(&golden, files[i].format, files[i].tensors);
        free(now.data);
        free(golden.data);
    }
}

/* Else the golden container of format 2 would not show how each mode is counted. */
TEST(format_2_has_every_mode_and_a_raw_chunk)
{
    struct memfile file = {0};
    uint64_t blocks[PZ_ENCODINGS] = {0}, raw_chunks = 0;
    pz_reader *reader;

    CHECK(pzfiles_write(&file, 2, PZFILES_TENSORS, 0) == PZ_OK);
    if (!CHECK(memfile_open(&file, &reader, NULL) == PZ_OK))
        return;
    for (size_t i = 0; i < PZFILES_TENSORS; i++) {
        raw_chunks += pz_reader_tensor(reader, i)->raw_chunks;
        for (unsigned k = 0; k < PZ_ENCODINGS; k++)
            blocks[k] += pz_reader_tensor(reader, i)->blocks[k];
    }
    for (unsigned k = 0; k < PZ_ENCODINGS; k++)
        CHECK((blocks[k] > 0) == (k >= PZ_EXPONENTS));
    CHECK(raw_chunks > 0);
    pz_reader_free(reader);
    free(file.data);
}
