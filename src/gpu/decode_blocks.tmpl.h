/* Template, parameter PZ_W: reads the blocks of format 1 (docs/format.md, "Block" and "PLANES").
 * Where a block begins shows only when those before have been read: so one lane goes through the
 * codes to find that, and then a lane for each block reads it, and judges it as the CPU does. */

/* What a lane knows of its block, in warp->block: the bit where it begins, and its encoding. */
enum { PZ_CAT(begin) = 0, PZ_CAT(encoding) = 1 };

/* A lane reads from bit `at` of the payload, which has `end` bits. */
struct PZ_CAT(eye) {
    PZ_LOCAL PZ_WARP *warp;
    uint32_t at, end;
};

/* The plane of a code for a single one, or the reason why it stands for none. */
PZI_FN uint32_t PZ_CAT(plane_of)(pzi_token token, PZ_WIDE above, uint32_t p, PZ_WIDE *x)
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

/* Reads a code and goes past it, and past the bits of a verbatim plane. */
PZI_FN uint32_t PZ_CAT(read_code)(struct PZ_CAT(eye) * eye, uint32_t p, pzi_token *token)
{
    uint32_t bits;

    *token = pzi_parse(pzi_bits32(eye->warp->stream.word, eye->at), pzi_run_bits(PZ_W),
                       pzi_position_bits(p));
    bits = token->length + (token->kind == PZI_TOKEN_VERBATIM ? p : 0);
    if (bits > eye->end - eye->at)
        return PZ_ERR_CHUNK_END;
    eye->at += bits;
    return PZ_OK;
}

/* Goes past PLANES, as far as they are right. */
PZI_FN uint32_t PZ_CAT(pass_planes)(struct PZ_CAT(eye) * eye, uint32_t P, uint32_t p)
{
    while (P > 0) {
        pzi_token token;
        uint32_t planes;

        if (PZ_CAT(read_code)(eye, p, &token) != PZ_OK)
            return PZ_ERR_CHUNK_END;
        planes = token.kind == PZI_TOKEN_RUN ? token.field : 1;
        if (planes > P)
            return PZ_ERR_RUN;
        P -= planes;
    }
    return PZ_OK;
}

/* Planes P - 1 .. 0 of block b, of p bits each; the one above those of symbols goes to *signs. */
PZI_FN uint32_t PZ_CAT(read_planes)(struct PZ_CAT(eye) * eye, uint32_t b, uint32_t P, uint32_t p,
                                    PZ_WIDE *signs)
{
    PZ_WIDE above = PZ_P(of)(0, 0), x = above;

    while (P > 0) {
        uint32_t planes = 1, status = PZ_OK;
        pzi_token token;

        if (PZ_CAT(read_code)(eye, p, &token) != PZ_OK)
            return PZ_ERR_CHUNK_END;
        if (token.kind == PZI_TOKEN_VERBATIM) {
            x = PZ_P(and)(PZ_CAT(take_plane)(eye->warp, eye->at - p), PZ_P(below)(p));
        } else if (token.kind == PZI_TOKEN_RUN) {
            planes = token.field;
            x = PZ_P(of)(0, 0);
        } else {
            status = PZ_CAT(plane_of)(token, above, p, &x);
        }
        if (planes > P)
            return PZ_ERR_RUN;
        if (status != PZ_OK)
            return status;
        above = PZ_P(xor)(above, x);
        for (; planes > 0; planes--, P--) {
            if (P > PZ_W)
                *signs = above;
            else
                PZ_CAT(set_plane)(eye->warp, b, P - 1, above);
        }
    }
    return PZ_OK;
}

