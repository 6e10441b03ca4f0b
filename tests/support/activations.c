/* Loads the activations: see activations.h. */
#include "support/activations.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER PZ_DATA_DIR "/activations/"

static const char header_line[] =
    "model,cls,op,dtype,tensor_seq,kind,off,len,w,zvc,bpc,bx,zbx,planezip,bdi,"
    "raw_blocks,zvc_blocks,bx_blocks,dbx_blocks,zbx_blocks";

enum { COLUMN_MODEL, COLUMN_CLS, COLUMN_KIND = 5, COLUMN_OFF, COLUMN_LEN, COLUMN_W, COLUMN_ZVC };
enum { COLUMN_BLOCKS = COLUMN_ZVC + ACTIVATION_CODECS, COLUMNS = COLUMN_BLOCKS + ACTIVATION_TAGS };

struct file {
    char path[512];
    uint8_t *data;
    size_t bytes;
    struct file *next;
};

/* Every file that was read, and every bfloat16 stream that was made, as the chunks point into them;
 * until activations_free(). */
static struct file *files;

_Noreturn static void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes != 0 ? bytes : 1);

    if (memory == NULL)
        fail("out of memory");
    return memory;
}

static uint8_t *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data;
    long size;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        fail("%s: cannot be read", path);
    rewind(file);
    data = allocate((size_t)size + 1);
    if (fread(data, 1, (size_t)size, file) != (size_t)size)
        fail("%s: cannot be read", path);
    data[size] = '\0';
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

uint16_t activations_bf16(uint32_t f32)
{
    if ((f32 & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(f32 >> 16 | 0x40);
    return (uint16_t)((f32 + 0x7fff + (f32 >> 16 & 1)) >> 16);
}

static void round_to_bf16(struct file *file)
{
    for (size_t i = 0; i < file->bytes / 4; i++) {
        const uint8_t *from = file->data + 4 * i;
        const uint16_t rounded = activations_bf16(
            from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24);

        file->data[2 * i] = (uint8_t)rounded;
        file->data[2 * i + 1] = (uint8_t)(rounded >> 8);
    }
    file->bytes /= 2;
}

/* The data of one model and kind, read at the first call. */
static const struct file *data_of(const char *model, const char *kind)
{
    const bool is_bf16 = strcmp(kind, "bf16") == 0;
    const char *suffix = is_bf16 || strcmp(kind, "f32") == 0 ? "f32" : "other";
    char path[sizeof files->path];
    struct file *file;

    snprintf(path, sizeof path, FOLDER "%s.%s%s", model, suffix, is_bf16 ? " as bf16" : "");
    for (file = files; file != NULL; file = file->next)
        if (strcmp(file->path, path) == 0)
            return file;
    file = allocate(sizeof *file);
    snprintf(file->path, sizeof file->path, FOLDER "%s.%s", model, suffix);
    file->data = read_file(file->path, &file->bytes);
    if (is_bf16)
        round_to_bf16(file);
    memcpy(file->path, path, sizeof path);
    file->next = files;
    files = file;
    return file;
}

static uint64_t number(const char *text, size_t line)
{
    char *end;
    const uint64_t value = strtoull(text, &end, 10);

    if (end == text || *end != '\0')
        fail(FOLDER "index.csv:%zu: \"%s\" is not a number", line, text);
    return value;
}

/* Cuts a line at its commas, in place. */
static void cut(char *line, char *columns[COLUMNS], size_t line_number)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        line = strchr(line, ',');
        if ((line == NULL) != (i == COLUMNS - 1))
            fail(FOLDER "index.csv:%zu: not %d columns", line_number, COLUMNS);
        if (line != NULL)
            *line++ = '\0';
    }
}

static void parse(char *line, size_t line_number, struct activation *chunk)
{
    char *columns[COLUMNS];
    const struct file *file;

    cut(line, columns, line_number);
    snprintf(chunk->model, sizeof chunk->model, "%s", columns[COLUMN_MODEL]);
    snprintf(chunk->cls, sizeof chunk->cls, "%s", columns[COLUMN_CLS]);
    snprintf(chunk->kind, sizeof chunk->kind, "%s", columns[COLUMN_KIND]);
    chunk->offset = (size_t)number(columns[COLUMN_OFF], line_number);
    chunk->bytes = (size_t)number(columns[COLUMN_LEN], line_number);
    chunk->w = (unsigned)number(columns[COLUMN_W], line_number);
    for (unsigned i = 0; i < ACTIVATION_CODECS; i++)
        chunk->coded_bytes[i] = number(columns[COLUMN_ZVC + i], line_number);
    for (unsigned i = 0; i < ACTIVATION_TAGS; i++)
        chunk->blocks[i] = number(columns[COLUMN_BLOCKS + i], line_number);
    file = data_of(chunk->model, chunk->kind);
    if (chunk->offset > file->bytes || chunk->bytes > file->bytes - chunk->offset)
        fail(FOLDER "index.csv:%zu: outside of %s", line_number, file->path);
    chunk->data = file->data + chunk->offset;
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; (text = strchr(text, '\n')) != NULL; text++)
        lines++;
    return lines;
}

struct activations *activations_load(void)
{
    struct activations *activations = allocate(sizeof *activations);
    size_t bytes, line_number = 1;
    char *text = (char *)read_file(FOLDER "index.csv", &bytes);
    char *end;

    activations->chunks = allocate(count_lines(text) * sizeof activations->chunks[0]);
    activations->count = 0;
    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1, line_number++) {
        *end = '\0';
        if (line_number > 1)
            parse(line, line_number, &activations->chunks[activations->count++]);
        else if (strcmp(line, header_line) != 0)
            fail(FOLDER "index.csv: other columns than expected");
    }
    free(text);
    return activations;
}

void activations_free(struct activations *activations)
{
    if (activations == NULL)
        return;
    free(activations->chunks);
    free(activations);
    while (files != NULL) {
        struct file *next = files->next;

        free(files->data);
        free(files);
        files = next;
    }
}
