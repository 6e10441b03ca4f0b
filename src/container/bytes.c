/* Growing bytes and the cursor: see bytes.h. */
#include "container/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"

bool pzi_bytes_reserve(struct pzi_bytes *self, uint64_t more)
{
    size_t capacity = self->capacity;
    uint8_t *data;

    if (more > SIZE_MAX / 2 - self->bytes)
        return false;
    if (capacity - self->bytes >= more && self->data != NULL)
        return true;
    /* By halves, so that appending takes linear time; exactly, if that is more. */
    capacity += capacity / 2;
    if (capacity - self->bytes < more || capacity < self->bytes)
        capacity = self->bytes + (size_t)more;
    data = realloc(self->data, capacity != 0 ? capacity : 1);
    if (data == NULL)
        return false;
    self->data = data;
    self->capacity = capacity;
    return true;
}

bool pzi_bytes_append(struct pzi_bytes *self, const void *data, size_t bytes)
{
    if (!pzi_bytes_reserve(self, bytes))
        return false;
    if (bytes != 0)
        memcpy(self->data + self->bytes, data, bytes);
    self->bytes += bytes;
    return true;
}

bool pzi_bytes_append_u32(struct pzi_bytes *self, uint32_t value)
{
    uint8_t stored[4];

    pzi_store_le32(stored, value);
    return pzi_bytes_append(self, stored, sizeof stored);
}

bool pzi_bytes_append_u64(struct pzi_bytes *self, uint64_t value)
{
    uint8_t stored[8];

    pzi_store_le64(stored, value);
    return pzi_bytes_append(self, stored, sizeof stored);
}

void pzi_bytes_release(struct pzi_bytes *self)
{
    free(self->data);
    *self = (struct pzi_bytes){0};
}

const uint8_t *pzi_take(struct pzi_cursor *cursor, uint64_t bytes)
{
    const uint8_t *taken = cursor->next;

    if (bytes > cursor->left) {
        cursor->failed = true;
        cursor->left = 0;
        return NULL;
    }
    cursor->next += bytes;
    cursor->left -= (size_t)bytes;
    return taken;
}

uint32_t pzi_take_u32(struct pzi_cursor *cursor)
{
    const uint8_t *taken = pzi_take(cursor, 4);

    return taken != NULL ? pzi_load_le32(taken) : 0;
}

uint64_t pzi_take_u64(struct pzi_cursor *cursor)
{
    const uint8_t *taken = pzi_take(cursor, 8);

    return taken != NULL ? pzi_load_le64(taken) : 0;
}
