/* A codec that bench times, ours or a peer, behind one set of calls. */
#ifndef CLI_BENCH_CODEC_H
#define CLI_BENCH_CODEC_H

#include "baselines/baselines.h"

#include <planezip/planezip.h>

#include <stdbool.h>

typedef struct bench_codec {
    const char *name;
    pz_mode mode;        /* of one of ours */
    pz_threads *threads; /* NULL: the calling thread */
    pzb_peer *peer;      /* NULL: it is one of ours */
} bench_codec;

/* Whether there is a codec of ours of that name. */
bool bench_codec_is_ours(const char *name);

/* One of ours for the symbols that a profile gives a type; PZ_ERR_ARGUMENT for an unknown name. */
pz_status bench_codec_ours(const char *name, pz_profile profile, pz_dtype dtype,
                           bench_codec *codec);

/* As the functions of the library and of peers.  Only ours have a size model. */
pz_status bench_codec_bound(const bench_codec *self, size_t raw_bytes, size_t *bound_bytes);
pz_status bench_codec_measure(const bench_codec *self, const void *raw, size_t raw_bytes);
pz_status bench_codec_encode(const bench_codec *self, const void *raw, size_t raw_bytes, void *dst,
                             size_t dst_bytes, size_t *coded_bytes);
pz_status bench_codec_decode(const bench_codec *self, const void *coded, size_t coded_bytes,
                             void *raw, size_t raw_bytes);

#endif
