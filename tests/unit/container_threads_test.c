/* Containers with threads: several writers and readers that share one pz_threads give what one
 * thread alone gives.  Includes public headers only, as it is compiled a second time for
 * ThreadSanitizer. */
#include <pthread.h>
#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/memfile.h"
#include "support/pzfiles.h"
#include "support/test.h"

enum { SEGMENT = 2 * PZ_PAGE_BYTES, USERS = 4, ROUNDS = 3, MAX_BYTES = 1 << 18 };

/* What every user does, with what has to come out. */
struct user {
    pz_threads *threads;
    unsigned format;
    const struct memfile *expected;
    unsigned right; /* rounds of writing, reading front to back, and reading at random */
};

static bool writes(struct user *user)
{
    struct memfile file = {0};
    const pz_writer_options options = {.size = sizeof options,
                                       .write = memfile_write,
                                       .user = &file,
                                       .segment_bytes = SEGMENT,
                                       .threads = user->threads};
    pz_writer *writer = NULL;
    bool same = pz_writer_new(&options, &writer) == PZ_OK &&
                pzfiles_fill(writer, user->format, PZFILES_TENSORS) == PZ_OK &&
                file.bytes == user->expected->bytes &&
                memcmp(file.data, user->expected->data, file.bytes) == 0;

    pz_writer_free(writer);
    free(file.data);
    return same;
}

/* The segments of a tensor, compared with what was written. */
static bool scans_tensor(pz_reader *reader, unsigned format, size_t index)
{
    uint64_t raw_bytes, at = 0;
    uint8_t *const raw = pzfiles_raw(format, index, &raw_bytes);
    bool same = true;
    size_t bytes = 1;

    while (same && bytes > 0) {
        const void *data = NULL;

        same = pz_reader_segment(reader, &data, &bytes, NULL) == PZ_OK && at + bytes <= raw_bytes &&
               (bytes == 0 || memcmp(data, raw + at, bytes) == 0);
        at += bytes;
    }
    free(raw);
    return same && at == raw_bytes;
}

static bool scans(struct user *user)
{
    struct memfile file = *user->expected;
    const pz_reader_options options = {.size = sizeof options,
                                       .read = memfile_read,
                                       .user = &file,
                                       .check_pages = true,
                                       .threads = user->threads};
    const pz_tensor *tensor = NULL;
    pz_reader *reader = NULL;
    bool same;

    file.at = 0;
    same = pz_reader_new(&options, &reader, NULL) == PZ_OK;
    for (size_t i = 0; same && i < PZFILES_TENSORS; i++)
        same =
            pz_reader_next(reader, &tensor, NULL) == PZ_OK && scans_tensor(reader, user->format, i);
    same = same && pz_reader_next(reader, &tensor, NULL) == PZ_OK && tensor == NULL;
    pz_reader_free(reader);
    return same;
}

static bool reads(struct user *user)
{
    struct memfile file = *user->expected;
    const pz_reader_options options = {.size = sizeof options,
                                       .read_at = memfile_read_at,
                                       .user = &file,
                                       .file_bytes = file.bytes,
                                       .threads = user->threads};
    uint8_t *const to = malloc(MAX_BYTES);
    pz_reader *reader = NULL;
    bool same = to != NULL && pz_reader_new(&options, &reader, NULL) == PZ_OK;

    for (size_t i = 0; same && i < PZFILES_TENSORS; i++) {
        uint64_t bytes;
        uint8_t *const raw = pzfiles_raw(user->format, i, &bytes);
        const uint64_t from = bytes / 3;

        same = pz_reader_read(reader, i, from, (size_t)(bytes - from), to, NULL) == PZ_OK &&
               memcmp(to, raw + from, (size_t)(bytes - from)) == 0;
        free(raw);
    }
    pz_reader_free(reader);
    free(to);
    return same;
}

static void *use(void *arg)
{
    struct user *const user = arg;

    for (unsigned i = 0; i < ROUNDS; i++)
        user->right += writes(user) && scans(user) && reads(user);
    return NULL;
}

static void check_users(pz_threads *threads, unsigned format, const struct memfile *expected)
{
    struct user users[USERS];
    pthread_t ids[USERS];

    for (size_t i = 0; i < USERS; i++) {
        users[i] = (struct user){threads, format, expected, 0};
        if (!CHECK(pthread_create(&ids[i], NULL, use, &users[i]) == 0))
            return;
    }
    for (size_t i = 0; i < USERS; i++) {
        pthread_join(ids[i], NULL);
        CHECK_EQ_U64(users[i].right, ROUNDS);
    }
}

TEST(writers_and_readers_share_threads)
{
    static const unsigned counts[] = {1, 2, 5};

    for (unsigned i = 0; i < 3 * PZFILES_FORMATS; i++) {
        const pz_threads_options options = {.size = sizeof options, .threads = counts[i % 3]};
        const unsigned format = 1 + i / 3;
        struct memfile expected = {0};
        pz_threads *threads = NULL;

        TEST_CONTEXT("%u threads, format %u", counts[i % 3], format);
        CHECK(pzfiles_write(&expected, format, PZFILES_TENSORS, SEGMENT) == PZ_OK);
        CHECK(pz_threads_new(&options, &threads) == PZ_OK);
        check_users(threads, format, &expected);
        pz_threads_free(threads);
        free(expected.data);
    }
}
