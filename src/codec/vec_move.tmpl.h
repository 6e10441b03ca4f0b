/* Template, parameter PZ_W: gather and scatter, the part of the vocabulary of block.tmpl.h that
 * moves symbols, one after another, where vec_bmi2.tmpl.h moves the bits of each plane.  Builds on
 * planes and unplanes. */

static inline void PZ_CAT(gather)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE mask,
                                  PZ_PLANE *z)
{
    uint8_t front[PZ_BLOCK_BYTES] = {0};
    unsigned n = 0;

    (void)b;
    for (; !PZ_P(is_zero)(mask); mask = PZ_P(rest)(mask))
        PZ_STORE(front, n++, PZ_LOAD(bytes, PZ_P(lowest)(mask)));
    PZ_CAT(planes)(front, z);
}

static inline void PZ_CAT(scatter)(const PZ_PLANE *z, PZ_PLANE mask, uint8_t *bytes)
{
    uint8_t front[PZ_BLOCK_BYTES];
    unsigned n = 0;

    PZ_CAT(unplanes)(z, front);
    memset(bytes, 0, PZ_BLOCK_BYTES);
    for (; !PZ_P(is_zero)(mask); mask = PZ_P(rest)(mask), n++)
        PZ_STORE(bytes, PZ_P(lowest)(mask), PZ_LOAD(front, n));
}
