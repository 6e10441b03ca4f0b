/* A row in its packed form and back (docs/ibp.md, "Packed row"), word by word, for one instruction
 * set.  Who includes it has defined, for word k of which the lanes in `lanes` participate:
 *
 *   count_word(table, k, lanes, valid, lane)        its stored bits
 *   deposit_word(table, k, lanes, valid, lane, x)   the bits of x, moved to their places in it
 *   extract_word(table, k, lanes, valid, lane, x)   the stored bits of the word x, moved together
 *   spread(bits, lane)                              a bit for each lane, made the lanes' masks
 *   block_is_clean(table, k, raw)                   whether all of 8 words participate
 *
 * valid has the bits of the word that belong to the row, lane is table->lane_bits; both are
 * constants where they can be.
 *
 * Each loop works on a copy of the table that nobody else knows: what it writes, bytes, could else
 * be the table's own pointers, and they would be read again for every word. */

/* What is read or written at once begins within a byte and ends 71 bits later. */
enum { AT_ONCE_BYTES = 9, BLOCK_WORDS = PZ_IBP_GROUP_MAX_BITS / 64 };

PZI_INLINE uint64_t ones_below(unsigned bits)
{
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Ones in the lanes of word k that participate. */
PZI_INLINE uint64_t lanes_of(const pz_ibp_table *table, const uint8_t *map, size_t k, unsigned lane)
{
    const unsigned lanes = 64 / lane;
    const size_t at = lanes == 1 ? k >> table->group_words : k * lanes;
    const unsigned bits = map[at / 8] >> (at % 8) & ((1u << lanes) - 1);

    return lanes == 1 ? -(uint64_t)bits : spread(bits, lane);
}

/* Word k of a row. */
PZI_INLINE uint64_t word_of(const pz_ibp_table *table, const uint8_t *raw, size_t k)
{
    uint8_t word[8] = {0};

    if (k < table->words)
        return pzi_load_le64(raw + 8 * k);
    memcpy(word, raw + 8 * k, table->tail_bytes);
    return pzi_load_le64(word);
}

PZI_INLINE void store_tail(uint8_t *raw, unsigned bytes, uint64_t x)
{
    uint8_t word[8];

    pzi_store_le64(word, x);
    memcpy(raw, word, bytes);
}

/* ---- Who participates ------------------------------------------------------------------------ */

/* The lanes that violate nothing, as masks. */
PZI_INLINE uint64_t clean_lanes(uint64_t wrong, unsigned lane)
{
    const uint64_t lowest = UINT64_MAX / ones_below(lane), highest = lowest << (lane - 1);
    const uint64_t is_wrong = ((wrong & ~highest) + ~highest) | wrong; /* in the highest bits */

    if (lane == 64)
        return wrong == 0 ? UINT64_MAX : 0;
    return ((~is_wrong & highest) >> (lane - 1)) * ones_below(lane);
}

/* A bit for each lane of a mask of lanes. */
PZI_INLINE unsigned gather(uint64_t lanes, unsigned lane)
{
    switch (lane) {
    case 8:
        return (unsigned)((lanes & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >>
                          56);
    case 16:
        return (unsigned)((lanes & UINT64_C(0x0001000100010001)) * UINT64_C(0x1000200040008000) >>
                          60);
    case 32:
        return (unsigned)(lanes & 1) | (unsigned)(lanes >> 62 & 2);
    default:
        return (unsigned)(lanes & 1);
    }
}

PZI_INLINE uint64_t wrong_bits(const pz_ibp_table *table, const uint8_t *raw, size_t k)
{
    return (word_of(table, raw, k) ^ table->value[k]) & table->mask[k];
}

/* The lanes of word k that participate; a word that begins a group speaks for all of the group. */
PZI_INLINE uint64_t find_lanes(const pz_ibp_table *table, const uint8_t *raw, size_t k,
                               unsigned lane)
{
    const size_t all = table->words + (table->tail_bytes != 0);
    const size_t in_group = lane == 64 ? (size_t)1 << table->group_words : 1;
    uint64_t wrong = 0;

    for (size_t i = k; i < k + in_group && i < all; i++)
        wrong |= wrong_bits(table, raw, i);
    return clean_lanes(wrong, lane);
}

/* The groups of word k among these lanes: a bit for each, none for what is behind the row. */
PZI_INLINE unsigned groups_in(const pz_ibp_table *table, uint64_t lanes, size_t k, unsigned lane)
{
    const unsigned bits = gather(lanes, lane);

    return lane == 64 || k < table->words ? bits
                                          : bits & ((1u << (table->groups - k * (64 / lane))) - 1);
}

PZI_INLINE bool begins_group(const pz_ibp_table *table, size_t k, unsigned lane)
{
    return lane != 64 || (k & (((size_t)1 << table->group_words) - 1)) == 0;
}

/* ---- Size ------------------------------------------------------------------------------------ */

/* Words *k to end - 1, for a group that begins at *k. */
PZI_INLINE size_t size_words(const pz_ibp_table *table, const uint8_t *raw, size_t k, size_t end,
                             size_t *packed_groups, unsigned lane)
{
    size_t bits = 0, packed = 0;
    uint64_t lanes = 0;

    for (; k < end; k++) {
        if (begins_group(table, k, lane)) {
            lanes = find_lanes(table, raw, k, lane);
            packed += (unsigned)__builtin_popcount(groups_in(table, lanes, k, lane));
        }
        bits += k < table->words ? count_word(table, k, lanes, UINT64_MAX, lane)
                                 : count_word(table, k, lanes, pzi_ibp_valid(table, k), lane);
    }
    *packed_groups += packed;
    return bits;
}

/* In blocks where groups are whole words. */
PZI_INLINE size_t size_lanes(const pz_ibp_table *table, const uint8_t *raw, size_t *packed_groups,
                             unsigned lane)
{
    size_t k = 0, bits = 8 * table->map_bytes;

    *packed_groups = 0;
    for (; lane == 64 && k + BLOCK_WORDS <= table->words; k += BLOCK_WORDS) {
        if (block_is_clean(table, k, raw)) {
            bits += table->start[k + BLOCK_WORDS] - table->start[k];
            *packed_groups += BLOCK_WORDS >> table->group_words;
        } else {
            bits += size_words(table, raw, k, k + BLOCK_WORDS, packed_groups, lane);
        }
    }
    return bits +
           size_words(table, raw, k, table->words + (table->tail_bytes != 0), packed_groups, lane);
}

static size_t size_row(const pz_ibp_table *shared, const uint8_t *raw, size_t *packed_groups)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        return size_lanes(table, raw, packed_groups, 8);
    case 16:
        return size_lanes(table, raw, packed_groups, 16);
    case 32:
        return size_lanes(table, raw, packed_groups, 32);
    default:
        return size_lanes(table, raw, packed_groups, 64);
    }
}

