/* Template, parameter PZ_W: size model, encoder and decoder of the blocks of one symbol width
 * (docs/format.md, "Block" and "PLANES"), for one instruction set.  The including file has defined
 * the vocabulary (see vec_scalar.tmpl.h) and included marks.tmpl.h; all else here is integer code
 * on plane words.  Ends with measure_blocks, encode_blocks and decode_blocks, the entries of
 * pzi_width_ops.
 *
 * Names follow the format: N symbols, p bits per plane, P planes b_j, x_j their XOR, n non-zeros.
 */

/* What the size model and the encoder look at.  What belongs to an encoding is filled if it is
 * allowed, and for ZBX if there are zero symbols. */
typedef struct PZ_CAT(view) {
    PZ_PLANE symbol_planes[PZ_ROOM + PZ_W + 1]; /* the arrays of planes end with a zero plane */
    PZ_PLANE delta_planes[PZ_ROOM + PZ_W + 2];
    PZ_PLANE nonzero;
    unsigned n;
    PZ_MARKS symbols, deltas, nonzeros;
} PZ_CAT(view);

#define PZ_VIEW PZ_CAT(view)
#define PZ_B(view) ((view)->symbol_planes + PZ_ROOM) /* of the symbols */
#define PZ_D(view) ((view)->delta_planes + PZ_ROOM)  /* of the deltas */

/* ---- Size model ----------------------------------------------------------------------------- */

PZI_INLINE void PZ_CAT(look)(PZ_VIEW *view, const uint8_t *raw)
{
    PZ_B(view)[PZ_W] = PZ_P(of)(0, 0);
    PZ_D(view)[PZ_W + 1] = PZ_P(of)(0, 0);
    PZ_CAT(planes)(raw, PZ_B(view));
    view->nonzero = PZ_CAT(nonzero)(raw, PZ_B(view));
    view->n = PZ_P(count)(view->nonzero);
}

PZI_INLINE unsigned PZ_CAT(symbols_cost)(PZ_VIEW *view)
{
    PZ_CAT(mark)(PZ_B(view), PZ_W, PZ_P(below)(PZ_N), false, &view->symbols);
    return PZ_CAT(planes_cost)(&view->symbols, PZ_W, PZ_N);
}

PZI_INLINE unsigned PZ_CAT(deltas_cost)(PZ_VIEW *view, const uint8_t *raw)
{
    PZ_CAT(delta_planes)(raw, PZ_B(view), PZ_D(view));
    PZ_CAT(mark)(PZ_D(view), PZ_W + 1, PZ_P(below)(PZ_N - 1), false, &view->deltas);
    return PZ_CAT(planes_cost)(&view->deltas, PZ_W + 1, PZ_N - 1);
}

/* Of the planes with gaps, which cost as much as without. */
PZI_INLINE unsigned PZ_CAT(nonzeros_cost)(PZ_VIEW *view)
{
    if (view->n == 0)
        return 0;
    PZ_CAT(mark)(PZ_B(view), PZ_W, view->nonzero, true, &view->nonzeros);
    return PZ_CAT(planes_cost)(&view->nonzeros, PZ_W, view->n);
}

/* The canonical encoding of a block; *bits is its size with the tag. */
PZI_INLINE pz_encoding PZ_CAT(choose)(PZ_VIEW *view, uint32_t encodings, const uint8_t *raw,
                                      unsigned *bits)
{
    unsigned cost[PZI_TAGS] = {PZI_BLOCK_BITS, UINT_MAX, UINT_MAX, UINT_MAX, UINT_MAX};
    pz_encoding best = PZ_RAW;

    if (encodings & 1u << PZ_ZVC)
        cost[PZ_ZVC] = PZ_N + view->n * PZ_W;
    if (encodings & 1u << PZ_BX)
        cost[PZ_BX] = PZ_CAT(symbols_cost)(view);
    if (encodings & 1u << PZ_DBX)
        cost[PZ_DBX] = PZ_W + PZ_CAT(deltas_cost)(view, raw);
    /* Without zeros ZBX is BX and a mask. */
    if ((encodings & 1u << PZ_ZBX) && !(view->n == PZ_N && (encodings & 1u << PZ_BX)))
        cost[PZ_ZBX] = PZ_N + PZ_CAT(nonzeros_cost)(view);
    for (unsigned tag = PZ_RAW + 1; tag < PZI_TAGS; tag++)
        if (cost[tag] < cost[best])
            best = (pz_encoding)tag;
    *bits = PZI_TAG_BITS + cost[best];
    return best;
}

