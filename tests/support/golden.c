/* See golden.h. */
#include "golden.h"

#include <stdlib.h>
#include <string.h>

#ifndef PZ_SOURCE_DIR
#define PZ_SOURCE_DIR "."
#endif

enum { MAX_FIELDS = 8, MAX_PATH = 1024 };

static const struct {
    const char *file;
    unsigned fields;
} kinds[] = {
    [GOLDEN_STREAMS] = {"streams.txt", 5}, [GOLDEN_BAD] = {"bad.txt", 8},
    [GOLDEN_ACCEPT] = {"accept.txt", 4},   [GOLDEN_STREAMS2] = {"streams2.txt", 6},
    [GOLDEN_BAD2] = {"bad2.txt", 8},       [GOLDEN_ACCEPT2] = {"accept2.txt", 5},
};

static bool is_format2(enum golden_kind kind)
{
    return kind >= GOLDEN_STREAMS2;
}

static void give_up(const struct golden *g, const char *what)
{
    fprintf(stderr, "tests/golden/%s:%u: %s\n", kinds[g->kind].file, g->line_number, what);
    exit(2);
}

/* Memory for bytes, even for none. */
static void *take(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "golden: out of memory\n");
        exit(2);
    }
    return memory;
}

static FILE *open_file(const char *name, const char *suffix)
{
    char path[MAX_PATH];

    snprintf(path, sizeof path, "%s/tests/golden/%s%s", PZ_SOURCE_DIR, name, suffix);
    return fopen(path, "rb");
}

/* The rest of the file; reads until its end, as a file's size is not known to plain C. */
static uint8_t *read_rest(FILE *file, size_t *bytes)
{
    size_t room = 1 << 16, got;
    uint8_t *content = take(room), *exact;

    *bytes = 0;
    while ((got = fread(content + *bytes, 1, room - *bytes, file)) > 0) {
        *bytes += got;
        if (*bytes < room)
            continue;
        exact = take(2 * room);
        memcpy(exact, content, room);
        free(content);
        content = exact;
        room *= 2;
    }
    exact = take(*bytes);
    memcpy(exact, content, *bytes);
    free(content);
    return exact;
}

uint8_t *golden_input(const char *name, size_t *bytes)
{
    FILE *file = open_file(name, ".bin");
    uint8_t *content;

    if (file == NULL)
        return NULL;
    content = read_rest(file, bytes);
    fclose(file);
    return content;
}

struct golden *golden_open(enum golden_kind kind)
{
    struct golden *g = take(sizeof *g);

    *g = (struct golden){.kind = kind, .file = open_file(kinds[kind].file, "")};
    if (g->file == NULL)
        give_up(g, "cannot be opened");
    return g;
}

static void drop_case(struct golden *g)
{
    free(g->line);
    free(g->raw);
    free(g->coded);
    g->line = NULL;
    g->raw = NULL;
    g->coded = NULL;
}

void golden_close(struct golden *g)
{
    drop_case(g);
    fclose(g->file);
    free(g);
}

/* One line without its end, in memory of its own; NULL at the end of the file. */
static char *read_line(FILE *file)
{
    size_t room = 256, length = 0;
    char *line = take(room), *longer;
    int c;

    while ((c = getc(file)) != EOF && c != '\n') {
        if (length + 2 > room) {
            longer = take(2 * room);
            memcpy(longer, line, length);
            free(line);
            line = longer;
            room *= 2;
        }
        line[length++] = (char)c;
    }
    line[length] = '\0';
    if (c != EOF || length > 0)
        return line;
    free(line);
    return NULL;
}

/* Cuts the comment off the line and returns it without "# ", or an empty string. */
static const char *cut_comment(char *line)
{
    char *mark = strchr(line, '#');

    if (mark == NULL)
        return line + strlen(line);
    *mark = '\0';
    return mark + 1 + strspn(mark + 1, " ");
}

static unsigned split(char *line, char *fields[MAX_FIELDS])
{
    unsigned count = 0;

    for (char *field = strtok(line, " \t\r"); field != NULL; field = strtok(NULL, " \t\r")) {
        if (count < MAX_FIELDS)
            fields[count] = field;
        count++;
    }
    return count;
}

static uint64_t number(const struct golden *g, const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0')
        give_up(g, "a number is expected");
    return value;
}

/* A number, or "-" for -1. */
static int64_t place(const struct golden *g, const char *text)
{
    return strcmp(text, "-") == 0 ? -1 : (int64_t)number(g, text);
}

static uint8_t digit(const struct golden *g, char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, c) : NULL;

    if (found == NULL)
        give_up(g, "hexadecimal digits are expected");
    return (uint8_t)(found - digits);
}

static uint8_t *hex(const struct golden *g, const char *text, size_t *bytes)
{
    uint8_t *content;

    if (strcmp(text, "-") == 0)
        text = "";
    *bytes = strlen(text) / 2;
    content = take(*bytes);
    for (size_t k = 0; k < *bytes; k++)
        content[k] = (uint8_t)(digit(g, text[2 * k]) << 4 | digit(g, text[2 * k + 1]));
    if (text[2 * *bytes] != '\0')
        give_up(g, "an even number of hexadecimal digits is expected");
    return content;
}

/* The fields after w, and e in format 2. */
static void parse_stream(struct golden *g, char *const *fields)
{
    g->codec = fields[0];
    g->raw = golden_input(g->name, &g->raw_bytes);
    g->coded = hex(g, fields[2], &g->coded_bytes);
    if (g->raw == NULL)
        give_up(g, "there is no such input");
    if (g->coded_bytes != number(g, fields[1]))
        give_up(g, "the stream is not of the size stated");
}

static void parse_bad(struct golden *g, char *const *fields)
{
    g->raw_bytes = (size_t)number(g, fields[0]);
    g->fault = fields[1];
    g->status = fields[2];
    g->chunk = place(g, fields[3]);
    g->block = is_format2(g->kind) ? -1 : place(g, fields[4]);
    g->coded = hex(g, fields[is_format2(g->kind) ? 4 : 5], &g->coded_bytes);
}

static void parse_accept(struct golden *g, char *const *fields)
{
    g->raw = hex(g, fields[0], &g->raw_bytes);
    g->coded = hex(g, fields[1], &g->coded_bytes);
}

static void parse(struct golden *g, char *const *fields)
{
    g->name = fields[0];
    g->w = (unsigned)number(g, fields[1]);
    g->e = is_format2(g->kind) ? (unsigned)number(g, fields[2]) : 0;
    fields += is_format2(g->kind) ? 3 : 2;
    if (g->kind == GOLDEN_STREAMS || g->kind == GOLDEN_STREAMS2)
        parse_stream(g, fields);
    else if (g->kind == GOLDEN_BAD || g->kind == GOLDEN_BAD2)
        parse_bad(g, fields);
    else
        parse_accept(g, fields);
}

bool golden_next(struct golden *g)
{
    char *fields[MAX_FIELDS];
    unsigned count;

    do {
        drop_case(g);
        g->line = read_line(g->file);
        g->line_number++;
        if (g->line == NULL)
            return false;
        g->reason = cut_comment(g->line);
        count = split(g->line, fields);
    } while (count == 0);
    if (count != kinds[g->kind].fields)
        give_up(g, "the number of fields is wrong");
    parse(g, fields);
    return true;
}
