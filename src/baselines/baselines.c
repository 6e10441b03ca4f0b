/* BDI, size only: see baselines.h. */
#include "baselines/baselines.h"

#include <stdbool.h>
#include <string.h>

enum { TAG_BITS = 4, ZERO_BITS = 8, REPEAT_BITS = 64, RAW_BITS = 8 * PZ_BLOCK_BYTES };
enum { HEADER_BYTES = 2 };

/* Element `index` of k bytes, sign-extended. */
static int64_t element(const uint8_t *block, unsigned k, unsigned index)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < k; i++)
        value |= (uint64_t)block[index * k + i] << (8 * i);
    return (int64_t)(value << (64 - 8 * k)) >> (64 - 8 * k);
}

/* Whether `value - base`, taken modulo 2^(8k), is a signed number of d bytes. */
static bool is_near(int64_t value, int64_t base, unsigned k, unsigned d)
{
    const uint64_t half = (uint64_t)1 << (8 * d - 1);
    const uint64_t differ = (uint64_t)value - (uint64_t)base + half;

    return (differ << (64 - 8 * k)) >> (64 - 8 * k) < 2 * half;
}

/* Whether deltas of d bytes reach every element of k bytes from zero or from one base. */
static bool has_base(const uint8_t *block, unsigned k, unsigned d)
{
    bool found = false;
    int64_t base = 0;

    for (unsigned i = 0; i < PZ_BLOCK_BYTES / k; i++) {
        const int64_t value = element(block, k, i);

        if (is_near(value, 0, k, d))
            continue;
        if (!found) {
            found = true;
            base = value;
        } else if (!is_near(value, base, k, d)) {
            return false;
        }
    }
    return true;
}

static bool repeats(const uint8_t *block, size_t bytes)
{
    return memcmp(block, block + bytes, PZ_BLOCK_BYTES - bytes) == 0;
}

static unsigned block_bits(const uint8_t *block)
{
    unsigned best = RAW_BITS;

    if (block[0] == 0 && repeats(block, 1))
        return TAG_BITS + ZERO_BITS;
    if (repeats(block, 8))
        return TAG_BITS + REPEAT_BITS;
    for (unsigned k = 8; k >= 2; k /= 2) {
        for (unsigned d = 1; d < k; d *= 2) {
            const unsigned elements = PZ_BLOCK_BYTES / k;
            const unsigned bits = elements + 8 * k + 8 * d * elements;

            if (bits < best && has_base(block, k, d))
                best = bits;
        }
    }
    return TAG_BITS + best;
}

static uint64_t chunk_bytes(const uint8_t *raw, size_t raw_bytes)
{
    uint64_t bits = 0, bytes;

    for (size_t from = 0; from < raw_bytes; from += PZ_BLOCK_BYTES) {
        const size_t left = raw_bytes - from;
        uint8_t block[PZ_BLOCK_BYTES] = {0};

        memcpy(block, raw + from, left < PZ_BLOCK_BYTES ? left : PZ_BLOCK_BYTES);
        bits += block_bits(block);
    }
    bytes = (bits + 7) / 8;
    return HEADER_BYTES + (bytes < raw_bytes ? bytes : raw_bytes);
}

pz_status pzb_bdi_measure(const void *raw, size_t raw_bytes, uint64_t *coded_bytes)
{
    const uint8_t *const bytes = raw;
    uint64_t sum = 0;

    if (coded_bytes == NULL || (raw == NULL && raw_bytes != 0))
        return PZ_ERR_ARGUMENT;
    for (size_t from = 0; from < raw_bytes;) {
        const size_t left = raw_bytes - from, step = left < PZ_CHUNK_BYTES ? left : PZ_CHUNK_BYTES;

        sum += chunk_bytes(bytes + from, step);
        from += step;
    }
    *coded_bytes = sum;
    return PZ_OK;
}
