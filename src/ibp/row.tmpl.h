/* A row in its packed form and back (docs/ibp.md, "Packed row"), word by word, for one instruction
 * set.  Who includes it has defined, for a word of which the lanes in `lanes` participate:
 *
 *   count_word(table, k, lanes, valid, lane)        stored bits of word k
 *   deposit_word(table, k, lanes, valid, lane, x)   the bits of x, moved to their places in the
 * word extract_word(table, k, lanes, valid, lane, x)   the stored bits of the word x, moved
 * together spread(bits, lane)                              a bit for each lane, made the lanes'
 * masks
 *
 * valid has the bits of the word that belong to the row, lane is table->lane_bits; both are
 * constants where they can be. */

/* Each loop works on a copy of the table that nobody else knows: what it writes, bytes, could else
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

PZI_INLINE uint64_t load_tail(const uint8_t *raw, unsigned bytes)
{
    uint8_t word[8] = {0};

    memcpy(word, raw, bytes);
    return pzi_load_le64(word);
}

PZI_INLINE void store_tail(uint8_t *raw, unsigned bytes, uint64_t x)
{
    uint8_t word[8];

    pzi_store_le64(word, x);
    memcpy(raw, word, bytes);
}

/* ---- Size and map -----------------------------------------------------------------------------
 */

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

PZI_INLINE void set_map(uint8_t *map, size_t at, unsigned bits)
{
    if (at % 8 == 0)
        map[at / 8] = 0;
    map[at / 8] |= (uint8_t)(bits << at % 8);
}

/* Groups of less than a word, of which each has some. */
PZI_INLINE size_t size_lanes(const pz_ibp_table *table, const uint8_t *raw, uint8_t *map,
                             size_t *packed_groups, unsigned lane)
{
    const unsigned lanes = 64 / lane;
    size_t bits = 8 * table->map_bytes, packed = 0;

    for (size_t k = 0; k < table->words; k++) {
        const uint64_t x = pzi_load_le64(raw + 8 * k);
        const uint64_t clean = clean_lanes((x ^ table->value[k]) & table->mask[k], lane);

        bits += count_word(table, k, clean, UINT64_MAX, lane);
        packed += (unsigned)__builtin_popcount(gather(clean, lane));
        if (map != NULL)
            set_map(map, k * lanes, gather(clean, lane));
    }
    if (table->tail_bytes != 0) {
        const size_t k = table->words;
        const uint64_t x = load_tail(raw + 8 * k, table->tail_bytes);
        const uint64_t clean = clean_lanes((x ^ table->value[k]) & table->mask[k], lane);
        /* Lanes behind the row, of which there are no groups. */
        const unsigned groups = gather(clean, lane) & ((1u << (table->groups - k * lanes)) - 1);

        bits += count_word(table, k, clean, pzi_ibp_valid(table, k), lane);
        packed += (unsigned)__builtin_popcount(groups);
        if (map != NULL)
            set_map(map, k * lanes, groups);
    }
    *packed_groups = packed;
    return bits;
}

/* Groups of whole words, of which the last one may be shorter. */
PZI_INLINE size_t size_words(const pz_ibp_table *table, const uint8_t *raw, uint8_t *map,
                             size_t *packed_groups)
{
    const size_t in_group = (size_t)1 << table->group_words;
    size_t bits = 8 * table->map_bytes, packed = 0;

    for (size_t group = 0; group < table->groups; group++) {
        const size_t first = group << table->group_words;
        const size_t end = first + in_group < table->words ? first + in_group : table->words;
        const bool has_tail = first + in_group > table->words && table->tail_bytes != 0;
        uint64_t wrong = 0, lanes;

        for (size_t k = first; k < end; k++)
            wrong |= (pzi_load_le64(raw + 8 * k) ^ table->value[k]) & table->mask[k];
        if (has_tail)
            wrong |= (load_tail(raw + 8 * end, table->tail_bytes) ^ table->value[end]) &
                     table->mask[end];
        lanes = clean_lanes(wrong, 64);
        for (size_t k = first; k < end; k++)
            bits += count_word(table, k, lanes, UINT64_MAX, 64);
        if (has_tail)
            bits += count_word(table, end, lanes, pzi_ibp_valid(table, end), 64);
        packed += lanes & 1;
        if (map != NULL)
            set_map(map, group, lanes & 1);
    }
    *packed_groups = packed;
    return bits;
}