static void PZ_CAT(measure_blocks)(uint32_t encodings, const uint8_t *raw, unsigned blocks,
                                   pz_stats *stats)
{
    PZ_VIEW view;
    unsigned bits;

    for (unsigned block = 0; block < blocks; block++) {
        const uint8_t *const from = raw + block * PZ_BLOCK_BYTES;

        PZ_CAT(look)(&view, from);
        stats->blocks[PZ_CAT(choose)(&view, encodings, from, &bits)]++;
        stats->payload_bits += bits;
    }
}

/* ---- Encoder -------------------------------------------------------------------------------- */

/* The lowest p bits of a plane. */
PZI_INLINE void PZ_CAT(put_plane)(struct pzi_bit_writer *writer, PZ_PLANE plane, unsigned p)
{
    pzi_put(writer, PZ_P(piece)(plane, 0), p < 64 ? p : 64);
    if (p > 64)
        pzi_put(writer, PZ_P(piece)(plane, 1), p - 64);
}

PZI_INLINE void PZ_CAT(put_verbatim)(struct pzi_bit_writer *writer, PZ_PLANE x, unsigned p)
{
    if (PZ_N <= 32) {
        pzi_put_short(writer, PZI_CODE_VERBATIM | PZ_P(piece)(x, 0) << 1, 1 + p);
    } else {
        pzi_put_short(writer, PZI_CODE_VERBATIM, 1);
        PZ_CAT(put_plane)(writer, x, p);
    }
}

/* The codes of x_j, which is not zero, but verbatim. */
PZI_INLINE pzi_code PZ_CAT(code_of)(PZ_PLANE x, bool brief, unsigned p)
{
    if (brief)
        return pzi_brief_code(PZ_P(equal)(x, PZ_P(below)(p)));
    return pzi_place_code(PZ_P(is_zero)(PZ_P(rest)(x)), PZ_P(lowest)(x), pzi_position_bits(p));
}

/* Planes j-1 .. end, where end is the result, are none of `others`. */
PZI_INLINE unsigned PZ_CAT(end_of_run)(PZ_SET others, unsigned j)
{
    const PZ_SET below = PZ_M(and)(others, PZ_M(below)(j));

    return PZ_M(is_zero)(below) ? 0 : PZ_M(highest)(below) + 1;
}

/* Planes j-1 .. end. */
PZI_INLINE void PZ_CAT(put_verbatims)(struct pzi_bit_writer *writer, const PZ_PLANE *b, unsigned j,
                                      unsigned end, unsigned p)
{
    for (j = PZ_CAT(put_run)(writer, b, j, end, p); j > end; j--)
        PZ_CAT(put_verbatim)(writer, PZ_P(xor)(b[j - 1], b[j]), p);
}

/* The marks may be those of the same planes with gaps.  Works on a copy of the writer, which then
 * stays in registers. */
PZI_INLINE void PZ_CAT(put_planes)(struct pzi_bit_writer *writer, const PZ_PLANE *b,
                                   const PZ_MARKS *marks, unsigned P, unsigned p)
{
    const PZ_SET none = PZ_M(of)(0, 0), brief = p < PZI_MIN_BRIEF ? none : marks->brief;
    const PZ_SET coded = PZ_M(or)(brief, p < PZI_MIN_PLACE ? none : marks->place);
    const PZ_SET verbatim = PZ_M(without)(marks->some, coded);
    const PZ_SET others = PZ_M(without)(PZ_M(below)(P), verbatim);
    struct pzi_bit_writer to = *writer;
    unsigned j = P; /* planes j-1 .. 0 are still to be written */

    while (j > 0) {
        unsigned end;
        pzi_code code;

        if (PZ_M(has)(verbatim, j - 1)) {
            end = PZ_CAT(end_of_run)(others, j);
            PZ_CAT(put_verbatims)(&to, b, j, end, p);
            j = end;
            continue;
        }
        if (PZ_M(has)(coded, j - 1)) {
            end = j - 1;
            code = PZ_CAT(code_of)(PZ_P(xor)(b[end], b[j]), PZ_M(has)(brief, end), p);
        } else {
            end = PZ_CAT(end_of_run)(marks->some, j);
            code = pzi_run_code(j - end, pzi_run_bits(PZ_W));
        }
        pzi_put_short(&to, code.bits, code.length);
        j = end;
    }
    *writer = to;
}

