/* Template, parameter PZ_W: the memory of a warp that works on a chunk, and how chunk, payload and
 * bit planes come and go.  The four widths differ in how many symbols a row of 32 bits of a plane
 * stands for; a block of 128 bytes is a matrix of 32 x 32 bits in each. */

#define PZ_WARP struct PZ_CAT(warp)
#define PZ_SHAPE struct PZ_CAT(shape)

/* What a lane holds of a plane of a block. */
#define PZ_WIDE PZ_P_WIDE(PZ_W)
#define PZ_P_WIDE(w) PZ_PASTE(PZ_P_WIDE_, w)
#define PZ_P_WIDE_8 pzi_p128
#define PZ_P_WIDE_16 pzi_p64
#define PZ_P_WIDE_32 pzi_p64
#define PZ_P_WIDE_64 pzi_p64

enum {
    PZ_CAT(symbols) = PZ_CHUNK_BYTES * 8 / PZ_W,
    PZ_CAT(rows) = PZ_CAT(symbols) / 32,
    PZ_CAT(lane_rows) = (PZ_CAT(rows) + PZ_LANES - 1) / PZ_LANES,
    PZ_CAT(row_room) = PZ_CAT(rows) * PZI_ROW_WORDS > PZ_CHUNK_BLOCKS *PZI_BLOCK_WORDS
                           ? PZ_CAT(rows) * PZI_ROW_WORDS
                           : PZ_CHUNK_BLOCKS *PZI_BLOCK_WORDS
};

PZ_WARP
{
    struct pzi_lanes lanes;
    union {
        pzi_quad quad[PZ_CHUNK_BYTES / 16];
        uint32_t word[PZ_CHUNK_BYTES / 4];
        uint8_t byte[PZ_CHUNK_BYTES];
        PZ_SYMBOL symbol[PZ_CHUNK_BYTES * 8 / PZ_W];
    } chunk;
    union { /* the payload, and zeros */
        pzi_quad quad[PZ_CHUNK_BYTES / 16 + PZI_STREAM_SLACK / 4];
        uint32_t word[PZ_CHUNK_BYTES / 4 + PZI_STREAM_SLACK];
        uint16_t half_word[PZ_CHUNK_BYTES / 2 + 2 * PZI_STREAM_SLACK];
        uint8_t byte[PZ_CHUNK_BYTES + 4 * PZI_STREAM_SLACK];
        PZ_SYMBOL symbol[PZ_CHUNK_BYTES * 8 / PZ_W]; /* for a while, before anything is written */
    } stream;
    union { /* a row of bytes for 32 symbols, or planes: lane i of block b, transposed */
        uint32_t word[PZ_CAT(row_room)];
        uint8_t byte[4 * PZ_CAT(row_room)];
    } planes;
    uint32_t coded[PZ_CAT(rows)];       /* symbols that are coded, a row each */
    uint32_t code[PZI_CODE_BYTES / 4];  /* of pzi_code2, the one in use */
    uint32_t count[PZI_COUNTERS];       /* sums over lanes */
    uint32_t block[3][PZ_CHUNK_BLOCKS]; /* what lanes that have a block know of it */
    uint32_t fault;                     /* the first one, PZI_NO_FAULT if there is none */
};

/* ---- Chunks --------------------------------------------------------------------------------- */

/* Word i of `bytes` bytes, zeros behind them. */
PZI_FN uint32_t PZ_CAT(word_of)(PZ_GLOBAL const uint8_t *from, uint32_t bytes, uint32_t i)
{
    uint32_t word = 0;

    for (uint32_t k = 0; k < 4 && 4 * i + k < bytes; k++)
        word |= (uint32_t)from[4 * i + k] << (8 * k);
    return word;
}

/* Fills `words` words of local memory; `from` may have any alignment. */
PZI_FN void PZ_CAT(load)(PZ_LOCAL struct pzi_lanes *lanes, PZ_GLOBAL const uint8_t *from,
                         uint32_t bytes, PZ_LOCAL uint32_t *to, uint32_t words)
{
    for (PZ_EACH_LANE(lanes))
        for (uint32_t i = lane; i < words; i += PZ_LANES)
            to[i] = PZ_CAT(word_of)(from, bytes, i);
    PZ_SYNC(lanes);
}