static size_t size_row(const pz_ibp_table *shared, const uint8_t *raw, uint8_t *map,
                       size_t *packed_groups)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        return size_lanes(table, raw, map, packed_groups, 8);
    case 16:
        return size_lanes(table, raw, map, packed_groups, 16);
    case 32:
        return size_lanes(table, raw, map, packed_groups, 32);
    default:
        return size_words(table, raw, map, packed_groups);
    }
}

/* ---- Pack -------------------------------------------------------------------------------------
 */

/* Appends n bits behind *bit, where the bits of their first byte are known as *held. */
PZI_INLINE void append(uint8_t *row, size_t *bit, uint64_t *held, uint64_t x, unsigned n)
{
    const unsigned begin = *bit % 8;
    const uint64_t low = *held | x << begin, high = x >> 1 >> (63 - begin);
    uint8_t *const at = row + *bit / 8;

    pzi_store_le64(at, low);
    at[8] = (uint8_t)high;
    *bit += n;
    *held = begin + n >= 64 ? high : low >> ((begin + n) & 56);
}

/* The words from *k on, for as long as they may be written at bit last or before. */
PZI_INLINE void pack_words(const pz_ibp_table *table, const uint8_t *raw, const uint8_t *map,
                           uint8_t *row, size_t last, size_t *k, size_t *bit, uint64_t *held,
                           unsigned lane)
{
    for (; *k < table->words && *bit <= last; ++*k) {
        const uint64_t lanes = lanes_of(table, map, *k, lane);
        const uint64_t x = pzi_load_le64(raw + 8 * *k);

        append(row, bit, held, extract_word(table, *k, lanes, UINT64_MAX, lane, x),
               count_word(table, *k, lanes, UINT64_MAX, lane));
    }
}

/* All but the end of the row is written in place; the end in memory with room behind it. */
PZI_INLINE void pack_lanes(const pz_ibp_table *table, const uint8_t *raw, uint8_t *row, size_t bits,
                           unsigned lane)
{
    const size_t bytes = (bits + 7) / 8;
    uint8_t end[4 * AT_ONCE_BYTES] = {0};
    size_t k = 0, bit = 8 * table->map_bytes, done;
    uint64_t held = 0;

    if (bytes >= AT_ONCE_BYTES)
        pack_words(table, raw, row, row, 8 * (bytes - AT_ONCE_BYTES) + 7, &k, &bit, &held, lane);
    done = bit / 8;
    bit %= 8;
    end[0] = (uint8_t)held;
    pack_words(table, raw, row, end, 8 * AT_ONCE_BYTES, &k, &bit, &held, lane);
    if (table->tail_bytes != 0) {
        const uint64_t lanes = lanes_of(table, row, k, lane), valid = pzi_ibp_valid(table, k);
        const uint64_t x = load_tail(raw + 8 * k, table->tail_bytes);

        append(end, &bit, &held, extract_word(table, k, lanes, valid, lane, x),
               count_word(table, k, lanes, valid, lane));
    }
    memcpy(row + done, end, bytes - done);
}

static void pack_row(const pz_ibp_table *shared, const uint8_t *raw, uint8_t *row, size_t bits)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        pack_lanes(table, raw, row, bits, 8);
        return;
    case 16:
        pack_lanes(table, raw, row, bits, 16);
        return;
    case 32:
        pack_lanes(table, raw, row, bits, 32);
        return;
    default:
        pack_lanes(table, raw, row, bits, 64);
    }
}

/* ---- Unpack -----------------------------------------------------------------------------------
 */

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

/* The words from *k to words - 1, for as long as they begin at bit last or before. */
PZI_INLINE void unpack_words(const pz_ibp_table *table, const uint8_t *map, const uint8_t *row,
                             size_t last, size_t *k, size_t *bit, uint8_t *raw, unsigned lane,
                             size_t words)
{
    size_t word = *k, at = *bit;

    for (; word < words && at <= last; word++)
        pzi_store_le64(raw + 8 * word, unpack_word(table, map, row, &at, word, UINT64_MAX, lane));
    *k = word;
    *bit = at;
}

