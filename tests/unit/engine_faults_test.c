/* Calls of the system that fail or do less than they were asked for, and memory that runs out at
 * every single allocation: a status, nothing left behind, and never wrong data. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "planezip/engine.h"
#include "support/allocations.h"
#include "support/engines.h"

enum { TENSOR = 150000, SEGMENT = 65536 };

static uint8_t data[2][TENSOR], back[TENSOR];

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Of calls of one kind:
 * - error != 0: after `good` calls, `count` of them fail with it;
 * - short_bytes != 0: none tells that it did more than that. */
struct fault {
    atomic_long good, count;
    int error;
    size_t short_bytes;
    atomic_ulong met;
};

static struct fault reading, writing, opening, mapping, starting;

static void no_fault(struct fault *fault)
{
    fault->error = 0;
    fault->short_bytes = 0;
    atomic_store(&fault->met, 0);
}

static void set_fault(struct fault *fault, long good, long count, int error, size_t short_bytes)
{
    atomic_store(&fault->good, good);
    atomic_store(&fault->count, count);
    fault->error = error;
    fault->short_bytes = short_bytes;
    atomic_store(&fault->met, 0);
}

/* True if this call fails; else *bytes is what it may tell. */
static bool is_hit(struct fault *fault, size_t *bytes)
{
    if (fault->short_bytes != 0 && *bytes > fault->short_bytes) {
        atomic_fetch_add(&fault->met, 1);
        *bytes = fault->short_bytes;
    }
    if (fault->error == 0 || atomic_fetch_sub(&fault->good, 1) > 0 ||
        atomic_fetch_sub(&fault->count, 1) <= 0)
        return false;
    atomic_fetch_add(&fault->met, 1);
    errno = fault->error;
    return true;
}

ssize_t __real_pread(int file, void *to, size_t bytes, off_t from);
ssize_t __wrap_pread(int file, void *to, size_t bytes, off_t from);
ssize_t __real_pwrite(int file, const void *from, size_t bytes, off_t at);
ssize_t __wrap_pwrite(int file, const void *from, size_t bytes, off_t at);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
void *__real_mmap(void *at, size_t bytes, int access, int flags, int file, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t from);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);

/* All of it is done, as O_DIRECT allows no other sizes; the caller must do the rest again. */
static ssize_t told(ssize_t done, size_t most)
{
    return done > (ssize_t)most ? (ssize_t)most : done;
}

ssize_t __wrap_pread(int file, void *to, size_t bytes, off_t from)
{
    size_t most = bytes;

    return is_hit(&reading, &most) ? -1 : told(__real_pread(file, to, bytes, from), most);
}

ssize_t __wrap_pwrite(int file, const void *from, size_t bytes, off_t at)
{
    size_t most = bytes;

    return is_hit(&writing, &most) ? -1 : told(__real_pwrite(file, from, bytes, at), most);
}

int __wrap_open(const char *path, int flags, ...)
{
    size_t unused = 0;

    return is_hit(&opening, &unused) ? -1 : __real_open(path, flags, 0600);
}

void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t from)
{
    size_t unused = 0;

    return is_hit(&mapping, &unused) ? MAP_FAILED
                                     : __real_mmap(at, bytes, access, flags, file, from);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
    size_t unused = 0;

    return is_hit(&starting, &unused) ? EAGAIN
                                      : __real_pthread_create(thread, attributes, run, arg);
}

/* ---- The disk -------------------------------------------------------------------------------- */

static pz_engine *disk_engine(const char *folder, bool cached)
{
    const pz_engine_options options = {.size = sizeof options,
                                       .tier = PZ_TIER_DISK,
                                       .directory = folder,
                                       .segment_bytes = SEGMENT,
                                       .cached = cached};

    engines_fill(0, data[0], TENSOR);
    engines_fill(3, data[1], TENSOR);
    return engines_new(&options);
}

/* A transfer of each direction, which ends with these; then both once more, which succeeds. */
static void check_statuses(pz_engine *engine, pz_status out, pz_status in, int system_error)
{
    pz_swap *swap = engines_out(engine, data[1], TENSOR, 1);

    CHECK_EQ_U64(pz_swap_wait(swap), out);
    if (out == PZ_OK) {
        CHECK_EQ_U64(pz_swap_in(swap, back, true), PZ_OK);
        CHECK_EQ_U64(pz_swap_wait(swap), in);
    }
    CHECK_EQ_I64(engines_swap_stats(swap).system_error, system_error);
    no_fault(&reading);
    no_fault(&writing);
    if (out == PZ_OK) /* it is still in the tier */
        engines_check_in(swap, data[1], TENSOR);
    pz_swap_free(swap);
    swap = engines_out(engine, data[0], TENSOR, 2);
    engines_check_in(swap, data[0], TENSOR);
    pz_swap_free(swap);
}

