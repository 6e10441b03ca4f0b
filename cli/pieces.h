/* A file that is read in pieces, at any place and more than once, so that it may be larger than
 * memory.  What cannot be read so, as a pipe, is read whole when it is opened. */
#ifndef CLI_PIECES_H
#define CLI_PIECES_H

#include "input.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pieces {
    const char *name;
    buffer content; /* data: NULL if it is read in pieces */
    int descriptor;
    uint64_t bytes;
    unsigned char *piece; /* the last one */
    size_t room;
} pieces;

/* Both print their errors and return an exit status.  is_whole: reads all of it at once, whatever
 * it is.  It is closed and freed at the end of the program. */
int pieces_open(const char *name, bool is_whole, pieces **opened);

/* Bytes of it, which have to be there when it was opened, and live until the next call. */
int pieces_at(pieces *self, uint64_t at, size_t bytes, const unsigned char **data);

#endif
