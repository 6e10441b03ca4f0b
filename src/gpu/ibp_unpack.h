/* The kernel that unpacks rows, in order or by their numbers: a warp has a row, in memory of the
 * device or of the host, and a lane a word of 32 bits of it.  What a row takes shows from its map;
 * no piece of it is read before it is known to be needed, none twice but of maps of more than 4096
 * groups, and nothing else. */
#ifndef PZI_GPU_IBP_UNPACK_H
#define PZI_GPU_IBP_UNPACK_H

#include "gpu/ibp.h"

/* A row that is read.  Places are bytes from the multiple of a piece at or before it. */
struct pzi_ibp_source {
    PZ_GLOBAL const uint8_t *row;
    uint32_t skew;   /* place of the row */
    uint32_t limit;  /* bytes that it has at most */
    uint32_t loaded; /* place up to which the window has been filled */
};

/* The beginning of the piece that a place is in. */
PZI_FN uint32_t pzi_ibp_piece(uint32_t place)
{
    return place / PZI_IBP_PIECE_BYTES * PZI_IBP_PIECE_BYTES;
}

/* The word at a place, of which only bytes of the row are read. */
PZI_FN uint32_t pzi_ibp_read(const struct pzi_ibp_source *from, uint32_t place)
{
    uint32_t word = 0;

    if (place >= from->skew && place - from->skew + 4 <= from->limit)
        return *(PZ_GLOBAL const uint32_t *)(from->row + (place - from->skew));
    for (uint32_t k = 0; k < 4; k++)
        if (place + k >= from->skew && place + k - from->skew < from->limit)
            word |= (uint32_t)from->row[place + k - from->skew] << 8 * k;
    return word;
}

/* Fills the window with the words up to `end`, which must have room. */
PZI_FN void pzi_ibp_fill(PZ_LOCAL struct pzi_ibp_warp *warp, struct pzi_ibp_source *from,
                         uint32_t end)
{
    PZ_SYNC(&warp->lanes);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t place = pzi_ibp_piece(from->loaded) + 4 * lane; place < end;
             place += PZI_IBP_PIECE_BYTES)
            if (place >= from->loaded)
                warp->window[place / 4 % PZI_IBP_WINDOW_WORDS] = pzi_ibp_read(from, place);
    PZ_SYNC(&warp->lanes);
    from->loaded = (end + 3) / 4 * 4;
}

/* 32 bits of the window. */
PZI_FN uint32_t pzi_ibp_window_bits(PZ_LOCAL const struct pzi_ibp_warp *warp, uint32_t bit)
{
    const uint64_t low = warp->window[bit / 32 % PZI_IBP_WINDOW_WORDS];
    const uint64_t high = warp->window[(bit / 32 + 1) % PZI_IBP_WINDOW_WORDS];

    return (uint32_t)((low | high << 32) >> bit % 32);
}

/* A part of the map.  If it is all of it, by way of the window, together with what of the row is
 * there in any case; else no byte of it is in the window. */
PZI_FN void pzi_ibp_load_map(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                             struct pzi_ibp_source *from, uint32_t part)
{
    const uint32_t is_all = pzi_ibp_map_parts(t) == 1;
    const uint32_t sure =
        from->skew + (t->least_bytes < from->limit ? t->least_bytes : from->limit);

    if (is_all)
        pzi_ibp_fill(warp, from, sure < 4 * PZI_IBP_WINDOW_WORDS ? sure : 4 * PZI_IBP_WINDOW_WORDS);
    else
        PZ_SYNC(&warp->lanes);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < PZI_IBP_MAP_WORDS; i += PZ_LANES) {
            const uint32_t at = 4 * (part * PZI_IBP_MAP_WORDS + i);

            if (at < t->map_bytes)
                warp->map[i] = is_all ? pzi_ibp_window_bits(warp, 8 * (from->skew + at))
                                      : pzi_ibp_load(from->row, t->map_bytes, at / 4);
        }
    PZ_SYNC(&warp->lanes);
}

/* Whether the bits that fill up the last byte of the map, in its last part, are zero. */
PZI_FN uint32_t pzi_ibp_map_is_padded(PZ_LOCAL const struct pzi_ibp_warp *warp,
                                      const struct pzi_ibp_view *t)
{
    const uint32_t last = (t->map_bytes - 1) % (4 * PZI_IBP_MAP_WORDS);

    return t->groups % 8 == 0 ||
           (warp->map[last / 4] >> 8 * (last % 4) & 0xff) >> t->groups % 8 == 0;
}

