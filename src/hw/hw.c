/* Engine cost (paper, section III-D): area, throughput and power of a compression engine, scaled
 * from the published compressor of Bit-Plane Compression. */
#include <math.h>
#include <planezip/plan.h>

void pz_engine_spec_default(pz_engine_spec *spec)
{
    *spec = (pz_engine_spec){
        .size = sizeof *spec,
        .lanes_per_direction = 2,
        .clock_hz = 1.5e9,
        .bytes_per_block = 128,
        .cycles_per_block = 4,
        .latency_cycles = 11,
        .bpc_area_um2 = 48000,
        .lane_area_factor = 3,
        .density_scaling = 16,
        .die_area_mm2 = 826,
        .bpc_power_w = 0.007,
        .bpc_clock_hz = 800e6,
        .power_scaling = 4,
    };
}

static int is_valid(const pz_engine_spec *spec)
{
    const double fields[] = {
        spec->clock_hz,        spec->bytes_per_block, spec->cycles_per_block,
        spec->latency_cycles,  spec->bpc_area_um2,    spec->lane_area_factor,
        spec->density_scaling, spec->die_area_mm2,    spec->bpc_power_w,
        spec->bpc_clock_hz,    spec->power_scaling,   spec->lanes_per_direction,
    };
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!(isfinite(fields[i]) && fields[i] > 0))
            return 0;
    return spec->size == sizeof *spec;
}

pz_status pz_engine_cost_of(const pz_engine_spec *spec, pz_engine_cost *cost)
{
    if (!is_valid(spec))
        return PZ_ERR_ARGUMENT;
    const double lanes = 2.0 * spec->lanes_per_direction; /* compressors and decompressors */
    const double lane_mm2 =
        spec->bpc_area_um2 * spec->lane_area_factor / spec->density_scaling / 1e6;
    *cost = (pz_engine_cost){
        .throughput_bps = spec->lanes_per_direction * spec->bytes_per_block * spec->clock_hz /
                          spec->cycles_per_block,
        .lane_area_mm2 = lane_mm2,
        .area_mm2 = lanes * lane_mm2,
        .die_share = lanes * lane_mm2 / spec->die_area_mm2,
        .power_w = lanes * spec->bpc_power_w * spec->lane_area_factor * spec->clock_hz /
                   spec->bpc_clock_hz / spec->power_scaling,
        .latency_ns = spec->latency_cycles / spec->clock_hz * 1e9,
    };
    return PZ_OK;
}