/* ---- Pack ------------------------------------------------------------------------------------ */

/* How far a row is packed: the next word and the lanes of its group, the next bit, and what is
 * known of the bits of its byte. */
struct packing {
    size_t k, bit;
    uint64_t lanes, held;
};

/* Appends n bits. */
PZI_INLINE void append(struct packing *s, uint8_t *row, uint64_t x, unsigned n)
{
    const unsigned begin = s->bit % 8;
    const uint64_t low = s->held | x << begin, high = x >> 1 >> (63 - begin);
    uint8_t *const at = row + s->bit / 8;

    pzi_store_le64(at, low);
    at[8] = (uint8_t)high;
    s->bit += n;
    s->held = begin + n >= 64 ? high : low >> ((begin + n) & 56);
}

PZI_INLINE void mark_groups(const pz_ibp_table *table, uint8_t *map, size_t k, unsigned groups,
                            unsigned lane)
{
    const size_t at = lane == 64 ? k >> table->group_words : k * (64 / lane);

    map[at / 8] |= (uint8_t)(groups << at % 8);
}

PZI_INLINE void pack_word(const pz_ibp_table *table, const uint8_t *raw, uint8_t *map,
                          struct packing *s, uint8_t *row, uint64_t valid, unsigned lane)
{
    const size_t k = s->k++;

