/* The verbs of the program, each in its cmd_*.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "options.h"

extern const verb verb_compress;
extern const verb verb_decompress;
extern const verb verb_test;
extern const verb verb_list;
extern const verb verb_stream;
extern const verb verb_ibp;
extern const verb verb_measure;
extern const verb verb_bench;
extern const verb verb_trace;
extern const verb verb_ratios;
extern const verb verb_plan;
extern const verb verb_simulate;
extern const verb verb_sweep;
extern const verb verb_fit;
extern const verb verb_explain;
extern const verb verb_diff;
extern const verb verb_platform;
extern const verb verb_hw;

#endif
