/* Tables of results: see table.h. */
#define _POSIX_C_SOURCE 200809L
#include "table.h"

#include "clean.h"
#include "errors.h"
#include "memory.h"
#include "options.h"
#include "output.h"
#include "units.h"

#include <planezip/plan.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELL_TEXT = 64 };

typedef enum cell_kind { CELL_NONE, CELL_WORD, CELL_INT, CELL_REAL, CELL_FLAG } cell_kind;

typedef struct cell {
    cell_kind kind;
    union {
        const char *word;
        int64_t integer;
        double real;
        bool flag;
    } as;
} cell;

struct table {
    const column *columns;
    size_t column_count;
    cell *cells; /* row by row */
    size_t used, capacity;
};

static void release_table(void *object)
{
    table *self = object;

    free(self->cells);
    free(self);
}

table *table_new(const column *columns, size_t count)
{
    table *self = memory_new(1, sizeof *self);

    self->columns = columns;
    self->column_count = count;
    own(self, release_table);
    return self;
}

static void add(table *self, cell value)
{
    if (self->used == self->capacity) {
        self->capacity = self->capacity * 2 + self->column_count;
        self->cells = memory_resize(self->cells, self->capacity, sizeof *self->cells);
    }
    self->cells[self->used++] = value;
}

void table_text(table *self, const char *text)
{
    add(self, (cell){CELL_WORD, {.word = memory_text("%s", text)}});
}

void table_int(table *self, int64_t value)
{
    add(self, (cell){CELL_INT, {.integer = value}});
}

