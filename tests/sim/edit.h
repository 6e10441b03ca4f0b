/* Documents with one thing wrong: a good one, edited in one place. */
#ifndef PZ_TEST_EDIT_H
#define PZ_TEST_EDIT_H

#include <planezip/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct edit {
    const char *find, *replace; /* the first occurrence; NULL: replace is the whole document */
    pz_status status;
    const char *path; /* that the error names */
};

/* A new text; NULL if find does not occur. */
static inline char *edit_text(const char *text, const char *find, const char *replace)
{
    const char *at = find ? strstr(text, find) : text;

    if (!at)
        return NULL;
    const size_t before = (size_t)(at - text), cut = find ? strlen(find) : strlen(text);
    char *edited = malloc(strlen(text) + strlen(replace) + 1);
    if (edited)
        sprintf(edited, "%.*s%s%s", (int)before, text, replace, at + cut);
    return edited;
}

/* Path of a new file in the current folder with the text; it is to be removed. */
static inline bool edit_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    const bool ok = file && fwrite(text, 1, strlen(text), file) == strlen(text);

    return file && fclose(file) == 0 && ok;
}

#endif
