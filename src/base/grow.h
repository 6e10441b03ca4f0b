/* Arrays that grow.  The caller keeps the pointer and the room, in items. */
#ifndef PZI_BASE_GROW_H
#define PZI_BASE_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The array with room for at least needed items: items itself if there is room already, else moved.
 * NULL if memory is out; items then stays valid and *room stays as it is. */
static inline void *pzi_grow(void *items, size_t *room, size_t needed, size_t item_bytes)
{
    if (needed <= *room)
        return items;
    if (needed > SIZE_MAX / 4 / item_bytes)
        return NULL;
    const size_t wanted = 2 * needed + 8;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown)
        *room = wanted;
    return grown;
}

#endif
