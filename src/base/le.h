/* Little-endian loads and stores at any address.  Written as bytes and shifts, which gcc and clang
 * turn into one move on little-endian machines and which are right on all others. */
#ifndef PZI_LE_H
#define PZI_LE_H

#include <stdint.h>

static inline uint8_t pzi_load_le8(const uint8_t *from)
{
    return from[0];
}

static inline uint16_t pzi_load_le16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t pzi_load_le32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static inline uint64_t pzi_load_le64(const uint8_t *from)
{
    return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 |
           (uint64_t)from[3] << 24 | (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 |
           (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
}

static inline void pzi_store_le8(uint8_t *to, uint8_t value)
{
    to[0] = value;
}

static inline void pzi_store_le16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static inline void pzi_store_le32(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
}

static inline void pzi_store_le64(uint8_t *to, uint64_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
    to[4] = (uint8_t)(value >> 32);
    to[5] = (uint8_t)(value >> 40);
    to[6] = (uint8_t)(value >> 48);
    to[7] = (uint8_t)(value >> 56);
}

#endif
