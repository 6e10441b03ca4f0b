/* planezip hw: area, throughput and power of a compression engine. */
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "table.h"
#include "units.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static struct {
    pz_engine_spec spec;
    bool json;
} options;

static const char *parse_lanes(const char *text, void *target)
{
    uint64_t lanes;
    const char *problem = units_parse_count(text, &lanes);

    if (problem != NULL)
        return problem;
    if (lanes == 0 || lanes > 65536)
        return "it must be 1 to 65536";
    *(uint32_t *)target = (uint32_t)lanes;
    return NULL;
}

static const char *parse_number(const char *text, void *target)
{
    return units_parse_positive(text, target);
}

static const char *parse_hertz(const char *text, void *target)
{
    return units_parse_hertz(text, target);
}

/* The help texts get the defaults in prepare(). */
static option hw_options[] = {
    OPTION('n', "lanes", "N", parse_lanes, &options.spec.lanes_per_direction,
           "lanes per direction"),
    OPTION(0, "clock", "GHz", parse_hertz, &options.spec.clock_hz,
           "clock of the engine; MHz with the unit"),
    OPTION(0, "bytes-per-block", "BYTES", parse_number, &options.spec.bytes_per_block,
           "raw bytes of a block"),
    OPTION(0, "cycles-per-block", "N", parse_number, &options.spec.cycles_per_block,
           "cycles between two blocks of a lane"),
    OPTION(0, "latency-cycles", "N", parse_number, &options.spec.latency_cycles,
           "cycles from a block's begin to its end"),
    OPTION(0, "bpc-area", "UM2", parse_number, &options.spec.bpc_area_um2,
           "area of BPC's compressor in its process, in square micrometers"),
    OPTION(0, "lane-area-factor", "X", parse_number, &options.spec.lane_area_factor,
           "area of a lane over BPC's compressor"),
    OPTION(0, "density-scaling", "X", parse_number, &options.spec.density_scaling,
           "area in BPC's process over area in the target process"),
    OPTION(0, "die-area", "MM2", parse_number, &options.spec.die_area_mm2,
           "area of the GPU in square millimeters"),
    OPTION(0, "bpc-power", "W", parse_number, &options.spec.bpc_power_w,
           "power of BPC's compressor"),
    OPTION(0, "bpc-clock", "GHz", parse_hertz, &options.spec.bpc_clock_hz,
           "clock at which it was given"),
    OPTION(0, "power-scaling", "X", parse_number, &options.spec.power_scaling,
           "energy per operation in BPC's process over the target process"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

static const column columns[] = {
    {"lanes_per_direction", "lanes per direction", COLUMN_COUNT},
    {"clock_hz", NULL, COLUMN_NUMBER},
    {"bytes_per_block", NULL, COLUMN_NUMBER},
    {"cycles_per_block", NULL, COLUMN_NUMBER},
    {"latency_cycles", NULL, COLUMN_NUMBER},
    {"bpc_area_um2", NULL, COLUMN_NUMBER},
    {"lane_area_factor", NULL, COLUMN_NUMBER},
    {"density_scaling", NULL, COLUMN_NUMBER},
    {"die_area_mm2", NULL, COLUMN_NUMBER},
    {"bpc_power_w", NULL, COLUMN_NUMBER},
    {"bpc_clock_hz", NULL, COLUMN_NUMBER},
    {"power_scaling", NULL, COLUMN_NUMBER},
    {"throughput_bps", "throughput per direction", COLUMN_GBPS},
    {"lane_area_mm2", "area of a lane, mm2", COLUMN_NUMBER},
    {"area_mm2", "area of all lanes, mm2", COLUMN_NUMBER},
    {"die_share", "share of the die", COLUMN_SHARE},
    {"power_w", "power of all lanes, W", COLUMN_NUMBER},
    {"latency_ns", "latency of a block, ns", COLUMN_NUMBER},
};

static void fill(table *results, const pz_engine_spec *spec, const pz_engine_cost *cost)
{
    const double inputs[] = {spec->clock_hz,        spec->bytes_per_block, spec->cycles_per_block,
                             spec->latency_cycles,  spec->bpc_area_um2,    spec->lane_area_factor,
                             spec->density_scaling, spec->die_area_mm2,    spec->bpc_power_w,
                             spec->bpc_clock_hz,    spec->power_scaling};
    const double outputs[] = {cost->throughput_bps, cost->lane_area_mm2, cost->area_mm2,
                              cost->die_share,      cost->power_w,       cost->latency_ns};

    table_int(results, spec->lanes_per_direction);
    for (size_t i = 0; i < LENGTH(inputs); i++)
        table_real(results, inputs[i]);
    for (size_t i = 0; i < LENGTH(outputs); i++)
        table_real(results, outputs[i]);
}

static void add_default(option *entry)
{
    if (entry->parse == parse_lanes)
        entry->help = memory_text("%s (%" PRIu32 ")", entry->help, *(uint32_t *)entry->target);
    else if (entry->parse == parse_number)
        entry->help = memory_text("%s (%g)", entry->help, *(double *)entry->target);
    else if (entry->parse == parse_hertz)
        entry->help = memory_text("%s (%g)", entry->help, *(double *)entry->target / 1e9);
}

static void prepare(void)
{
    pz_engine_spec_default(&options.spec);
    for (option *entry = hw_options; entry->name != NULL; entry++)
        add_default(entry);
}

static bool is_finite(const pz_engine_cost *cost)
{
    return isfinite(cost->throughput_bps) && isfinite(cost->lane_area_mm2) &&
           isfinite(cost->area_mm2) && isfinite(cost->die_share) && isfinite(cost->power_w) &&
           isfinite(cost->latency_ns);
}

static int run(char **operands, size_t count)
{
    table *results = table_new(columns, LENGTH(columns));
    pz_engine_cost cost;

    (void)operands;
    (void)count;
    if (pz_engine_cost_of(&options.spec, &cost) != PZ_OK || !is_finite(&cost))
        return fail_usage("the numbers lead out of the range of the model");
    fill(results, &options.spec, &cost);
    if (options.json)
        json_show(table_row_json(results, 0), stdout);
    else
        table_record(results, stdout);
    return STATUS_OK;
}

static const command commands[] = {{
    .name = "hw",
    .usage = "[OPTIONS]",
    .summary = "Estimate throughput, area and power of a compression engine.",
    .details = "Defaults are those of the paper; -v prints all inputs too.",
    .options = hw_options,
    .prepare = prepare,
    .run = run,
}};

const verb verb_hw = {.name = "hw", .commands = commands, .count = 1};
