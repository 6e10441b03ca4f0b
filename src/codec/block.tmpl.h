/* Template, parameter PZ_W: size model, encoder and decoder of the blocks of one symbol width
 * (docs/format.md, "Block" and "PLANES"), for one instruction set.  The including file has defined
 * the vocabulary (see vec_scalar.tmpl.h); all else here is integer code on plane words.  Ends with
 * measure_blocks, encode_blocks and decode_blocks, the entries of pzi_width_ops.
 *
 * Names follow the format: N symbols, p bits per plane, P planes b_j, x_j their XOR, n non-zeros.
 */

/* What the size model and the encoder look at. */
typedef struct PZ_CAT(view) {
    PZ_PLANE b[PZ_W];     /* of the symbols */
    PZ_PLANE d[PZ_W + 1]; /* of the deltas; filled if DBX is allowed */
    PZ_PLANE nonzero;
    unsigned n;
} PZ_CAT(view);

#define PZ_VIEW PZ_CAT(view)

static inline void PZ_CAT(look)(PZ_VIEW *view, uint32_t encodings, const uint8_t *raw)
{
    PZ_CAT(planes)(raw, view->b);
    if (encodings & 1u << PZ_DBX)
        PZ_CAT(delta_planes)(view->b, view->d);
    view->nonzero = view->b[0];
    for (unsigned j = 1; j < PZ_W; j++)
        view->nonzero = PZ_P(or)(view->nonzero, view->b[j]);
    view->n = PZ_P(count)(view->nonzero);
}

/* ---- Size model ----------------------------------------------------------------------------- */

/* Bits of PLANES(b).  `all` are the p positions that exist; they may have gaps, see
 * pzi_p64_shape(). */
static inline unsigned PZ_CAT(planes_cost)(const PZ_PLANE *b, unsigned P, PZ_PLANE all, unsigned p)
{
    const unsigned R = pzi_run_bits(PZ_W), L = pzi_position_bits(p);
    PZ_PLANE above = PZ_P(of)(0, 0);
    unsigned bits = 0, run = 0;

    for (unsigned j = P; j-- > 0; above = b[j]) {
        const PZ_PLANE x = PZ_P(xor)(b[j], above);

        if (PZ_P(is_zero)(x)) {
            run++;
            continue;
        }
        bits += pzi_plane_cost(PZ_P(shape)(x, b[j], all), p, L);
        bits += run != 0 ? pzi_run_cost(run, R) : 0;
        run = 0;
    }
    return bits + (run != 0 ? pzi_run_cost(run, R) : 0);
}

static inline unsigned PZ_CAT(symbols_cost)(const PZ_VIEW *view)
{
    return PZ_CAT(planes_cost)(view->b, PZ_W, PZ_P(below)(PZ_N), PZ_N);
}

static inline unsigned PZ_CAT(deltas_cost)(const PZ_VIEW *view)
{
    return PZ_CAT(planes_cost)(view->d, PZ_W + 1, PZ_P(below)(PZ_N - 1), PZ_N - 1);
}

static inline unsigned PZ_CAT(nonzeros_cost)(const PZ_VIEW *view)
{
    return view->n == 0 ? 0 : PZ_CAT(planes_cost)(view->b, PZ_W, view->nonzero, view->n);
}

/* The canonical encoding of a block; *bits is its size with the tag. */
static inline pz_encoding PZ_CAT(choose)(const PZ_VIEW *view, uint32_t encodings, unsigned *bits)
{
    unsigned cost[PZ_ENCODINGS] = {PZI_BLOCK_BITS, UINT_MAX, UINT_MAX, UINT_MAX, UINT_MAX};
    pz_encoding best = PZ_RAW;

    if (encodings & 1u << PZ_ZVC)
        cost[PZ_ZVC] = PZ_N + view->n * PZ_W;
    if (encodings & 1u << PZ_BX)
        cost[PZ_BX] = PZ_CAT(symbols_cost)(view);
    if (encodings & 1u << PZ_DBX)
        cost[PZ_DBX] = PZ_W + PZ_CAT(deltas_cost)(view);
    /* Without zeros ZBX is BX and a mask. */
    if ((encodings & 1u << PZ_ZBX) && !(view->n == PZ_N && (encodings & 1u << PZ_BX)))
        cost[PZ_ZBX] = PZ_N + PZ_CAT(nonzeros_cost)(view);
    for (unsigned tag = PZ_RAW + 1; tag < PZ_ENCODINGS; tag++)
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
        PZ_CAT(look)(&view, encodings, raw + block * PZ_BLOCK_BYTES);
        stats->blocks[PZ_CAT(choose)(&view, encodings, &bits)]++;
        stats->payload_bits += bits;
    }
}

/* ---- Encoder -------------------------------------------------------------------------------- */

/* The lowest p bits of a plane. */
static inline void PZ_CAT(put_plane)(struct pzi_bit_writer *writer, PZ_PLANE plane, unsigned p)
{
    pzi_put(writer, PZ_P(piece)(plane, 0), p < 64 ? p : 64);
    if (p > 64)
        pzi_put(writer, PZ_P(piece)(plane, 1), p - 64);
}

