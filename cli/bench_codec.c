/* Codecs for bench: see bench_codec.h. */
#include "bench_codec.h"

bool bench_codec_is_ours(const char *name)
{
    pz_mode mode;

    return pz_mode_named(name, 8, &mode) == PZ_OK;
}

pz_status bench_codec_ours(const char *name, pz_profile profile, pz_dtype dtype, bench_codec *codec)
{
    *codec = (bench_codec){.name = name};
    return pz_mode_of(name, profile, dtype, &codec->mode);
}

pz_status bench_codec_bound(const bench_codec *self, size_t raw_bytes, size_t *bound_bytes)
{
    if (self->peer != NULL)
        return pzb_peer_bound(self->peer, raw_bytes, bound_bytes);
    return pz_stream_bound(raw_bytes, bound_bytes);
}

pz_status bench_codec_measure(const bench_codec *self, const void *raw, size_t raw_bytes)
{
    pz_stats stats;

    return pz_stream_measure_on(self->threads, self->mode, raw, raw_bytes, &stats);
}

pz_status bench_codec_encode(const bench_codec *self, const void *raw, size_t raw_bytes, void *dst,
                             size_t dst_bytes, size_t *coded_bytes)
{
    if (self->peer != NULL)
        return pzb_peer_encode(self->peer, raw, raw_bytes, dst, dst_bytes, coded_bytes);
    return pz_stream_encode_on(self->threads, self->mode, raw, raw_bytes, dst, dst_bytes,
                               coded_bytes);
}

pz_status bench_codec_decode(const bench_codec *self, const void *coded, size_t coded_bytes,
                             void *raw, size_t raw_bytes)
{
    if (self->peer != NULL)
        return pzb_peer_decode(self->peer, coded, coded_bytes, raw, raw_bytes);
    return pz_stream_decode_on(self->threads, self->mode, coded, coded_bytes, raw, raw_bytes, NULL);
}
