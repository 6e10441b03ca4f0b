/* Template, parameter PZ_W: the part of the vocabulary of block.tmpl.h that needs no vectors but
 * BMI2: it moves the bits of each plane, where vec_scalar.tmpl.h moves symbols.  Used by all
 * instruction sets of x86-64, which define unplanes before. */

#if PZ_W == 8

PZI_INLINE plane_w8 extract_w8(plane_w8 b, plane_w8 mask)
{
    const unsigned low_count = pzi_count64(mask.lo);
    const uint64_t lo = _pext_u64(b.lo, mask.lo), hi = _pext_u64(b.hi, mask.hi);

    if (low_count == 64)
        return pzi_p128_of(lo, hi);
    return pzi_p128_of(lo | hi << low_count, hi >> 1 >> (63 - low_count));
}

PZI_INLINE plane_w8 deposit_w8(plane_w8 z, plane_w8 mask)
{
    const unsigned low_count = pzi_count64(mask.lo);
    const uint64_t high =
        low_count == 64 ? z.hi : z.lo >> low_count | z.hi << 1 << (63 - low_count);

    return pzi_p128_of(_pdep_u64(z.lo, mask.lo), _pdep_u64(high, mask.hi));
}

#else

PZI_INLINE PZ_PLANE PZ_CAT(extract)(PZ_PLANE b, PZ_PLANE mask)
{
    return (PZ_PLANE)_pext_u64(b, mask);
}

PZI_INLINE PZ_PLANE PZ_CAT(deposit)(PZ_PLANE z, PZ_PLANE mask)
{
    return (PZ_PLANE)_pdep_u64(z, mask);
}

#endif

PZI_INLINE void PZ_CAT(gather)(const uint8_t *bytes, const PZ_PLANE *b, PZ_PLANE mask, PZ_PLANE *z)
{
    (void)bytes;
    for (unsigned j = 0; j < PZ_W; j++)
        z[j] = PZ_CAT(extract)(b[j], mask);
}

PZI_INLINE void PZ_CAT(scatter)(const PZ_PLANE *z, PZ_PLANE mask, uint8_t *bytes)
{
    PZ_PLANE b[PZ_W];

    for (unsigned j = 0; j < PZ_W; j++)
        b[j] = PZ_CAT(deposit)(z[j], mask);
    PZ_CAT(unplanes)(b, bytes);
}
