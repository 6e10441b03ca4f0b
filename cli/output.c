/* Files out: see output.h. */
#define _XOPEN_SOURCE 700
#include "output.h"

#include "errors.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary, for the signal handler: a name, and whether a file may have it. */
static char temporary[PATH_MAX];
static volatile sig_atomic_t temporary_exists;

static void remove_temporary(void)
{
    if (temporary_exists)
        unlink(temporary);
    temporary_exists = 0;
}

/* SA_RESETHAND has restored the default, so the signal ends the program after all. */
static void on_signal(int number)
{
    remove_temporary();
    raise(number);
}

void output_prepare(void)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND}, old;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        /* What the caller ignores, as nohup does, stays ignored. */
        if (sigaction(fatal[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit becomes an error of write() */
    atexit(remove_temporary);
    /* Otherwise a file that we open could become standard output.  Opened the wrong way round, a
     * use of the descriptor is an error. */
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 &&
            open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0)
            exit(STATUS_DATA);
}

/* Returns false with errno set. */
static bool write_all(int descriptor, const void *data, size_t bytes)
{
    const char *next = data;

    while (bytes > 0) {
        /* Some systems refuse more than INT_MAX at once. */
        ssize_t done = write(descriptor, next, bytes < INT_MAX ? bytes : INT_MAX);

        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            next += done;
            bytes -= (size_t)done;
        }
    }
    return true;
}

