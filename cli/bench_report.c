/* What bench found: see bench_report.h. */
#define _POSIX_C_SOURCE 200809L
#include "bench_report.h"

#include "memory.h"
#include "options.h"
#include "table.h"
#include "units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static column columns[] = {
    {"data", "data", COLUMN_TEXT},
    {"dtype", "type", COLUMN_TEXT},
    {"width_bits", "w", COLUMN_COUNT},
    {"codec", "codec", COLUMN_TEXT},
    {"version", NULL, COLUMN_TEXT},
    {"isa", "isa", COLUMN_TEXT},
    {"threads", "T", COLUMN_COUNT},
    {"clock", "clock", COLUMN_TEXT},
    {"raw_bytes", NULL, COLUMN_COUNT},
    {"coded_bytes", NULL, COLUMN_COUNT},
    {"ratio", "ratio", COLUMN_RATIO},
    {"size_model_bps", "size", COLUMN_RATE},
    {"encode_bps", "encode", COLUMN_RATE},
    {"decode_bps", "decode", COLUMN_RATE},
    {"memcpy_bps", NULL, COLUMN_RATE},
    {"size_model_per_memcpy", "size/mem", COLUMN_RATIO},
    {"encode_per_memcpy", "enc/mem", COLUMN_RATIO},
    {"decode_per_memcpy", "dec/mem", COLUMN_RATIO},
    {"size_model_block_cycles", NULL, COLUMN_COUNT},
    {"encode_block_cycles", NULL, COLUMN_COUNT},
    {"decode_block_cycles", NULL, COLUMN_COUNT},
    {"encode_call_ns", NULL, COLUMN_COUNT},
    {"decode_call_ns", NULL, COLUMN_COUNT},
};

static void put_text(table *results, const char *text)
{
    if (text != NULL)
        table_text(results, text);
    else
        table_none(results);
}

/* 0 is none. */
static void put_real(table *results, double value)
{
    table_real(results, value > 0 ? value : (double)NAN);
}

static void put_cycles(table *results, double core_hz, double bps)
{
    if (bps > 0 && core_hz > 0)
        table_int(results, lround(PZ_BLOCK_BYTES * core_hz / bps));
    else
        table_none(results);
}

static void put_ns(table *results, double ns)
{
    if (ns > 0)
        table_int(results, lround(ns));
    else
        table_none(results);
}

static void put_row(table *results, const bench_report *self, const bench_row *line)
{
    const bench_result *result = &line->result;
    const double bps[] = {result->measure_bps, result->encode_bps, result->decode_bps};

    table_text(results, line->set->name);
    table_text(results, pz_dtype_name(line->set->dtype));
    if (line->width_bits > 0)
        table_int(results, line->width_bits);
    else
        table_none(results);
    table_text(results, line->codec);
    put_text(results, line->version);
    put_text(results, line->isa);
    table_int(results, line->threads);
    table_text(results, bench_clock_name(line->clock));
    table_size(results, self->raw_bytes);
    table_size(results, result->coded_bytes);
    table_real(results, (double)self->raw_bytes / (double)result->coded_bytes);
    for (size_t i = 0; i < LENGTH(bps); i++)
        put_real(results, bps[i]);
    table_real(results, line->memcpy_bps);
    for (size_t i = 0; i < LENGTH(bps); i++)
        put_real(results, bps[i] / line->memcpy_bps);
    for (size_t i = 0; i < LENGTH(bps); i++)
        put_cycles(results, self->core_hz, bps[i]);
    put_ns(results, result->encode_call_ns);
    put_ns(results, result->decode_call_ns);
}

/* The name of the processor; "unknown" where the system does not tell it in this way. */
static const char *cpu_name(void)
{
    static const char key[] = "model name";
    FILE *file = fopen("/proc/cpuinfo", "r");
    const char *name = "unknown";
    char line[256];

    if (file == NULL)
        return name;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, key, sizeof key - 1) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            name = memory_text("%s", colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    fclose(file);
    return name;
}

static table *make_table(const bench_report *self)
{
    table *results = table_new(columns, LENGTH(columns));

    for (size_t i = 0; i < self->count; i++)
        put_row(results, self, &self->rows[i]);
    return results;
}

/* ---- Text ---- */

static void set_title(const char *field, const char *title)
{
    for (size_t i = 0; i < LENGTH(columns); i++)
        if (strcmp(columns[i].field, field) == 0)
            columns[i].title = title;
}

/* What text shows depends on what there is to see. */
static void set_titles(const bench_report *self)
{
    bool is_one = true;

    for (size_t i = 1; i < self->count; i++)
        is_one = is_one && strcmp(self->rows[i].set->name, self->rows[0].set->name) == 0;
    if (is_one)
        set_title("data", NULL);
    /* Where memcpy is not as fast as on most machines, cycles tell more. */
    if (self->memcpy_bps >= 6e9 && self->memcpy_bps <= 8e9)
        return;
    set_title("size_model_block_cycles", "size cyc");
    set_title("encode_block_cycles", "enc cyc");
    set_title("decode_block_cycles", "dec cyc");
}

static void print_giga(const char *name, double value, const char *unit)
{
    if (value > 0)
        printf("%s %.2f G%s", name, value / 1e9, unit);
}

void bench_report_text(const bench_report *self)
{
    char size[UNITS_TEXT];

    printf("%s, %s of data, median of %u runs\n", cpu_name(), units_bytes(self->raw_bytes, size),
           self->runs);
    print_giga("memcpy", self->memcpy_bps, "B/s");
    print_giga(", non-temporal copy", self->copy_bps, "B/s");
    print_giga(", core clock", self->core_hz, "Hz");
    printf("\n");
    set_titles(self);
    table_print(make_table(self), NULL);
    for (size_t i = 0; i < self->missing_count; i++)
        printf("%s%s%s", i == 0 ? "Not on this machine: " : ", ", self->missing_peers[i],
               i + 1 == self->missing_count ? "\n" : "");
}

void bench_report_csv(const bench_report *self)
{
    table_csv(make_table(self));
}

/* ---- JSON ---- */

static json_t *missing_json(const bench_report *self)
{
    json_t *names = json_array();

    for (size_t i = 0; i < self->missing_count; i++)
        if (json_array_append_new(names, json_string(self->missing_peers[i])) != 0)
            memory_fail();
    return names;
}

static json_t *machine_json(void)
{
    const json_int_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    return json_pack("{s:s, s:I, s:I}", "cpu", cpu_name(), "processors",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_bytes", pages * page_bytes);
}

static json_t *positive_json(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

void bench_report_json(const bench_report *self)
{
    json_show(json_pack("{s:s, s:o, s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "version", pz_version(),
                        "machine", machine_json(), "size_bytes", (json_int_t)self->raw_bytes,
                        "runs", (json_int_t)self->runs, "memcpy_bps", self->memcpy_bps, "copy_bps",
                        positive_json(self->copy_bps), "core_hz", positive_json(self->core_hz),
                        "missing_peers", missing_json(self), "rows", table_json(make_table(self))),
              stdout);
}