/* All of the map: what the packed row takes, and what is wrong with that. */
PZI_FN uint32_t pzi_ibp_look(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                             struct pzi_ibp_source *from, uint32_t *bits)
{
    const uint32_t parts = pzi_ibp_map_parts(t);

    *bits = 8 * t->map_bytes;
    if (t->map_bytes > from->limit)
        return PZ_ERR_TRUNCATED;
    if (parts > 1) /* the window begins with what is behind the map */
        from->loaded = pzi_ibp_piece(from->skew + t->map_bytes);
    for (uint32_t part = parts; part-- > 0;) { /* the first part is then there to begin with */
        pzi_ibp_load_map(warp, t, from, part);
        if (part == parts - 1 && !pzi_ibp_map_is_padded(warp, t))
            return PZ_ERR_PADDING;
        *bits += pzi_ibp_count(warp, t, part);
    }
    return *bits > 8 * from->limit ? PZ_ERR_TRUNCATED : PZ_OK;
}

/* 32 words from `first` on, the stored bits of which, kept[] in each lane, begin at *bit of the
 * row; its last one is before `end`. */
PZI_FN void pzi_ibp_unpack_words(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                                 struct pzi_ibp_source *from, uint32_t first, const uint32_t *kept,
                                 uint32_t *bit, uint32_t end, PZ_GLOBAL uint8_t *raw)
{
    PZ_LANE_VAR(uint32_t, below);
    const uint32_t begin = 8 * from->skew + *bit;
    uint32_t total;

    for (PZ_EACH_LANE(&warp->lanes))
        below[PZ_SLOT] = pzi_count32(kept[PZ_SLOT]);
    total = pzi_scan(&warp->lanes, below);
    if ((begin + total + 7) / 8 > from->loaded) {
        const uint32_t room = pzi_ibp_piece(begin / 8) + 4 * PZI_IBP_WINDOW_WORDS;

        pzi_ibp_fill(warp, from, end < room ? end : room);
    }
    for (PZ_EACH_LANE(&warp->lanes))
        if (first + lane < t->words) {
            const uint32_t stored = pzi_ibp_window_bits(warp, begin + below[PZ_SLOT]);
            const uint32_t j = first + lane;

            pzi_ibp_store(raw, t->row_bytes, j,
                          pzi_deposit32(stored, kept[PZ_SLOT]) | (t->value[j] & ~kept[PZ_SLOT]));
        }
    *bit += total;
}

/* The words of a row whose bits are there; is_raw: all of each, without a map. */
PZI_FN void pzi_ibp_unpack_row(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                               struct pzi_ibp_source *from, uint32_t is_raw, uint32_t bits,
                               PZ_GLOBAL uint8_t *raw)
{
    const uint32_t parts = pzi_ibp_map_parts(t), end = from->skew + (bits + 7) / 8;
    uint32_t bit = is_raw ? 0 : 8 * t->map_bytes;

    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t last = pzi_ibp_map_word(t, part + 1);

        if (!is_raw && part > 0)
            pzi_ibp_load_map(warp, t, from, part);
        for (uint32_t j = pzi_ibp_map_word(t, part); j < last; j += PZ_LANES) {
            PZ_LANE_VAR(uint32_t, kept);

            for (PZ_EACH_LANE(&warp->lanes))
                kept[PZ_SLOT] = j + lane >= t->words ? 0
                                : is_raw             ? pzi_ibp_valid_bits(t, j + lane)
                                                     : pzi_ibp_kept_bits(t, warp->map, j + lane);
            pzi_ibp_unpack_words(warp, t, from, j, kept, &bit, end, raw);
        }
    }
}

/* Whether the bits that fill up the last byte of a row are zero; it is in the window. */
PZI_FN uint32_t pzi_ibp_is_padded(PZ_LOCAL const struct pzi_ibp_warp *warp,
                                  const struct pzi_ibp_source *from, uint32_t bits)
{
    const uint32_t gap = (0 - bits) & 7;

    return gap == 0 || (pzi_ibp_window_bits(warp, 8 * from->skew + bits) & ((1u << gap) - 1)) == 0;
}

/* Rows as they are stored: in slots, `extent` bytes from one to the next and a bit in `places` that
 * says whether they are packed; or condensed, `extent` bytes in all, and offsets in `places`. */