/* Goes past a block; the status only says whether there can be a next one. */
PZI_FN uint32_t PZ_CAT(pass_block)(struct PZ_CAT(eye) * eye)
{
    const uint32_t tag = pzi_bits32(eye->warp->stream.word, eye->at) & ((1u << PZI_TAG_BITS) - 1);
    uint32_t bits, n;

    if (eye->end - eye->at < PZI_TAG_BITS || tag >= PZI_TAGS)
        return PZ_ERR_TAG;
    eye->at += PZI_TAG_BITS;
    bits = tag == PZ_RAW ? PZI_BLOCK_BITS : tag == PZ_DBX ? PZ_W : tag == PZ_BX ? 0 : PZ_N;
    if (bits > eye->end - eye->at)
        return PZ_ERR_CHUNK_END;
    eye->at += bits;
    if (tag == PZ_RAW)
        return PZ_OK;
    if (tag == PZ_BX)
        return PZ_CAT(pass_planes)(eye, PZ_W, PZ_N);
    if (tag == PZ_DBX)
        return PZ_CAT(pass_planes)(eye, PZ_W + 1, PZ_N - 1);
    n = PZ_P(count)(PZ_CAT(take_plane)(eye->warp, eye->at - PZ_N));
    if (tag == PZ_ZBX)
        return n == 0 ? PZ_OK : PZ_CAT(pass_planes)(eye, PZ_W, n);
    if (n * PZ_W > eye->end - eye->at)
        return PZ_ERR_CHUNK_END;
    eye->at += n * PZ_W;
    return PZ_OK;
}

/* Where the blocks begin; those behind a fault begin nowhere, with the bit PZI_NO_FAULT.  *end is
 * where the last one ends. */
PZI_FN void PZ_CAT(find_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t begin_bits,
                                uint32_t end_bits)
{
    struct PZ_CAT(eye) eye;
    uint32_t is_lost = 0;

    eye.warp = warp;
    eye.at = begin_bits;
    eye.end = end_bits;
    if (PZ_IS_FIRST(&warp->lanes)) {
        for (uint32_t b = 0; b < nb; b++) {
            warp->block[PZ_CAT(begin)][b] = is_lost ? PZI_NO_FAULT : eye.at;
            is_lost = is_lost || PZ_CAT(pass_block)(&eye) != PZ_OK;
        }
        warp->count[0] = eye.at;
    }
    PZ_SYNC(&warp->lanes);
}

/* Spreads a plane of the coded symbols to the ones of the mask. */
PZI_FN PZ_WIDE PZ_CAT(deposit)(PZ_WIDE plane, PZ_WIDE mask)
{
    uint64_t piece[2] = {0, 0};
    uint32_t at = 0;

    for (uint32_t i = 0; i < PZ_N; i += 32) {
        const uint32_t more = (uint32_t)(PZ_P(piece)(mask, i / 64) >> i % 64);
        uint32_t bits = (uint32_t)(PZ_P(piece)(plane, at / 64) >> at % 64);

        if (PZ_N > 64 && at > 32 && at < 64)
            bits |= (uint32_t)(PZ_P(piece)(plane, 1) << (64 - at));
        piece[i / 64] |= (uint64_t)pzi_deposit32(bits, more) << i % 64;
        at += pzi_count32(more);
    }
    return PZ_P(of)(piece[0], piece[1]);
}

/* ZBX: planes of the symbols that are not zero. */
PZI_FN uint32_t PZ_CAT(read_nonzero_planes)(struct PZ_CAT(eye) * eye, uint32_t b, PZ_WIDE mask)
{
    const uint32_t n = PZ_P(count)(mask);
    PZ_WIDE seen = PZ_P(of)(0, 0), unused;
    uint32_t status = n == 0 ? PZ_OK : PZ_CAT(read_planes)(eye, b, PZ_W, n, &unused);

    if (status != PZ_OK)
        return status;
    for (uint32_t j = 0; j < PZ_W; j++) {
        const PZ_WIDE plane = n == 0 ? seen : PZ_CAT(get_plane)(eye->warp, b, j);

        seen = PZ_P(or)(seen, plane);
        PZ_CAT(set_plane)(eye->warp, b, j, PZ_CAT(deposit)(plane, mask));
    }
    return n == 0 || PZ_P(equal)(seen, PZ_P(below)(n)) ? PZ_OK : PZ_ERR_ZERO_SYMBOL;
}

