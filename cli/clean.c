/* Texts on their way to a terminal: see clean.h. */
#include "clean.h"

#include <string.h>

/* Bytes of the character of UTF-8 at text; 0 if there is none.  A '\0' continues no character, so
 * nothing is read past the end. */
static size_t utf8_bytes(const unsigned char *text)
{
    unsigned first = text[0], second;
    size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    second = text[1];
    /* Too long for their value, halves of a pair, above U+10FFFF. */
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90))
        return 0;
    return bytes;
}

/* U+0000..001F, 007F..009F, 202A..202E, 2066..2069. */
static bool acts(const unsigned char *c, size_t bytes)
{
    if (bytes == 1)
        return c[0] < 0x20 || c[0] == 0x7f;
    if (bytes == 2)
        return c[0] == 0xc2 && c[1] < 0xa0;
    return bytes == 3 && c[0] == 0xe2 &&
           ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
            (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

/* Bytes of what comes next, and whether it may be shown. */
static size_t step(const char *text, bool *shown)
{
    const unsigned char *next = (const unsigned char *)text;
    size_t bytes = utf8_bytes(next);

    *shown = bytes > 0 && !acts(next, bytes);
    return bytes > 0 ? bytes : 1;
}

size_t clean_copy(const char *text, size_t bytes, char *to)
{
    size_t used = 0;
    bool shown;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = step(text + at, &shown);
        memcpy(to + used, shown ? text + at : "?", shown ? length : 1);
        used += shown ? length : 1;
    }
    return used;
}

void clean_print(const char *text, FILE *stream)
{
    bool shown;

    for (size_t length; *text != '\0'; text += length) {
        length = step(text, &shown);
        fwrite(shown ? text : "?", 1, shown ? length : 1, stream);
    }
}

size_t clean_width(const char *text)
{
    size_t width = 0;
    bool shown;

    for (; *text != '\0'; width++)
        text += step(text, &shown);
    return width;
}

bool clean_is(const char *text)
{
    bool shown = true;

    while (*text != '\0' && shown)
        text += step(text, &shown);
    return shown;
}

static bool is_inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xc0) == 0x80;
}

size_t clean_before(const char *text, size_t at)
{
    while (at > 0 && is_inside(text, at))
        at--;
    return at;
}

size_t clean_after(const char *text, size_t at)
{
    while (is_inside(text, at))
        at++;
    return at;
}