/* A chunk, and zeros behind it. */
PZI_FN void PZ_CAT(load_chunk)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *from,
                               uint32_t bytes)
{
    const uint32_t quads = ((uintptr_t)from & 15) == 0 ? bytes / 16 : 0;

    for (PZ_EACH_LANE(&warp->lanes)) {
        for (uint32_t i = lane; i < quads; i += PZ_LANES)
            warp->chunk.quad[i] = ((PZ_GLOBAL const pzi_quad *)from)[i];
        for (uint32_t i = 4 * quads + lane; i < PZ_CHUNK_BYTES / 4; i += PZ_LANES)
            warp->chunk.word[i] = PZ_CAT(word_of)(from, bytes, i);
    }
    PZ_SYNC(&warp->lanes);
}

/* A payload, to where it lies between multiples of 16 as it does in global memory; zeros are behind
 * it.  Returns where it begins. */
PZI_FN uint32_t PZ_CAT(load_payload)(PZ_LOCAL PZ_WARP *warp, PZ_GLOBAL const uint8_t *from,
                                     uint32_t bytes)
{
    const uint32_t begin = (uint32_t)((uintptr_t)from & 15), end = begin + bytes;
    const uint32_t first = begin == 0 ? 0 : 1, quads = end / 16;
    PZ_GLOBAL const uint8_t *const zero = from - begin;

    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t last = 16 * quads + lane;

        for (uint32_t i = first + lane; i < quads; i += PZ_LANES)
            warp->stream.quad[i] = ((PZ_GLOBAL const pzi_quad *)zero)[i];
        if (lane >= begin && lane < 16 * first && quads > 0)
            warp->stream.byte[lane] = zero[lane];
        warp->stream.byte[last] = last >= begin && last < end ? zero[last] : 0;
    }
    PZ_SYNC(&warp->lanes);
    return begin;
}

/* Bytes of local memory, of which the first one is a multiple of 16, to anywhere. */
PZI_FN void PZ_CAT(store)(PZ_LOCAL struct pzi_lanes *lanes, PZ_LOCAL const pzi_quad *from,
                          uint32_t bytes, PZ_GLOBAL uint8_t *to)
{
    const uint32_t quads = ((uintptr_t)to & 15) == 0 ? bytes / 16 : 0;

    for (PZ_EACH_LANE(lanes)) {
        for (uint32_t i = lane; i < quads; i += PZ_LANES)
            ((PZ_GLOBAL pzi_quad *)to)[i] = from[i];
        for (uint32_t i = 16 * quads + lane; i < bytes; i += PZ_LANES)
            to[i] = ((PZ_LOCAL const uint8_t *)from)[i];
    }
    PZ_SYNC(lanes);
}

PZI_FN void PZ_CAT(clear)(PZ_LOCAL struct pzi_lanes *lanes, PZ_LOCAL uint32_t *words,
                          uint32_t count)
{
    for (PZ_EACH_LANE(lanes))
        for (uint32_t i = lane; i < count; i += PZ_LANES)
            words[i] = 0;
    PZ_SYNC(lanes);
}

PZI_FN void PZ_CAT(clear_stream)(PZ_LOCAL PZ_WARP *warp)
{
    pzi_quad zero;

    zero.x = zero.y = zero.z = zero.w = 0;
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < PZ_CHUNK_BYTES / 16 + PZI_STREAM_SLACK / 4; i += PZ_LANES)
            warp->stream.quad[i] = zero;
    PZ_SYNC(&warp->lanes);
}

/* ---- Planes --------------------------------------------------------------------------------- */

/* Row `lane` of the matrix of a block, whose first symbol is given. */
PZI_FN uint32_t PZ_CAT(pack)(PZ_LOCAL const PZ_SYMBOL *symbol, uint32_t lane)
{
#if PZ_W == 8
    return symbol[lane] | (uint32_t)symbol[lane + 32] << 8 | (uint32_t)symbol[lane + 64] << 16 |
           (uint32_t)symbol[lane + 96] << 24;
#elif PZ_W == 16
    return symbol[lane] | (uint32_t)symbol[lane + 32] << 16;
#elif PZ_W == 32
    return symbol[lane];
#else
    return (uint32_t)(symbol[lane % 16] >> (lane / 16 * 32));
#endif
}