/* ZVC: whether the symbols are there, and are not zero. */
PZI_FN uint32_t PZ_CAT(check_nonzeros)(struct PZ_CAT(eye) * eye, PZ_WIDE mask)
{
    for (uint32_t n = PZ_P(count)(mask); n > 0; n--) {
        if (eye->end - eye->at < PZ_W)
            return PZ_ERR_CHUNK_END;
        if ((PZ_SYMBOL)pzi_bits64(eye->warp->stream.word, eye->at) == 0)
            return PZ_ERR_ZERO_SYMBOL;
        eye->at += PZ_W;
    }
    return PZ_OK;
}

/* The planes of block b as far as its encoding has some; the eye stands behind the tag. */
PZI_FN uint32_t PZ_CAT(read_block)(struct PZ_CAT(eye) * eye, uint32_t b, uint32_t tag,
                                   PZ_WIDE *signs)
{
    const uint32_t bits = tag == PZ_RAW   ? PZI_BLOCK_BITS
                          : tag == PZ_DBX ? PZ_W
                          : tag == PZ_BX  ? 0
                                          : PZ_N;
    PZ_WIDE mask;

    if (bits > eye->end - eye->at)
        return PZ_ERR_CHUNK_END;
    eye->at += bits;
    switch (tag) {
    case PZ_RAW:
        return PZ_OK;
    case PZ_BX:
        return PZ_CAT(read_planes)(eye, b, PZ_W, PZ_N, signs);
    case PZ_DBX:
        return PZ_CAT(read_planes)(eye, b, PZ_W + 1, PZ_N - 1, signs);
    default:
        mask = PZ_CAT(take_plane)(eye->warp, eye->at - PZ_N);
        return tag == PZ_ZVC ? PZ_CAT(check_nonzeros)(eye, mask)
                             : PZ_CAT(read_nonzero_planes)(eye, b, mask);
    }
}

PZI_FN uint32_t PZ_CAT(begin_block)(struct PZ_CAT(eye) * eye, uint32_t *tag)
{
    *tag = pzi_bits32(eye->warp->stream.word, eye->at) & ((1u << PZI_TAG_BITS) - 1);
    if (eye->end - eye->at < PZI_TAG_BITS)
        return PZ_ERR_CHUNK_END;
    eye->at += PZI_TAG_BITS;
    return *tag < PZI_TAGS ? PZ_OK : PZ_ERR_TAG;
}

/* Symbols that stand in the stream as they are, of block b, from bit `at` on. */
PZI_FN void PZ_CAT(copy_symbols)(PZ_LOCAL PZ_WARP *warp, uint32_t b, PZ_WIDE mask, uint32_t at)
{
    PZ_LOCAL PZ_SYMBOL *const to = warp->chunk.symbol + b * PZ_N;

    for (uint32_t i = 0; i < PZ_N; i++) {
        const uint32_t is_there = PZ_P(has)(mask, i);

        to[i] = is_there ? (PZ_SYMBOL)pzi_bits64(warp->stream.word, at) : 0;
        at += is_there ? PZ_W : 0;
    }
}

/* The symbols from the first one and the deltas, which stand where the symbols will. */
PZI_FN uint32_t PZ_CAT(add_deltas)(PZ_LOCAL PZ_WARP *warp, uint32_t b, PZ_SYMBOL symbol,
                                   PZ_WIDE signs)
{
    PZ_LOCAL PZ_SYMBOL *const to = warp->chunk.symbol + b * PZ_N;
    PZ_SYMBOL delta = to[0];
    uint32_t is_wrong = 0;

    to[0] = symbol;
    for (uint32_t i = 0; i < PZ_N - 1; i++) {
        const PZ_SYMBOL sum = (PZ_SYMBOL)(symbol + delta);

        /* A negative delta stays in range if the sum carries, another one if not. */
        is_wrong |= (uint32_t)(sum < symbol) ^ PZ_P(has)(signs, i);
        symbol = sum;
        delta = to[i + 1];
        to[i + 1] = symbol;
    }
    return is_wrong ? PZ_ERR_DELTA : PZ_OK;
}