PZI_INLINE void PZ_CAT(put_nonzeros)(struct pzi_bit_writer *writer, PZ_PLANE nonzero,
                                     const uint8_t *raw)
{
    PZ_CAT(put_plane)(writer, nonzero, PZ_N);
    for (; !PZ_P(is_zero)(nonzero); nonzero = PZ_P(rest)(nonzero))
        pzi_put(writer, PZ_LOAD(raw, PZ_P(lowest)(nonzero)), PZ_W);
}

PZI_INLINE void PZ_CAT(put_nonzero_planes)(struct pzi_bit_writer *writer, const PZ_VIEW *view,
                                           const uint8_t *raw)
{
    PZ_PLANE planes[PZ_ROOM + PZ_W + 1], *const z = planes + PZ_ROOM;

    PZ_CAT(put_plane)(writer, view->nonzero, PZ_N);
    if (view->n == 0)
        return;
    z[PZ_W] = PZ_P(of)(0, 0);
    PZ_CAT(gather)(raw, PZ_B(view), view->nonzero, z);
    PZ_CAT(put_planes)(writer, z, &view->nonzeros, PZ_W, view->n);
}

PZI_INLINE void PZ_CAT(put_block)(struct pzi_bit_writer *writer, pz_encoding encoding,
                                  const PZ_VIEW *view, const uint8_t *raw)
{
    pzi_put(writer, encoding, PZI_TAG_BITS);
    switch (encoding) {
    case PZ_ZVC:
        PZ_CAT(put_nonzeros)(writer, view->nonzero, raw);
        break;
    case PZ_BX:
        PZ_CAT(put_planes)(writer, PZ_B(view), &view->symbols, PZ_W, PZ_N);
        break;
    case PZ_DBX:
        pzi_put(writer, PZ_LOAD(raw, 0), PZ_W);
        PZ_CAT(put_planes)(writer, PZ_D(view), &view->deltas, PZ_W + 1, PZ_N - 1);
        break;
    case PZ_ZBX:
        PZ_CAT(put_nonzero_planes)(writer, view, raw);
        break;
    default:
        for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8)
            pzi_put(writer, pzi_load_le64(raw + i), 64);
        break;
    }
}

static void PZ_CAT(encode_blocks)(uint32_t encodings, const uint8_t *raw, unsigned blocks,
                                  struct pzi_bit_writer *writer)
{
    PZ_VIEW view;
    unsigned bits;

    for (unsigned block = 0; block < blocks; block++) {
        const uint8_t *const from = raw + block * PZ_BLOCK_BYTES;

        PZ_CAT(look)(&view, from);
        PZ_CAT(put_block)(writer, PZ_CAT(choose)(&view, encodings, from, &bits), &view, from);
    }
}

/* ---- Decoder --------------------------------------------------------------------------------
 *
 * A function that finds an error leaves the reader where the wrong code or field begins. */

/* p bits that are there. */
PZI_INLINE PZ_PLANE PZ_CAT(get_plane)(struct pzi_bit_reader *reader, unsigned p)
{
    const uint64_t lo = pzi_get(reader, p < 64 ? p : 64);

    return PZ_P(of)(lo, p > 64 ? pzi_get(reader, p - 64) : 0);
}