    if (begins_group(table, k, lane)) {
        s->lanes = find_lanes(table, raw, k, lane);
        mark_groups(table, map, k, groups_in(table, s->lanes, k, lane), lane);
    }
    append(s, row, extract_word(table, k, s->lanes, valid, lane, word_of(table, raw, k)),
           count_word(table, k, s->lanes, valid, lane));
}

/* The words up to end - 1, for as long as they may be written at bit last or before. */
PZI_INLINE void pack_words(const pz_ibp_table *table, const uint8_t *raw, uint8_t *map,
                           struct packing *s, uint8_t *row, size_t last, unsigned lane, size_t end)
{
    struct packing own = *s;

    while (own.k < end && own.bit <= last)
        pack_word(table, raw, map, &own, row, UINT64_MAX, lane);
    *s = own;
}

/* A block of which all words participate, each of which fits one store. */
PZI_INLINE void pack_block(const pz_ibp_table *table, const uint8_t *raw, struct packing *s,
                           uint8_t *row)
{
    const size_t base = s->bit - table->start[s->k];
    uint64_t held = s->held;

#pragma GCC unroll 8
    for (size_t i = 0; i < BLOCK_WORDS; i++) {
        const size_t k = s->k + i, bit = base + table->start[k];
        const size_t end = base + table->start[k + 1];
        const uint64_t x =
            extract_word(table, k, UINT64_MAX, UINT64_MAX, 64, pzi_load_le64(raw + 8 * k));
        const uint64_t low = held | x << bit % 8;

        pzi_store_le64(row + bit / 8, low);
        held = low >> (8 * (end / 8 - bit / 8));
    }
    s->held = held;
    s->bit = base + table->start[s->k + BLOCK_WORDS];
    s->k += BLOCK_WORDS;
}

/* A block of which all words participate. */
PZI_INLINE void pack_wide_block(const pz_ibp_table *table, const uint8_t *raw, struct packing *s,
                                uint8_t *row)
{
    for (size_t end = s->k + BLOCK_WORDS; s->k < end; s->k++)
        append(s, row,
               extract_word(table, s->k, UINT64_MAX, UINT64_MAX, 64, pzi_load_le64(raw + 8 * s->k)),
               table->start[s->k + 1] - table->start[s->k]);
}

PZI_INLINE void pack_blocks(const pz_ibp_table *table, const uint8_t *raw, uint8_t *row,
                            struct packing *s, size_t last)
{
    const size_t block_bits = (size_t)BLOCK_WORDS * 64;
    const unsigned all = (1u << (BLOCK_WORDS >> table->group_words)) - 1;

    while (s->k + BLOCK_WORDS <= table->words && s->bit + block_bits <= last) {
        if (block_is_clean(table, s->k, raw)) {
            mark_groups(table, row, s->k, all, 64);
            if (table->one_load)
                pack_block(table, raw, s, row);
            else
                pack_wide_block(table, raw, s, row);
        } else {
            pack_words(table, raw, row, s, row, last, 64, s->k + BLOCK_WORDS);
        }
    }
}

/* All but the end of the row is written in place; the end in memory with room behind it. */
PZI_INLINE size_t pack_lanes(const pz_ibp_table *table, const uint8_t *raw, uint8_t *row,
                             size_t room, unsigned lane)
{
    uint8_t end[4 * AT_ONCE_BYTES] = {0};
    struct packing s = {.bit = 8 * table->map_bytes};
    size_t done, bytes;

    if (table->map_bytes > room)
        return 0;
    memset(row, 0, table->map_bytes);
    if (room >= AT_ONCE_BYTES) {
        const size_t last = 8 * (room - AT_ONCE_BYTES) + 7;

        if (lane == 64 && (table->one_load || table->group_words != 0))
            pack_blocks(table, raw, row, &s, last);
        pack_words(table, raw, row, &s, row, last, lane, table->words);
    }
    done = s.bit / 8;
    s.bit %= 8;
    end[0] = (uint8_t)s.held;
    pack_words(table, raw, row, &s, end, 8 * AT_ONCE_BYTES, lane, table->words);
    if (s.k < table->words)
        return 0;
    if (table->tail_bytes != 0)
        pack_word(table, raw, row, &s, end, pzi_ibp_valid(table, s.k), lane);
    bytes = done + (s.bit + 7) / 8;
    if (bytes > room)
        return 0;
    memcpy(row + done, end, bytes - done);
    return bytes;
}

