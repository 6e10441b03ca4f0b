/* Memory runs out at every single allocation of writing and reading containers and of parsing
 * headers: the answer is PZ_ERR_MEMORY, never a crash, a leak or wrong data.  A single failure is
 * not for jansson, because its parser writes past a buffer that could not grow. */
#include <planezip/planezip.h>
#include <stdlib.h>

#include <jansson.h>

#include "support/allocations.h"
#include "support/memfile.h"
#include "support/pzfiles.h"
#include "support/test.h"

enum { SEGMENT = 3 * PZ_PAGE_BYTES };

/* Runs the work with one failure more each time, until there is none any more. */
static void fail_each(pz_status (*work)(void *user), void *user, bool (*is_right)(pz_status status))
{
    size_t failures = 0, needed;

    allocations_left = -1;
    allocations_made = 0;
    CHECK(work(user) == PZ_OK);
    needed = allocations_made;
    for (; failures < needed; failures++) {
        pz_status status;

        TEST_CONTEXT("allocation %zu of %zu fails", failures, needed);
        allocations_left = (long)failures;
        status = work(user);
        allocations_left = -1;
        if (!CHECK(is_right(status)))
            CHECK_STR(pz_status_name(status), "PZ_ERR_MEMORY");
    }
    CHECK(needed > 0);
}

static bool is_memory(pz_status status)
{
    return status == PZ_ERR_MEMORY;
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

/* NULL options: no threads. */
static pz_status new_threads(const pz_threads_options *options, pz_threads **threads)
{
    return options != NULL ? pz_threads_new(options, threads) : PZ_OK;
}

static pz_status write_work(void *user)
{
    static uint8_t raw[100000], place[200000];
    struct memfile file = {.data = place, .capacity = sizeof place};
    const pz_metadata metadata = {"key", "value", 5};
    pz_writer_options options = {
        .size = sizeof options, .write = memfile_write, .user = &file, .segment_bytes = 65536};
    pz_writer *writer = NULL;
    pz_status status = new_threads(user, &options.threads);

    if (status == PZ_OK)
        status = pz_writer_new(&options, &writer);
    if (status == PZ_OK)
        status = pz_writer_metadata(writer, &metadata, 1);
    for (int i = 0; i < 3 && status == PZ_OK; i++)
        status = put_tensor(writer, raw, sizeof raw);
    if (status == PZ_OK)
        status = pz_writer_finish(writer);
    pz_writer_free(writer);
    pz_threads_free(options.threads);
    return status;
}

TEST(writing_without_memory)
{
    const pz_threads_options three = {.size = sizeof three, .threads = 3};

    fail_each(write_work, NULL, is_memory);
    fail_each(write_work, (void *)&three, is_memory);
}

/* A file, and the threads to read it with. */
struct reading {
    struct memfile file;
    const pz_threads_options *threads;
};

static pz_status scan(pz_reader *reader)
{
    const pz_tensor *tensor;
    pz_status status = PZ_OK;

    while (status == PZ_OK) {
        const void *raw;
        size_t bytes = 1;

        status = pz_reader_next(reader, &tensor, NULL);
        if (status != PZ_OK || tensor == NULL)
            break;
        while (bytes > 0 && status == PZ_OK)
            status = pz_reader_segment(reader, &raw, &bytes, NULL);
    }
    return status;
}

static pz_status scan_work(void *user)
{
    struct reading *const reading = user;
    pz_reader_options options = {
        .size = sizeof options, .read = memfile_read, .user = &reading->file, .check_pages = true};
    pz_reader *reader = NULL;
    pz_status status = new_threads(reading->threads, &options.threads);

    reading->file.at = 0;
    if (status == PZ_OK)
        status = pz_reader_new(&options, &reader, NULL);
    if (status == PZ_OK)
        status = scan(reader);
    pz_reader_free(reader);
    pz_threads_free(options.threads);
    return status;
}

/* Reads a file alone and with three threads. */
static void fail_reading(pz_status (*work)(void *user))
{
    const pz_threads_options three = {.size = sizeof three, .threads = 3};

    for (unsigned format = 1; format <= PZFILES_FORMATS; format++) {
        struct reading reading = {{0}, NULL};

        CHECK(pzfiles_write(&reading.file, format, PZFILES_TENSORS, SEGMENT) == PZ_OK);
        fail_each(work, &reading, is_memory);
        reading.threads = &three;
        fail_each(work, &reading, is_memory);
        free(reading.file.data);
    }
}

TEST(reading_front_to_back_without_memory)
{
    fail_reading(scan_work);
}

static pz_status read_all(pz_reader *reader)
{
    static uint8_t to[1 << 18];
    pz_status status = PZ_OK;

    for (uint64_t i = 0; status == PZ_OK && i < pz_reader_count(reader); i++) {
        const uint64_t bytes = pz_reader_tensor(reader, i)->raw_bytes;

        status = pz_reader_read(reader, i, bytes / 2, bytes > 10 ? 5 : 0, to, NULL);
        if (status == PZ_OK)
            status = pz_reader_read(reader, i, 0, (size_t)bytes, to, NULL);
    }
    return status;
}

static pz_status access_work(void *user)
{
    struct reading *const reading = user;
    pz_reader_options options = {.size = sizeof options,
                                 .read_at = memfile_read_at,
                                 .user = &reading->file,
                                 .file_bytes = reading->file.bytes};
    pz_reader *reader = NULL;
    pz_status status = new_threads(reading->threads, &options.threads);

    if (status == PZ_OK)
        status = pz_reader_new(&options, &reader, NULL);
    if (status == PZ_OK)
        status = read_all(reader);
    pz_reader_free(reader);
    pz_threads_free(options.threads);
    return status;
}

TEST(random_access_without_memory)
{
    fail_reading(access_work);
}

static pz_status safetensors_work(void *user)
{
    static const char text[] = "{\"__metadata__\":{\"format\":\"pt\",\"b\":\"c\"},"
                               "\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
                               "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[3,11]}}";
    uint8_t header[8 + sizeof text] = {(uint8_t)(sizeof text - 1)};
    pz_safetensors *file = NULL;
    pz_status status;

    (void)user;
    memcpy(header + 8, text, sizeof text);
    status = pz_safetensors_parse(header, 8 + sizeof text - 1, &file, NULL);
    pz_safetensors_free(file);
    return status;
}

TEST(safetensors_without_memory)
{
    json_set_alloc_funcs(__real_malloc, free);
    fail_each(safetensors_work, NULL, is_memory);
    json_set_alloc_funcs(malloc, free);
}

/* jansson takes a failure inside a token for a wrong token. */
static bool is_memory_or_syntax(pz_status status)
{
    return status == PZ_ERR_MEMORY || status == PZ_ERR_SYNTAX;
}

TEST(safetensors_and_their_parser_without_any_memory)
{
    allocations_end = true;
    json_set_alloc_funcs(__wrap_malloc, free);
    fail_each(safetensors_work, NULL, is_memory_or_syntax);
    json_set_alloc_funcs(malloc, free);
    allocations_end = false;
}
