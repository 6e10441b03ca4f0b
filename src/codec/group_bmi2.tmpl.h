/* Template, parameter PZ_W: compact and spread, see group_scalar.tmpl.h, by BMI2: the symbols of 8
 * bytes at a time.  For w = 8 and 16, above all. */

/* The bits of the symbols in 8 bytes, from number `first` on, that the mask has. */
static inline uint64_t PZ_CAT(symbol_bits)(PZ_PLANE mask, unsigned first)
{
    enum { COUNT = 64 / PZ_W };
    const uint64_t lowest = UINT64_MAX / ((PZ_SYMBOL)-1), bits = PZ_P(piece)(mask, first / 64);

    return _pdep_u64(bits >> first % 64 & ((1u << COUNT) - 1), lowest) * (PZ_SYMBOL)-1;
}

static inline void PZ_CAT(compact)(const uint8_t *block, PZ_PLANE mask, uint8_t *to)
{
    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8) {
        const uint64_t bits = PZ_CAT(symbol_bits)(mask, i * 8 / PZ_W);

        pzi_store_le64(to, _pext_u64(pzi_load_le64(block + i), bits));
        to += pzi_count64(bits) / 8;
    }
}

static inline void PZ_CAT(spread)(const uint8_t *from, PZ_PLANE mask, uint8_t *block)
{
    for (unsigned i = 0; i < PZ_BLOCK_BYTES; i += 8) {
        const uint64_t bits = PZ_CAT(symbol_bits)(mask, i * 8 / PZ_W);

        pzi_store_le64(block + i, _pdep_u64(pzi_load_le64(from), bits));
        from += pzi_count64(bits) / 8;
    }
}
