/* Commands and their options.  Each command has one table that serves the parser and the help
 * text.  Options may stand anywhere, as -x VALUE, -xVALUE, --name VALUE or --name=VALUE; "--" ends
 * them; names are not abbreviated.  One with a single value may be given once. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a value into target; returns NULL, or what is wrong with it as a sentence. */
typedef const char *option_parser(const char *text, void *target);

typedef struct option {
    char letter;          /* 0: none */
    const char *name;     /* without the dashes; NULL ends a table */
    const char *argument; /* how the help calls the value; NULL: a switch, target is a bool */
    option_parser *parse;
    void *target;
    const char *help; /* new lines are indented */
    bool needed;
    bool list; /* takes several values */
} option;

typedef struct command {
    const char *name;    /* "plan", or "trace show" with the verb that it belongs to */
    const char *usage;   /* what follows the name */
    const char *summary; /* one sentence */
    const char *details; /* more of the help, or NULL */
    const option *options;
    size_t operands_min, operands_max; /* names that are no options */
    void (*prepare)(void);             /* sets defaults before the parser runs; may be NULL */
    int (*run)(char **operands, size_t count);
} command;

/* One verb: its commands; a verb of one word has a single one. */
typedef struct verb {
    const char *name;
    const command *commands;
    size_t count;
} verb;

/* What every command takes. */
struct common_options {
    bool help, quiet, verbose;
};
extern struct common_options common;

/* Entries of a table: an option with a value, one that must be given, one with several values, and
 * a switch. */
/* clang-format off */
#define OPTION(letter, name, argument, parse, target, help) \
    {letter, name, argument, parse, target, help, false, false}
#define OPTION_NEEDED(letter, name, argument, parse, target, help) \
    {letter, name, argument, parse, target, help, true, false}
#define OPTION_LIST(letter, name, argument, parse, target, help) \
    {letter, name, argument, parse, target, help, false, true}
#define SWITCH(letter, name, target, help) \
    {letter, name, NULL, NULL, target, help, false, false}
/* clang-format on */

/* The end of every table. */
#define COMMON_OPTIONS                                                                      \
    SWITCH('q', "quiet", &common.quiet, "print nothing but errors and what was asked for"), \
        SWITCH('v', "verbose", &common.verbose, "print more"),                              \
        SWITCH('h', "help", &common.help, "print this text"),                               \
        OPTION(0, NULL, NULL, NULL, NULL, NULL)

/* Number of elements of an array. */
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Several values: repeated options, each with a comma list.  In a command without operands, the
 * words that follow are values too, so that shell patterns work. */
typedef struct word_list {
    const char **words;
    size_t count;
} word_list;

option_parser option_text;    /* const char ** */
option_parser option_words;   /* word_list * */
option_parser option_files;   /* word_list *; a file whose name has a comma is not split */
option_parser option_size;    /* uint64_t *, bytes with a unit */
option_parser option_count;   /* uint64_t *, a plain number */
option_parser option_seconds; /* double *, above 0 and up to a million */
option_parser option_index;   /* int64_t *, a plain number or -1 */
option_parser option_width;   /* uint32_t *, bits per symbol */
option_parser option_budget;  /* budget * */

/* The bytes of --budget for a peak; less than one byte is a wrong command line. */
int options_budget(const budget *value, uint64_t peak_bytes, uint64_t *bytes);

/* Parses the words after the command's name.  Returns STATUS_OK with the operands in place at the
 * front of words, or STATUS_USAGE.  A request for help ends the parsing with common.help set. */
int options_parse(const command *self, char **words, size_t count, size_t *operands);

void options_help(const command *self);

#endif