static size_t pack_row(const pz_ibp_table *shared, const uint8_t *raw, uint8_t *row, size_t room)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        return pack_lanes(table, raw, row, room, 8);
    case 16:
        return pack_lanes(table, raw, row, room, 16);
    case 32:
        return pack_lanes(table, raw, row, room, 32);
    default:
        return pack_lanes(table, raw, row, room, 64);
    }
}

/* ---- Unpack ---------------------------------------------------------------------------------- */

/* The 64 bits from number bit on. */
PZI_INLINE uint64_t bits_at(const uint8_t *row, size_t bit)
{
    const uint8_t *const at = row + bit / 8;

    return pzi_load_le64(at) >> bit % 8 | (uint64_t)at[8] << 1 << (63 - bit % 8);
}

PZI_INLINE uint64_t unpack_word(const pz_ibp_table *table, const uint8_t *map, const uint8_t *row,
                                size_t *bit, size_t k, uint64_t valid, unsigned lane)
{
    const uint64_t lanes = lanes_of(table, map, k, lane), x = bits_at(row, *bit);

    *bit += count_word(table, k, lanes, valid, lane);
    return deposit_word(table, k, lanes, valid, lane, x) | (table->value[k] & lanes);
}

/* How far a row is unpacked: the next word, and the next bit. */
struct unpacking {
    size_t k, bit;
};

/* The words up to end - 1, for as long as they begin at bit last or before. */
PZI_INLINE void unpack_words(const pz_ibp_table *table, const uint8_t *map, const uint8_t *row,
                             size_t last, struct unpacking *s, const struct pzi_ibp_to *to,
                             unsigned lane, size_t end)
{
    struct unpacking own = *s;

    for (; own.k < end && own.bit <= last; own.k++)
        pzi_store_le64(to->raw + 8 * own.k,
                       unpack_word(table, map, row, &own.bit, own.k, UINT64_MAX, lane));
    *s = own;
}

/* Words that participate.  one_load: table->one_load, known where this is called. */
PZI_INLINE void unpack_clean(const pz_ibp_table *table, const uint8_t *row, struct unpacking *s,
                             const struct pzi_ibp_to *to, size_t words, bool one_load)
{
    const size_t base = s->bit - table->start[s->k], end = s->k + words;

#pragma GCC unroll 8
    for (size_t k = s->k; k < end; k++) {
        const size_t bit = base + table->start[k];
        const uint64_t x = one_load ? pzi_load_le64(row + bit / 8) >> bit % 8 : bits_at(row, bit);

        pzi_store_le64(to->raw + 8 * k,
                       deposit_word(table, k, UINT64_MAX, UINT64_MAX, 64, x) | table->value[k]);
    }
    s->k = end;
    s->bit = base + table->start[end];
}

/* A block of which some group does not participate. */
PZI_INLINE void unpack_mixed(const pz_ibp_table *table, const uint8_t *row, unsigned map,
                             struct unpacking *s, const struct pzi_ibp_to *to, bool one_load)
{
    const size_t in_group = (size_t)1 << table->group_words;

    for (size_t end = s->k + BLOCK_WORDS; s->k < end; map >>= 1) {
        if (map & 1) {
            unpack_clean(table, row, s, to, in_group, one_load);
            continue;
        }
        for (size_t i = 0; i < in_group; i++, s->k++, s->bit += 64)
            pzi_store_le64(to->raw + 8 * s->k, bits_at(row, s->bit));
    }
}

/* Where groups are whole words: in blocks of 8, the largest group, of which most participate as a
 * whole, so that the branch can be foreseen.  Of row, limit bytes are there; map belongs to its
 * beginning. */
