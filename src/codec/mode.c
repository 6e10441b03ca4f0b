/* The codecs by name, and which modes there are. */
#include <string.h>

#include "base/dtype.h"
#include "codec/format.h"
#include "planezip/planezip.h"

static const struct {
    const char *name;
    uint32_t encodings;
    pz_format format;
} codecs[] = {
    {"planezip", PZI_ALL_TAGS, PZ_FORMAT_1},
    {"zvc", 1u << PZ_RAW | 1u << PZ_ZVC, PZ_FORMAT_1},
    {"bpc", 1u << PZ_RAW | 1u << PZ_DBX, PZ_FORMAT_1},
    {"bx", 1u << PZ_RAW | 1u << PZ_BX, PZ_FORMAT_1},
    {"zbx", 1u << PZ_RAW | 1u << PZ_ZBX, PZ_FORMAT_1},
    {"planezip2", PZ_LEVEL_NORMAL, PZ_FORMAT_2},
    {"planezip2-fast", PZ_LEVEL_FAST, PZ_FORMAT_2},
};

static bool is_width(unsigned width_bits)
{
    return width_bits == 8 || width_bits == 16 || width_bits == 32 || width_bits == 64;
}

/* docs/format2.md, "Symbols, blocks, chunks". */
static bool is_pair(uint32_t width_bits, uint32_t exponent_bits)
{
    switch (exponent_bits) {
    case 0:
        return is_width(width_bits);
    case 4:
        return width_bits == 8;
    case 5:
        return width_bits == 8 || width_bits == 16;
    case 8:
        return width_bits == 16 || width_bits == 32;
    case 11:
        return width_bits == 64;
    default:
        return false;
    }
}

bool pzi_symbols_are_valid(pz_mode mode)
{
    switch (mode.format) {
    case PZ_FORMAT_1:
        return is_width(mode.width_bits) && mode.exponent_bits == 0;
    case PZ_FORMAT_2:
        return is_pair(mode.width_bits, mode.exponent_bits);
    default:
        return false;
    }
}

bool pzi_mode_is_valid(pz_mode mode)
{
    if (!pzi_symbols_are_valid(mode))
        return false;
    if (mode.format == PZ_FORMAT_1)
        return (mode.encodings & ~PZI_ALL_TAGS) == 0;
    return mode.encodings == PZ_LEVEL_NORMAL || mode.encodings == PZ_LEVEL_FAST;
}

pz_status pz_mode_named(const char *codec, unsigned width_bits, pz_mode *mode)
{
    if (codec == NULL || mode == NULL || !is_width(width_bits))
        return PZ_ERR_ARGUMENT;
    for (unsigned i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strcmp(codec, codecs[i].name) == 0) {
            *mode = (pz_mode){width_bits, codecs[i].encodings, codecs[i].format, 0};
            return PZ_OK;
        }
    }
    return PZ_ERR_ARGUMENT;
}

pz_status pz_mode_of(const char *codec, pz_profile profile, pz_dtype dtype, pz_mode *mode)
{
    const unsigned width_bits = pz_profile_width(profile, dtype);
    pz_mode found;

    if (mode == NULL || pz_mode_named(codec, width_bits, &found) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    if (found.format == PZ_FORMAT_2) {
        found.width_bits = pz_profile_width(PZ_PROFILE_NATIVE, dtype);
        found.exponent_bits = pzi_exponent_bits(dtype);
    }
    *mode = found;
    return PZ_OK;
}
