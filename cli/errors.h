/* Messages of the program.  Every error is exactly one line on stderr,
 *     planezip: FILE: what (where); what to do
 * and every function here returns the exit status that belongs to it, for "return fail(...)". */
#ifndef CLI_ERRORS_H
#define CLI_ERRORS_H

#include <planezip/plan.h>

enum { STATUS_OK = 0, STATUS_DATA = 1, STATUS_USAGE = 2 };

/* file, where and hint may be NULL; "-" is shown as standard input.  Names and texts are cleaned
 * (clean.h), so that the message stays one line, and long ones lose their middle.  Returns
 * STATUS_DATA. */
int fail(const char *file, const char *where, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A failed system call: "FILE: cannot WHAT: reason; what to do", the reason from errno. */
int fail_errno(const char *file, const char *what);

/* A failed call of the library about a file; diag may be NULL or empty. */
int fail_status(const char *file, pz_status status, const pz_diag *diag);

/* The same about a container, of which something can be saved. */
int fail_container(const char *file, pz_status status, const pz_diag *diag);

/* The same about a trace on a platform, both as they were given. */
int fail_run(const char *trace, const char *platform, pz_status status, const pz_diag *diag);

/* A wrong command line; names the command that errors_command() told.  Returns STATUS_USAGE. */
int fail_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void errors_command(const char *name);

/* A warning on stderr, unless -q. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
