/* Template, parameter PZ_W: which code each plane of a block gets, as sets of planes, and what the
 * codes cost together (docs/format.md, "PLANES" and "Canonical choices").  Sizes follow from counts
 * of such sets, so that an instruction set can sort many planes at once. */

/* Arrays of planes b_0 .. b_{P-1} have a zero plane b_P behind them; x_j is b_j XOR b_{j+1}. */
typedef struct PZ_CAT(marks) {
    PZ_SET some;  /* x_j is not zero */
    PZ_SET brief; /* of these: x_j is all ones, or b_j is zero */
    PZ_SET place; /* of these: x_j has a single one or two at neighbouring positions */
} PZ_CAT(marks);

#define PZ_MARKS PZ_CAT(marks)

/* Sorts a plane, given x_j, b_j and the set of just this plane. */
PZI_INLINE void PZ_CAT(mark_plane)(PZ_MARKS *marks, PZ_SET plane, PZ_PLANE x, PZ_PLANE b,
                                   PZ_PLANE all)
{
    uint32_t shape;

    if (PZ_P(is_zero)(x))
        return;
    marks->some = PZ_M(or)(marks->some, plane);
    /* Most planes have no shape: many ones, and some of b where x has none. */
    if (PZ_P(is_many)(x) && __builtin_expect(!PZ_P(is_zero)(PZ_P(and)(b, PZ_P(xor)(x, all))), 1))
        return;
    shape = PZ_P(shape)(x, b, all);
    if (shape & (PZI_SHAPE_ONES | PZI_SHAPE_RESET))
        marks->brief = PZ_M(or)(marks->brief, plane);
    if (shape & (PZI_SHAPE_ONE | PZI_SHAPE_ADJACENT))
        marks->place = PZ_M(or)(marks->place, plane);
}

/* All P planes, one after another.  `all` are the positions that exist; they may have gaps, see
 * pzi_p64_shape(). */
PZI_NOINLINE void PZ_CAT(mark_plain)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, PZ_MARKS *marks)
{
    const PZ_SET none = PZ_M(of)(0, 0);
    PZ_MARKS found = {none, none, none};
    PZ_SET plane = PZ_M(at)(0);

    for (unsigned j = 0; j < P; j++, plane = PZ_M(up)(plane))
        PZ_CAT(mark_plane)(&found, plane, PZ_P(xor)(b[j], b[j + 1]), b[j], all);
    *marks = found;
}

/* Bits of the runs of zero planes. */
PZI_INLINE unsigned PZ_CAT(runs_cost)(PZ_SET zeros)
{
    const PZ_SET pairs = PZ_M(and)(zeros, PZ_M(down)(zeros));
    const unsigned long_runs = PZ_M(count)(PZ_M(without)(pairs, PZ_M(down)(pairs)));
    const unsigned runs = PZ_M(count)(PZ_M(without)(zeros, PZ_M(down)(zeros)));

    return pzi_run_cost(1, 0) * (runs - long_runs) +
           pzi_run_cost(2, pzi_run_bits(PZ_W)) * long_runs;
}

/* Bits of PLANES, for P planes of p bits. */
PZI_INLINE unsigned PZ_CAT(planes_cost)(const PZ_MARKS *marks, unsigned P, unsigned p)
{
    const PZ_SET place = PZ_M(without)(marks->place, marks->brief);

    return PZ_CAT(runs_cost)(PZ_M(without)(PZ_M(below)(P), marks->some)) +
           PZ_M(count)(marks->some) * (1 + p) - PZ_M(count)(marks->brief) * pzi_brief_saves(p) -
           PZ_M(count)(place) * pzi_place_saves(p, pzi_position_bits(p));
}
