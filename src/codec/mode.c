/* The codecs by name. */
#include <string.h>

#include "codec/format.h"
#include "planezip/planezip.h"

static const struct {
    const char *name;
    uint32_t encodings;
} codecs[] = {
    {"planezip", PZI_ALL_ENCODINGS},      {"zvc", 1u << PZ_RAW | 1u << PZ_ZVC},
    {"bpc", 1u << PZ_RAW | 1u << PZ_DBX}, {"bx", 1u << PZ_RAW | 1u << PZ_BX},
    {"zbx", 1u << PZ_RAW | 1u << PZ_ZBX},
};

pz_status pz_mode_named(const char *codec, unsigned width_bits, pz_mode *mode)
{
    if (codec == NULL || mode == NULL)
        return PZ_ERR_ARGUMENT;
    if (width_bits != 8 && width_bits != 16 && width_bits != 32 && width_bits != 64)
        return PZ_ERR_ARGUMENT;
    for (unsigned i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strcmp(codec, codecs[i].name) == 0) {
            mode->width_bits = width_bits;
            mode->encodings = codecs[i].encodings;
            return PZ_OK;
        }
    }
    return PZ_ERR_ARGUMENT;
}
