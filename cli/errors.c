/* Messages of the program: see errors.h. */
#include "errors.h"

#include "options.h"
#include "progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 2048 };

static const char *command_name;

void errors_command(const char *name)
{
    command_name = name;
}

static size_t append_list(char *line, size_t used, const char *format, va_list arguments)
{
    int added = vsnprintf(line + used, LINE_BYTES - used, format, arguments);

    if (added < 0)
        return used;
    return used + (size_t)added < LINE_BYTES ? used + (size_t)added : LINE_BYTES - 1;
}

__attribute__((format(printf, 3, 4))) static size_t append(char *line, size_t used,
                                                           const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    return used;
}

/* Prints the line whole, with a single call, so that lines of several processes do not mix. */
static void print_line(char *line, size_t used)
{
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    fflush(stdout);
    progress_hide();
    fprintf(stderr, "%.*s\n", (int)used, line);
}

static const char *shown_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

int fail(const char *file, const char *where, const char *hint, const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used = append(line, 0, "planezip: ");
    va_list arguments;

    if (file != NULL)
        used = append(line, used, "%.1024s: ", shown_name(file));
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    if (where != NULL && where[0] != '\0')
        used = append(line, used, " (%s)", where);
    if (hint != NULL)
        used = append(line, used, "; %s", hint);
    print_line(line, used);
    return STATUS_DATA;
}

static const char *errno_hint(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
        return "check the permissions";
    case ENOSPC:
    case EDQUOT:
        return "free some space or write elsewhere";
    case EISDIR:
        return "give a file";
    case ENAMETOOLONG:
        return "use a shorter name";
    case EPIPE:
        return "the reader is gone";
    default:
        return "check the file and its device";
    }
}

int fail_errno(const char *file, const char *what)
{
    int error = errno;

    return fail(file, NULL, errno_hint(error), "cannot %s: %s", what, strerror(error));
}

static const char *status_hint(pz_status status)
{
    switch (status) {
    case PZ_ERR_MEMORY:
        return "free some or use smaller files";
    case PZ_ERR_SYNTAX:
        return "check that the file is complete JSON";
    case PZ_ERR_FORMAT:
        return "give a file of the kind and version that this option wants";
    case PZ_ERR_MEANING:
        return "correct the field or make the file anew";
    case PZ_ERR_MISMATCH:
        return "use the files that were made together";
    case PZ_ERR_INFEASIBLE:
        return "raise the budget";
    case PZ_ERR_DATAFLOW:
        return "make the plan anew";
    case PZ_ERR_CHECK:
        return "get the file again, or save what is whole with decompress --salvage";
    default:
        return "check the file";
    }
}

/* Some texts of the library end with what to do; it takes the place of our own advice. */
static const char *split_hint(char *text, const char *hint)
{
    char *end = strstr(text, "; ");

    if (end == NULL)
        return hint;
    *end = '\0';
    return end + 2;
}

int fail_status(const char *file, pz_status status, const pz_diag *diag)
{
    char where[sizeof diag->path] = "", text[sizeof diag->text];
    const char *hint = status_hint(status);

    snprintf(text, sizeof text, "%s", pz_status_text(status));

    if (diag != NULL) {
        if (diag->line > 0)
            snprintf(where, sizeof where, "%u:%u", (unsigned)diag->line, (unsigned)diag->column);
        else
            snprintf(where, sizeof where, "%s", diag->path);
        if (diag->text[0] != '\0') {
            memcpy(text, diag->text, sizeof text);
            hint = split_hint(text, hint);
        }
    }
    return fail(file, where, hint, "%s", text);
}

int fail_usage(const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used = append(line, 0, "planezip: ");
    va_list arguments;

    if (command_name != NULL)
        used = append(line, used, "%s: ", command_name);
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    if (command_name != NULL)
        used = append(line, used, "; see 'planezip %s --help'", command_name);
    else
        used = append(line, used, "; see 'planezip --help'");
    print_line(line, used);
    return STATUS_USAGE;
}

void warn(const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used = append(line, 0, "planezip: warning: ");
    va_list arguments;

    if (common.quiet)
        return;
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    print_line(line, used);
}
