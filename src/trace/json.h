/* JSON in and out on top of jansson: typed fields with the path of the field in every message.
 * Knows no format; the readers of traces, ratio tables, platforms and plans use it. */
#ifndef PZI_TRACE_JSON_H
#define PZI_TRACE_JSON_H

#include <jansson.h>
#include <planezip/plan.h>
#include <stdbool.h>

/* Parses a text or a whole file.  Syntax errors carry line and column. */
pz_status pzi_json_parse(const char *text, size_t bytes, json_t **root, pz_diag *diag);
pz_status pzi_json_load(const char *file, json_t **root, pz_diag *diag);

/* Checks "format" and "version" (major 1) of a PlaneZip file. */
pz_status pzi_json_check_format(const json_t *root, const char *format, pz_diag *diag);

/* An object and its path ("entries[3].measured[0]"; "" for the root): what a field is read from.
 * The first failure is kept in status and diag; later reads do nothing and give zero, so that a
 * reader looks at status once. */
typedef struct pzi_fields {
    const json_t *object;
    pz_diag *diag;
    const struct pzi_fields *parent; /* NULL for the root */
    const char *list;                /* field of the parent that is the array it stands in */
    size_t index;
    pz_status status;
} pzi_fields;

pzi_fields pzi_fields_root(const json_t *root, pz_diag *diag);
/* Element index of the array field list of parent, which must outlive it; fails if it is not an
 * object. */
pzi_fields pzi_fields_element(const pzi_fields *parent, const char *list, size_t index);

bool pzi_has(const pzi_fields *fields, const char *name);
int64_t pzi_get_int(pzi_fields *fields, const char *name, int64_t low, int64_t high);
double pzi_get_number(pzi_fields *fields, const char *name, double low, double high);
bool pzi_get_bool(pzi_fields *fields, const char *name);
/* Without control characters: names go to terminals. */
const char *pzi_get_string(pzi_fields *fields, const char *name);
/* A string into out, which has room bytes; one that does not fit is an error, and one that is
 * missing is too unless it is optional, then out becomes "". */
void pzi_get_text(pzi_fields *fields, const char *name, bool optional, char *out, size_t room);
const json_t *pzi_get_array(pzi_fields *fields, const char *name);
/* Index of the field's string in names, a NULL-terminated list; fails if it is none of them. */
int pzi_get_choice(pzi_fields *fields, const char *name, const char *const *names);
/* Element k of an array field, an integer in low..high. */
int64_t pzi_array_int(pzi_fields *fields, const char *name, const json_t *array, size_t k,
                      int64_t low, int64_t high);
/* Records an error of meaning at field name (NULL: at the object itself). */
void pzi_bad_field(pzi_fields *fields, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writing.  A document is built with these two; both take the new value, also NULL for one that
 * could not be made, and clear *whole if it does not become part of the document. */
void pzi_json_set(json_t *object, const char *name, json_t *value, bool *whole);
void pzi_json_append(json_t *array, json_t *value, bool *whole);

/* Significant digits of a number: enough for what people type, and enough for every double. */
#define PZI_DIGITS_TYPED 15
#define PZI_DIGITS_EXACT 17

/* Takes ownership of root; PZ_ERR_MEMORY if it is NULL or not whole.  One line per element of the
 * top-level arrays, so that files diff well. */
pz_status pzi_json_text(json_t *root, bool whole, int digits, char **text);

#endif
