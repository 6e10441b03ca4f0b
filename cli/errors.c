/* Messages of the program: see errors.h. */
#include "errors.h"

#include "clean.h"
#include "memory.h"
#include "options.h"
#include "progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A name, a message, a place and advice always fit a line: longer ones lose their middle, so that a
 * long value does not push out what is wrong with it. */
enum { NAME_BYTES = 1024, MESSAGE_BYTES = 400, WHERE_BYTES = 200, LINE_BYTES = 3072 };

static const char *command_name;

void errors_command(const char *name)
{
    command_name = name;
}

static size_t append(char *line, size_t used, const char *text, size_t limit)
{
    size_t length = strlen(text), begin, end;

    if (length <= limit)
        return used + clean_copy(text, length, line + used);
    begin = clean_before(text, limit / 2);
    end = clean_after(text, length - limit / 2);
    used += clean_copy(text, begin, line + used);
    used += clean_copy("...", 3, line + used);
    return used + clean_copy(text + end, length - end, line + used);
}

static size_t append_list(char *line, size_t used, const char *format, va_list arguments)
{
    static char text[1 << 18]; /* two arguments of the largest size that systems allow */

    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        return used;
    return append(line, used, text, MESSAGE_BYTES);
}

/* Prints the line whole, with a single call, so that lines of several processes do not mix. */
static void print_line(const char *line, size_t used)
{
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
    size_t used = append(line, 0, "planezip: ", NAME_BYTES);
    va_list arguments;

    if (file != NULL) {
        used = append(line, used, shown_name(file), NAME_BYTES);
        used = append(line, used, ": ", NAME_BYTES);
    }
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    if (where != NULL && where[0] != '\0') {
        used = append(line, used, " (", WHERE_BYTES);
        used = append(line, used, where, WHERE_BYTES);
        used = append(line, used, ")", WHERE_BYTES);
    }
    if (hint != NULL) {
        used = append(line, used, "; ", MESSAGE_BYTES);
        used = append(line, used, hint, MESSAGE_BYTES);
    }
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
        return "check that it is the right file";
    case PZ_ERR_MEANING:
        return "correct the field or make the file anew";
    case PZ_ERR_MISMATCH:
        return "use the files that were made together";
    case PZ_ERR_INFEASIBLE:
        return "raise the budget";
    case PZ_ERR_DATAFLOW:
        return "make the plan anew";
    default:
        return "check the file";
    }
}

/* Some texts of the library end with what to do, which begins with one of these words; it takes the
 * place of our own advice.  A name in the text may look like that, but not what follows it. */
static bool is_advice(const char *text)
{
    static const char *const begins[] = {"use ",  "raise ", "keep ",    "save ",
                                         "give ", "tell ",  "convert ", "they are "};

    for (size_t i = 0; i < LENGTH(begins); i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0)
            return strchr(text, '"') == NULL;
    return false;
}

/* Cuts the advice off; NULL if there is none. */
static const char *split_advice(char *text)
{
    char *end = NULL;

    for (char *next = strstr(text, "; "); next != NULL; next = strstr(next + 1, "; "))
        end = next;
    if (end == NULL || !is_advice(end + 2))
        return NULL;
    *end = '\0';
    return end + 2;
}

/* Writes the sentence of a failed call; returns its advice or NULL.  A text that fills its room has
 * lost its end to a long name, so the status tells the reason.  Two statuses have no advice, but
 * names that could look like it. */
static const char *explain(pz_status status, const pz_diag *diag, char *text, size_t room)
{
    const bool is_cut = diag != NULL && strlen(diag->text) + 1 == sizeof diag->text;

    if (diag == NULL || diag->text[0] == '\0')
        snprintf(text, room, "%s", pz_status_text(status));
    else if (is_cut)
        snprintf(text, room, "%.*s...: %s", (int)clean_before(diag->text, WHERE_BYTES), diag->text,
                 pz_status_text(status));
    else
        snprintf(text, room, "%s", diag->text);
    if (is_cut || status == PZ_ERR_SYNTAX || status == PZ_ERR_DATAFLOW)
        return NULL;
    return split_advice(text);
}

static int fail_call(const char *file, pz_status status, const pz_diag *diag, const char *hint)
{
    char where[sizeof diag->path] = "", text[2 * sizeof diag->text];
    const char *advice = explain(status, diag, text, sizeof text);

    if (diag != NULL && diag->line > 0)
        snprintf(where, sizeof where, "%u:%u", (unsigned)diag->line, (unsigned)diag->column);
    else if (diag != NULL)
        snprintf(where, sizeof where, "%s", diag->path);
    return fail(file, where, advice != NULL ? advice : hint, "%s", text);
}

int fail_status(const char *file, pz_status status, const pz_diag *diag)
{
    return fail_call(file, status, diag, status_hint(status));
}

int fail_container(const char *file, pz_status status, const pz_diag *diag)
{
    const bool is_part = status == PZ_ERR_CHECK || status == PZ_ERR_TRUNCATED;

    return fail_call(file, status, diag,
                     is_part ? "get the file again, or save what is whole with decompress --salvage"
                             : status_hint(status));
}

int fail_run(const char *trace, const char *platform, pz_status status, const pz_diag *diag)
{
    const char *hint = status_hint(status);

    /* Each of the files is right, so no field is to correct. */
    if (status == PZ_ERR_MEANING)
        hint = "use a faster link or fewer GPUs per link, or a faster GPU";
    return fail_call(memory_text("%s on platform %s", shown_name(trace), platform), status, diag,
                     hint);
}

int fail_usage(const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used = append(line, 0, "planezip: ", NAME_BYTES);
    va_list arguments;

    if (command_name != NULL) {
        used = append(line, used, command_name, NAME_BYTES);
        used = append(line, used, ": ", NAME_BYTES);
    }
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    used = append(line, used, "; see 'planezip ", NAME_BYTES);
    if (command_name != NULL) {
        used = append(line, used, command_name, NAME_BYTES);
        used = append(line, used, " ", NAME_BYTES);
    }
    used = append(line, used, "--help'", NAME_BYTES);
    print_line(line, used);
    return STATUS_USAGE;
}

void warn(const char *format, ...)
{
    char line[LINE_BYTES];
    size_t used = append(line, 0, "planezip: warning: ", NAME_BYTES);
    va_list arguments;

    if (common.quiet)
        return;
    va_start(arguments, format);
    used = append_list(line, used, format, arguments);
    va_end(arguments);
    print_line(line, used);
}
