/* Engine cost: the figures of section III-D, and every field out of range. */
#include <math.h>
#include <planezip/plan.h>

#include "support/test.h"

static bool near(double value, double figure, double tolerance)
{
    return fabs(value - figure) <= tolerance;
}

/* "two lanes ... at 1.5 GHz deliver 96 GB/s per direction", "0.036 mm2 for the four lanes, 0.004 %
 * of an 826 mm2 die", "well under 0.1 W of" BPC's 7 mW; 11 cycles. */
TEST(figures_of_the_paper)
{
    pz_engine_spec spec;
    pz_engine_cost cost;

    pz_engine_spec_default(&spec);
    CHECK_EQ_I64(pz_engine_cost_of(&spec, &cost), PZ_OK);
    CHECK(near(cost.throughput_bps, 96e9, 1));
    CHECK(near(cost.lane_area_mm2, 0.009, 1e-9));
    CHECK(near(cost.area_mm2, 0.036, 1e-9));
    CHECK(near(cost.die_share, 0.00004358, 1e-8));
    /* 4 lanes * 7 mW * 3 * 1.5 / 0.8, a quarter of it in the newer process */
    CHECK(near(cost.power_w, 0.1575 / 4, 1e-9));
    CHECK(near(cost.latency_ns, 11 / 1.5, 1e-9));
}

TEST(scaling)
{
    pz_engine_spec spec;
    pz_engine_cost one, two;

    pz_engine_spec_default(&spec);
    CHECK_EQ_I64(pz_engine_cost_of(&spec, &one), PZ_OK);
    spec.lanes_per_direction = 4;
    spec.power_scaling = 8;
    CHECK_EQ_I64(pz_engine_cost_of(&spec, &two), PZ_OK);
    CHECK(near(two.throughput_bps, 2 * one.throughput_bps, 1));
    CHECK(near(two.area_mm2, 2 * one.area_mm2, 1e-12));
    CHECK(near(two.lane_area_mm2, one.lane_area_mm2, 1e-12));
    CHECK(near(two.power_w, one.power_w, 1e-12));
    CHECK(near(two.latency_ns, one.latency_ns, 1e-12));
}

TEST(fields_out_of_range)
{
    static const double bad[] = {0, -1, NAN, INFINITY};
    pz_engine_spec spec;
    pz_engine_cost cost;

    for (size_t b = 0; b < 4; b++) {
        for (int field = 0; field < 11; field++) {
            pz_engine_spec_default(&spec);
            double *fields[] = {
                &spec.clock_hz,        &spec.bytes_per_block, &spec.cycles_per_block,
                &spec.latency_cycles,  &spec.bpc_area_um2,    &spec.lane_area_factor,
                &spec.density_scaling, &spec.die_area_mm2,    &spec.bpc_power_w,
                &spec.bpc_clock_hz,    &spec.power_scaling};
            *fields[field] = bad[b];
            TEST_CONTEXT("field %d, %g", field, bad[b]);
            CHECK_EQ_I64(pz_engine_cost_of(&spec, &cost), PZ_ERR_ARGUMENT);
        }
    }
    pz_engine_spec_default(&spec);
    spec.lanes_per_direction = 0;
    CHECK_EQ_I64(pz_engine_cost_of(&spec, &cost), PZ_ERR_ARGUMENT);
    pz_engine_spec_default(&spec);
    spec.size--;
    CHECK_EQ_I64(pz_engine_cost_of(&spec, &cost), PZ_ERR_ARGUMENT);
}