/* A verbatim plane whose 1 + p bits are there; `bits` is what pzi_peek() has just returned. */
PZI_INLINE PZ_PLANE PZ_CAT(get_verbatim)(struct pzi_bit_reader *reader, uint64_t bits, unsigned p)
{
    if (p <= 56) {
        pzi_skip(reader, 1 + p);
        return PZ_P(and)(PZ_P(of)(bits >> 1, 0), PZ_P(below)(p));
    }
    pzi_skip(reader, 1);
    return PZ_CAT(get_plane)(reader, p);
}

/* The x plane of a code that stands for a single one, or the reason why it stands for none. */
PZI_INLINE pz_status PZ_CAT(plane_of_token)(pzi_token token, PZ_PLANE above, unsigned p,
                                            PZ_PLANE *x)
{
    switch (token.kind) {
    case PZI_TOKEN_ONES:
        *x = PZ_P(below)(p);
        return PZ_OK;
    case PZI_TOKEN_RESET:
        *x = above;
        return PZ_P(is_zero)(above) ? PZ_ERR_ZERO_PLANE : PZ_OK;
    case PZI_TOKEN_ONE:
        if (token.field >= p)
            return PZ_ERR_POSITION;
        *x = PZ_P(at)(token.field);
        return PZ_OK;
    default:
        if (token.field + 1 >= p)
            return PZ_ERR_POSITION;
        *x = PZ_P(or)(PZ_P(at)(token.field), PZ_P(at)(token.field + 1));
        return PZ_OK;
    }
}

/* The inverse of put_planes, for every valid stream. */
PZI_INLINE pz_status PZ_CAT(parse_planes)(struct pzi_bit_reader *reader, PZ_PLANE *b, unsigned P,
                                          unsigned p)
{
    const unsigned R = pzi_run_bits(PZ_W), L = pzi_position_bits(p);
    PZ_PLANE above = PZ_P(of)(0, 0), x;
    unsigned j = P; /* planes j-1 .. 0 are still to be read */

    while (j > 0) {
        const uint64_t bits = pzi_peek(reader);
        const pzi_token token = pzi_parse(bits, R, L);
        const unsigned verbatim_bits = token.kind == PZI_TOKEN_VERBATIM ? p : 0;

        if (token.length + verbatim_bits > pzi_left(reader))
            return PZ_ERR_CHUNK_END;
        if (token.kind == PZI_TOKEN_VERBATIM) {
            x = PZ_CAT(get_verbatim)(reader, bits, p);
            above = b[--j] = PZ_P(xor)(x, above);
        } else if (token.kind == PZI_TOKEN_RUN) {
            if (token.field > j)
                return PZ_ERR_RUN;
            pzi_skip(reader, token.length);
            for (unsigned end = j - token.field; j > end;)
                b[--j] = above;
        } else {
            const pz_status status = PZ_CAT(plane_of_token)(token, above, p, &x);

            if (status != PZ_OK)
                return status;
            pzi_skip(reader, token.length);
            above = b[--j] = PZ_P(xor)(x, above);
        }
    }
    return PZ_OK;
}

/* Works on a copy of the reader, which then stays in registers. */
PZI_INLINE pz_status PZ_CAT(get_planes)(struct pzi_bit_reader *reader, PZ_PLANE *b, unsigned P,
                                        unsigned p)
{
    struct pzi_bit_reader from = *reader;
    const pz_status status = PZ_CAT(parse_planes)(&from, b, P, p);

    *reader = from;
    return status;
}

PZI_INLINE pz_status PZ_CAT(get_raw)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    if (pzi_left(reader) < PZI_BLOCK_BITS)
        return PZ_ERR_CHUNK_END;
    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8)
        pzi_store_le64(raw + i, pzi_get(reader, 64));
    return PZ_OK;
}

PZI_INLINE pz_status PZ_CAT(get_mask)(struct pzi_bit_reader *reader, PZ_PLANE *mask)
{
    if (pzi_left(reader) < PZ_N)
        return PZ_ERR_CHUNK_END;
    *mask = PZ_CAT(get_plane)(reader, PZ_N);
    return PZ_OK;
}