TEST(writing_fails)
{
    static const struct {
        int error;
        pz_status status;
    } errors[] = {
        {ENOSPC, PZ_ERR_FULL}, {EDQUOT, PZ_ERR_FULL}, {EFBIG, PZ_ERR_FULL}, {EIO, PZ_ERR_IO}};
    const char *const folder = engines_folder();

    for (unsigned i = 0; i < 4 * 2 * 3; i++) {
        pz_engine *engine = disk_engine(folder, i % 2 == 0);

        TEST_CONTEXT("case %u", i);
        set_fault(&writing, i / 8, 1, errors[i / 2 % 4].error, 0); /* of three segments */
        check_statuses(engine, errors[i / 2 % 4].status, PZ_OK, errors[i / 2 % 4].error);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_OUT].failed, 1);
        CHECK(engines_stats(engine).disk_bytes <= 4 * (SEGMENT + 4096)); /* its slots were free */
        pz_engine_free(engine);
    }
    engines_remove(folder);
}

TEST(reading_fails)
{
    const char *const folder = engines_folder();

    for (unsigned i = 0; i < 6; i++) {
        pz_engine *engine = disk_engine(folder, i % 2 == 0);

        TEST_CONTEXT("case %u", i);
        set_fault(&reading, i / 2, 1, EIO, 0);
        check_statuses(engine, PZ_OK, PZ_ERR_IO, EIO);
        CHECK_EQ_U64(engines_stats(engine).directions[PZ_IN].failed, 1);
        pz_engine_free(engine);
    }
    engines_remove(folder);
}

/* Interrupted again and again, and a few bytes at a time: it only takes longer. */
TEST(short_and_interrupted)
{
    static const size_t parts[] = {60000, 8192, 5000, 4097, 513};
    const char *const folder = engines_folder();

    for (unsigned cached = 0; cached < 2; cached++) {
        for (unsigned i = 0; i < 4 + cached; i++) { /* direct ones do a whole page at least */
            pz_engine *engine = disk_engine(folder, cached != 0);
            const bool was_direct = engines_stats(engine).is_direct;
            const size_t part = parts[i];

            set_fault(&writing, 1, 20, EINTR, part);
            set_fault(&reading, 0, 20, EINTR, part);
            TEST_CONTEXT("cached %u, at most %zu bytes", cached, part);
            {
                pz_swap *swap = engines_out(engine, data[1], TENSOR, 1);

                engines_check_in(swap, data[1], TENSOR);
                CHECK(atomic_load(&writing.met) >= 20);
                CHECK(atomic_load(&reading.met) >= 20);
                CHECK_EQ_U64(engines_stats(engine).is_direct, was_direct); /* all was aligned */
            }
            no_fault(&writing);
            no_fault(&reading);
            pz_engine_free(engine);
        }
    }
    engines_remove(folder);
}

/* Short writes, then none: as if the disk filled up in the middle of the first or third segment. */
TEST(full_in_the_middle_of_a_segment)
{
    const char *const folder = engines_folder();

    for (long good = 3; good < 18; good += 14) {
        pz_engine *engine = disk_engine(folder, good % 2 == 0);

        set_fault(&writing, good, 1000, ENOSPC, 8192);
        check_statuses(engine, PZ_ERR_FULL, PZ_OK, ENOSPC);
        CHECK(atomic_load(&writing.good) < 0);
        pz_engine_free(engine);
    }
    engines_remove(folder);
}

/* No files without a name: it has one for a moment, and is gone as well. */
TEST(a_file_system_without_nameless_files)
{
    const char *const folder = engines_folder();
    pz_engine *engine;

    set_fault(&opening, 0, 1, EOPNOTSUPP, 0);
    engine = disk_engine(folder, false);
    CHECK_EQ_U64(atomic_load(&opening.met), 1);
    no_fault(&opening);
    engines_remove(folder);
    check_statuses(engine, PZ_OK, PZ_OK, 0);
    pz_engine_free(engine);
}

/* The file system took the flag, and then refuses what is aligned to 4096. */
TEST(direct_is_given_up)
{
    const char *const folder = engines_folder();
    pz_engine *engine = disk_engine(folder, false);
    const bool was_direct = engines_stats(engine).is_direct;

    if (was_direct) {
        pz_swap *swap = engines_out(engine, data[0], TENSOR, 0);

        CHECK_EQ_U64(pz_swap_wait(swap), PZ_OK);
        set_fault(&writing, 0, 1, EINVAL, 0);
        check_statuses(engine, PZ_OK, PZ_OK, 0);
        CHECK(!engines_stats(engine).is_direct);
        engines_check_in(swap, data[0], TENSOR); /* what was written past the cache */
    }
    no_fault(&writing);
    pz_engine_free(engine);
    engines_remove(folder);
}

