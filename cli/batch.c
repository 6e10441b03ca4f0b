/* Several files in one call: see batch.h. */
#define _XOPEN_SOURCE 700
#include "batch.h"

#include "errors.h"
#include "memory.h"
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, DEPTH_MAX = 100 };

const char *batch_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

bool batch_has_suffix(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);

    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* Where the result of a file goes; NULL after a message. */
static const char *choose_output(const batch *self, const char *in)
{
    if (self->options->output != NULL)
        return self->options->output;
    if (self->options->to_standard || strcmp(in, "-") == 0)
        return "-";
    return self->name_output(in);
}

/* What was written to a device is not kept anywhere. */
static bool is_kept(const char *out)
{
    struct stat info;

    return !output_is_standard(out) && (stat(out, &info) != 0 || S_ISREG(info.st_mode));
}

static int check_output(const batch *self, const char *in, const char *out)
{
    int status = output_check_input(in, out, "-o");

    if (status == STATUS_OK && self->options->remove && !is_kept(out))
        return fail_usage("--rm: the output %s is no file that would keep the data", out);
    return status == STATUS_OK ? output_check(out, self->options->force, true) : status;
}

/* Work on every file; started once. */
static pz_threads *threads;

static int run_file(const batch *self, const char *in)
{
    const char *out = NULL;
    int status;

    if (self->name_output != NULL) {
        out = choose_output(self, in);
        if (out == NULL)
            return STATUS_DATA;
        status = check_output(self, in, out);
        if (status != STATUS_OK)
            return status;
    }
    status = self->work(in, out, threads);
    if (status != STATUS_OK || !self->options->remove || strcmp(in, "-") == 0 ||
        output_is_standard(out))
        return status;
    return unlink(in) == 0 ? STATUS_OK : fail_errno(in, "remove it");
}

/* The names in a folder, sorted, so that the order is the same everywhere.  -1 with errno set. */
static int read_folder(const char *folder, struct dirent ***entries)
{
    return scandir(folder, entries, NULL, alphasort);
}

static int run_folder(const batch *self, const char *folder, unsigned depth);

/* Links in folders are left alone, so that nothing is done twice or outside. */
static int run_entry(const batch *self, const char *folder, const char *name, unsigned depth)
{
    const bool has_slash = batch_has_suffix(folder, "/") || strcmp(folder, "/") == 0;
    const char *path = memory_text("%s%s%s", folder, has_slash ? "" : "/", name);
    struct stat status;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return STATUS_OK;
    if (lstat(path, &status) != 0)
        return fail_errno(path, "read it");
    if (S_ISDIR(status.st_mode))
        return run_folder(self, path, depth + 1);
    if (S_ISREG(status.st_mode) && self->wants(name))
        return run_file(self, path);
    return STATUS_OK;
}

static int run_folder(const batch *self, const char *folder, unsigned depth)
{
    struct dirent **entries;
    int count, status = STATUS_OK;

    if (depth > DEPTH_MAX)
        return fail(folder, NULL, "name the folder itself", "folders are nested too deeply");
    count = read_folder(folder, &entries);
    if (count < 0)
        return fail_errno(folder, "read it");
    for (int i = 0; i < count; i++) {
        status = worse(status, run_entry(self, folder, entries[i]->d_name, depth));
        free(entries[i]);
    }
    free(entries);
    return status;
}

static int run_operand(const batch *self, const char *in)
{
    struct stat status;

    if (self->options->recursive && strcmp(in, "-") != 0 && stat(in, &status) == 0 &&
        S_ISDIR(status.st_mode))
        return run_folder(self, in, 0);
    return run_file(self, in);
}

static int check_options(const batch *self, size_t count)
{
    const batch_options *options = self->options;
    const char *given = options->recursive ? "folders" : memory_text("%zu inputs", count);

    if (options->threads > THREADS_MAX)
        return fail_usage("--threads %" PRIu64 ": it must be 0 to %d", options->threads,
                          THREADS_MAX);
    if (options->keep && options->remove)
        return fail_usage("--keep and --rm exclude each other");
    if (options->output != NULL && options->to_standard)
        return fail_usage("--output and --stdout exclude each other");
    if (options->output != NULL && (count > 1 || options->recursive))
        return fail_usage("--output takes one input that is a file, not %s", given);
    if (options->to_standard && !self->joins && (count > 1 || options->recursive))
        return fail_usage("--stdout takes one input that is a file, not %s", given);
    if (options->remove &&
        (options->to_standard || (options->output != NULL && output_is_standard(options->output))))
        return fail_usage("--rm and --stdout exclude each other");
    if (count == 0 && isatty(STDIN_FILENO))
        return fail_usage("a file is missing");
    return STATUS_OK;
}

int batch_run(const batch *self, char **files, size_t count)
{
    int status = check_options(self, count);
    pz_threads_options wanted = {.size = sizeof wanted,
                                 .threads = (unsigned)self->options->threads};

    if (status != STATUS_OK)
        return status;
    if (pz_threads_new(&wanted, &threads) != PZ_OK)
        memory_fail();
    if (count == 0)
        status = run_file(self, "-");
    for (size_t i = 0; i < count; i++)
        status = worse(status, run_operand(self, files[i]));
    pz_threads_free(threads);
    return status;
}
