/* The progress of long work on a file: one line on standard error, if that is a terminal and -q was
 * not given, from half a second on. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/* bytes: of the work, or PZ_UNKNOWN. */
void progress_start(const char *name, uint64_t bytes);
void progress_add(uint64_t bytes);
void progress_end(void);

/* Takes the line away before something else is printed. */
void progress_hide(void);

#endif
