/* Coded sizes under every codec: see sizes.h. */
#include "sizes.h"

#include "baselines/baselines.h"

#include <math.h>

const char *const sizes_codecs[SIZES_CODECS] = {"planezip", "zvc", "bpc",       "bx",
                                                "zbx",      "bdi", "planezip2", "planezip2-fast"};

static pz_status mode_of(const char *codec, const sizes_symbols *symbols, pz_mode *mode)
{
    pz_status status = pz_mode_named(codec, symbols->width_bits, mode);

    if (status == PZ_OK && mode->format == PZ_FORMAT_2 && symbols->dtype != 0)
        status = pz_mode_of(codec, PZ_PROFILE_NATIVE, symbols->dtype, mode);
    return status;
}

static pz_status add_stream(sizes *sum, unsigned codec, const sizes_symbols *symbols,
                            const void *data, size_t bytes)
{
    pz_mode mode;
    pz_stats stats;
    pz_status status = mode_of(sizes_codecs[codec], symbols, &mode);

    if (status == PZ_OK)
        status = pz_stream_measure(mode, data, bytes, &stats);
    if (status != PZ_OK)
        return status;
    sum->coded_bytes[codec] += stats.coded_bytes;
    /* Each of the two formats has its own encodings. */
    if (codec == SIZES_PLANEZIP || codec == SIZES_PLANEZIP2)
        for (unsigned i = 0; i < PZ_ENCODINGS; i++)
            sum->blocks[i] += stats.blocks[i];
    return PZ_OK;
}

static pz_status add_bdi(sizes *sum, const void *data, size_t bytes)
{
    uint64_t bdi_bytes;
    pz_status status = pzb_bdi_measure(data, bytes, &bdi_bytes);

    if (status == PZ_OK)
        sum->coded_bytes[SIZES_BDI] += bdi_bytes;
    return status;
}

pz_status sizes_add(sizes *sum, const sizes_symbols *symbols, const void *data, size_t bytes)
{
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++) {
        const pz_status status = codec == SIZES_BDI ? add_bdi(sum, data, bytes)
                                                    : add_stream(sum, codec, symbols, data, bytes);

        if (status != PZ_OK)
            return status;
    }
    sum->raw_bytes += bytes;
    return PZ_OK;
}

void sizes_join(sizes *sum, const sizes *other)
{
    sum->raw_bytes += other->raw_bytes;
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++)
        sum->coded_bytes[codec] += other->coded_bytes[codec];
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        sum->blocks[i] += other->blocks[i];
}

double sizes_ratio(const sizes *self, unsigned codec)
{
    if (self->coded_bytes[codec] == 0)
        return NAN;
    return (double)self->raw_bytes / (double)self->coded_bytes[codec];
}

void sizes_to_bf16(const unsigned char *f32, size_t elements, unsigned char *bf16)
{
    for (size_t i = 0; i < elements; i++, f32 += 4, bf16 += 2) {
        uint32_t bits = (uint32_t)f32[0] | (uint32_t)f32[1] << 8 | (uint32_t)f32[2] << 16 |
                        (uint32_t)f32[3] << 24;

        if ((bits & 0x7fffffff) > 0x7f800000)
            bits = 0x7fc00000;
        else
            bits += 0x7fff + (bits >> 16 & 1);
        bf16[0] = (unsigned char)(bits >> 16);
        bf16[1] = (unsigned char)(bits >> 24);
    }
}
