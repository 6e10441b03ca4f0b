/* The steps of a segment: encode, put, get, decode; and the decision to leave out the codec. */
#include <math.h>
#include <string.h>

#include "base/transfer.h"
#include "engine/state.h"

/* Of so many tensors that the codec seems too slow for, one is coded all the same. */
enum { PROBE = 32 };

/* ---- Steps ----------------------------------------------------------------------------------- */

static pz_status measure(struct pz_swap *swap, struct pzi_segment *segment, const uint8_t *from,
                         size_t bytes)
{
    pz_stats stats = {0};
    const pz_status status =
        pz_stream_measure_on(swap->engine->options.threads, swap->mode, from, bytes, &stats);

    segment->bytes = (uint32_t)(stats.coded_bytes < bytes ? stats.coded_bytes : bytes);
    return status;
}

/* A segment that would not shrink is stored as it is. */
pz_status pzi_encode(struct pz_swap *swap, size_t i, uint8_t *buffer)
{
    struct pzi_segment *const segment = &swap->segments[i];
    const size_t bytes = pzi_segment_raw(swap, i);
    const uint8_t *const from =
        bytes != 0 ? swap->data + i * swap->engine->options.segment_bytes : NULL;
    size_t coded = bytes;

    if (swap->is_measured)
        return measure(swap, segment, from, bytes);
    if (!swap->stats.bypassed) {
        const pz_status status =
            pz_stream_encode_on(swap->engine->options.threads, swap->mode, from, bytes, buffer,
                                swap->engine->slot_bytes, &coded);

        if (status != PZ_OK)
            return status;
    }
    segment->is_coded = coded < bytes;
    segment->bytes = (uint32_t)(segment->is_coded ? coded : bytes);
    if (!segment->is_coded && bytes != 0)
        memcpy(buffer, from, bytes);
    return PZ_OK;
}

pz_status pzi_put(struct pz_swap *swap, size_t i, uint8_t *buffer)
{
    struct pzi_tier *const tier = swap->engine->tier;

    return swap->is_measured ? PZ_OK : tier->put(tier, &swap->place, i, buffer);
}

pz_status pzi_get(struct pz_swap *swap, size_t i, uint8_t *buffer)
{
    struct pzi_tier *const tier = swap->engine->tier;

    return tier->get(tier, &swap->place, i, buffer);
}

/* What is not a stream any more has been damaged: the encoder writes no other. */
pz_status pzi_decode(struct pz_swap *swap, size_t i, uint8_t *buffer)
{
    const struct pzi_segment *const segment = &swap->segments[i];
    const size_t bytes = pzi_segment_raw(swap, i);
    uint8_t *const to = bytes != 0 ? swap->to + i * swap->engine->options.segment_bytes : NULL;

    if (segment->is_coded)
        return pz_stream_decode_on(swap->engine->options.threads, swap->mode, buffer,
                                   segment->bytes, to, bytes, NULL) == PZ_OK
                   ? PZ_OK
                   : PZ_ERR_CHECK;
    if (bytes != 0)
        memcpy(to, buffer, bytes);
    return PZ_OK;
}

/* ---- Equation 2 ------------------------------------------------------------------------------ */

/* How much longer a tensor takes with the codec than without, in nanoseconds; 0 as long as a rate
 * is not known.  In memory there is no link to be relieved, unless one is emulated. */
static double loss_ns(const struct pz_swap *swap, pz_direction direction)
{
    const pz_engine_options *const options = &swap->engine->options;
    const struct pzi_pipe *const pipe = &swap->engine->pipes[direction];
    const double ratio = swap->ratio != 0 ? swap->ratio : INFINITY;
    double link_bps = options->link_bps[direction], codec_bps = options->codec_bps;

    if (link_bps == 0 && options->tier != PZ_TIER_MEMORY)
        link_bps = pzi_bps(&pipe->move);
    if (codec_bps == 0)
        codec_bps = pzi_bps(&pipe->code);
    if (link_bps == 0 || codec_bps == 0)
        return 0;
    return pzi_coded_transfer_ns(swap->stats.raw_bytes, ratio, link_bps, codec_bps) -
           (double)swap->stats.raw_bytes * 1e9 / link_bps;
}

/* The codec is too slow, unless it is time to measure again whether it still is. */
static bool is_too_slow(struct pz_swap *swap)
{
    if (loss_ns(swap, PZ_OUT) + loss_ns(swap, PZ_IN) <= 0)
        return false;
    return ++swap->engine->left_out % PROBE != 0 || swap->engine->options.codec_bps != 0;
}

bool pzi_decide_bypass(struct pz_swap *swap)
{
    const pz_bypass bypass = swap->engine->options.bypass;

    if (swap->is_measured || bypass == PZ_BYPASS_NEVER)
        return false;
    return bypass == PZ_BYPASS_ALWAYS || (swap->ratio != 0 && swap->ratio <= 1) ||
           is_too_slow(swap);
}
