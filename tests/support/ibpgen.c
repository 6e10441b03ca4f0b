/* Tables and rows: see ibpgen.h. */
#include "support/ibpgen.h"

#include <stdlib.h>

static pz_ibp_shape random_shape(struct rng *rng, size_t most)
{
    const uint32_t w = 8u << rng_below(rng, 4);
    uint32_t b = w;

    while (b < PZ_IBP_GROUP_MAX_BITS && !rng_one_in(rng, 3))
        b *= 2;
    return (pz_ibp_shape){w, b, 1 + rng_below(rng, rng_one_in(rng, 2) ? most / (w / 8) : 12)};
}

static void random_masks(struct rng *rng, size_t R, uint8_t *masks, uint8_t *values)
{
    const uint64_t kind = rng_below(rng, 4);

    rng_fill(rng, masks, R);
    rng_fill(rng, values, R);
    for (size_t i = 0; i < R; i++) {
        if (kind == 0)
            masks[i] &= (uint8_t)rng_next(rng);
        if (kind == 1)
            masks[i] |= (uint8_t)rng_next(rng);
        if (kind == 2)
            masks[i] = rng_one_in(rng, 8) ? 0 : 0xff;
        values[i] &= masks[i];
    }
}

pz_ibp_table *ibpgen_table(struct rng *rng, size_t most, pz_ibp_shape *shape)
{
    pz_ibp_table *table = NULL;
    uint8_t *masks;
    size_t R;

    *shape = random_shape(rng, most);
    R = (size_t)shape->row_elements * (shape->width_bits / 8);
    masks = malloc(2 * R);
    if (masks == NULL)
        return NULL;
    random_masks(rng, R, masks, masks + R);
    pz_ibp_table_new(shape, masks, masks + R, &table);
    free(masks);
    return table;
}

void ibpgen_rows(struct rng *rng, const pz_ibp_table *table, size_t rows, uint8_t *raw)
{
    const uint8_t *const masks = pz_ibp_table_masks(table), *const values =
                                                                pz_ibp_table_values(table);
    const size_t R = pz_ibp_row_bytes(table);

    rng_fill(rng, raw, rows * R);
    for (size_t row = 0; row < rows; row++) {
        const uint64_t strays = rng_one_in(rng, 5) ? 2 : 20 + rng_below(rng, 300);

        for (size_t i = 0; i < R; i++)
            if (!rng_one_in(rng, strays))
                raw[row * R + i] = (uint8_t)((raw[row * R + i] & ~masks[i]) | values[i]);
    }
}