/* What is stored of 8 words of which all participate; it fits one load for each of them. */
PZI_INLINE size_t unpack_block(const pz_ibp_table *table, const uint8_t *row, size_t bit, size_t k,
                               uint8_t *raw)
{
    for (size_t end = k + BLOCK_WORDS; k < end; k++) {
        const uint64_t x = pzi_load_le64(row + bit / 8) >> bit % 8;

        bit += count_word(table, k, UINT64_MAX, UINT64_MAX, 64);
        pzi_store_le64(raw + 8 * k,
                       deposit_word(table, k, UINT64_MAX, UINT64_MAX, 64, x) | table->value[k]);
    }
    return bit;
}

/* The same where groups are whole words: in blocks of 8, the largest group, of which most
 * participate as a whole, so that the branch can be foreseen. */
PZI_INLINE void unpack_blocks(const pz_ibp_table *table, const uint8_t *row, size_t last, size_t *k,
                              size_t *bit, uint8_t *raw)
{
    const unsigned groups = BLOCK_WORDS >> table->group_words, all = (1u << groups) - 1;
    const size_t block_bits = (size_t)BLOCK_WORDS * 64;
    size_t word = 0, at = *bit, group = 0;

    while (word + BLOCK_WORDS <= table->words && at + block_bits <= last) {
        if ((row[group / 8] >> group % 8 & all) == all) {
            at = unpack_block(table, row, at, word, raw);
            word += BLOCK_WORDS;
        } else {
            unpack_words(table, row, row, last, &word, &at, raw, 64, word + BLOCK_WORDS);
        }
        group += groups;
    }
    *k = word;
    *bit = at;
}

/* What is read at once may pass the end of the row: its last bytes are read from a copy. */
PZI_INLINE pz_status unpack_lanes(const pz_ibp_table *table, const uint8_t *row, size_t limit,
                                  uint8_t *raw, size_t *bits, unsigned lane)
{
    uint8_t end[4 * AT_ONCE_BYTES] = {0};
    size_t k = 0, bit = 8 * table->map_bytes, done;

    if (table->map_bytes > limit)
        return PZ_ERR_TRUNCATED;
    if (table->groups % 8 != 0 && row[table->map_bytes - 1] >> table->groups % 8 != 0)
        return PZ_ERR_PADDING;
    if (limit >= AT_ONCE_BYTES) {
        const size_t last = 8 * (limit - AT_ONCE_BYTES) + 7;

        if (lane == 64 && table->one_load)
            unpack_blocks(table, row, last, &k, &bit, raw);
        unpack_words(table, row, row, last, &k, &bit, raw, lane, table->words);
    }
    done = bit / 8;
    bit %= 8;
    memcpy(end, row + done, limit - done < AT_ONCE_BYTES ? limit - done : AT_ONCE_BYTES);
    unpack_words(table, row, end, 8 * AT_ONCE_BYTES, &k, &bit, raw, lane, table->words);
    if (k == table->words && table->tail_bytes != 0 && bit <= 8 * AT_ONCE_BYTES)
        store_tail(raw + 8 * k, table->tail_bytes,
                   unpack_word(table, row, end, &bit, k, pzi_ibp_valid(table, k), lane));
    else if (k < table->words)
        return PZ_ERR_TRUNCATED;
    *bits = 8 * done + bit;
    if (*bits > 8 * limit)
        return PZ_ERR_TRUNCATED;
    return bit % 8 != 0 && end[bit / 8] >> bit % 8 != 0 ? PZ_ERR_PADDING : PZ_OK;
}

static pz_status unpack_row(const pz_ibp_table *shared, const uint8_t *row, size_t limit,
                            uint8_t *raw, size_t *bits)
{
    const pz_ibp_table own = *shared, *const table = &own;

    switch (own.lane_bits) {
    case 8:
        return unpack_lanes(table, row, limit, raw, bits, 8);
    case 16:
        return unpack_lanes(table, row, limit, raw, bits, 16);
    case 32:
        return unpack_lanes(table, row, limit, raw, bits, 32);
    default:
        return unpack_lanes(table, row, limit, raw, bits, 64);
    }
}