/* And back, to block b of the chunk. */
PZI_FN void PZ_CAT(unpack)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t lane, uint32_t row)
{
#if PZ_W == 8
    for (uint32_t q = 0; q < 4; q++)
        warp->chunk.symbol[b * PZ_N + 32 * q + lane] = (uint8_t)(row >> (8 * q));
#elif PZ_W == 16
    warp->chunk.symbol[b * PZ_N + lane] = (uint16_t)row;
    warp->chunk.symbol[b * PZ_N + 32 + lane] = (uint16_t)(row >> 16);
#elif PZ_W == 32
    warp->chunk.symbol[b * PZ_N + lane] = row;
#else
    warp->chunk.word[b * 32 + lane % 16 * 2 + lane / 16] = row;
#endif
}

/* The planes of block b of the chunk. */
PZI_FN void PZ_CAT(to_planes)(PZ_LOCAL PZ_WARP *warp, uint32_t b)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, row);

    for (PZ_EACH_LANE(lanes))
        row[PZ_SLOT] = PZ_CAT(pack)(warp->chunk.symbol + b * PZ_N, lane);
    pzi_transpose32(lanes, row);
    for (PZ_EACH_LANE(lanes))
        warp->planes.word[b * PZI_BLOCK_WORDS + lane] = row[PZ_SLOT];
}

/* And back. */
PZI_FN void PZ_CAT(from_planes)(PZ_LOCAL PZ_WARP *warp, uint32_t b)
{
    PZ_LOCAL struct pzi_lanes *const lanes = &warp->lanes;
    PZ_LANE_VAR(uint32_t, row);

    for (PZ_EACH_LANE(lanes))
        row[PZ_SLOT] = warp->planes.word[b * PZI_BLOCK_WORDS + lane];
    pzi_transpose32(lanes, row);
    for (PZ_EACH_LANE(lanes))
        PZ_CAT(unpack)(warp, b, lane, row[PZ_SLOT]);
}

/* Plane j < w of a block, from and to the memory of a warp. */
PZI_FN PZ_WIDE PZ_CAT(get_plane)(PZ_LOCAL const PZ_WARP *warp, uint32_t b, uint32_t j)
{
    PZ_LOCAL const uint32_t *const word = warp->planes.word + b * PZI_BLOCK_WORDS;

#if PZ_W == 8
    return pzi_p128_of(word[j] | (uint64_t)word[j + 8] << 32,
                       word[j + 16] | (uint64_t)word[j + 24] << 32);
#elif PZ_W == 16
    return word[j] | (uint64_t)word[j + 16] << 32;
#elif PZ_W == 32
    return word[j];
#else
    return word[j % 32] >> (j / 32 * 16) & 0xffff;
#endif
}

PZI_FN void PZ_CAT(set_plane)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t j, PZ_WIDE plane)
{
    PZ_LOCAL uint32_t *const word = warp->planes.word + b * PZI_BLOCK_WORDS;

#if PZ_W == 8
    for (uint32_t q = 0; q < 4; q++)
        word[j + 8 * q] = (uint32_t)(pzi_p128_piece(plane, q / 2) >> (q % 2 * 32));
#elif PZ_W == 16
    word[j] = (uint32_t)plane;
    word[j + 16] = (uint32_t)(plane >> 32);
#elif PZ_W == 32
    word[j] = (uint32_t)plane;
#else
    word[j % 32] = (word[j % 32] & 0xffff0000u >> (j / 32 * 16)) | (uint32_t)plane << (j / 32 * 16);
#endif
}

/* The lowest `count` bits of a plane, 0 <= count <= N, to bit `at` of the payload; and N bits from
 * there. */
PZI_FN void PZ_CAT(put_plane)(PZ_LOCAL PZ_WARP *warp, uint32_t at, PZ_WIDE plane, uint32_t count)
{
#if PZ_W == 8
    pzi_put_bits(warp->stream.word, at, plane.lo, count < 64 ? count : 64);
    if (count > 64)
        pzi_put_bits(warp->stream.word, at + 64, plane.hi, count - 64);
#else
    pzi_put_bits(warp->stream.word, at, plane, count);
#endif
}

PZI_FN PZ_WIDE PZ_CAT(take_plane)(PZ_LOCAL const PZ_WARP *warp, uint32_t at)
{
#if PZ_W == 8
    return pzi_p128_of(pzi_bits64(warp->stream.word, at), pzi_bits64(warp->stream.word, at + 64));
#elif PZ_W == 16
    return pzi_bits64(warp->stream.word, at);
#else
    return pzi_bits32(warp->stream.word, at) & (uint32_t)pzi_low_bits(PZ_N);
#endif
}

