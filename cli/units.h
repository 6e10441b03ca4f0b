/* Numbers with units, in and out.  Parsers return NULL or what is wrong as a sentence, and leave
 * the target untouched then. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes: "12GiB", "1.5g", "512 MiB", "4096"; K, KiB, ... are powers of 1024, KB, ... of 1000.
 * Below 2^63. */
const char *units_parse_bytes(const char *text, uint64_t *bytes);

/* A plain whole number below 2^63. */
const char *units_parse_count(const char *text, uint64_t *count);

/* A plain number that is finite and greater than 0. */
const char *units_parse_positive(const char *text, double *number);

/* A frequency: "1.5" and "1.5GHz" in GHz, "800MHz". */
const char *units_parse_hertz(const char *text, double *hertz);

/* A budget: bytes with a unit, or "50%" of the peak. */
typedef struct budget {
    const char *text; /* as it was given */
    bool is_percent;  /* of the peak */
    uint64_t bytes;   /* else */
} budget;
const char *units_parse_budget(const char *text, budget *value);

/* The budget in bytes for a peak of at most 2^60 bytes, as those of traces are: exact, then rounded
 * down; 0 if it is less than one byte. */
uint64_t units_budget_bytes(const budget *value, uint64_t peak_bytes);

/* "1.50 GiB", into text and returned. */
enum { UNITS_TEXT = 32 };
const char *units_bytes(uint64_t bytes, char text[UNITS_TEXT]);

#endif
