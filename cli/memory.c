/* Memory of the program: see memory.h. */
#include "memory.h"

#include "errors.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct owned {
    void *object;
    void (*release)(void *object);
    struct owned *next;
};

static struct owned *owned_last;

void memory_fail(void)
{
    exit(fail(NULL, NULL, "free some or use smaller files", "out of memory"));
}

static void *checked(void *memory)
{
    if (memory == NULL)
        memory_fail();
    return memory;
}

void *memory_new(size_t count, size_t element_bytes)
{
    /* calloc(0) may return NULL, which is not a failure. */
    return checked(calloc(count > 0 ? count : 1, element_bytes));
}

void *memory_resize(void *old, size_t count, size_t element_bytes)
{
    if (count > SIZE_MAX / element_bytes)
        memory_fail();
    return checked(realloc(old, count > 0 ? count * element_bytes : 1));
}

void own(void *object, void (*release)(void *object))
{
    struct owned *entry = memory_new(1, sizeof *entry);

    *entry = (struct owned){.object = object, .release = release, .next = owned_last};
    owned_last = entry;
}

void *memory_keep(size_t count, size_t element_bytes)
{
    void *memory = memory_new(count, element_bytes);

    own(memory, free);
    return memory;
}

char *memory_text(const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    text = memory_keep(length > 0 ? (size_t)length + 1 : 1, 1);
    va_start(arguments, format);
    vsnprintf(text, length > 0 ? (size_t)length + 1 : 1, format, arguments);
    va_end(arguments);
    return text;
}

void memory_release(void)
{
    while (owned_last != NULL) {
        struct owned *entry = owned_last;

        owned_last = entry->next;
        entry->release(entry->object);
        free(entry);
    }
}