bool output_is_standard(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static int fail_exists(const char *path)
{
    return fail(path, NULL, "use -f to overwrite it", "the output exists");
}

enum target_kind { TARGET_NEW, TARGET_FILE, TARGET_DEVICE };

/* What stands at the path, links followed. */
static int examine(const char *path, bool force, enum target_kind *kind, struct stat *status)
{
    *kind = TARGET_NEW;
    if (path[0] == '\0')
        return fail("''", NULL, "give a file name", "the name of the output is empty");
    if (stat(path, status) != 0) {
        if (errno != ENOENT)
            return fail_errno(path, "write it");
        if (lstat(path, status) == 0)
            return fail(path, NULL, "remove it or write elsewhere",
                        "it is a symbolic link to nothing");
        if (path[strlen(path) - 1] == '/')
            return fail(path, NULL, "give a file name", "there is no such folder");
        return STATUS_OK;
    }
    if (S_ISDIR(status->st_mode))
        return fail(path, NULL, "give a file name", "it is a folder");
    *kind = S_ISREG(status->st_mode) || S_ISBLK(status->st_mode) ? TARGET_FILE : TARGET_DEVICE;
    if (*kind == TARGET_FILE && !force)
        return fail_exists(path);
    if (S_ISBLK(status->st_mode))
        *kind = TARGET_DEVICE;
    return STATUS_OK;
}

int output_check_input(const char *in, const char *out, const char *option)
{
    struct stat a, b;

    if (strcmp(in, "-") == 0 || output_is_standard(out) || stat(in, &a) != 0 || stat(out, &b) != 0)
        return STATUS_OK;
    if (!S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return STATUS_OK;
    return fail(in, NULL,
                memory_text("give another output %s %s", option[0] == '-' ? "with" : "as", option),
                "the output is the input itself");
}

int output_check_inputs(const char *const *in, size_t count, const char *out, const char *option)
{
    int status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (in[i] != NULL)
            status = output_check_input(in[i], out, option);
    return status;
}

int output_check(const char *path, bool force, bool binary)
{
    enum target_kind kind;
    struct stat status;

    if (!output_is_standard(path))
        return examine(path, force, &kind, &status);
    if (binary && !force && isatty(STDOUT_FILENO))
        return fail("standard output", NULL, "name an output, or use -f",
                    "binary data is not written to a terminal");
    return STATUS_OK;
}

/* The folder of the path with its slash, "" for the working folder. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (int)(slash - path) + 1 : 0;
}

/* Opens the temporary beside the target; -1 with errno set. */
static int open_temporary(const char *target)
{
    int descriptor = -1;

    for (unsigned i = 0; descriptor < 0 && i < 1000; i++) {
        int length = snprintf(temporary, sizeof temporary, "%.*s.planezip-%ld-%u.tmp",
                              folder_length(target), target, (long)getpid(), i);

        if (length < 0 || (size_t)length >= sizeof temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        temporary_exists = 1; /* before it does, so that no signal finds it forgotten */
        descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0) {
            temporary_exists = 0;
            if (errno != EEXIST)
                return -1;
        }
    }
    return descriptor;
}

/* A folder that cannot be opened or synchronised does not make the file wrong.  Cuts the name of
 * the file off: here it is too late to be without memory. */
static void sync_folder(char *target)
{
    int length = folder_length(target), descriptor;

    target[length] = '\0';
    descriptor = open(length > 0 ? target : ".", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
}

/* Gives the temporary its name; false with errno set.  Without force a file that has appeared in
 * the meantime is not overwritten. */
static bool give_name(const char *target, bool force)
{
    struct stat status;

    if (!force) {
        if (link(temporary, target) == 0)
            return true; /* the other name is removed with the temporary */
        if (errno == EEXIST)
            return false;
        /* There are file systems without links. */
        if (lstat(target, &status) == 0) {
            errno = EEXIST;
            return false;
        }
    }
    return rename(temporary, target) == 0;
}

/* Where the bytes go: the target itself, or a temporary beside it. */
static int open_target(output_file *file, enum target_kind kind)
{
    file->is_device = kind == TARGET_DEVICE;
    if (kind == TARGET_NEW)
        file->target = strdup(file->path);
    else
        file->target = realpath(file->path, NULL);
    if (file->target == NULL)
        return fail_errno(file->path, "write it");
    if (file->is_device)
        file->descriptor = open(file->path, O_WRONLY | O_CLOEXEC);
    else
        file->descriptor = open_temporary(file->target);
    if (file->descriptor < 0)
        return fail_errno(file->path, file->is_device ? "open it" : "create it");
    return STATUS_OK;
}

int output_open(output_file *file, const char *path, bool force)
{
    enum target_kind kind;
    struct stat old;
    int status;

    *file = (output_file){.path = path, .force = force, .descriptor = STDOUT_FILENO};
    file->is_standard = output_is_standard(path);
    if (file->is_standard) {
        file->path = "standard output";
        return fflush(stdout) == 0 ? STATUS_OK : fail_errno(file->path, "write it");
    }
    file->descriptor = -1;
    status = examine(path, force, &kind, &old);
    if (status != STATUS_OK)
        return status;
    file->has_mode = kind == TARGET_FILE;
    file->mode = kind == TARGET_FILE ? old.st_mode & 0777 : 0;
    status = open_target(file, kind);
    if (status != STATUS_OK)
        output_abandon(file);
    return status;
}

int output_write(output_file *file, const void *data, size_t bytes)
{
    if (file->failed)
        return STATUS_DATA;
    if (write_all(file->descriptor, data, bytes))
        return STATUS_OK;
    file->failed = true;
    return fail_errno(file->path, "write it");
}

/* Permissions and times, then the disk.  Times that a file system does not keep are no failure. */
static bool finish_file(const output_file *file, const struct stat *like)
{
    const mode_t mode = like != NULL ? like->st_mode & 0777 : (mode_t)file->mode;

    if ((like != NULL || file->has_mode) && fchmod(file->descriptor, mode) != 0)
        return false;
    if (like != NULL) {
        const struct timespec times[2] = {like->st_atim, like->st_mtim};

        futimens(file->descriptor, times);
    }
    return fsync(file->descriptor) == 0;
}

/* Some devices tell only here; a pipe cannot be synchronised, which is no failure. */
static bool finish_device(const output_file *file)
{
    return fsync(file->descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

/* Of a file that was not there in the beginning. */
static int fail_commit(const char *path, int error)
{
    errno = error;
    return error == EEXIST ? fail_exists(path) : fail_errno(path, "write it");
}

int output_commit(output_file *file, const struct stat *like)
{
    bool done = !file->failed;
    int error = 0, descriptor = file->descriptor;

    if (file->is_standard)
        return done ? STATUS_OK : STATUS_DATA;
    if (done && !(file->is_device ? finish_device(file) : finish_file(file, like))) {
        done = false;
        error = errno;
    }
    file->descriptor = -1;
    if (close(descriptor) != 0 && done) {
        done = false;
        error = errno;
    }
    if (done && !file->is_device) {
        done = give_name(file->target, file->force);
        error = errno;
    }
    if (done && !file->is_device)
        sync_folder(file->target);
    output_abandon(file); /* what is left: memory, a name of the temporary */
    return done ? STATUS_OK : file->failed ? STATUS_DATA : fail_commit(file->path, error);
}

void output_abandon(output_file *file)
{
    if (file->descriptor >= 0 && !file->is_standard)
        close(file->descriptor);
    file->descriptor = -1;
    if (!file->is_standard && !file->is_device)
        remove_temporary();
    free(file->target);
    file->target = NULL;
}

int output_save(const char *path, bool force, const void *data, size_t bytes)
{
    output_file file;
    int status = output_open(&file, path, force);

    if (status != STATUS_OK)
        return status;
    status = output_write(&file, data, bytes);
    if (status == STATUS_OK)
        return output_commit(&file, NULL);
    output_abandon(&file);
    return status;
}

int output_text(const char *path, bool force, const char *text)
{
    size_t length = strlen(text);

    if (length == 0 || text[length - 1] != '\n')
        text = memory_text("%s\n", text);
    return output_save(path, force, text, strlen(text));
}

int output_finish(int status)
{
    bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fclose(stdout) != 0)
        failed = true;
    if (!failed)
        return status;
    if (errno == 0)
        errno = EIO;
    /* The first message stays the only one. */
    return status == STATUS_OK ? fail_errno("standard output", "write it") : status;
}
