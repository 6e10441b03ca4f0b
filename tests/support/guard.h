/* Buffers between pages that may not be touched: a read or write of one byte before a buffer that
 * stands at the front of its pages, or behind one that stands at their back, ends the program, also
 * where no sanitizer looks, as in vector instructions of other builds.  The content is garbage. */
#ifndef PZ_TEST_GUARD_H
#define PZ_TEST_GUARD_H

#include <stddef.h>
#include <stdint.h>

enum guard_side { GUARD_FRONT, GUARD_BACK, GUARD_SIDES };

/* Zeroed: no pages yet.  Not for several threads at once. */
struct guard {
    uint8_t *pages;
    size_t bytes; /* between the two pages that may not be touched */
};

/* Where a buffer of bytes stands; never NULL.  It lasts until the next call or guard_drop(). */
uint8_t *guard_place(struct guard *guard, enum guard_side side, size_t bytes);

/* The same with a content. */
uint8_t *guard_copy(struct guard *guard, enum guard_side side, const void *content, size_t bytes);

void guard_drop(struct guard *guard);

#endif
