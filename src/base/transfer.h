/* Equation 2 of the paper (section III-C), the one place where it stands: how long a tensor
 * occupies a copy queue.  The planner budgets the link with it and the engine decides with it
 * whether to bypass the codec. */
#ifndef PZI_BASE_TRANSFER_H
#define PZI_BASE_TRANSFER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* True if the codec shortens the transfer: x_t < m_t / gamma.  codec_bps of 0: there is no codec.
 */
static inline bool pzi_compression_pays(double ratio, double link_bps, double codec_bps)
{
    return codec_bps > link_bps && ratio > 1.0;
}

/* What a transfer through the codec takes, set-up apart: max(m / (c gamma), m / B_CE) in
 * nanoseconds. */
static inline double pzi_coded_transfer_ns(uint64_t bytes, double ratio, double link_bps,
                                           double codec_bps)
{
    return fmax((double)bytes * 1e9 / link_bps / ratio, (double)bytes * 1e9 / codec_bps);
}

/* x_t = min(m / gamma, max(m / (c gamma), m / B_CE)), plus the set-up of a transfer, in nanoseconds
 * rounded up; at most 2^62.  bytes is m, ratio is c, link_bps is gamma, codec_bps is B_CE. */
static inline int64_t pzi_transfer_ns(uint64_t bytes, double ratio, double link_bps,
                                      double codec_bps, int64_t setup_ns)
{
    const double most = (double)(INT64_C(1) << 62);
    double ns = (double)bytes * 1e9 / link_bps;
    if (pzi_compression_pays(ratio, link_bps, codec_bps))
        ns = pzi_coded_transfer_ns(bytes, ratio, link_bps, codec_bps);
    return setup_ns + (int64_t)fmin(ceil(ns), most);
}

#endif
