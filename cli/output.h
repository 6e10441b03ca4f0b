/* Files out.  A file appears whole under its name or not at all: it is written to a temporary in
 * its folder, brought to the disk, and renamed; a signal that ends the program removes the
 * temporary.  Every function prints its own error and returns an exit status. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct stat;

/* To be called first in main(): signals, and standard descriptors that are closed. */
void output_prepare(void);

/* Whether the path means standard output: "-" and its name in /dev. */
bool output_is_standard(const char *path);

/* Whether output_save() would refuse the path, to be asked before long work.  Binary data is not
 * written to a terminal.  force allows that and existing files. */
int output_check(const char *path, bool force, bool binary);

/* Refuses an output that is the input itself, also by another name: a link, or another spelling of
 * the path.  option: what names the output. */
int output_check_input(const char *in, const char *out, const char *option);

/* The same for several inputs; NULL among them is none. */
int output_check_inputs(const char *const *in, size_t count, const char *out, const char *option);

/* An output that is written piece by piece, one at a time: open, write, and then either commit,
 * which gives the file its name, or abandon.  "-" is standard output.  A symbolic link stays, and
 * the file that it leads to is written; pipes and character devices are written to directly. */
typedef struct output_file {
    const char *path;
    char *target; /* what the path leads to */
    int descriptor;
    bool is_standard, is_device, force, failed;
    bool has_mode;
    unsigned mode; /* permissions of the file that is replaced */
} output_file;

int output_open(output_file *file, const char *path, bool force);

/* After a failure, which is printed, later calls fail without a message. */
int output_write(output_file *file, const void *data, size_t bytes);

/* like: the permissions and times that a file gets; NULL: those of the file that it replaces, or of
 * a new one. */
int output_commit(output_file *file, const struct stat *like);
void output_abandon(output_file *file);

/* All of that at once. */
int output_save(const char *path, bool force, const void *data, size_t bytes);

/* The same for a text, with a new line at its end if it lacks one. */
int output_text(const char *path, bool force, const char *text);

/* To be called last: writes out standard output.  Returns status, or STATUS_DATA on failure. */
int output_finish(int status);

#endif
