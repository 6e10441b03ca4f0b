/* The progress of long work: see progress.h. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include "clean.h"
#include "options.h"
#include "units.h"

#include <planezip/planezip.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, STEP_MS = 100, COLUMNS = 79, NAME_BYTES = 28 };

static struct {
    char name[NAME_BYTES + 1]; /* clean */
    uint64_t all, done;
    int64_t start_ms, shown_ms;
    bool on, visible;
} progress;

static int64_t now_ms(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The end of a name says more than its beginning. */
static void set_name(const char *name)
{
    size_t length = strlen(name), at = 0;

    if (length > NAME_BYTES)
        at = clean_after(name, length - NAME_BYTES);
    progress.name[clean_copy(name + at, length - at, progress.name)] = '\0';
}

void progress_start(const char *name, uint64_t bytes)
{
    progress.on = !common.quiet && isatty(STDERR_FILENO);
    set_name(strcmp(name, "-") == 0 ? "standard input" : name);
    progress.all = bytes;
    progress.done = 0;
    progress.start_ms = now_ms();
    progress.shown_ms = progress.start_ms + FIRST_MS - STEP_MS;
}

static void show(int64_t ms)
{
    char line[COLUMNS + 1], done[UNITS_TEXT], rate[UNITS_TEXT];
    double bps = (double)progress.done * 1e3 / (double)(ms - progress.start_ms);
    int used = snprintf(line, sizeof line, "%s  %s  %s/s", progress.name,
                        units_bytes(progress.done, done), units_bytes((uint64_t)bps, rate));

    if (progress.all != PZ_UNKNOWN && progress.all > 0 && bps > 0 && used < COLUMNS) {
        uint64_t left = progress.all > progress.done ? progress.all - progress.done : 0;

        snprintf(line + used, sizeof line - (size_t)used, "  %3.0f %%  %.0f s left",
                 100.0 * (double)(progress.all - left) / (double)progress.all, (double)left / bps);
    }
    fprintf(stderr, "\r%s%*s", line, COLUMNS - (int)clean_width(line), "");
    fflush(stderr);
    progress.visible = true;
}

void progress_add(uint64_t bytes)
{
    int64_t ms;

    if (!progress.on)
        return;
    progress.done += bytes;
    ms = now_ms();
    if (ms - progress.shown_ms < STEP_MS)
        return;
    progress.shown_ms = ms;
    show(ms);
}

void progress_hide(void)
{
    if (progress.visible)
        fprintf(stderr, "\r%*s\r", COLUMNS, "");
    progress.visible = false;
}

void progress_end(void)
{
    progress_hide();
    progress.on = false;
}
