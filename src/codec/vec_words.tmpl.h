/* Template, parameter PZ_W: to_planes and from_planes, the transposition of vec_avx512.tmpl.h, by
 * words and bits.  The comments follow where symbol i and bit j are: r l | b | c as in
 * vec_words.h. */

#if PZ_W == 8

static inline pzi_pair to_planes_w8(pzi_pair v)
{
    /* i6 i5 i4 | i3 i2 i1 i0 | j2 j1 j0 */
    pzi_transpose8(&v);
    PZI_PERMUTE_BYTES(&v, 2, 1, 0, 3);
    /* i6 i5 i4 | j2 j1 j0 i3 | i2 i1 i0 */
    PZI_PERMUTE_WORDS(&v, 2, 1, 0, 5, 4, 3);
    return v;
}

static inline pzi_pair from_planes_w8(pzi_pair v)
{
    PZI_PERMUTE_WORDS(&v, 2, 1, 0, 5, 4, 3);
    PZI_PERMUTE_BYTES(&v, 0, 3, 2, 1);
    pzi_transpose8(&v);
    return v;
}

#elif PZ_W == 16

static inline pzi_pair to_planes_w16(pzi_pair v)
{
    /* i5 i4 i3 | i2 i1 i0 j3 | j2 j1 j0 */
    PZI_PERMUTE_BYTES(&v, 0, 3, 2, 1);
    pzi_transpose8(&v);
    /* i5 i4 i3 | j3 j2 j1 j0 | i2 i1 i0 */
    PZI_PERMUTE_WORDS(&v, 2, 1, 0, 5, 4, 3);
    /* j3 j2 j1 | i5 i4 i3 j0 | i2 i1 i0 */
    PZI_PERMUTE_BYTES(&v, 0, 3, 2, 1);
    return v;
}

static inline pzi_pair from_planes_w16(pzi_pair v)
{
    PZI_PERMUTE_BYTES(&v, 2, 1, 0, 3);
    PZI_PERMUTE_WORDS(&v, 2, 1, 0, 5, 4, 3);
    pzi_transpose8(&v);
    PZI_PERMUTE_BYTES(&v, 2, 1, 0, 3);
    return v;
}

#elif PZ_W == 32

static inline pzi_pair to_planes_w32(pzi_pair v)
{
    /* i4 i3 i2 | i1 i0 j4 j3 | j2 j1 j0 */
    PZI_PERMUTE_WORDS(&v, 5, 4, 0, 3, 2, 1);
    PZI_PERMUTE_BYTES(&v, 0, 3, 2, 1);
    /* i4 i3 j4 | j3 i2 i1 i0 | j2 j1 j0 */
    pzi_transpose8(&v);
    PZI_PERMUTE_WORDS(&v, 3, 2, 1, 0, 5, 4);
    /* j4 j3 j2 | j1 i4 i3 j0 | i2 i1 i0 */
    PZI_PERMUTE_BYTES(&v, 3, 0, 2, 1);
    return v;
}

static inline pzi_pair from_planes_w32(pzi_pair v)
{
    PZI_PERMUTE_BYTES(&v, 3, 1, 0, 2);
    PZI_PERMUTE_WORDS(&v, 1, 0, 5, 4, 3, 2);
    pzi_transpose8(&v);
    PZI_PERMUTE_BYTES(&v, 2, 1, 0, 3);
    PZI_PERMUTE_WORDS(&v, 5, 4, 2, 1, 0, 3);
    return v;
}

#elif PZ_W == 64

static inline pzi_pair to_planes_w64(pzi_pair v)
{
    /* i3 i2 i1 | i0 j5 j4 j3 | j2 j1 j0 */
    PZI_PERMUTE_WORDS(&v, 5, 1, 0, 4, 3, 2);
    PZI_PERMUTE_BYTES(&v, 0, 3, 2, 1);
    /* i3 j5 j4 | j3 i2 i1 i0 | j2 j1 j0 */
    pzi_transpose8(&v);
    PZI_PERMUTE_WORDS(&v, 4, 3, 2, 1, 0, 5);
    /* j5 j4 j3 | j2 j1 i3 j0 | i2 i1 i0 */
    PZI_PERMUTE_BYTES(&v, 3, 2, 0, 1);
    return v;
}

static inline pzi_pair from_planes_w64(pzi_pair v)
{
    PZI_PERMUTE_BYTES(&v, 3, 2, 0, 1);
    PZI_PERMUTE_WORDS(&v, 0, 5, 4, 3, 2, 1);
    pzi_transpose8(&v);
    PZI_PERMUTE_BYTES(&v, 2, 1, 0, 3);
    PZI_PERMUTE_WORDS(&v, 5, 2, 1, 0, 4, 3);
    return v;
}

#endif
