/* The kernel that packs rows into slots (docs/ibp.md, "Slots"): a warp has eight rows, which share
 * a byte of the bit map, one after the other, and a lane a word of 32 bits of a row. */
#ifndef PZI_GPU_IBP_PACK_H
#define PZI_GPU_IBP_PACK_H

#include "gpu/ibp.h"

/* A bit for each of the groups of word j that participates; they are smaller than a word. */
PZI_FN uint32_t pzi_ibp_small_groups(const struct pzi_ibp_view *t, uint32_t j, uint32_t wrong)
{
    const uint32_t size = 1u << t->group_log, number = j * 32 / size;
    uint32_t clean = 0;

    for (uint32_t i = 0; i < 32 / size && number + i < t->groups; i++)
        if ((wrong >> i * size & (uint32_t)pzi_low_bits(size)) == 0)
            clean |= 1u << i;
    return clean;
}

/* Marks the groups of 32 words from `first` on that participate; wrong[]: the bits of each that are
 * not those of the table. */
PZI_FN void pzi_ibp_mark_groups(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                                uint32_t first, const uint32_t *wrong)
{
    uint32_t bad, words_log, words;

    if (t->group_log < 5) {
        for (PZ_EACH_LANE(&warp->lanes))
            if (first + lane < t->words) {
                const uint32_t number = (first + lane) * 32 >> t->group_log;
                const uint32_t at = number % PZI_IBP_MAP_GROUPS;

                PZ_OR32(&warp->map[at / 32], pzi_ibp_small_groups(t, first + lane, wrong[PZ_SLOT])
                                                 << at % 32);
            }
        return;
    }
    words_log = t->group_log - 5;
    words = 1u << words_log;
    PZ_BALLOT(&warp->lanes, bad, wrong);
    for (PZ_EACH_LANE(&warp->lanes)) {
        const uint32_t number = (first >> words_log) + lane, at = number % PZI_IBP_MAP_GROUPS;

        if (lane < PZ_LANES / words && number < t->groups &&
            (bad >> lane * words & (uint32_t)pzi_low_bits(words)) == 0)
            PZ_OR32(&warp->map[at / 32], 1u << at % 32);
    }
}

/* A part of the map of a row. */
PZI_FN void pzi_ibp_find_map(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                             PZ_GLOBAL const uint8_t *raw, uint32_t part)
{
    const uint32_t end = pzi_ibp_map_word(t, part + 1);

    PZ_SYNC(&warp->lanes);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < PZI_IBP_MAP_WORDS; i += PZ_LANES)
            warp->map[i] = 0;
    PZ_SYNC(&warp->lanes);
    for (uint32_t first = pzi_ibp_map_word(t, part); first < end; first += PZ_LANES) {
        PZ_LANE_VAR(uint32_t, wrong);

        for (PZ_EACH_LANE(&warp->lanes)) {
            const uint32_t j = first + lane;

            wrong[PZ_SLOT] =
                j < end ? (pzi_ibp_load(raw, t->row_bytes, j) ^ t->value[j]) & t->mask[j] : 0;
        }
        pzi_ibp_mark_groups(warp, t, first, wrong);
    }
    PZ_SYNC(&warp->lanes);
}

/* ---- Bits of a row, one after the other ----------------------------------------------------- */

/* What is written next: words of the target, of whose first one `skip` bytes are not ours, and bits
 * in the window that have no whole word yet. */
struct pzi_ibp_sink {
    PZ_GLOBAL uint8_t *word;
    uint32_t skip, bits;
};

PZI_FN void pzi_ibp_clear_out(PZ_LOCAL struct pzi_ibp_warp *warp, uint32_t first)
{
    for (PZ_EACH_LANE(&warp->lanes)) {
        for (uint32_t i = lane; i < PZI_IBP_OUT_WORDS; i += PZ_LANES)
            warp->window[i] = i == 0 ? first : 0;
    }
    PZ_SYNC(&warp->lanes);
}

PZI_FN struct pzi_ibp_sink pzi_ibp_sink_at(PZ_LOCAL struct pzi_ibp_warp *warp,
                                           PZ_GLOBAL uint8_t *to)
{
    struct pzi_ibp_sink sink;

    sink.skip = (uint32_t)((uintptr_t)to & 3);
    sink.word = to - sink.skip;
    sink.bits = 8 * sink.skip;
    PZ_SYNC(&warp->lanes);
    pzi_ibp_clear_out(warp, 0);
    return sink;
}

/* Writes the whole words that are in the window. */
PZI_FN void pzi_ibp_flush(PZ_LOCAL struct pzi_ibp_warp *warp, struct pzi_ibp_sink *sink)
{
    const uint32_t whole = sink->bits / 32;
    uint32_t rest;

    PZ_SYNC(&warp->lanes);
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < whole; i += PZ_LANES) {
            if (i > 0 || sink->skip == 0)
                *(PZ_GLOBAL uint32_t *)(sink->word + 4 * i) = warp->window[i];
            else
                for (uint32_t k = sink->skip; k < 4; k++)
                    sink->word[k] = (uint8_t)(warp->window[0] >> 8 * k);
        }
    rest = warp->window[whole];
    PZ_SYNC(&warp->lanes);
    pzi_ibp_clear_out(warp, rest);
    sink->skip = whole == 0 ? sink->skip : 0;
    sink->word += 4 * whole;
    sink->bits %= 32;
}

