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
    size_t tensors;
    uint64_t segment_bytes;
} files[] = {
    {"none.pz", 0, 0},
    {"one.pz", 1, 0},
    {"small_segments.pz", 1, PZ_CHUNK_BYTES},
    {"all.pz", PZFILES_TENSORS, 0},
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
static void check_content(struct memfile *file, size_t tensors)
{
    pz_reader *reader;

    if (!CHECK(memfile_open(file, &reader, NULL) == PZ_OK))
        return;
    CHECK_EQ_U64(pz_reader_count(reader), tensors);
    for (size_t i = 0; i < tensors; i++) {
        uint64_t bytes;
        uint8_t *expected = pzfiles_raw(i, &bytes), *raw = malloc((size_t)bytes + 1);

        CHECK_STR(pz_reader_tensor(reader, i)->name, pzfiles_tensors[i].name);
        CHECK_EQ_U64(pz_reader_find(reader, pzfiles_tensors[i].name), i);
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
        CHECK(pzfiles_write(&now, files[i].tensors, files[i].segment_bytes) == PZ_OK);
        if (folder != NULL)
            write_golden(folder, files[i].name, &now);
        read_golden(files[i].name, &golden);
        if (CHECK_EQ_U64(now.bytes, golden.bytes))
            CHECK_MEM(now.data, golden.data, now.bytes);
        if (golden.data != NULL)
            check_content(&golden, files[i].tensors);
        free(now.data);
        free(golden.data);
    }
}
