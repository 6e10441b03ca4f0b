/* What compression in device memory costs and gives.  See lane.h. */
#include "sim/lane.h"

#include <math.h>

/* So that the work of a lane can be counted. */
#define MOST_NS 0x1p46

static double rate_bps(const pz_platform *platform, pz_compress compress)
{
    switch (compress) {
    case PZ_COMPRESS_SPARE:
    case PZ_COMPRESS_SECOND:
        return platform->engine_bps;
    case PZ_COMPRESS_SOFTWARE:
        return platform->software_bps;
    default:
        return 0;
    }
}

int64_t pzi_pack_ns(const pzi_work *work, pz_compress compress, size_t saved)
{
    const double bps = rate_bps(work->platform, compress);
    const double bytes = (double)pzi_saved_bytes(work, saved);
    const double ns = bps > 0 ? ceil(bytes / bps * 1e9) : MOST_NS;
    return work->platform->transfer_ns + (int64_t)fmin(ns, MOST_NS);
}

int64_t pzi_pack_compute_ns(const pzi_work *work, pz_compress compress, size_t saved)
{
    if (compress != PZ_COMPRESS_SOFTWARE)
        return 0;
    const double ns = (double)pzi_saved_bytes(work, saved) / work->platform->software_bps * 1e9;
    return (int64_t)fmin(work->platform->software_share * ns, MOST_NS);
}

uint64_t pzi_pack_frees(const pzi_work *work, const pz_setup *setup, size_t saved, double ratio)
{
    const uint64_t bytes = pzi_saved_bytes(work, saved);
    const uint64_t slot = setup->slot_bytes > 0 ? setup->slot_bytes : PZ_SLOT_BYTES_DEFAULT;
    if (setup->compress == PZ_COMPRESS_NONE || ratio <= 1 ||
        rate_bps(work->platform, setup->compress) <= 0)
        return 0;
    const uint64_t coded = (uint64_t)ceil((double)bytes / ratio);
    if (coded >= bytes || bytes - coded < slot)
        return 0;
    const uint64_t slots = coded / slot + (coded % slot > 0);
    return slots * slot < bytes ? bytes - slots * slot : 0;
}

/* A swap of m bytes in x seconds needs m / x of the engine's rate if it is compressed. */
int64_t pzi_spare_rate(const pzi_work *work, pz_compress compress, size_t saved, double ratio,
                       bool to_host)
{
    const pz_platform *platform = work->platform;
    const uint64_t bytes = pzi_saved_bytes(work, saved);
    const int64_t ns = pz_platform_transfer_ns(platform, bytes, ratio, to_host);
    if (compress != PZ_COMPRESS_SPARE || platform->engine_bps <= 0 ||
        ns == pz_platform_transfer_ns(platform, bytes, 1.0, to_host))
        return PZI_FULL_RATE;
    const double share = (double)bytes / platform->engine_bps * 1e9 / (double)ns;
    return PZI_FULL_RATE - (int64_t)ceil(fmin(share, 1) * (double)PZI_FULL_RATE);
}
