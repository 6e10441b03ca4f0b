/* planezip: finds the command, parses its options, runs it. */
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "options.h"
#include "output.h"

#include <planezip/planezip.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const verb *const verbs[] = {
    &verb_compress, &verb_decompress, &verb_test,    &verb_list,   &verb_stream,   &verb_ibp,
    &verb_measure,  &verb_bench,      &verb_trace,   &verb_ratios, &verb_plan,     &verb_simulate,
    &verb_sweep,    &verb_fit,        &verb_explain, &verb_diff,   &verb_platform, &verb_hw};

static int print_help(void)
{
    printf("Usage: planezip VERB [OPTIONS] [FILE...]\n\n"
           "Lossless bit-plane compression of tensors, and planning with it.\n\nVerbs:\n");
    for (size_t v = 0; v < LENGTH(verbs); v++)
        for (size_t c = 0; c < verbs[v]->count; c++)
            printf("  %-16s %s\n", verbs[v]->commands[c].name, verbs[v]->commands[c].summary);
    printf("\n'planezip VERB --help' shows the options of a verb, 'planezip --version' the "
           "version.\n"
           "\"-\" is standard input or output.  Sizes are written as in 12GiB, 512MiB, 4096.\n"
           "Exit status: 0 success; 1 wrong data, no feasible plan, or a failed read or write;\n"
           "2 wrong usage.\n");
    return STATUS_OK;
}

static int print_verb_help(const verb *self)
{
    for (size_t i = 0; i < self->count; i++) {
        if (i > 0)
            printf("\n");
        options_help(&self->commands[i]);
    }
    return STATUS_OK;
}

/* The library would do without the one that it cannot have. */
static int check_isa(void)
{
    const char *wanted = getenv("PZ_ISA");

    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, pz_isa_active()) == 0)
        return STATUS_OK;
    return fail_usage("PZ_ISA='%s': this machine has %s", wanted, names_isas());
}

static int run_command(const command *self, char **words, size_t count)
{
    size_t operands = 0;
    int status;

    errors_command(self->name);
    if (self->prepare != NULL)
        self->prepare();
    status = options_parse(self, words, count, &operands);
    if (status != STATUS_OK)
        return status;
    if (common.help) {
        options_help(self);
        return STATUS_OK;
    }
    status = check_isa();
    return status == STATUS_OK ? self->run(words, operands) : status;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The second words of a verb of two. */
static const char *known_commands(const verb *self)
{
    const char *names = "";

    for (size_t i = 0; i < self->count; i++)
        names = memory_text("%s%s%s", names, i > 0 ? ", " : "",
                            self->commands[i].name + strlen(self->name) + 1);
    return names;
}

static const char *known_verbs(void)
{
    const char *names = "";

    for (size_t i = 0; i < LENGTH(verbs); i++)
        names = memory_text("%s%s%s", names, i > 0 ? ", " : "", verbs[i]->name);
    return names;
}

/* A verb of two words: the second names the command. */
static int run_group(const verb *self, char **words, size_t count)
{
    size_t verb_length = strlen(self->name) + 1;

    errors_command(self->name);
    if (count == 0)
        return fail_usage("what to do is missing: known are %s", known_commands(self));
    if (is_help(words[0]))
        return print_verb_help(self);
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->commands[i].name + verb_length, words[0]) == 0)
            return run_command(&self->commands[i], words + 1, count - 1);
    return fail_usage("unknown command '%s': known are %s", words[0], known_commands(self));
}

static int run(char **words, size_t count)
{
    if (count == 0)
        return fail_usage("a verb is missing");
    if (is_help(words[0]))
        return print_help();
    if (strcmp(words[0], "--version") == 0 || strcmp(words[0], "-V") == 0) {
        printf("planezip %s\n", pz_version());
        return STATUS_OK;
    }
    for (size_t i = 0; i < LENGTH(verbs); i++) {
        if (strcmp(verbs[i]->name, words[0]) != 0)
            continue;
        if (strchr(verbs[i]->commands[0].name, ' ') != NULL)
            return run_group(verbs[i], words + 1, count - 1);
        return run_command(&verbs[i]->commands[0], words + 1, count - 1);
    }
    if (words[0][0] == '-')
        return fail_usage("unknown option '%s'", words[0]);
    return fail_usage("unknown verb '%s': known are %s", words[0], known_verbs());
}

int main(int argc, char **argv)
{
    int status;

    output_prepare();
    status = run(argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
    status = output_finish(status);
    memory_release();
    return status;
}
