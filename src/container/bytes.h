/* Bytes that grow at their end, and a cursor that takes numbers from their front.  Know nothing of
 * the container. */
#ifndef PZI_CONTAINER_BYTES_H
#define PZI_CONTAINER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pzi_bytes {
    uint8_t *data;
    size_t bytes;
    size_t capacity;
};

/* Room for `more` bytes behind those that are there; false if memory runs out. */
bool pzi_bytes_reserve(struct pzi_bytes *self, uint64_t more);

bool pzi_bytes_append(struct pzi_bytes *self, const void *data, size_t bytes);
bool pzi_bytes_append_u32(struct pzi_bytes *self, uint32_t value);
bool pzi_bytes_append_u64(struct pzi_bytes *self, uint64_t value);
void pzi_bytes_release(struct pzi_bytes *self);

/* What is left of some bytes.  Taking more than that yields zeros and sets `failed`. */
struct pzi_cursor {
    const uint8_t *next;
    size_t left;
    bool failed;
};

uint32_t pzi_take_u32(struct pzi_cursor *cursor);
uint64_t pzi_take_u64(struct pzi_cursor *cursor);

/* NULL if it fails. */
const uint8_t *pzi_take(struct pzi_cursor *cursor, uint64_t bytes);

#endif