PZI_INLINE void unpack_blocks(const pz_ibp_table *table, const uint8_t *map, const uint8_t *row,
                              size_t limit, struct unpacking *s, const struct pzi_ibp_to *to,
                              bool one_load)
{
    const unsigned groups = BLOCK_WORDS >> table->group_words, all = (1u << groups) - 1;
    struct unpacking own = *s;

    while (own.k + BLOCK_WORDS <= table->words) {
        const size_t group = own.k >> table->group_words;
        const unsigned here = map[group / 8] >> group % 8 & all;
        const size_t last = own.bit + (table->start[own.k + BLOCK_WORDS - 1] - table->start[own.k]);

        __builtin_prefetch(to->next + own.bit / 8);
        if (here == all && last / 8 + AT_ONCE_BYTES - one_load <= limit)
            unpack_clean(table, row, &own, to, BLOCK_WORDS, one_load);
        else if (own.bit / 8 + 8 * BLOCK_WORDS + AT_ONCE_BYTES <= limit)
            unpack_mixed(table, row, here, &own, to, one_load);
        else
            break;
    }
    *s = own;
}

/* What is read at once may pass the end of the row: its last bytes are read from a copy with room
 * behind it. */
PZI_INLINE pz_status unpack_lanes(const pz_ibp_table *table, const struct pzi_ibp_place *from,
                                  const struct pzi_ibp_to *to, size_t *bits, unsigned lane)
{
    enum { END_BYTES = 8 * BLOCK_WORDS + 2 * AT_ONCE_BYTES };
    const uint8_t *const row = from->at;
    const size_t limit = from->bytes;
    uint8_t end[END_BYTES + 2 * AT_ONCE_BYTES] = {0};
    struct unpacking s = {0, 8 * table->map_bytes};
    size_t done, left;

    if (table->map_bytes > limit)
        return PZ_ERR_TRUNCATED;
    if (table->groups % 8 != 0 && row[table->map_bytes - 1] >> table->groups % 8 != 0)
        return PZ_ERR_PADDING;
    if (lane == 64 && table->one_load)
        unpack_blocks(table, row, row, limit, &s, to, true);
    else if (lane == 64 && table->group_words != 0) /* else branches cannot be foreseen */
        unpack_blocks(table, row, row, limit, &s, to, false);
    if (limit - s.bit / 8 > END_BYTES)
        unpack_words(table, row, row, 8 * (limit - AT_ONCE_BYTES) + 7, &s, to, lane, table->words);
    done = s.bit / 8;
    left = limit - done < END_BYTES ? limit - done : END_BYTES;
    s.bit %= 8;
    memcpy(end, row + done, left);
    if (lane == 64 && table->one_load)
        unpack_blocks(table, row, end, END_BYTES, &s, to, true);
    unpack_words(table, row, end, 8 * END_BYTES, &s, to, lane, table->words);
    if (s.k == table->words && table->tail_bytes != 0 && s.bit <= 8 * END_BYTES)
        store_tail(to->raw + 8 * s.k, table->tail_bytes,
                   unpack_word(table, row, end, &s.bit, s.k, pzi_ibp_valid(table, s.k), lane));
    else if (s.k < table->words)
        return PZ_ERR_TRUNCATED;
    *bits = 8 * done + s.bit;
    if (s.bit > 8 * left)
        return PZ_ERR_TRUNCATED;
    return s.bit % 8 != 0 && end[s.bit / 8] >> s.bit % 8 != 0 ? PZ_ERR_PADDING : PZ_OK;
}

static pz_status unpack_row(const pz_ibp_table *shared, const struct pzi_ibp_place *from,
                            const struct pzi_ibp_to *to, size_t *bits)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        return unpack_lanes(table, from, to, bits, 8);
    case 16:
        return unpack_lanes(table, from, to, bits, 16);
    case 32:
        return unpack_lanes(table, from, to, bits, 32);
    default:
        return unpack_lanes(table, from, to, bits, 64);
    }
}
