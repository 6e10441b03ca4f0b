/* Little-endian loads and stores at any address.  By memcpy, which compiles to one move; bytes and
 * shifts would be as portable, but gcc 12 does not always put them together again. */
#ifndef PZI_LE_H
#define PZI_LE_H

#include <stdint.h>
#include <string.h>

#include "base/inline.h"

/* From or to the order of the machine. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PZI_LE16(x) __builtin_bswap16(x)
#define PZI_LE32(x) __builtin_bswap32(x)
#define PZI_LE64(x) __builtin_bswap64(x)
#else
#define PZI_LE16(x) (x)
#define PZI_LE32(x) (x)
#define PZI_LE64(x) (x)
#endif

PZI_INLINE uint8_t pzi_load_le8(const uint8_t *from)
{
    return from[0];
}

PZI_INLINE uint16_t pzi_load_le16(const uint8_t *from)
{
    uint16_t value;

    memcpy(&value, from, sizeof value);
    return PZI_LE16(value);
}

PZI_INLINE uint32_t pzi_load_le32(const uint8_t *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof value);
    return PZI_LE32(value);
}

PZI_INLINE uint64_t pzi_load_le64(const uint8_t *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return PZI_LE64(value);
}

PZI_INLINE void pzi_store_le8(uint8_t *to, uint8_t value)
{
    to[0] = value;
}

PZI_INLINE void pzi_store_le16(uint8_t *to, uint16_t value)
{
    value = PZI_LE16(value);
    memcpy(to, &value, sizeof value);
}

PZI_INLINE void pzi_store_le32(uint8_t *to, uint32_t value)
{
    value = PZI_LE32(value);
    memcpy(to, &value, sizeof value);
}

PZI_INLINE void pzi_store_le64(uint8_t *to, uint64_t value)
{
    value = PZI_LE64(value);
    memcpy(to, &value, sizeof value);
}

#endif
