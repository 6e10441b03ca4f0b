/* Texts from outside, as names are, on their way to a terminal.  What would act on it is shown as
 * '?': control characters, marks that turn the direction of writing around, and bytes that are no
 * UTF-8. */
#ifndef CLI_CLEAN_H
#define CLI_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the clean form of a part of a text, which is never longer and has no '\0' at its end;
 * returns its bytes. */
size_t clean_copy(const char *text, size_t bytes, char *to);

/* The same for a whole text, to a stream. */
void clean_print(const char *text, FILE *stream);

/* Number of characters of the clean form. */
size_t clean_width(const char *text);

/* Whether the clean form is the text itself. */
bool clean_is(const char *text);

/* The last place up to at, and the first one from at on, where a character begins. */
size_t clean_before(const char *text, size_t at);
size_t clean_after(const char *text, size_t at);

#endif