static inline void PZ_CAT(put_run)(struct pzi_bit_writer *writer, unsigned run)
{
    const pzi_code code = pzi_run_code(run, pzi_run_bits(PZ_W));

    pzi_put(writer, code.bits, code.length);
}

/* Works on a copy of the writer, which then stays in registers. */
static inline void PZ_CAT(put_planes)(struct pzi_bit_writer *writer, const PZ_PLANE *b, unsigned P,
                                      unsigned p)
{
    const PZ_PLANE all = PZ_P(below)(p);
    const unsigned L = pzi_position_bits(p);
    struct pzi_bit_writer to = *writer;
    PZ_PLANE above = PZ_P(of)(0, 0);
    unsigned run = 0;

    for (unsigned j = P; j-- > 0; above = b[j]) {
        const PZ_PLANE x = PZ_P(xor)(b[j], above);
        pzi_code code;

        if (PZ_P(is_zero)(x)) {
            run++;
            continue;
        }
        if (run != 0)
            PZ_CAT(put_run)(&to, run);
        run = 0;
        code = pzi_plane_code(PZ_P(shape)(x, b[j], all), PZ_P(lowest)(x), p, L);
        pzi_put(&to, code.bits, code.length);
        if (code.length == 1)
            PZ_CAT(put_plane)(&to, x, p);
    }
    if (run != 0)
        PZ_CAT(put_run)(&to, run);
    *writer = to;
}

static inline void PZ_CAT(put_nonzeros)(struct pzi_bit_writer *writer, const PZ_VIEW *view,
                                        const uint8_t *raw)
{
    uint8_t front[PZ_BLOCK_BYTES];

    PZ_CAT(put_plane)(writer, view->nonzero, PZ_N);
    PZ_CAT(compact)(raw, view->nonzero, front);
    for (unsigned i = 0; i < view->n; i++)
        pzi_put(writer, PZ_LOAD(front, i), PZ_W);
}

static inline void PZ_CAT(put_nonzero_planes)(struct pzi_bit_writer *writer, const PZ_VIEW *view,
                                              const uint8_t *raw)
{
    uint8_t front[PZ_BLOCK_BYTES];
    PZ_PLANE z[PZ_W];

    PZ_CAT(put_plane)(writer, view->nonzero, PZ_N);
    if (view->n == 0)
        return;
    PZ_CAT(compact)(raw, view->nonzero, front);
    PZ_CAT(planes)(front, z);
    PZ_CAT(put_planes)(writer, z, PZ_W, view->n);
}

