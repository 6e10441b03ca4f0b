/* Memory of the program.  Out of memory ends it with a message, so callers need not check; what
 * lives until the end is handed to own() and released there in reverse order. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H

#include <stddef.h>

/* Zeroed memory for count elements; the caller frees it, or lets own() do so. */
void *memory_new(size_t count, size_t element_bytes);

/* Ends the program for want of memory. */
_Noreturn void memory_fail(void);

/* Like realloc(), for count elements. */
void *memory_resize(void *old, size_t count, size_t element_bytes);

/* Zeroed memory that lives until the program ends. */
void *memory_keep(size_t count, size_t element_bytes);

/* A copy of text that lives until the program ends; printf style. */
char *memory_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Calls release(object) at the end of the program. */
void own(void *object, void (*release)(void *object));

/* Releases everything that is owned. */
void memory_release(void);

#endif
