/* The parser and the help text of all commands: see options.h. */
#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include "errors.h"
#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HELP_COLUMN = 26 };

#define SECONDS_MAX 1e6 /* eleven days */

struct common_options common;

/* ---- Values ---- */

const char *option_text(const char *text, void *target)
{
    const char **value = target;

    if (text[0] == '\0')
        return "it is empty";
    *value = text;
    return NULL;
}

static void list_add(word_list *list, const char *word)
{
    list->words = memory_resize(list->words, list->count + 1, sizeof *list->words);
    list->words[list->count++] = word;
}

const char *option_words(const char *text, void *target)
{
    for (;;) {
        size_t length = strcspn(text, ",");

        if (length == 0)
            return "a part of the list is empty";
        list_add(target, memory_text("%.*s", (int)length, text));
        if (text[length] == '\0')
            return NULL;
        text += length + 1;
    }
}

const char *option_files(const char *text, void *target)
{
    if (strchr(text, ',') != NULL && access(text, F_OK) == 0) {
        list_add(target, text);
        return NULL;
    }
    return option_words(text, target);
}

const char *option_size(const char *text, void *target)
{
    return units_parse_bytes(text, target);
}

const char *option_count(const char *text, void *target)
{
    return units_parse_count(text, target);
}

const char *option_seconds(const char *text, void *target)
{
    double seconds;
    const char *problem = units_parse_positive(text, &seconds);

    if (problem == NULL && seconds > SECONDS_MAX)
        problem = "it is more than a million";
    if (problem == NULL)
        *(double *)target = seconds;
    return problem;
}

const char *option_index(const char *text, void *target)
{
    int64_t *value = target;
    uint64_t number;
    const char *problem;

    if (strcmp(text, "-1") == 0) {
        *value = -1;
        return NULL;
    }
    problem = units_parse_count(text, &number);
    if (problem == NULL)
        *value = (int64_t)number; /* units_parse_count() stays below 2^63 */
    return problem;
}

const char *option_width(const char *text, void *target)
{
    static const char *const widths[] = {"8", "16", "32", "64"};

    for (uint32_t i = 0; i < LENGTH(widths); i++)
        if (strcmp(widths[i], text) == 0) {
            *(uint32_t *)target = 8u << i;
            return NULL;
        }
    return "it must be 8, 16, 32 or 64";
}

const char *option_budget(const char *text, void *target)
{
    return units_parse_budget(text, target);
}

int options_budget(const budget *value, uint64_t peak_bytes, uint64_t *bytes)
{
    *bytes = units_budget_bytes(value, peak_bytes);
    if (*bytes == 0)
        return fail_usage("--budget '%s': it is less than one byte", value->text);
    return STATUS_OK;
}

/* ---- Parser ---- */

struct parser {
    const command *self;
    char **words;
    size_t count, next;
    size_t operands;
    const option *list; /* the last option given, if following words may belong to it */
    bool *seen;         /* of each option of the command */
};

static int take_value(struct parser *parser, const option *entry, const char *text)
{
    bool *seen = &parser->seen[entry - parser->self->options];
    const char *problem;

    if (*seen && !entry->list)
        return fail_usage("--%s is given twice, and takes one value", entry->name);
    *seen = true;
    parser->list = entry->list ? entry : NULL;
    problem = entry->parse(text, entry->target);
    if (problem != NULL)
        return fail_usage("--%s '%s': %s", entry->name, text, problem);
    return STATUS_OK;
}

static void take_switch(struct parser *parser, const option *entry)
{
    *(bool *)entry->target = true;
    parser->seen[entry - parser->self->options] = true;
    parser->list = NULL;
}

static int take_next(struct parser *parser, const option *entry)
{
    if (parser->next == parser->count)
        return fail_usage("--%s needs a value, %s", entry->name, entry->argument);
    return take_value(parser, entry, parser->words[parser->next++]);
}

