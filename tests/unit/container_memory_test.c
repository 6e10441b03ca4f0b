/* Memory runs out at every single allocation of writing and reading containers and of parsing
 * headers: the answer is PZ_ERR_MEMORY, never a crash, a leak or wrong data.  The program is linked
 * with --wrap, so that the library's allocations come here; those of jansson do not, because its
 * parser writes past a buffer that could not grow. */
#include <planezip/planezip.h>
#include <stdlib.h>

#include <jansson.h>

#include "support/memfile.h"
#include "support/pzfiles.h"
#include "support/test.h"

enum { SEGMENT = 3 * PZ_PAGE_BYTES };

static long left = -1; /* allocations that still succeed; below 0: all do */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool fails(void)
{
    if (left < 0)
        return false;
    return left-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

/* Runs the work with one failure more each time, until there is none any more. */
static void fail_each(pz_status (*work)(void *user), void *user)
{
    unsigned failures = 0;

    for (long allowed = 0;; allowed++) {
        pz_status status;

        TEST_CONTEXT("allocation %ld fails", allowed);
        left = allowed;
        status = work(user);
        if (left >= 0) {
            left = -1;
            CHECK(status == PZ_OK);
            break;
        }
        left = -1;
        CHECK_STR(pz_status_name(status), "PZ_ERR_MEMORY");
        if (!CHECK(++failures < 1000))
            break;
    }
    CHECK(failures > 0);
}

static pz_status put_tensor(pz_writer *writer, uint8_t *raw, size_t bytes)
{
    static const pz_metadata metadata = {"key", "value", 5};
    const uint64_t shape[] = {PZ_UNKNOWN};
    pz_tensor tensor = {.size = sizeof tensor,
                        .name = "name",
                        .dtype = PZ_DTYPE_U8,
                        .rank = 1,
                        .shape = shape,
                        .metadata = &metadata,
                        .metadata_count = 1};
    pz_status status;

    pz_mode_named("planezip", 8, &tensor.mode);
    status = pz_writer_begin(writer, &tensor);
    if (status == PZ_OK)
        status = pz_writer_data(writer, raw, bytes / 2);
    if (status == PZ_OK)
        status = pz_writer_data(writer, raw + bytes / 2, bytes - bytes / 2);
    return status == PZ_OK ? pz_writer_end(writer) : status;
}

static pz_status write_work(void *user)
{
    static uint8_t raw[100000], place[200000];
    struct memfile file = {.data = place, .capacity = sizeof place};
    const pz_metadata metadata = {"key", "value", 5};
    const pz_writer_options options = {
        .size = sizeof options, .write = memfile_write, .user = &file, .segment_bytes = 8192};
    pz_writer *writer = NULL;
    pz_status status = pz_writer_new(&options, &writer);

    (void)user;
    if (status == PZ_OK)
        status = pz_writer_metadata(writer, &metadata, 1);
    for (int i = 0; i < 3 && status == PZ_OK; i++)
        status = put_tensor(writer, raw, sizeof raw);
    if (status == PZ_OK)
        status = pz_writer_finish(writer);
    pz_writer_free(writer);
    return status;
}

TEST(writing_without_memory)
{
    fail_each(write_work, NULL);
}

static pz_status scan_work(void *user)
{
    const pz_tensor *tensor;
    pz_reader *reader = NULL;
    pz_status status = memfile_scan(user, &reader, NULL);

    while (status == PZ_OK) {
        const void *raw;
        size_t bytes = 1;

        status = pz_reader_next(reader, &tensor, NULL);
        if (status != PZ_OK || tensor == NULL)
            break;
        while (bytes > 0 && status == PZ_OK)
            status = pz_reader_segment(reader, &raw, &bytes, NULL);
    }
    pz_reader_free(reader);
    return status;
}

TEST(reading_front_to_back_without_memory)
{
    struct memfile file = {0};

    CHECK(pzfiles_write(&file, PZFILES_TENSORS, SEGMENT) == PZ_OK);
    fail_each(scan_work, &file);
    free(file.data);
}

static pz_status access_work(void *user)
{
    static uint8_t to[1 << 18];
    pz_reader *reader = NULL;
    pz_status status = memfile_open(user, &reader, NULL);

    for (uint64_t i = 0; status == PZ_OK && i < pz_reader_count(reader); i++) {
        const uint64_t bytes = pz_reader_tensor(reader, i)->raw_bytes;

        status = pz_reader_read(reader, i, bytes / 2, bytes > 10 ? 5 : 0, to, NULL);
        if (status == PZ_OK)
            status = pz_reader_read(reader, i, 0, (size_t)bytes, to, NULL);
    }
    pz_reader_free(reader);
    return status;
}

TEST(random_access_without_memory)
{
    struct memfile file = {0};

    CHECK(pzfiles_write(&file, PZFILES_TENSORS, SEGMENT) == PZ_OK);
    fail_each(access_work, &file);
    free(file.data);
}

static pz_status safetensors_work(void *user)
{
    static const char text[] = "\x3d\0\0\0\0\0\0\0"
                               "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}"
                               "          ";
    pz_safetensors *file = NULL;
    pz_status status = pz_safetensors_parse(text, 8 + 0x3d, &file, NULL);

    (void)user;
    pz_safetensors_free(file);
    return status;
}

TEST(safetensors_without_memory)
{
    json_set_alloc_funcs(__real_malloc, free);
    fail_each(safetensors_work, NULL);
    json_set_alloc_funcs(malloc, free);
}