/* Where the planes of block b are, its quotients lie for a while: of N bits for each l = 1 .. 6,
 * which symbols have l or more. */
PZI_FN PZ_LOCAL uint32_t *PZ_CAT(quotient)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t l)
{
    enum { WORDS = (PZ_N + 31) / 32 };

    return warp->planes.word + b * PZI_BLOCK_WORDS + l * WORDS;
}

PZI_FN PZ_WIDE PZ_CAT(quotient_plane)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t l)
{
    PZ_LOCAL const uint32_t *const word = PZ_CAT(quotient)(warp, b, l);

#if PZ_W == 8
    return pzi_p128_of(word[0] | (uint64_t)word[1] << 32, word[2] | (uint64_t)word[3] << 32);
#elif PZ_W == 16
    return word[0] | (uint64_t)word[1] << 32;
#else
    return word[0];
#endif
}

PZI_FN void PZ_CAT(keep_quotient)(PZ_LOCAL PZ_WARP *warp, uint32_t b, uint32_t l, PZ_WIDE plane)
{
    PZ_LOCAL uint32_t *const word = PZ_CAT(quotient)(warp, b, l);

    for (uint32_t i = 0; i < PZ_N; i += 32)
        word[i / 32] = (uint32_t)(PZ_P(piece)(plane, i / 64) >> i % 64);
}

/* Symbols of block b that exist, if there are n. */
PZI_FN PZ_WIDE PZ_CAT(existing)(uint32_t n, uint32_t b)
{
    const uint32_t left = n - b * PZ_N;

    return PZ_P(below)(left < PZ_N ? left : PZ_N);
}

PZI_FN uint32_t PZ_CAT(blocks_of)(uint32_t n)
{
    return (n + PZ_N - 1) / PZ_N;
}

/* The rows of 32 symbols of these blocks. */
PZI_FN uint32_t PZ_CAT(rows_of)(uint32_t n)
{
    return (PZ_CAT(blocks_of)(n) * PZ_N + 31) / 32;
}

/* The rows of `coded` that belong to block b. */
PZI_FN PZ_WIDE PZ_CAT(coded_of)(PZ_LOCAL const PZ_WARP *warp, uint32_t b)
{
    PZ_LOCAL const uint32_t *const coded = warp->coded;

#if PZ_W == 8
    return pzi_p128_of(coded[4 * b] | (uint64_t)coded[4 * b + 1] << 32,
                       coded[4 * b + 2] | (uint64_t)coded[4 * b + 3] << 32);
#elif PZ_W == 16
    return coded[2 * b] | (uint64_t)coded[2 * b + 1] << 32;
#elif PZ_W == 32
    return coded[b];
#else
    return coded[b / 2] >> (b % 2 * 16) & 0xffff;
#endif
}

/* A lane has the rows from this number on; there may be fewer. */
PZI_FN uint32_t PZ_CAT(first_row)(uint32_t lane)
{
    return lane * PZ_CAT(lane_rows);
}

/* ---- Faults --------------------------------------------------------------------------------- */

/* Notes that part `place` of those that the lanes look at has a fault; the first part wins. */
PZI_FN void PZ_CAT(blame)(PZ_LOCAL PZ_WARP *warp, uint32_t place, uint32_t status)
{
    PZ_MIN32(&warp->fault, place << 8 | status);
}

/* The status that follows, in all lanes; the next part of the payload may then be looked at. */
PZI_FN uint32_t PZ_CAT(settle)(PZ_LOCAL PZ_WARP *warp)
{
    uint32_t fault;

    PZ_SYNC(&warp->lanes);
    fault = warp->fault;
    PZ_SYNC(&warp->lanes);
    return fault == PZI_NO_FAULT ? PZ_OK : fault & 0xff;
}

/* Goes past a plane of `bits` bits, which must be there and end in zeros. */
PZI_FN uint32_t PZ_CAT(skip_plane)(PZ_LOCAL const PZ_WARP *warp, uint32_t *next, uint32_t end,
                                   uint32_t bits)
{
    const uint32_t bytes = pzi_bytes_of_bits(bits);

    if (bytes > end - *next)
        return PZ_ERR_CHUNK_END;
    if (bits % 8 != 0 && warp->stream.byte[*next + bytes - 1] >> bits % 8 != 0)
        return PZ_ERR_PADDING;
    *next += bytes;
    return PZ_OK;
}
