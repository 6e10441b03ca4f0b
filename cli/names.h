/* Words for the values of the library's enumerations. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "options.h"

#include <planezip/plan.h>

const char *names_precision(pz_precision precision); /* "fp32" or "bf16" */
const char *names_encoding(pz_encoding encoding);    /* "raw", "zvc", "bx", "dbx" or "zbx" */
const char *names_action(pz_action action);          /* "keep", "swap" or "drop" */

/* The names of all policies in one line, which lives until the end. */
const char *names_policies(void);

option_parser option_precision; /* pz_precision * */
option_parser option_signature; /* pz_signature * */

#endif
