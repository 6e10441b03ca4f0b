/* Runs a fuzzing harness as an ordinary program, without libFuzzer: every file that is named, every
 * file in every folder that is named, and then mutations of them.
 *
 * Usage: NAME_replay [-n COUNT] [FILE|FOLDER]...
 *        -n COUNT   pseudo-random inputs besides (the same in every run): mutated from the files,
 *                   or from nothing where there are none */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/rng.h"

enum { MAX_BYTES = 1 << 16, MAX_CHANGES = 8 };

struct seed {
    uint8_t *data;
    size_t size;
};

static struct seed *seeds;
static size_t seed_count;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "%s: cannot be used\n", what);
    exit(2);
}

/* In a block of exactly its size, so that a sanitizer sees the first byte beyond. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *input = malloc(size != 0 ? size : 1);

    if (input == NULL)
        fail("memory");
    memcpy(input, data, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

static void keep(const uint8_t *data, size_t size)
{
    seeds = realloc(seeds, (seed_count + 1) * sizeof seeds[0]);
    if (seeds == NULL || (seeds[seed_count].data = malloc(size + 1)) == NULL)
        fail("memory");
    memcpy(seeds[seed_count].data, data, size);
    seeds[seed_count++].size = size;
}

static void replay_file(const char *path)
{
    static uint8_t data[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL)
        fail(path);
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    keep(data, size);
    run(data, size);
}

/* Folders inside are left alone. */
static void replay(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    if (folder == NULL) {
        replay_file(path);
        return;
    }
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        struct stat status;

        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
            replay_file(name);
    }
    closedir(folder);
}

static size_t start_input(struct rng *rng, uint8_t *data)
{
    const struct seed *seed;
    size_t size;

    if (seed_count == 0) {
        size = (size_t)rng_below(rng, 300);
        rng_fill(rng, data, size);
        return size;
    }
    seed = &seeds[rng_below(rng, seed_count)];
    memcpy(data, seed->data, seed->size);
    return seed->size;
}

/* Changes one place of data, which holds size > 0 bytes and has room for one more. */
static size_t change(struct rng *rng, uint8_t *data, size_t size)
{
    const size_t at = (size_t)rng_below(rng, size);

    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        data[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        return size;
    case 2:
        data[at] = (uint8_t)rng_next(rng);
        return size;
    case 3:
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    case 4:
        if (size == MAX_BYTES)
            return size;
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)rng_next(rng);
        return size + 1;
    default:
        return rng_one_in(rng, 4) ? at : size;
    }
}

static void run_mutations(unsigned long count)
{
    static uint8_t data[MAX_BYTES];
    struct rng rng = {count};

    for (unsigned long i = 0; i < count; i++) {
        size_t size = start_input(&rng, data);

        for (uint64_t changes = 1 + rng_below(&rng, MAX_CHANGES); changes > 0 && size > 0;
             changes--)
            size = change(&rng, data, size);
        run(data, size);
    }
}

int main(int argc, char **argv)
{
    unsigned long count = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            count = strtoul(argv[++i], NULL, 10);
        else
            replay(argv[i]);
    }
    run_mutations(count);
    printf("%zu files, %lu random inputs\n", seed_count, count);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].data);
    free(seeds);
    return 0;
}
