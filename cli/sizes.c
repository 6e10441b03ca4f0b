/* Coded sizes under every codec: see sizes.h. */
#include "sizes.h"

#include "baselines/baselines.h"

#include <math.h>

const char *const sizes_codecs[SIZES_CODECS] = {"planezip", "zvc", "bpc", "bx", "zbx", "bdi"};

pz_status sizes_add(sizes *sum, unsigned width_bits, const void *data, size_t bytes)
{
    pz_status status;
    uint64_t bdi_bytes;

    for (unsigned codec = 0; codec < SIZES_BDI; codec++) {
        pz_mode mode;
        pz_stats stats;

        status = pz_mode_named(sizes_codecs[codec], width_bits, &mode);
        if (status == PZ_OK)
            status = pz_stream_measure(mode, data, bytes, &stats);
        if (status != PZ_OK)
            return status;
        sum->coded_bytes[codec] += stats.coded_bytes;
        for (unsigned tag = 0; codec == SIZES_PLANEZIP && tag < SIZES_TAGS; tag++)
            sum->blocks[tag] += stats.blocks[tag];
    }
    status = pzb_bdi_measure(data, bytes, &bdi_bytes);
    if (status != PZ_OK)
        return status;
    sum->coded_bytes[SIZES_BDI] += bdi_bytes;
    sum->raw_bytes += bytes;
    return PZ_OK;
}

void sizes_join(sizes *sum, const sizes *other)
{
    sum->raw_bytes += other->raw_bytes;
    for (unsigned codec = 0; codec < SIZES_CODECS; codec++)
        sum->coded_bytes[codec] += other->coded_bytes[codec];
    for (unsigned tag = 0; tag < SIZES_TAGS; tag++)
        sum->blocks[tag] += other->blocks[tag];
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
