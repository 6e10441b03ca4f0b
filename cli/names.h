/* Words for the values of the library's enumerations. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include "options.h"

#include <planezip/plan.h>

const char *names_precision(pz_precision precision); /* "fp32" or "bf16" */
const char *names_encoding(pz_encoding encoding);    /* "raw", ... "zbx"; "E", "I", "D" or "C" */
const char *names_signature(pz_signature signature); /* "tensor", "operator" or "none" */
const char *names_replay(pz_replay replay);          /* "free", ... */
const char *names_action(pz_action action);          /* "keep", "swap", "drop" or "compress" */

/* The codecs whose ratios a table holds. */
enum { NAMES_CODECS = 2 };
extern const char *const names_codecs[NAMES_CODECS];

/* What pz_mode_named() calls a mode; NULL for encodings that have no name together. */
const char *names_stream_codec(pz_mode mode);

/* The names of all policies in one line, which lives until the end. */
const char *names_policies(void);

/* The instruction sets of this machine in one line, which lives until the end. */
const char *names_isas(void);

option_parser option_precision;    /* pz_precision * */
option_parser option_signature;    /* pz_signature * */
option_parser option_replay;       /* pz_replay * */
option_parser option_compress;     /* pz_compress * */
option_parser option_codec;        /* const char **, one of names_codecs */
option_parser option_stream_codec; /* const char **, a name that pz_mode_named() knows */

#endif