struct pzi_ibp_stored {
    uint32_t kind;
    PZ_GLOBAL const uint8_t *data, *places;
    uint64_t count, extent;
};

/* Where a row is. */
PZI_FN uint32_t pzi_ibp_find(const struct pzi_ibp_stored *rows, const struct pzi_ibp_view *t,
                             uint64_t row, struct pzi_ibp_source *from, uint32_t *is_raw)
{
    PZ_GLOBAL const uint64_t *const offsets = (PZ_GLOBAL const uint64_t *)rows->places;
    uint64_t begin = row * rows->extent, bytes = t->row_bytes;

    if (row >= rows->count)
        return PZ_ERR_ARGUMENT;
    if (rows->kind & PZI_IBP_CONDENSED) {
        begin = offsets[row];
        bytes = offsets[row + 1] - begin;
        if (begin > offsets[row + 1] || offsets[row + 1] > rows->extent || bytes > t->row_bytes)
            return PZ_ERR_RANGE;
        *is_raw = bytes == t->row_bytes;
    } else {
        *is_raw = (rows->places[row / 8] >> row % 8 & 1) == 0;
        bytes -= !*is_raw;
    }
    from->row = rows->data + begin;
    from->skew = (uint32_t)((uintptr_t)from->row % PZI_IBP_PIECE_BYTES);
    from->limit = (uint32_t)bytes;
    from->loaded = 0;
    return PZ_OK;
}

/* A row to `raw`; the status that the CPU would find. */
PZI_FN uint32_t pzi_ibp_fetch(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                              const struct pzi_ibp_stored *rows, uint64_t row,
                              PZ_GLOBAL uint8_t *raw)
{
    struct pzi_ibp_source from;
    uint32_t is_raw = 0, bits = 8 * t->row_bytes;
    uint32_t status = pzi_ibp_find(rows, t, row, &from, &is_raw);

    if (status == PZ_OK && !is_raw)
        status = pzi_ibp_look(warp, t, &from, &bits);
    if (status != PZ_OK)
        return status;
    pzi_ibp_unpack_row(warp, t, &from, is_raw, bits, raw);
    if (is_raw)
        return PZ_OK;
    if (!pzi_ibp_is_padded(warp, &from, bits))
        return PZ_ERR_PADDING;
    return (rows->kind & PZI_IBP_CONDENSED) != 0 && (bits + 7) / 8 != from.limit ? PZ_ERR_TRAILING
                                                                                 : PZ_OK;
}

/* Begins the state of a call. */
PZ_KERNEL void pz_ibp_begin(PZ_GLOBAL uint64_t *state)
{
    PZ_LOCAL_STRUCT(struct pzi_lanes, lanes);

    if (PZ_IS_FIRST(&lanes)) {
        state[PZI_STATE_PLACES] = state[PZI_STATE_CHUNKS] = UINT64_MAX;
        state[PZI_STATE_BYTES] = 0;
    }
}

/* Row k of `raw` is row index[k], or first + k without an index.  The first one with a fault goes
 * to the state. */
PZ_KERNEL void pz_ibp_unpack_rows(PZ_GLOBAL const uint32_t *table, uint32_t kind,
                                  PZ_GLOBAL const uint8_t *data, PZ_GLOBAL const uint8_t *places,
                                  uint64_t stored, uint64_t extent, PZ_GLOBAL const uint64_t *index,
                                  uint64_t first, uint64_t count, PZ_GLOBAL uint8_t *raw,
                                  PZ_GLOBAL uint64_t *state)
{
    const struct pzi_ibp_view t = pzi_ibp_view_of(table);
    struct pzi_ibp_stored rows;
    PZ_LOCAL_STRUCT(struct pzi_ibp_warp, warp);

    rows.kind = kind;
    rows.data = data;
    rows.places = places;
    rows.count = stored;
    rows.extent = extent;
    for (uint64_t k = PZ_GROUP_ID; k < count; k += PZ_GROUP_COUNT) {
        const uint64_t row = kind & PZI_IBP_BY_INDEX ? index[k] : first + k;
        const uint32_t status = pzi_ibp_fetch(&warp, &t, &rows, row, raw + k * t.row_bytes);

        if (status != PZ_OK && PZ_IS_FIRST(&warp.lanes))
            PZ_MIN64(&state[PZI_STATE_CHUNKS], k << 8 | status);
    }
}

#endif
