/* Files in: whole files, and the project's files through the library.  What is read lives until
 * the program ends.  Every function prints its own error and returns an exit status. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <planezip/plan.h>

typedef struct buffer {
    unsigned char *data; /* never NULL after a success */
    size_t bytes;
} buffer;

/* All bytes of a file of any kind; "-" is standard input, once. */
int input_read(const char *file, buffer *content);

/* The same for a file that is wrong if it is larger, such as an endless one. */
int input_read_up_to(const char *file, size_t limit, buffer *content);

/* The limit of JSON and CSV files, below. */
#define INPUT_TEXT_BYTES ((size_t)1 << 30)
void input_free(buffer *content);

int input_trace(const char *file, pz_trace **trace);
int input_predictor(const char *file, pz_predictor **predictor);
int input_plan(const pz_trace *trace, const char *file, pz_plan **plan);

/* The activation memory of a trace without eviction.  It is an error if there is none, as then
 * there is nothing to plan. */
int input_peak(const char *file, const pz_trace *trace, pz_precision precision,
               uint64_t *peak_bytes);

/* For objects that are made instead of read: they live until the program ends as well. */
void input_keep_predictor(pz_predictor *predictor);
void input_keep_plan(pz_plan *plan);

/* A built-in platform by name, else a file. */
int input_platform(const char *name, pz_platform *platform);

/* The ratios of a table for all saved tensors of a trace, NULL for the codec "none".  The table
 * must be of the trace's model. */
int input_ratios(const char *file, const pz_predictor *predictor, const pz_trace *trace,
                 const char *codec, pz_precision precision, pz_signature signature,
                 double **ratios);

/* The same from the file of a table; NULL ratios without a file. */
int input_file_ratios(const char *file, const pz_trace *trace, const char *codec,
                      pz_precision precision, pz_signature signature, double **ratios);

#endif
