/* Reads tests/golden: the inputs NAME.bin and the six text files, which have one case a line.
 * Blank-separated fields, bytes in hexadecimal ("-" for none), "# ..." to the end of the line is a
 * comment or the reason of the case:
 *
 *   streams.txt   input w codec coded_bytes coded        what encoders must write for NAME.bin
 *   bad.txt       name w raw_bytes fault status chunk block coded   what decoders must reject
 *   accept.txt    name w raw coded                       valid streams, most of them not canonical
 *
 *   streams2.txt, bad2.txt, accept2.txt   the same for format 2: e after w, no block
 *
 * Usage:  struct golden *g = golden_open(GOLDEN_BAD);
 *         while (golden_next(g)) ... g->w, g->coded, g->coded_bytes ...
 *         golden_close(g); */
#ifndef PZ_TEST_GOLDEN_H
#define PZ_TEST_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum golden_kind {
    GOLDEN_STREAMS,
    GOLDEN_BAD,
    GOLDEN_ACCEPT,
    GOLDEN_STREAMS2,
    GOLDEN_BAD2,
    GOLDEN_ACCEPT2
};

/* The case at hand.  Strings and bytes belong to it and last until the next golden_next(); buffers
 * have exactly the size of their content, so that sanitizers see the first byte beyond. */
struct golden {
    const char *name;
    unsigned w;
    unsigned e;         /* format 2: exponent bits; else 0 */
    const char *codec;  /* streams: planezip, zvc, bpc, bx or zbx; planezip2 or planezip2-fast */
    const char *fault;  /* bad: which check of the format fails */
    const char *status; /* bad: name of the pz_status, as "PZ_ERR_TAG" */
    int64_t chunk;      /* bad: where the fault is, -1 if it belongs to no chunk ... */
    int64_t block;      /* ... or to no block */
    const char *reason; /* bad, accept: a sentence */
    uint8_t *raw;       /* NULL for bad */
    size_t raw_bytes;
    uint8_t *coded;
    size_t coded_bytes;

    enum golden_kind kind;
    FILE *file;
    char *line;
    unsigned line_number;
};

/* Ends the program with a message if the file is not there. */
struct golden *golden_open(enum golden_kind kind);

/* The next case; false after the last one.  Ends the program with a message if a line is wrong. */
bool golden_next(struct golden *g);

void golden_close(struct golden *g);

/* The content of tests/golden/NAME.bin, to be freed; NULL if it is not there. */
uint8_t *golden_input(const char *name, size_t *bytes);

#endif