void table_size(table *self, uint64_t value)
{
    table_int(self, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void table_real(table *self, double value)
{
    if (!isfinite(value))
        table_none(self);
    else
        add(self, (cell){CELL_REAL, {.real = value}});
}

void table_flag(table *self, bool value)
{
    add(self, (cell){CELL_FLAG, {.flag = value}});
}

void table_none(table *self)
{
    add(self, (cell){CELL_NONE, {0}});
}

int table_check_formats(bool csv, bool json)
{
    return csv && json ? fail_usage("--csv and --json exclude each other") : STATUS_OK;
}

size_t table_rows(const table *self)
{
    return self->used / self->column_count;
}

/* ---- Text ---- */

static bool is_shown(const column *self)
{
    return self->title != NULL || common.verbose;
}

static bool has_blocks(const table *self, size_t c)
{
    for (size_t i = c; i < self->used; i += self->column_count)
        if (self->cells[i].kind == CELL_INT && self->cells[i].as.integer != 0)
            return true;
    return false;
}

static const char *title_of(const column *self)
{
    return self->title != NULL ? self->title : self->field;
}

static const char *unit_of(column_kind kind)
{
    switch (kind) {
    case COLUMN_GB:
        return "GB";
    case COLUMN_NS:
        return "ms";
    case COLUMN_PERCENT:
    case COLUMN_SHARE:
        return "%";
    case COLUMN_GBPS:
    case COLUMN_RATE:
        return "GB/s";
    default:
        return "";
    }
}

static const char *real_text(column_kind kind, double value, char text[CELL_TEXT])
{
    switch (kind) {
    case COLUMN_PERCENT:
        snprintf(text, CELL_TEXT, "%.2f", value * 100);
        break;
    case COLUMN_SHARE:
        snprintf(text, CELL_TEXT, "%.3g", value * 100);
        break;
    case COLUMN_GBPS:
        snprintf(text, CELL_TEXT, "%.6g", value / 1e9);
        break;
    case COLUMN_RATE:
        snprintf(text, CELL_TEXT, "%.2f", value / 1e9);
        break;
    case COLUMN_RATIO:
        snprintf(text, CELL_TEXT, "%.3f", value);
        break;
    default:
        snprintf(text, CELL_TEXT, "%.6g", value);
        break;
    }
    return text;
}

static const char *int_text(column_kind kind, int64_t value, char text[CELL_TEXT])
{
    switch (kind) {
    case COLUMN_BYTES:
        return units_bytes((uint64_t)value, text);
    case COLUMN_GB:
        snprintf(text, CELL_TEXT, "%.2f", (double)value / 1e9);
        break;
    case COLUMN_NS:
        snprintf(text, CELL_TEXT, "%.3f", (double)value / 1e6);
        break;
    default:
        snprintf(text, CELL_TEXT, "%" PRId64, value);
        break;
    }
    return text;
}

static const char *cell_text(column_kind kind, const cell *value, char text[CELL_TEXT])
{
    switch (value->kind) {
    case CELL_WORD:
        return value->as.word;
    case CELL_INT:
        return int_text(kind, value->as.integer, text);
    case CELL_REAL:
        return real_text(kind, value->as.real, text);
    case CELL_FLAG:
        return value->as.flag ? "yes" : "no";
    default:
        return "-";
    }
}

static void put_padded(const char *text, size_t width, bool right, bool last)
{
    int blanks = (int)(width - clean_width(text));

    if (right)
        printf("%*s", blanks, "");
    clean_print(text, stdout);
    if (!right && !last)
        printf("%*s", blanks, "");
}

static void header_text(const column *self, char text[CELL_TEXT])
{
    const char *unit = unit_of(self->kind), *title = title_of(self);
    bool has_unit = strchr(title, '%') != NULL; /* a title such as "50%" */

    snprintf(text, CELL_TEXT, unit[0] != '\0' && !has_unit ? "%s (%s)" : "%s", title, unit);
}

static size_t measure_width(const table *self, size_t c)
{
    const column_kind kind = self->columns[c].kind;
    char text[CELL_TEXT];
    size_t most;

    if (!is_shown(&self->columns[c]) || (kind == COLUMN_BLOCKS && !has_blocks(self, c)))
        return 0;
    header_text(&self->columns[c], text);
    most = clean_width(text);
    for (size_t i = c; i < table_rows(self) * self->column_count; i += self->column_count) {
        const size_t width = clean_width(cell_text(kind, &self->cells[i], text));

        most = width > most ? width : most;
    }
    return most;
}

static bool use_bold(void)
{
    const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && (off == NULL || off[0] == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

/* A column of no width is not shown. */
static void print_row(const table *self, const size_t *widths, const cell *cells)
{
    char text[CELL_TEXT];
    size_t last = 0;

    for (size_t c = 0; c < self->column_count; c++)
        if (widths[c] > 0)
            last = c;
    for (size_t c = 0; c <= last; c++) {
        const char *shown = text;

        if (widths[c] == 0)
            continue;
        if (cells == NULL)
            header_text(&self->columns[c], text);
        else
            shown = cell_text(self->columns[c].kind, &cells[c], text);
        put_padded(shown, widths[c], self->columns[c].kind != COLUMN_TEXT, c == last);
        printf("%s", c == last ? "\n" : "  ");
    }
}

void table_print(const table *self, const char *heading)
{
    size_t *widths = memory_keep(self->column_count, sizeof *widths);
    bool bold = use_bold();

    for (size_t c = 0; c < self->column_count; c++)
        widths[c] = measure_width(self, c);
    if (heading != NULL)
        printf("%s\n", heading);
    printf("%s", bold ? "\033[1m" : "");
    print_row(self, widths, NULL);
    printf("%s", bold ? "\033[0m" : "");
    for (size_t row = 0; row < table_rows(self); row++)
        print_row(self, widths, self->cells + row * self->column_count);
}

/* What a record tells: nothing about what there is not. */
static bool is_told(const table *self, size_t c)
{
    return is_shown(&self->columns[c]) && self->cells[c].kind != CELL_NONE;
}

void table_record(const table *self, FILE *stream)
{
    char text[CELL_TEXT];
    size_t width = 0;

    for (size_t c = 0; c < self->column_count; c++)
        if (is_told(self, c) && clean_width(title_of(&self->columns[c])) > width)
            width = clean_width(title_of(&self->columns[c]));
    for (size_t c = 0; c < self->column_count; c++) {
        const column *entry = &self->columns[c];

        if (!is_told(self, c))
            continue;
        fprintf(stream, "%-*s  ", (int)width, title_of(entry));
        clean_print(cell_text(entry->kind, &self->cells[c], text), stream);
        if (unit_of(entry->kind)[0] != '\0')
            fprintf(stream, " %s", unit_of(entry->kind));
        putc('\n', stream);
    }
}

/* ---- CSV ---- */

/* Programs get names as they are, terminals do not. */
static const char *csv_name(const char *word)
{
    char *clean;

    if (!isatty(STDOUT_FILENO) || clean_is(word))
        return word;
    clean = memory_text("%s", word);
    clean[clean_copy(word, strlen(word), clean)] = '\0';
    return clean;
}

static void csv_word(const char *word)
{
    if (strpbrk(word, ",\"\r\n") == NULL) {
        printf("%s", word);
        return;
    }
    putchar('"');
    for (; *word != '\0'; word++) {
        if (*word == '"')
            putchar('"');
        putchar(*word);
    }
    putchar('"');
}

static void csv_cell(const cell *value)
{
    switch (value->kind) {
    case CELL_WORD:
        csv_word(csv_name(value->as.word));
        break;
    case CELL_INT:
        printf("%" PRId64, value->as.integer);
        break;
    case CELL_REAL:
        printf("%.12g", value->as.real);
        break;
    case CELL_FLAG:
        printf("%s", value->as.flag ? "true" : "false");
        break;
    default:
        break;
    }
}

void table_csv(const table *self)
{
    for (size_t c = 0; c < self->column_count; c++)
        printf("%s%s", c > 0 ? "," : "", self->columns[c].field);
    putchar('\n');
    for (size_t i = 0; i < table_rows(self) * self->column_count; i++) {
        csv_cell(&self->cells[i]);
        putchar((i + 1) % self->column_count == 0 ? '\n' : ',');
    }
}

/* ---- JSON ---- */

static void set(json_t *object, const char *field, json_t *value)
{
    if (json_object_set_new(object, field, value) != 0)
        memory_fail();
}

void json_set_word(json_t *object, const char *field, const char *word)
{
    json_t *const value = json_string(word);
    const size_t bytes = strlen(word);
    char *clean, *digits;

    if (value != NULL) {
        set(object, field, value);
        return;
    }
    clean = memory_text("%s", word);
    digits = memory_keep(2 * bytes + 1, 1);
    for (size_t i = 0; i < bytes; i++) {
        snprintf(digits + 2 * i, 3, "%02x", (unsigned)(unsigned char)word[i]);
        if ((unsigned char)word[i] >= 0x80)
            clean[i] = '?';
    }
    set(object, field, json_string(clean));
    set(object, memory_text("%s_hex", field), json_string(digits));
}

/* Of any cell but a word. */
static json_t *cell_json(const cell *value)
{
    switch (value->kind) {
    case CELL_INT:
        return json_integer(value->as.integer);
    case CELL_REAL:
        return json_real(value->as.real);
    case CELL_FLAG:
        return json_boolean(value->as.flag);
    default:
        return json_null();
    }
}

json_t *table_row_json(const table *self, size_t row)
{
    json_t *object = json_object();

    for (size_t c = 0; c < self->column_count; c++) {
        const cell *value = &self->cells[row * self->column_count + c];

        if (value->kind == CELL_WORD)
            json_set_word(object, self->columns[c].field, value->as.word);
        else
            set(object, self->columns[c].field, cell_json(value));
    }
    return object;
}

json_t *table_json(const table *self)
{
    json_t *array = json_array();

    for (size_t row = 0; row < table_rows(self); row++)
        if (json_array_append_new(array, table_row_json(self, row)) != 0)
            memory_fail();
    return array;
}

void json_show(json_t *value, FILE *stream)
{
    /* A terminal gets no character that could act on it. */
    const size_t ascii = isatty(fileno(stream)) ? JSON_ENSURE_ASCII : 0;
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(12) | ascii;

    if (value == NULL)
        memory_fail();
    /* A failed write is seen when the stream is closed. */
    if (json_dumpf(value, stream, flags) != 0 && !ferror(stream))
        memory_fail();
    putc('\n', stream);
    json_decref(value);
}

int json_save(const char *path, bool force, const char *file, pz_status result, char *text)
{
    int status;

    if (result != PZ_OK)
        return fail_status(file, result, NULL);
    status = output_text(path, force, text);
    pz_text_free(text);
    return status;
}
