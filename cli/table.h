/* Tables of results: filled once, printed as text for people, as CSV or as JSON.  Tables live
 * until the program ends. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <planezip/planezip.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

typedef enum column_kind {
    COLUMN_TEXT,
    COLUMN_COUNT,   /* integer */
    COLUMN_BLOCKS,  /* integer; text leaves the column out if no row has another one than 0 */
    COLUMN_BYTES,   /* integer; as text with an IEC unit */
    COLUMN_GB,      /* integer bytes; as text in 10^9 bytes */
    COLUMN_NS,      /* integer nanoseconds; as text in ms */
    COLUMN_RATIO,   /* real */
    COLUMN_PERCENT, /* real share; as text in per cent */
    COLUMN_SHARE,   /* the same for shares far below 1 % */
    COLUMN_GBPS,    /* real bytes per second; as text in 10^9 bytes per second */
    COLUMN_RATE,    /* the same with two decimals */
    COLUMN_NUMBER,  /* real of any size */
    COLUMN_FLAG
} column_kind;

typedef struct column {
    const char *field; /* name in JSON and CSV, with the unit of the stored value */
    const char *title; /* in text, without the unit; NULL: text shows it with -v only, as field */
    column_kind kind;
} column;

typedef struct table table;

table *table_new(const column *columns, size_t count);

/* The cells of a row, in order of the columns; after the last cell the next row begins.  A cell
 * of integer or real kind takes table_int() or table_real(), a flag table_flag(). */
void table_text(table *self, const char *text);
void table_int(table *self, int64_t value);
void table_size(table *self, uint64_t value);
void table_real(table *self, double value); /* infinite or NaN: none */
void table_flag(table *self, bool value);
void table_none(table *self);

size_t table_rows(const table *self);

/* Rows under a heading; heading may be NULL. */
void table_print(const table *self, const char *heading);
void table_csv(const table *self);

/* Whether a command may be asked for these forms: not for both.  Prints its own error and returns
 * an exit status. */
int table_check_formats(bool csv, bool json);

/* A line for each column of the first row that has a value. */
void table_record(const table *self, FILE *stream);

/* An array of objects, or the object of one row; the caller owns it. */
json_t *table_json(const table *self);
json_t *table_row_json(const table *self, size_t row);

/* Adds a text that may be no UTF-8, as names of files may be: '?' stands for its other bytes then,
 * and all of its bytes are beside it in hexadecimal, in the field NAME_hex. */
void json_set_word(json_t *object, const char *field, const char *word);

/* Prints and releases value; NULL is one for which there was no memory. */
void json_show(json_t *value, FILE *stream);

/* Saves what a call of the library gave: its status, and the text, which is freed.  file is what
 * an error of that call is about.  Returns an exit status. */
int json_save(const char *path, bool force, const char *file, pz_status result, char *text);

#endif
