/* JSON in and out on top of jansson.  See json.h. */
#include "trace/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/grow.h"

#define JSON_FLAGS (JSON_REJECT_DUPLICATES)

static pz_status parsed(json_t *value, const json_error_t *error, json_t **root, pz_diag *diag)
{
    if (value) {
        *root = value;
        return PZ_OK;
    }
    /* jansson says nothing at all when memory runs out between two tokens. */
    if (json_error_code(error) == json_error_out_of_memory || error->text[0] == '\0')
        return pzi_no_memory(diag);
    pzi_fail(diag, PZ_ERR_SYNTAX, "not valid JSON: %s", error->text);
    if (diag) {
        diag->line = error->line > 0 ? (uint32_t)error->line : 1;
        diag->column = error->column > 0 ? (uint32_t)error->column : 0;
    }
    return PZ_ERR_SYNTAX;
}

pz_status pzi_json_parse(const char *text, size_t bytes, json_t **root, pz_diag *diag)
{
    json_error_t error;
    json_t *value = json_loadb(text, bytes, JSON_FLAGS, &error);
    return parsed(value, &error, root, diag);
}

/* A read error must not look like the end of the file, which jansson's own file reader cannot tell
 * apart from a short file. */
struct source {
    FILE *file;
    int error;
};

static size_t read_some(void *buffer, size_t bytes, void *data)
{
    struct source *source = data;
    errno = 0;
    const size_t got = fread(buffer, 1, bytes, source->file);
    if (got == 0 && ferror(source->file))
        source->error = errno ? errno : EIO;
    return got;
}

pz_status pzi_json_load(const char *file, json_t **root, pz_diag *diag)
{
    struct source source = {fopen(file, "rb"), 0};
    if (!source.file)
        return pzi_fail(diag, PZ_ERR_IO, "cannot open: %s", strerror(errno));
    json_error_t error;
    json_t *value = json_load_callback(read_some, &source, JSON_FLAGS, &error);
    fclose(source.file);
    if (source.error) {
        json_decref(value);
        return pzi_fail(diag, PZ_ERR_IO, "cannot read: %s", strerror(source.error));
    }
    return parsed(value, &error, root, diag);
}

pz_status pzi_json_check_format(const json_t *root, const char *format, pz_diag *diag)
{
    if (!json_is_object(root))
        return pzi_fail(diag, PZ_ERR_FORMAT, "not a %s file: the top level is not an object",
                        format);
    const char *found = json_string_value(json_object_get(root, "format"));
    if (!found)
        return pzi_fail_at(diag, PZ_ERR_FORMAT, "format", "missing; expected \"%s\"", format);
    if (strcmp(found, format) != 0)
        return pzi_fail_at(diag, PZ_ERR_FORMAT, "format", "is \"%.40s\", expected \"%s\"", found,
                           format);
    const json_t *version = json_object_get(root, "version");
    if (!json_is_number(version))
        return pzi_fail_at(diag, PZ_ERR_FORMAT, "version", "missing or not a number");
    if (floor(json_number_value(version)) != 1)
        return pzi_fail_at(diag, PZ_ERR_FORMAT, "version", "is %g; this release reads version 1",
                           json_number_value(version));
    return PZ_OK;
}

pzi_fields pzi_fields_root(const json_t *root, pz_diag *diag)
{
    return (pzi_fields){.object = root, .diag = diag};
}

pzi_fields pzi_fields_element(const pzi_fields *parent, const char *list, size_t index)
{
    pzi_fields fields = {
        .object = json_array_get(json_object_get(parent->object, list), index),
        .diag = parent->diag,
        .parent = parent,
        .list = list,
        .index = index,
    };
    if (!json_is_object(fields.object))
        pzi_bad_field(&fields, NULL, "is not an object");
    return fields;
}

/* Writes the path of an object, with a dot at the end if it is not the root's; returns its length.
 */
static size_t write_path(const pzi_fields *fields, char *path, size_t room)
{
    if (!fields->parent)
        return 0;
    const size_t used = write_path(fields->parent, path, room);
    const int written = snprintf(path + used, room - used, "%s[%zu].", fields->list, fields->index);
    const size_t end = used + (written > 0 ? (size_t)written : 0);
    return end < room ? end : room - 1;
}