/* ---- Memory and threads ---------------------------------------------------------------------- */

static pz_status first_of(pz_status status, pz_status next)
{
    return status != PZ_OK ? status : next;
}

/* Makes a pool and an engine, and swaps a tensor there and back. */
static pz_status work(const char *folder)
{
    const pz_pool_options pool_options = {
        .size = sizeof pool_options, .budget_bytes = 1 << 20, .chunk_bytes = 4096};
    pz_engine_options options = {.size = sizeof options, .segment_bytes = SEGMENT};
    const pz_swap_options tensor = engines_tensor(data[1], TENSOR, 0);
    pz_pool *pool = NULL;
    pz_engine *engine = NULL;
    pz_swap *swap = NULL;
    pz_status status = folder == NULL ? pz_pool_new(&pool_options, &pool) : PZ_OK;

    options.tier = folder == NULL ? PZ_TIER_MEMORY : PZ_TIER_DISK;
    options.pool = pool;
    options.directory = folder;
    if (status == PZ_OK)
        status = pz_engine_new(&options, &engine, NULL);
    if (status == PZ_OK)
        status = pz_swap_out(engine, &tensor, true, &swap);
    if (status == PZ_OK)
        status = first_of(pz_swap_wait(swap), pz_swap_in(swap, back, true));
    if (status == PZ_OK)
        status = pz_swap_wait(swap);
    if (status == PZ_OK && memcmp(back, data[1], TENSOR) != 0)
        status = PZ_ERR_CHECK;
    pz_engine_free(engine);
    return first_of(status, pz_pool_free(pool)); /* which has all its chunks */
}

/* With each allocation and, in turn, each mapping failing. */
static void fail_each(const char *folder)
{
    size_t needed;

    allocations_made = 0;
    CHECK_EQ_U64(work(folder), PZ_OK);
    needed = allocations_made;
    for (size_t i = 0; i < needed; i++) {
        TEST_CONTEXT("allocation %zu of %zu", i, needed);
        allocations_left = (long)i;
        CHECK_EQ_U64(work(folder), PZ_ERR_MEMORY);
        allocations_left = -1;
    }
    CHECK(needed >= 6);
}

TEST(memory_runs_out)
{
    const char *const folder = engines_folder();

    engines_fill(3, data[1], TENSOR);
    fail_each(NULL);
    fail_each(folder);
    engines_remove(folder);
}

TEST(mappings_fail)
{
    for (long good = 0; good < 2; good++) { /* staging, and the pool's */
        set_fault(&mapping, good, 1, ENOMEM, 0);
        CHECK_EQ_U64(work(NULL), PZ_ERR_MEMORY);
        CHECK_EQ_U64(atomic_load(&mapping.met), 1);
        no_fault(&mapping);
    }
    CHECK_EQ_U64(work(NULL), PZ_OK);
}

static pz_status refuse_pin(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)memory;
    (void)bytes;
    return PZ_ERR_MEMORY;
}

/* Nothing is mapped in vain once it is known that it cannot be pinned. */
TEST(no_mapping_without_a_pin)
{
    const pz_pool_options options = {.size = sizeof options,
                                     .budget_bytes = 1 << 20,
                                     .chunk_bytes = 4096,
                                     .pin = refuse_pin,
                                     .pinned_only = true};
    pz_pool *pool = NULL;
    void *chunk = NULL;

    CHECK_EQ_U64(pz_pool_new(&options, &pool), PZ_OK);
    CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_ERR_MEMORY);
    set_fault(&mapping, 0, 1, ENOMEM, 0);
    CHECK_EQ_U64(pz_pool_take(pool, &chunk), PZ_ERR_MEMORY);
    CHECK_EQ_U64(atomic_load(&mapping.met), 0);
    no_fault(&mapping);
    CHECK_EQ_U64(pz_pool_free(pool), PZ_OK);
}

TEST(threads_do_not_start)
{
    const char *const folder = engines_folder();

    for (long good = 0; good < 4; good++) {
        set_fault(&starting, good, 1, EAGAIN, 0);
        CHECK_EQ_U64(work(folder), PZ_ERR_MEMORY);
        CHECK_EQ_U64(atomic_load(&starting.met), 1);
        no_fault(&starting);
    }
    CHECK_EQ_U64(work(folder), PZ_OK);
    engines_remove(folder);
}