/* What is left to do for a block once its planes are symbols. */
PZI_FN uint32_t PZ_CAT(finish_block)(PZ_LOCAL PZ_WARP *warp, uint32_t b, PZ_WIDE signs)
{
    const uint32_t at = warp->block[PZ_CAT(begin)][b] + PZI_TAG_BITS;

    switch (warp->block[PZ_CAT(encoding)][b]) {
    case PZ_RAW:
        PZ_CAT(copy_symbols)(warp, b, PZ_P(below)(PZ_N), at);
        return PZ_OK;
    case PZ_ZVC:
        PZ_CAT(copy_symbols)(warp, b, PZ_CAT(take_plane)(warp, at), at + PZ_N);
        return PZ_OK;
    case PZ_DBX:
        return PZ_CAT(add_deltas)(warp, b, (PZ_SYMBOL)pzi_bits64(warp->stream.word, at), signs);
    default:
        return PZ_OK;
    }
}

/* The bytes of the last block that the tensor does not have must be zero, then the bits of the last
 * byte of the payload. */
PZI_FN uint32_t PZ_CAT(check_ends)(PZ_LOCAL PZ_WARP *warp, uint32_t nb, uint32_t raw_bytes,
                                   uint32_t end_bits)
{
    const uint32_t left = end_bits - warp->count[0];
    uint32_t status;

    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = raw_bytes + lane; i < nb * PZ_BLOCK_BYTES; i += PZ_LANES)
            if (warp->chunk.byte[i] != 0)
                PZ_CAT(blame)(warp, nb, PZ_ERR_PADDING);
    status = PZ_CAT(settle)(warp);
    if (status != PZ_OK)
        return status;
    if (left >= 8)
        return PZ_ERR_CHUNK_END;
    return pzi_bits32(warp->stream.word, warp->count[0]) & ((1u << left) - 1) ? PZ_ERR_PADDING
                                                                              : PZ_OK;
}

PZI_FN uint32_t PZ_CAT(decode_blocks)(PZ_LOCAL PZ_WARP *warp, uint32_t begin, uint32_t end,
                                      uint32_t raw_bytes)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    const uint32_t nb = (raw_bytes + PZ_BLOCK_BYTES - 1) / PZ_BLOCK_BYTES;
    PZ_LANE_VAR(PZ_WIDE, signs);
    uint32_t status;

    PZ_CAT(find_blocks)(warp, nb, 8 * begin, 8 * end);
    for (PZ_EACH_LANE(lanes)) {
        struct PZ_CAT(eye) eye;
        uint32_t tag, found;

        signs[PZ_SLOT] = PZ_P(of)(0, 0);
        if (lane >= nb || warp->block[PZ_CAT(begin)][lane] == PZI_NO_FAULT)
            continue;
        eye.warp = warp;
        eye.at = warp->block[PZ_CAT(begin)][lane];
        eye.end = 8 * end;
        found = PZ_CAT(begin_block)(&eye, &tag);
        if (found == PZ_OK)
            found = PZ_CAT(read_block)(&eye, lane, tag, &signs[PZ_SLOT]);
        /* Nothing is left to do for a block with a fault, as for BX. */
        warp->block[PZ_CAT(encoding)][lane] = found == PZ_OK ? tag : PZ_BX;
        if (found != PZ_OK)
            PZ_CAT(blame)(warp, lane, found);
    }
    PZ_SYNC(lanes);
    for (uint32_t b = 0; b < nb; b++)
        PZ_CAT(from_planes)(warp, b);
    PZ_SYNC(lanes);
    for (PZ_EACH_LANE(lanes)) {
        if (lane < nb && warp->block[PZ_CAT(begin)][lane] != PZI_NO_FAULT) {
            const uint32_t found = PZ_CAT(finish_block)(warp, lane, signs[PZ_SLOT]);

            if (found != PZ_OK)
                PZ_CAT(blame)(warp, lane, found);
        }
    }
    status = PZ_CAT(settle)(warp);
    return status == PZ_OK ? PZ_CAT(check_ends)(warp, nb, raw_bytes, 8 * end) : status;
}
