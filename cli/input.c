/* Files in: see input.h. */
#define _POSIX_C_SOURCE 200809L
#include "input.h"

#include "errors.h"
#include "memory.h"
#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 65536 };

static int fail_memory(const char *file)
{
    return fail(file, NULL, "free some or use smaller files", "there is not enough memory for it");
}

static int fail_large(const char *file, size_t limit)
{
    char text[UNITS_TEXT];

    return fail(file, NULL, "check that it is the file that is meant",
                "it is larger than %s, the limit of such files", units_bytes(limit, text));
}

/* Room for a whole regular file at once and one byte more, to see its end; other files grow. */
static int start(const char *file, int descriptor, size_t limit, size_t *capacity, buffer *content)
{
    struct stat status;

    *capacity = FIRST_BYTES;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        if ((uintmax_t)status.st_size > limit)
            return fail_large(file, limit);
        *capacity = (size_t)status.st_size + 1;
    }
    *content = (buffer){.data = malloc(*capacity)};
    return content->data != NULL ? STATUS_OK : fail_memory(file);
}

static int grow(const char *file, size_t limit, size_t *capacity, buffer *content)
{
    size_t wanted = *capacity <= limit / 2 ? *capacity * 2 : limit + 1;
    unsigned char *data;

    if (content->bytes > limit)
        return fail_large(file, limit);
    data = realloc(content->data, wanted);
    if (data == NULL)
        return fail_memory(file);
    content->data = data;
    *capacity = wanted;
    return STATUS_OK;
}

static int read_all(const char *file, int descriptor, size_t limit, buffer *content)
{
    size_t capacity;
    int status = start(file, descriptor, limit, &capacity, content);

    while (status == STATUS_OK) {
        ssize_t got = read(descriptor, content->data + content->bytes, capacity - content->bytes);

        if (got == 0)
            break;
        if (got > 0)
            content->bytes += (size_t)got;
        else if (errno != EINTR)
            status = fail_errno(file, "read it");
        if (status == STATUS_OK && content->bytes == capacity)
            status = grow(file, limit, &capacity, content);
    }
    return status;
}

int input_read_up_to(const char *file, size_t limit, buffer *content)
{
    static bool input_used;
    bool is_standard = strcmp(file, "-") == 0;
    int descriptor = STDIN_FILENO, status;

    *content = (buffer){0};
    if (is_standard && input_used)
        return fail_usage("standard input can be read only once");
    if (is_standard)
        input_used = true;
    else
        descriptor = open(file, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_errno(file, "open it");
    status = read_all(file, descriptor, limit, content);
    if (status != STATUS_OK)
        input_free(content);
    if (!is_standard)
        close(descriptor);
    return status;
}

int input_read(const char *file, buffer *content)
{
    return input_read_up_to(file, SIZE_MAX / 2, content);
}

void input_free(buffer *content)
{
    free(content->data);
    *content = (buffer){0};
}

/* Parses what was read into the target; a plan has a trace that it belongs to. */
typedef pz_status parser(const char *json, size_t json_bytes, const pz_trace *trace, void *target,
                         pz_diag *diag);

static int read_object(const char *file, parser *parse, const pz_trace *trace, void *target)
{
    buffer content;
    pz_diag diag = {0};
    pz_status result;
    int status = input_read_up_to(file, INPUT_TEXT_BYTES, &content);

    if (status != STATUS_OK)
        return status;
    result = parse((const char *)content.data, content.bytes, trace, target, &diag);
    input_free(&content);
    return result == PZ_OK ? STATUS_OK : fail_status(file, result, &diag);
}

static pz_status parse_trace(const char *json, size_t json_bytes, const pz_trace *trace,
                             void *target, pz_diag *diag)
{
    (void)trace;
    return pz_trace_parse(json, json_bytes, target, diag);
}

static void release_trace(void *trace)
{
    pz_trace_free(trace);
}

int input_trace(const char *file, pz_trace **trace)
{
    int status = read_object(file, parse_trace, NULL, trace);

    if (status == STATUS_OK)
        own(*trace, release_trace);
    return status;
}

int input_peak(const char *file, const pz_trace *trace, pz_precision precision,
               uint64_t *peak_bytes)
{
    pz_trace_info info;

    pz_trace_get_info(trace, &info);
    *peak_bytes = info.peak_bytes[precision];
    if (*peak_bytes == 0)
        return fail(file, NULL, "give a trace of a training iteration",
                    "its operators need no activation memory, so there is nothing to plan");
    return STATUS_OK;
}

static pz_status parse_predictor(const char *json, size_t json_bytes, const pz_trace *trace,
                                 void *target, pz_diag *diag)
{
    (void)trace;
    return pz_predictor_parse(json, json_bytes, target, diag);
}

static void release_predictor(void *predictor)
{
    pz_predictor_free(predictor);
}

void input_keep_predictor(pz_predictor *predictor)
{
    own(predictor, release_predictor);
}

int input_predictor(const char *file, pz_predictor **predictor)
{
    int status = read_object(file, parse_predictor, NULL, predictor);

    if (status == STATUS_OK)
        input_keep_predictor(*predictor);
    return status;
}

static pz_status parse_plan(const char *json, size_t json_bytes, const pz_trace *trace,
                            void *target, pz_diag *diag)
{
    return pz_plan_parse(trace, json, json_bytes, target, diag);
}

static void release_plan(void *plan)
{
    pz_plan_free(plan);
}

void input_keep_plan(pz_plan *plan)
{
    own(plan, release_plan);
}

int input_plan(const pz_trace *trace, const char *file, pz_plan **plan)
{
    int status = read_object(file, parse_plan, trace, plan);

    if (status == STATUS_OK)
        input_keep_plan(*plan);
    return status;
}

static pz_status parse_platform(const char *json, size_t json_bytes, const pz_trace *trace,
                                void *target, pz_diag *diag)
{
    (void)trace;
    return pz_platform_parse(json, json_bytes, target, diag);
}

int input_platform(const char *name, pz_platform *platform)
{
    if (pz_platform_named(name, platform) == PZ_OK)
        return STATUS_OK;
    if (strpbrk(name, "./-") == NULL && access(name, F_OK) != 0)
        return fail_usage("'%s' is neither a built-in platform nor a file; 'planezip platform "
                          "list' shows the platforms",
                          name);
    return read_object(name, parse_platform, NULL, platform);
}

int input_ratios(const char *file, const pz_predictor *predictor, const pz_trace *trace,
                 const char *codec, pz_precision precision, pz_signature signature, double **ratios)
{
    pz_trace_info info;
    pz_status result;

    *ratios = NULL;
    if (strcmp(codec, "none") == 0)
        return STATUS_OK;
    pz_trace_get_info(trace, &info);
    if (strcmp(pz_predictor_model(predictor), info.model) != 0)
        return fail(file, NULL, "use the table and the trace of one model",
                    "it is a table of model '%s', the trace is of '%s'",
                    pz_predictor_model(predictor), info.model);
    *ratios = memory_keep(info.saved, sizeof **ratios);
    result = pz_predictor_fill(predictor, trace, codec, precision, signature, *ratios);
    return result == PZ_OK ? STATUS_OK : fail_status(file, result, NULL);
}

int input_file_ratios(const char *file, const pz_trace *trace, const char *codec,
                      pz_precision precision, pz_signature signature, double **ratios)
{
    pz_predictor *predictor;
    int status;

    *ratios = NULL;
    if (file == NULL)
        return STATUS_OK;
    status = input_predictor(file, &predictor);
    if (status != STATUS_OK)
        return status;
    return input_ratios(file, predictor, trace, codec, precision, signature, ratios);
}