static int parse_long(struct parser *parser, const char *word)
{
    size_t length = strcspn(word, "=");

    for (const option *entry = parser->self->options; entry->name != NULL; entry++) {
        if (strlen(entry->name) != length || strncmp(entry->name, word, length) != 0)
            continue;
        if (entry->argument != NULL)
            return word[length] == '=' ? take_value(parser, entry, word + length + 1)
                                       : take_next(parser, entry);
        if (word[length] == '=')
            return fail_usage("--%s takes no value", entry->name);
        take_switch(parser, entry);
        return STATUS_OK;
    }
    return fail_usage("unknown option '--%s'", word);
}

/* One word of single-letter options, as in -fq or -T4. */
static int parse_short(struct parser *parser, const char *letters)
{
    while (*letters != '\0') {
        const option *entry = parser->self->options;

        while (entry->name != NULL && entry->letter != *letters)
            entry++;
        if (entry->name == NULL)
            return fail_usage("unknown option '-%c'", *letters);
        letters++;
        if (entry->argument != NULL)
            return *letters != '\0' ? take_value(parser, entry, letters) : take_next(parser, entry);
        take_switch(parser, entry);
    }
    return STATUS_OK;
}

static const char *allowed_operands(const command *self)
{
    if (self->operands_max == 0)
        return "options are all that it takes";
    return memory_text("it takes at most %zu", self->operands_max);
}

static int parse_operand(struct parser *parser, char *word)
{
    if (parser->self->operands_max == 0 && parser->list != NULL)
        return take_value(parser, parser->list, word);
    if (parser->operands == parser->self->operands_max)
        return fail_usage("unexpected argument '%s': %s", word, allowed_operands(parser->self));
    parser->words[parser->operands++] = word;
    return STATUS_OK;
}

static int check_complete(const struct parser *parser)
{
    const option *options = parser->self->options;

    for (size_t i = 0; options[i].name != NULL; i++)
        if (options[i].needed && !parser->seen[i])
            return fail_usage("--%s %s is missing", options[i].name, options[i].argument);
    if (parser->operands < parser->self->operands_min)
        return fail_usage("an argument is missing: %zu given, at least %zu needed",
                          parser->operands, parser->self->operands_min);
    return STATUS_OK;
}

static size_t count_options(const command *self)
{
    size_t count = 0;

    while (self->options[count].name != NULL)
        count++;
    return count;
}

int options_parse(const command *self, char **words, size_t count, size_t *operands)
{
    struct parser parser = {.self = self, .words = words, .count = count};
    bool ended = false;

    parser.seen = memory_keep(count_options(self), sizeof *parser.seen);
    while (parser.next < count) {
        char *word = words[parser.next++];
        int status;

        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        if (ended || word[0] != '-' || word[1] == '\0')
            status = parse_operand(&parser, word);
        else
            status =
                word[1] == '-' ? parse_long(&parser, word + 2) : parse_short(&parser, word + 1);
        if (status != STATUS_OK)
            return status;
        if (common.help)
            return STATUS_OK;
    }
    *operands = parser.operands;
    return check_complete(&parser);
}

/* ---- Help ---- */

static void help_option(const option *entry)
{
    int width = printf(entry->letter != 0 ? "  -%c, " : "      ", entry->letter);

    width += printf("--%s", entry->name);
    if (entry->argument != NULL)
        width += printf(" %s", entry->argument);
    if (width >= HELP_COLUMN) {
        printf("\n");
        width = 0;
    }
    for (const char *line = entry->help; *line != '\0'; width = 0) {
        size_t length = strcspn(line, "\n");

        printf("%*s%.*s\n", HELP_COLUMN - width, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void options_help(const command *self)
{
    printf("Usage: planezip %s %s\n\n%s\n", self->name, self->usage, self->summary);
    if (self->details != NULL)
        printf("%s\n", self->details);
    printf("\nOptions:\n");
    for (const option *entry = self->options; entry->name != NULL; entry++)
        help_option(entry);
}