/* The last bits, zeros behind them. */
PZI_FN void pzi_ibp_finish(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_sink *sink)
{
    for (PZ_EACH_LANE(&warp->lanes))
        if (lane >= sink->skip && lane < (sink->bits + 7) / 8)
            sink->word[lane] = (uint8_t)(warp->window[0] >> 8 * lane);
}

/* The stored bits of 32 words from `first` on, before `end`. */
PZI_FN void pzi_ibp_pack_words(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                               PZ_GLOBAL const uint8_t *raw, uint32_t first, uint32_t end,
                               struct pzi_ibp_sink *sink)
{
    PZ_LANE_VAR(uint32_t, kept);
    PZ_LANE_VAR(uint32_t, below);
    uint32_t total;

    for (PZ_EACH_LANE(&warp->lanes)) {
        kept[PZ_SLOT] = first + lane < end ? pzi_ibp_kept_bits(t, warp->map, first + lane) : 0;
        below[PZ_SLOT] = pzi_count32(kept[PZ_SLOT]);
    }
    total = pzi_scan(&warp->lanes, below);
    for (PZ_EACH_LANE(&warp->lanes))
        if (first + lane < end)
            pzi_put_bits(
                warp->window, sink->bits + below[PZ_SLOT],
                pzi_extract32(pzi_ibp_load(raw, t->row_bytes, first + lane), kept[PZ_SLOT]),
                pzi_count32(kept[PZ_SLOT]));
    sink->bits += total;
    pzi_ibp_flush(warp, sink);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* The bytes of a part of the map to where they belong. */
PZI_FN void pzi_ibp_write_map(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                              uint32_t part, PZ_GLOBAL uint8_t *slot)
{
    const uint32_t at = 4 * part * PZI_IBP_MAP_WORDS;

    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t i = lane; i < 4 * PZI_IBP_MAP_WORDS && at + i < t->map_bytes; i += PZ_LANES)
            slot[at + i] = (uint8_t)(warp->map[i / 4] >> 8 * (i % 4));
}

PZI_FN void pzi_ibp_copy_row(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                             PZ_GLOBAL const uint8_t *raw, PZ_GLOBAL uint8_t *slot)
{
    for (PZ_EACH_LANE(&warp->lanes))
        for (uint32_t j = lane; j < t->words; j += PZ_LANES)
            pzi_ibp_store(slot, t->row_bytes, j, pzi_ibp_load(raw, t->row_bytes, j));
}

/* A row to its slot; whether it is packed there. */
PZI_FN uint32_t pzi_ibp_pack_row(PZ_LOCAL struct pzi_ibp_warp *warp, const struct pzi_ibp_view *t,
                                 PZ_GLOBAL const uint8_t *raw, PZ_GLOBAL uint8_t *slot)
{
    const uint32_t parts = pzi_ibp_map_parts(t);
    struct pzi_ibp_sink sink;
    uint32_t bits = 8 * t->map_bytes;

    for (uint32_t part = parts; part-- > 0;) { /* the first part is then there to begin with */
        pzi_ibp_find_map(warp, t, raw, part);
        bits += pzi_ibp_count(warp, t, part);
    }
    if ((bits + 7) / 8 >= t->row_bytes) {
        pzi_ibp_copy_row(warp, t, raw, slot);
        return 0;
    }
    sink = pzi_ibp_sink_at(warp, slot + t->map_bytes);
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t end = pzi_ibp_map_word(t, part + 1);

        if (part > 0)
            pzi_ibp_find_map(warp, t, raw, part);
        pzi_ibp_write_map(warp, t, part, slot);
        for (uint32_t j = pzi_ibp_map_word(t, part); j < end; j += PZ_LANES)
            pzi_ibp_pack_words(warp, t, raw, j, end, &sink);
    }
    pzi_ibp_finish(warp, &sink);
    return 1;
}

/* Rows to the slots number first and following, `stride` bytes from one to the next, and to the bit
 * map of packed rows. */
PZ_KERNEL void pz_ibp_pack_rows(PZ_GLOBAL const uint32_t *table, PZ_GLOBAL const uint8_t *raw,
                                uint64_t first, uint64_t count, PZ_GLOBAL uint8_t *slots,
                                uint64_t stride, PZ_GLOBAL uint8_t *packed)
{
    const struct pzi_ibp_view t = pzi_ibp_view_of(table);
    const uint64_t end = first + count, bytes = count == 0 ? 0 : (end + 7) / 8 - first / 8;
    PZ_LOCAL_STRUCT(struct pzi_ibp_warp, warp);

    for (uint64_t i = PZ_GROUP_ID; i < bytes; i += PZ_GROUP_COUNT) {
        const uint64_t byte = first / 8 + i;
        uint32_t done = 0, is_packed = 0;

        for (uint32_t k = 0; k < 8; k++) {
            const uint64_t row = 8 * byte + k;

            if (row < first || row >= end)
                continue;
            done |= 1u << k;
            is_packed |=
                pzi_ibp_pack_row(&warp, &t, raw + (row - first) * t.row_bytes, slots + row * stride)
                << k;
        }
        if (PZ_IS_FIRST(&warp.lanes))
            packed[byte] = (uint8_t)((packed[byte] & ~done) | is_packed);
    }
}

#endif