PZI_INLINE pz_status PZ_CAT(get_nonzeros)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE mask;

    if (PZ_CAT(get_mask)(reader, &mask) != PZ_OK)
        return PZ_ERR_CHUNK_END;
    memset(raw, 0, PZ_BLOCK_BYTES);
    for (; !PZ_P(is_zero)(mask); mask = PZ_P(rest)(mask)) {
        const struct pzi_bit_reader before = *reader;
        uint64_t symbol;

        if (pzi_left(reader) < PZ_W)
            return PZ_ERR_CHUNK_END;
        symbol = pzi_get(reader, PZ_W);
        if (symbol == 0) {
            *reader = before;
            return PZ_ERR_ZERO_SYMBOL;
        }
        PZ_STORE(raw, PZ_P(lowest)(mask), (PZ_SYMBOL)symbol);
    }
    return PZ_OK;
}

PZI_INLINE pz_status PZ_CAT(get_symbols)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE b[PZ_W];
    const pz_status status = PZ_CAT(get_planes)(reader, b, PZ_W, PZ_N);

    if (status == PZ_OK)
        PZ_CAT(unplanes)(b, raw);
    return status;
}

PZI_INLINE pz_status PZ_CAT(get_deltas)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE d[PZ_W + 1], carries;
    PZ_SYMBOL base;
    pz_status status;

    if (pzi_left(reader) < PZ_W)
        return PZ_ERR_CHUNK_END;
    base = (PZ_SYMBOL)pzi_get(reader, PZ_W);
    status = PZ_CAT(get_planes)(reader, d, PZ_W + 1, PZ_N - 1);
    if (status != PZ_OK)
        return status;
    carries = PZ_CAT(undelta)(base, d, raw);
    /* A negative delta stays in range if the sum of the low w bits carries, another if not. */
    return PZ_P(equal)(carries, d[PZ_W]) ? PZ_OK : PZ_ERR_DELTA;
}

PZI_INLINE pz_status PZ_CAT(get_nonzero_planes)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE z[PZ_W], mask, seen;
    pz_status status;
    unsigned n;

    if (PZ_CAT(get_mask)(reader, &mask) != PZ_OK)
        return PZ_ERR_CHUNK_END;
    n = PZ_P(count)(mask);
    if (n == 0) {
        memset(raw, 0, PZ_BLOCK_BYTES);
        return PZ_OK;
    }
    status = PZ_CAT(get_planes)(reader, z, PZ_W, n);
    if (status != PZ_OK)
        return status;
    seen = z[0];
    for (unsigned j = 1; j < PZ_W; j++)
        seen = PZ_P(or)(seen, z[j]);
    if (!PZ_P(equal)(seen, PZ_P(below)(n)))
        return PZ_ERR_ZERO_SYMBOL;
    PZ_CAT(scatter)(z, mask, raw);
    return PZ_OK;
}

PZI_INLINE pz_status PZ_CAT(get_block)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    const unsigned tag = pzi_peek(reader) & ((1u << PZI_TAG_BITS) - 1);

    if (pzi_left(reader) < PZI_TAG_BITS)
        return PZ_ERR_CHUNK_END;
    if (tag >= PZI_TAGS)
        return PZ_ERR_TAG;
    pzi_skip(reader, PZI_TAG_BITS);
    switch ((pz_encoding)tag) {
    case PZ_ZVC:
        return PZ_CAT(get_nonzeros)(reader, raw);
    case PZ_BX:
        return PZ_CAT(get_symbols)(reader, raw);
    case PZ_DBX:
        return PZ_CAT(get_deltas)(reader, raw);
    case PZ_ZBX:
        return PZ_CAT(get_nonzero_planes)(reader, raw);
    default:
        return PZ_CAT(get_raw)(reader, raw);
    }
}

static pz_status PZ_CAT(decode_blocks)(struct pzi_bit_reader *reader, uint8_t *raw, unsigned blocks,
                                       unsigned *done)
{
    for (unsigned block = 0; block < blocks; block++) {
        const pz_status status = PZ_CAT(get_block)(reader, raw + block * PZ_BLOCK_BYTES);

        if (status != PZ_OK) {
            *done = block;
            return status;
        }
    }
    *done = blocks;
    return PZ_OK;
}

#undef PZ_VIEW
#undef PZ_B
#undef PZ_D
#undef PZ_MARKS