static inline void PZ_CAT(put_block)(struct pzi_bit_writer *writer, pz_encoding encoding,
                                     const PZ_VIEW *view, const uint8_t *raw)
{
    pzi_put(writer, encoding, PZI_TAG_BITS);
    switch (encoding) {
    case PZ_ZVC:
        PZ_CAT(put_nonzeros)(writer, view, raw);
        break;
    case PZ_BX:
        PZ_CAT(put_planes)(writer, view->b, PZ_W, PZ_N);
        break;
    case PZ_DBX:
        pzi_put(writer, PZ_LOAD(raw, 0), PZ_W);
        PZ_CAT(put_planes)(writer, view->d, PZ_W + 1, PZ_N - 1);
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

    for (unsigned block = 0; block < blocks && !writer->full; block++) {
        const uint8_t *const from = raw + block * PZ_BLOCK_BYTES;

        PZ_CAT(look)(&view, encodings, from);
        PZ_CAT(put_block)(writer, PZ_CAT(choose)(&view, encodings, &bits), &view, from);
    }
}

/* ---- Decoder --------------------------------------------------------------------------------
 *
 * A function that finds an error leaves the reader where the wrong code or field begins. */

/* p bits that are there. */
static inline PZ_PLANE PZ_CAT(get_plane)(struct pzi_bit_reader *reader, unsigned p)
{
    const uint64_t lo = pzi_get(reader, p < 64 ? p : 64);

    return PZ_P(of)(lo, p > 64 ? pzi_get(reader, p - 64) : 0);
}

/* A verbatim plane whose 1 + p bits are there; `bits` is what pzi_peek() has just returned. */
static inline PZ_PLANE PZ_CAT(get_verbatim)(struct pzi_bit_reader *reader, uint64_t bits,
                                            unsigned p)
{
    if (p < 56) {
        pzi_skip(reader, 1 + p);
        return PZ_P(and)(PZ_P(of)(bits >> 1, 0), PZ_P(below)(p));
    }
    pzi_skip(reader, 1);
    return PZ_CAT(get_plane)(reader, p);
}

/* The x plane of a code that stands for a single one, or the reason why it stands for none. */
static inline pz_status PZ_CAT(plane_of_token)(pzi_token token, PZ_PLANE above, unsigned p,
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
static inline pz_status PZ_CAT(parse_planes)(struct pzi_bit_reader *reader, PZ_PLANE *b, unsigned P,
                                             unsigned p)
{
    const unsigned R = pzi_run_bits(PZ_W), L = pzi_position_bits(p);
    PZ_PLANE above = PZ_P(of)(0, 0), x;
    unsigned j = P; /* planes j-1 .. 0 are still to be read */

    while (j > 0) {
        const uint64_t bits = pzi_peek(reader);
        const pzi_token token = pzi_parse(bits, R, L);
        const unsigned verbatim_bits = token.kind == PZI_TOKEN_VERBATIM ? p : 0;

        if (token.length + verbatim_bits > reader->left_bits)
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
static inline pz_status PZ_CAT(get_planes)(struct pzi_bit_reader *reader, PZ_PLANE *b, unsigned P,
                                           unsigned p)
{
    struct pzi_bit_reader from = *reader;
    const pz_status status = PZ_CAT(parse_planes)(&from, b, P, p);

    *reader = from;
    return status;
}

static inline pz_status PZ_CAT(get_raw)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    if (reader->left_bits < PZI_BLOCK_BITS)
        return PZ_ERR_CHUNK_END;
    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8)
        pzi_store_le64(raw + i, pzi_get(reader, 64));
    return PZ_OK;
}

static inline pz_status PZ_CAT(get_mask)(struct pzi_bit_reader *reader, PZ_PLANE *mask)
{
    if (reader->left_bits < PZ_N)
        return PZ_ERR_CHUNK_END;
    *mask = PZ_CAT(get_plane)(reader, PZ_N);
    return PZ_OK;
}

static inline pz_status PZ_CAT(get_nonzeros)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    uint8_t front[PZ_BLOCK_BYTES];
    PZ_PLANE mask;
    unsigned n;

    if (PZ_CAT(get_mask)(reader, &mask) != PZ_OK)
        return PZ_ERR_CHUNK_END;
    n = PZ_P(count)(mask);
    for (unsigned i = 0; i < n; i++) {
        const struct pzi_bit_reader before = *reader;
        uint64_t symbol;

        if (reader->left_bits < PZ_W)
            return PZ_ERR_CHUNK_END;
        symbol = pzi_get(reader, PZ_W);
        if (symbol == 0) {
            *reader = before;
            return PZ_ERR_ZERO_SYMBOL;
        }
        PZ_STORE(front, i, (PZ_SYMBOL)symbol);
    }
    PZ_CAT(expand)(front, mask, raw);
    return PZ_OK;
}

static inline pz_status PZ_CAT(get_symbols)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE b[PZ_W];
    const pz_status status = PZ_CAT(get_planes)(reader, b, PZ_W, PZ_N);

    if (status == PZ_OK)
        PZ_CAT(unplanes)(b, raw);
    return status;
}

static inline pz_status PZ_CAT(get_deltas)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    PZ_PLANE d[PZ_W + 1], carries;
    uint8_t deltas[PZ_BLOCK_BYTES];
    PZ_SYMBOL base;
    pz_status status;

    if (reader->left_bits < PZ_W)
        return PZ_ERR_CHUNK_END;
    base = (PZ_SYMBOL)pzi_get(reader, PZ_W);
    status = PZ_CAT(get_planes)(reader, d, PZ_W + 1, PZ_N - 1);
    if (status != PZ_OK)
        return status;
    PZ_CAT(unplanes)(d, deltas);
    carries = PZ_CAT(undelta)(base, deltas, raw);
    /* A negative delta stays in range if the sum of the low w bits carries, another if not. */
    return PZ_P(equal)(carries, d[PZ_W]) ? PZ_OK : PZ_ERR_DELTA;
}

static inline pz_status PZ_CAT(get_nonzero_planes)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    uint8_t front[PZ_BLOCK_BYTES] = {0};
    PZ_PLANE z[PZ_W], mask, seen;
    pz_status status;
    unsigned n;

    if (PZ_CAT(get_mask)(reader, &mask) != PZ_OK)
        return PZ_ERR_CHUNK_END;
    n = PZ_P(count)(mask);
    if (n > 0) {
        status = PZ_CAT(get_planes)(reader, z, PZ_W, n);
        if (status != PZ_OK)
            return status;
        seen = z[0];
        for (unsigned j = 1; j < PZ_W; j++)
            seen = PZ_P(or)(seen, z[j]);
        if (!PZ_P(equal)(seen, PZ_P(below)(n)))
            return PZ_ERR_ZERO_SYMBOL;
        PZ_CAT(unplanes)(z, front);
    }
    PZ_CAT(expand)(front, mask, raw);
    return PZ_OK;
}

static inline pz_status PZ_CAT(get_block)(struct pzi_bit_reader *reader, uint8_t *raw)
{
    const unsigned tag = pzi_peek(reader) & ((1u << PZI_TAG_BITS) - 1);

    if (reader->left_bits < PZI_TAG_BITS)
        return PZ_ERR_CHUNK_END;
    if (tag >= PZ_ENCODINGS)
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
