/* Linked into a second copy of the program, with --wrap: calls of the system and of memory that do
 * less than they were asked for, or fail, when the test wants them to.
 *
 *   PZ_FAULT="CALL short N"    every call reads or writes at most N bytes
 *   PZ_FAULT="CALL EINTR N"    every call but each N-th one is interrupted before it does anything
 *   PZ_FAULT="CALL ERROR N"    the N-th call and all after it fail: EIO, ENOSPC, EMFILE, EPERM
 *   PZ_FAULT="CALL SIGNAL N"   the N-th call sends SIGINT, SIGTERM or SIGHUP to the program first
 *
 * CALL is the name of a function below without __wrap_; malloc stands for all that allocate.  If
 * the fault was met, the file PZ_FAULT_MET is there afterwards. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { FAULT_NONE, FAULT_SHORT, FAULT_INTERRUPTED, FAULT_ERROR, FAULT_SIGNAL };

static struct {
    enum kind kind;
    char call[16];
    int value; /* errno or number of the signal */
    long n;
    const char *met;
} fault;
static atomic_long calls;

/* The real function, and the one that is called instead. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__);
WRAPPED(ssize_t, read, int descriptor, void *to, size_t bytes)
WRAPPED(ssize_t, pread, int descriptor, void *to, size_t bytes, off_t from)
WRAPPED(ssize_t, write, int descriptor, const void *data, size_t bytes)
WRAPPED(int, open, const char *path, int flags, ...)
WRAPPED(int, close, int descriptor)
WRAPPED(int, fsync, int descriptor)
WRAPPED(int, fchmod, int descriptor, mode_t mode)
WRAPPED(int, link, const char *from, const char *to)
WRAPPED(int, rename, const char *from, const char *to)
WRAPPED(void *, malloc, size_t bytes)
WRAPPED(void *, calloc, size_t n, size_t bytes)
WRAPPED(void *, realloc, void *old, size_t bytes)
WRAPPED(char *, strdup, const char *text)
WRAPPED(char *, realpath, const char *path, char *resolved)
WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
        void *(*run)(void *), void *arg)

/* ---- Which fault ---- */

static const struct {
    const char *name;
    enum kind kind;
    int value;
} names[] = {
    {"short", FAULT_SHORT, 0},        {"EINTR", FAULT_INTERRUPTED, EINTR},
    {"EIO", FAULT_ERROR, EIO},        {"ENOSPC", FAULT_ERROR, ENOSPC},
    {"EMFILE", FAULT_ERROR, EMFILE},  {"EPERM", FAULT_ERROR, EPERM},
    {"ENOMEM", FAULT_ERROR, ENOMEM},  {"EAGAIN", FAULT_ERROR, EAGAIN},
    {"SIGINT", FAULT_SIGNAL, SIGINT}, {"SIGTERM", FAULT_SIGNAL, SIGTERM},
    {"SIGHUP", FAULT_SIGNAL, SIGHUP},
};

_Noreturn static void give_up(const char *text)
{
    fprintf(stderr, "faults: PZ_FAULT=%s is wrong\n", text);
    _exit(99);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *text = getenv("PZ_FAULT");
    char name[16];

    json_set_alloc_funcs(__wrap_malloc, free);
    if (text == NULL)
        return;
    fault.met = getenv("PZ_FAULT_MET");
    if (fault.met == NULL || sscanf(text, "%15s %15s %ld", fault.call, name, &fault.n) != 3)
        give_up(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            fault.value = names[i].value;
            fault.kind = names[i].kind;
        }
    if (fault.kind == FAULT_NONE)
        give_up(text);
}

static void meet(void)
{
    const int descriptor = __real_open(fault.met, O_WRONLY | O_CREAT, 0600);

    if (descriptor >= 0)
        __real_close(descriptor);
}

/* ---- What happens ---- */

/* True if the call is to fail, with errno set. */
static bool fails(const char *call)
{
    long number;
    bool hit;

    if (fault.kind == FAULT_NONE || strcmp(fault.call, call) != 0)
        return false;
    number = atomic_fetch_add(&calls, 1) + 1;
    if (fault.kind == FAULT_INTERRUPTED)
        hit = number % fault.n != 0;
    else
        hit = fault.kind == FAULT_SIGNAL ? number == fault.n : number >= fault.n;
    if (!hit || fault.kind == FAULT_SHORT)
        return false;
    meet();
    if (fault.kind == FAULT_SIGNAL)
        raise(fault.value);
    errno = fault.value;
    return fault.kind != FAULT_SIGNAL;
}

static size_t shortened(const char *call, size_t bytes)
{
    if (fault.kind != FAULT_SHORT || strcmp(fault.call, call) != 0 || bytes <= (size_t)fault.n)
        return bytes;
    meet();
    return (size_t)fault.n;
}

ssize_t __wrap_read(int descriptor, void *to, size_t bytes)
{
    return fails("read") ? -1 : __real_read(descriptor, to, shortened("read", bytes));
}

ssize_t __wrap_pread(int descriptor, void *to, size_t bytes, off_t from)
{
    return fails("pread") ? -1 : __real_pread(descriptor, to, shortened("pread", bytes), from);
}

ssize_t __wrap_write(int descriptor, const void *data, size_t bytes)
{
    return fails("write") ? -1 : __real_write(descriptor, data, shortened("write", bytes));
}

int __wrap_open(const char *path, int flags, ...)
{
    unsigned mode = 0;
    va_list arguments;

    if ((flags & O_CREAT) != 0) {
        va_start(arguments, flags);
        mode = va_arg(arguments, unsigned);
        va_end(arguments);
    }
    return fails("open") ? -1 : __real_open(path, flags, mode);
}

/* A descriptor is closed even if that fails. */
int __wrap_close(int descriptor)
{
    const int status = __real_close(descriptor);

    return fails("close") ? -1 : status;
}

int __wrap_fsync(int descriptor)
{
    return fails("fsync") ? -1 : __real_fsync(descriptor);
}

int __wrap_fchmod(int descriptor, mode_t mode)
{
    return fails("fchmod") ? -1 : __real_fchmod(descriptor, mode);
}

int __wrap_link(const char *from, const char *to)
{
    return fails("link") ? -1 : __real_link(from, to);
}

int __wrap_rename(const char *from, const char *to)
{
    return fails("rename") ? -1 : __real_rename(from, to);
}

void *__wrap_malloc(size_t bytes)
{
    return fails("malloc") ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return fails("malloc") ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails("malloc") ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails("malloc") ? NULL : __real_strdup(text);
}

char *__wrap_realpath(const char *path, char *resolved)
{
    return fails("malloc") ? NULL : __real_realpath(path, resolved);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
    if (fails("pthread_create"))
        return errno;
    return __real_pthread_create(thread, attributes, run, arg);
}
