/* Schedules computed by hand: runs every file of tests/sim/schedules and compares the timeline and
 * the report with what the file says.  How a file is written: README.md beside them. */
#include <dirent.h>
#include <planezip/plan.h>
#include <stdlib.h>

#include "support/test.h"
#include "tests/sim/scene.h"

enum { MAX_FILES = 200, NAME_BYTES = 256 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names of the schedule files, sorted. */
static size_t list_files(const char *folder, char names[MAX_FILES][NAME_BYTES])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    while (dir && n < MAX_FILES && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".txt") == 0)
            snprintf(names[n++], NAME_BYTES, "%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(names, n, sizeof names[0], compare_names);
    return n;
}

/* The next event of the lane at or after *at. */
static bool next_on_lane(const pz_timeline *timeline, pz_lane lane, size_t *at, pz_event *event)
{
    while (pz_timeline_event(timeline, (*at)++, event) == PZ_OK)
        if (event->lane == lane)
            return true;
    return false;
}

static void check_event(const struct scene *scene, const struct scene_event *want,
                        const pz_event *got)
{
    CHECK_STR(got->kind, want->kind);
    CHECK_EQ_I64(got->begin_ns, want->begin_ns);
    CHECK_EQ_I64(got->end_ns, want->end_ns);
    if (want->lane == PZ_LANE_COMPUTE)
        CHECK_STR(got->name, want->who);
    else
        CHECK_EQ_I64(got->tensor, scene_saved(scene, want->who));
}

/* The file lists all events of every lane. */
static void check_lane(const struct scene *scene, const pz_timeline *timeline, pz_lane lane)
{
    pz_event got;
    size_t at = 0;

    for (size_t i = 0; i < scene->n_events; i++) {
        const struct scene_event *want = &scene->events[i];
        if (want->lane != lane)
            continue;
        TEST_CONTEXT("%.100s, line %u", scene->file, want->line);
        if (!CHECK(next_on_lane(timeline, lane, &at, &got)))
            return;
        check_event(scene, want, &got);
    }
    TEST_CONTEXT("%.100s, lane %d", scene->file, lane);
    CHECK(!next_on_lane(timeline, lane, &at, &got));
}

static void check_report(const struct scene *scene, const pz_report *report)
{
    for (size_t i = 0; i < scene->n_fields; i++) {
        const struct scene_field *want = &scene->fields[i];
        int64_t got = 0;
        TEST_CONTEXT("%.100s, line %u: %s", scene->file, want->line, want->name);
        if (CHECK(scene_report_field(report, want->name, &got)))
            CHECK_EQ_I64(got, want->value);
    }
    TEST_CONTEXT("%s", scene->file);
    CHECK_EQ_I64(report->total_ns, report->compute_ns + report->optimizer_ns + report->replay_ns +
                                       report->stall_memory_ns + report->stall_prefetch_ns +
                                       report->codec_ns);
    CHECK(report->peak_bytes <= scene->setup.budget_bytes);
}

static void check_run(struct scene *scene)
{
    pz_report report;
    pz_timeline *timeline = NULL;
    pz_diag diag = {0};
    const pz_status status = pz_simulate(&scene->setup, scene->plan, &report, &timeline, &diag);

    CHECK_STR(pz_status_name(status), scene->status);
    if (status != PZ_OK)
        CHECK_STR(diag.path, strcmp(scene->path, "-") == 0 ? "" : scene->path);
    if (status != PZ_OK || strcmp(scene->status, "PZ_OK") != 0)
        return;
    CHECK(scene->n_events > 0 && scene->n_fields > 0);
    check_lane(scene, timeline, PZ_LANE_COMPUTE);
    check_lane(scene, timeline, PZ_LANE_D2H);
    check_lane(scene, timeline, PZ_LANE_H2D);
    check_report(scene, &report);
    pz_timeline_free(timeline);
}

TEST(schedules_computed_by_hand)
{
    static char names[MAX_FILES][NAME_BYTES];
    const char *folder = PZ_SOURCE_DIR "/tests/sim/schedules";
    const size_t n = list_files(folder, names);

    CHECK(n >= 30);
    for (size_t i = 0; i < n; i++) {
        struct scene scene;
        TEST_CONTEXT("%s", names[i]);
        if (CHECK(scene_read(&scene, folder, names[i])))
            check_run(&scene);
        else
            printf("    line %u: %s\n", scene.line, scene.error);
        scene_free(&scene);
    }
}