void pzi_bad_field(pzi_fields *fields, const char *name, const char *format, ...)
{
    if (fields->status != PZ_OK)
        return;
    fields->status = PZ_ERR_MEANING;
    if (!fields->diag)
        return;
    char path[sizeof fields->diag->path] = "";
    const size_t used = write_path(fields, path, sizeof path);
    if (name)
        snprintf(path + used, sizeof path - used, "%s", name);
    else if (used > 0)
        path[used - 1] = '\0';
    char text[sizeof fields->diag->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pzi_fail_at(fields->diag, PZ_ERR_MEANING, path, "%s", text);
}

bool pzi_has(const pzi_fields *fields, const char *name)
{
    return fields->status == PZ_OK && json_object_get(fields->object, name) != NULL;
}

/* The field, or NULL after recording that it is missing. */
static const json_t *field(pzi_fields *fields, const char *name)
{
    if (fields->status != PZ_OK)
        return NULL;
    const json_t *value = json_object_get(fields->object, name);
    if (!value)
        pzi_bad_field(fields, name, "is missing");
    return value;
}

static int64_t int_in_range(pzi_fields *fields, const char *name, const json_t *value, int64_t low,
                            int64_t high)
{
    if (!json_is_integer(value)) {
        pzi_bad_field(fields, name, "is not an integer");
        return 0;
    }
    const json_int_t number = json_integer_value(value);
    if (number < low || number > high) {
        pzi_bad_field(fields, name, "is %lld, outside %lld..%lld", (long long)number,
                      (long long)low, (long long)high);
        return 0;
    }
    return number;
}

int64_t pzi_get_int(pzi_fields *fields, const char *name, int64_t low, int64_t high)
{
    const json_t *value = field(fields, name);
    return value ? int_in_range(fields, name, value, low, high) : 0;
}

int64_t pzi_array_int(pzi_fields *fields, const char *name, const json_t *array, size_t k,
                      int64_t low, int64_t high)
{
    if (fields->status != PZ_OK)
        return 0;
    char element[64];
    snprintf(element, sizeof element, "%s[%zu]", name, k);
    return int_in_range(fields, element, json_array_get(array, k), low, high);
}

double pzi_get_number(pzi_fields *fields, const char *name, double low, double high)
{
    const json_t *value = field(fields, name);
    if (!value)
        return 0;
    if (!json_is_number(value)) {
        pzi_bad_field(fields, name, "is not a number");
        return 0;
    }
    const double number = json_number_value(value);
    if (!(number >= low && number <= high)) {
        pzi_bad_field(fields, name, "is %g, outside %g..%g", number, low, high);
        return 0;
    }
    return number;
}

bool pzi_get_bool(pzi_fields *fields, const char *name)
{
    const json_t *value = field(fields, name);
    if (value && !json_is_boolean(value))
        pzi_bad_field(fields, name, "is not true or false");
    return json_is_true(value);
}

/* No C0 or C1 control, and none of the marks that turn the direction of writing around: a name must
 * look in a terminal like what it is.  The text is UTF-8, as jansson has checked. */
static bool is_printable(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        const bool control = *c < 0x20 || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0);
        const bool embedding = c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae;
        const bool isolate = c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
        if (control || embedding || isolate)
            return false;
    }
    return true;
}

const char *pzi_get_string(pzi_fields *fields, const char *name)
{
    const json_t *value = field(fields, name);
    const char *text = json_string_value(value);
    if (value && !text)
        pzi_bad_field(fields, name, "is not a string");
    if (text && !is_printable(text))
        pzi_bad_field(fields, name, "contains a control character");
    return text && fields->status == PZ_OK ? text : "";
}

void pzi_get_text(pzi_fields *fields, const char *name, bool optional, char *out, size_t room)
{
    out[0] = '\0';
    if (optional && !pzi_has(fields, name))
        return;
    const char *text = pzi_get_string(fields, name);
    if (strlen(text) >= room)
        pzi_bad_field(fields, name, "is longer than %zu bytes", room - 1);
    else
        snprintf(out, room, "%s", text);
}

const json_t *pzi_get_array(pzi_fields *fields, const char *name)
{
    const json_t *value = field(fields, name);
    if (value && !json_is_array(value)) {
        pzi_bad_field(fields, name, "is not an array");
        return NULL;
    }
    return value;
}

int pzi_get_choice(pzi_fields *fields, const char *name, const char *const *names)
{
    const char *text = pzi_get_string(fields, name);
    char known[160] = "";
    if (fields->status != PZ_OK)
        return 0;
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0)
            return i;
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    pzi_bad_field(fields, name, "is \"%.40s\"; known are %s", text, known);
    return 0;
}

void pzi_json_set(json_t *object, const char *name, json_t *value, bool *whole)
{
    if (json_object_set_new(object, name, value) != 0)
        *whole = false;
}

void pzi_json_append(json_t *array, json_t *value, bool *whole)
{
    if (json_array_append_new(array, value) != 0)
        *whole = false;
}

/* The text as it grows.  jansson ignores some failures of its callback, so they are kept here. */
struct sink {
    char *text;
    size_t bytes, room;
    bool failed;
};

static int append_text(const char *text, size_t bytes, void *data)
{
    struct sink *sink = data;
    char *grown = pzi_grow(sink->text, &sink->room, sink->bytes + bytes + 1, 1);
    sink->failed = sink->failed || !grown;
    if (sink->failed) {
        sink->text = grown ? grown : sink->text;
        return -1;
    }
    sink->text = grown;
    memcpy(sink->text + sink->bytes, text, bytes);
    sink->bytes += bytes;
    sink->text[sink->bytes] = '\0';
    return 0;
}

pz_status pzi_json_text(json_t *root, bool whole, int digits, char **text)
{
    struct sink sink = {0};
    const size_t flags = JSON_INDENT(1) | (size_t)JSON_REAL_PRECISION(digits);
    const bool dumped =
        root && whole && json_dump_callback(root, append_text, &sink, flags) == 0 && !sink.failed;
    json_decref(root);
    if (!dumped) {
        free(sink.text);
        return PZ_ERR_MEMORY;
    }
    *text = sink.text;
    return PZ_OK;
}

void pz_text_free(char *text)
{
    free(text);
}
