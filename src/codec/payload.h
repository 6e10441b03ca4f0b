/* Payloads of chunks of either format (docs/format.md and docs/format2.md, "Tensor stream"): coded,
 * or raw where that is no larger. */
#ifndef PZI_PAYLOAD_H
#define PZI_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "codec/format.h"
#include "planezip/planezip.h"

/* Puts the payload of a chunk into at most dst_bytes and returns its size, or 0 if they do not
 * suffice.  coded may be dst itself. */
static inline size_t pzi_payload_put(const uint8_t *raw, size_t raw_bytes, const uint8_t *coded,
                                     size_t coded_bytes, uint8_t *dst, size_t dst_bytes)
{
    const bool is_raw = coded_bytes >= raw_bytes;
    const uint8_t *const payload = is_raw ? raw : coded;
    const size_t bytes = is_raw ? raw_bytes : coded_bytes;

    if (bytes > dst_bytes)
        return 0;
    if (payload != dst)
        memcpy(dst, payload, bytes);
    return bytes;
}

/* Adds the chunk to what stats tell about bytes and chunks, raw_bytes apart. */
static inline void pzi_payload_count(size_t raw_bytes, uint64_t coded_bytes, pz_stats *stats)
{
    const bool is_raw = coded_bytes >= raw_bytes;

    stats->coded_bytes += PZI_HEADER_BYTES + (is_raw ? raw_bytes : coded_bytes);
    stats->raw_chunks += is_raw;
    stats->chunks++;
}

/* The payload with at least `slack` bytes behind it that can be read: where it lies, if it has
 * them, or in `copy` of PZ_CHUNK_BYTES + slack. */
static inline const uint8_t *pzi_payload_readable(const uint8_t *coded, size_t coded_bytes,
                                                  size_t readable_bytes, size_t slack,
                                                  uint8_t *copy)
{
    if (readable_bytes - coded_bytes >= slack)
        return coded;
    memcpy(copy, coded, coded_bytes);
    memset(copy + coded_bytes, 0, slack);
    return copy;
}

#endif
