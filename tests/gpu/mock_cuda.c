/* A driver of CUDA, and a compiler NVRTC, that play a GPU: kernels run as plain C
 * (support/lanes.h). As with a GPU nothing of a stream happens before somebody waits for it: so
 * whoever looks at a result too early, or takes back memory, is found out.  For one thread. */
#include "gpu/mock_cuda.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/lanes.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    FAILED = 719, /* CUDA_ERROR_LAUNCH_FAILED */
    OUT_OF_MEMORY = 2,
    INVALID_VALUE = 1,
    NOT_FOUND = 500,
    ARGUMENTS = 8,
    NAME_BYTES = 32,
    UNITS = 16,
    MAJOR = 75
};

/* A launch, a copy, or a mark in time. */
struct work {
    struct work *next;
    char kernel[NAME_BYTES]; /* empty: not a launch */
    unsigned groups;
    uint64_t arguments[ARGUMENTS];
    void *to;
    const void *from;
    size_t bytes;
    double *time; /* NULL: not a mark */
};

struct stream {
    struct work *first, **end;
};

struct function {
    char name[NAME_BYTES];
    struct function *next;
};

/* The image of a program: what it was compiled with. */
struct module {
    char options[256];
    struct function *functions;
};

static struct mock_cuda_counts counts;
static enum mock_cuda_failure failure;
static struct stream default_stream = {NULL, &default_stream.first};
static int context; /* stands for the one that there is */
static void *current;

int cuInit(unsigned flags);
int cuGetErrorString(int error, const char **text);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **retained, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxGetCurrent(void **now);
int cuCtxPushCurrent_v2(void *pushed);
int cuCtxPopCurrent_v2(void **popped);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *stream, void **arguments, void **extra);
int cuMemAlloc_v2(void **memory, size_t bytes);
int cuMemFree_v2(void *memory);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemFreeHost(void *memory);
int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *milliseconds, void *begin, void *end);
int cuEventDestroy_v2(void *event);
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names);
int nvrtcCompileProgram(void *program, int count, const char *const *options);
int nvrtcGetCUBINSize(void *program, size_t *bytes);
int nvrtcGetCUBIN(void *program, char *image);
int nvrtcGetProgramLogSize(void *program, size_t *bytes);
int nvrtcGetProgramLog(void *program, char *text);
int nvrtcDestroyProgram(void **program);
mock_cuda_count mock_cuda_counts_now;
mock_cuda_fail mock_cuda_fail_next;

EXPORT void mock_cuda_counts_now(struct mock_cuda_counts *now)
{
    *now = counts;
}

EXPORT void mock_cuda_fail_next(enum mock_cuda_failure next)
{
    failure = next;
}

static bool fails(enum mock_cuda_failure kind)
{
    const bool does = failure == kind;

    if (does)
        failure = MOCK_CUDA_NONE;
    return does;
}

/* Memory of its own for everything, so that a sanitizer sees all that is wrong. */
static void *make(size_t bytes)
{
    void *const memory = calloc(1, bytes);

    if (memory == NULL)
        abort();
    return memory;
}

/* ---- Device and context --------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : INVALID_VALUE;
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = error == NOT_FOUND ? "named symbol not found" : "an error of the mock";
    return 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal == 0 ? 0 : INVALID_VALUE;
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    (void)device;
    snprintf(name, (size_t)bytes, "mock: kernels as plain C");
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == UNITS ? 2 : attribute == MAJOR ? 9 : 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **retained, int device)
{
    (void)device;
    counts.contexts++;
    *retained = &context;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    counts.contexts--;
    return 0;
}

EXPORT int cuCtxGetCurrent(void **now)
{
    *now = current;
    return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *pushed)
{
    if (current != NULL || pushed != &context)
        return INVALID_VALUE;
    current = pushed;
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **popped)
{
    *popped = current;
    current = NULL;
    return 0;
}

/* ---- Programs ------------------------------------------------------------------------------- */

EXPORT int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
                              const char *const *texts, const char *const *names)
{
    struct module *const made = make(sizeof *made);

    (void)name;
    (void)texts;
    (void)names;
    *program = made;
    return headers == 0 && strstr(source, "pz_encode") != NULL ? 0 : 1;
}

EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    struct module *const self = program;
    size_t used = 0;

    if (fails(MOCK_CUDA_COMPILE))
        return 1;
    for (int i = 0; i < count && used < sizeof self->options; i++)
        used +=
            (size_t)snprintf(self->options + used, sizeof self->options - used, "%s ", options[i]);
    return strstr(self->options, "--gpu-architecture=sm_90 ") != NULL ? 0 : 1;
}

EXPORT int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    *bytes = strlen(((struct module *)program)->options) + 1;
    return 0;
}

EXPORT int nvrtcGetCUBIN(void *program, char *image)
{
    const char *const options = ((struct module *)program)->options;

    memcpy(image, options, strlen(options) + 1);
    return 0;
}

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof "refused";
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *program, char *text)
{
    (void)program;
    memcpy(text, "refused", sizeof "refused");
    return 0;
}

EXPORT int nvrtcDestroyProgram(void **program)
{
    free(*program);
    *program = NULL;
    return 0;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
    struct module *made;

    if (current != &context)
        return INVALID_VALUE;
    made = make(sizeof *made);
    snprintf(made->options, sizeof made->options, "%s", (const char *)image);
    counts.modules++;
    counts.all_modules++;
    *module = made;
    return 0;
}

EXPORT int cuModuleUnload(void *module)
{
    struct module *const self = module;

    while (self->functions != NULL) {
        struct function *const function = self->functions;

        self->functions = function->next;
        free(function);
    }
    counts.modules--;
    free(self);
    return 0;
}

/* Whether a kernel is in what was compiled. */
static bool has(const struct module *self, const char *name)
{
    char option[32];
    unsigned w = 0;

    if (sscanf(name, "pz_%*[a-z]_w%u", &w) != 1)
        return strstr(self->options, "-DPZ_ONLY_PLACES ") != NULL;
    snprintf(option, sizeof option, "-DPZ_W=%u ", w);
    return strstr(self->options, option) != NULL && strstr(self->options, "-DPZ_FORMAT=") != NULL &&
           strstr(self->options, strncmp(name, "pz_encode", 9) == 0 ? "-DPZ_ONLY_ENCODE "
                                                                    : "-DPZ_ONLY_DECODE ") != NULL;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct module *const self = module;
    struct function *made;

    if (!has(self, name))
        return NOT_FOUND;
    made = make(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->next = self->functions;
    self->functions = made;
    *function = made;
    return 0;
}

/* ---- Streams -------------------------------------------------------------------------------- */

static struct work *add(void *stream)
{
    struct stream *const self = stream != NULL ? stream : &default_stream;
    struct work *const made = make(sizeof *made);

    *self->end = made;
    self->end = &made->next;
    return made;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_kernel(const struct work *work)
{
    void *values[ARGUMENTS];

    for (unsigned i = 0; i < ARGUMENTS; i++)
        values[i] = (void *)&work->arguments[i];
    if (!lanes_launch(counts.launches % 2 ? LANES_FORWARDS : LANES_BACKWARDS, work->kernel,
                      work->groups, values))
        abort();
}

static void run(const struct work *work)
{
    if (work->kernel[0] != '\0')
        run_kernel(work);
    else if (work->time != NULL)
        *work->time = now();
    else
        memcpy(work->to, work->from, work->bytes);
}

static void empty(struct stream *self, bool runs)
{
    while (self->first != NULL) {
        struct work *const work = self->first;

        if (runs)
            run(work);
        self->first = work->next;
        free(work);
    }
    self->end = &self->first;
}

/* Every argument has 8 bytes of memory, as the back end of the library keeps them. */
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra)
{
    struct work *work;

    if (fails(MOCK_CUDA_LAUNCH))
        return FAILED;
    if (current != &context || grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x != 32 ||
        block_y != 1 || block_z != 1 || shared_bytes != 0 || extra != NULL)
        return INVALID_VALUE;
    work = add(stream);
    memcpy(work->kernel, ((struct function *)function)->name, NAME_BYTES);
    work->groups = grid_x;
    for (unsigned i = 0; i < ARGUMENTS && arguments[i] != NULL; i++)
        memcpy(&work->arguments[i], arguments[i], sizeof work->arguments[i]);
    counts.launches++;
    return 0;
}

EXPORT int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream)
{
    struct work *const work = add(stream);

    work->to = to;
    work->from = from;
    work->bytes = bytes;
    return 0;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    struct stream *const made = make(sizeof *made);

    (void)flags;
    made->end = &made->first;
    counts.streams++;
    *stream = made;
    return 0;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    empty(stream, false);
    free(stream);
    counts.streams--;
    return 0;
}

EXPORT int cuStreamSynchronize(void *stream)
{
    empty(stream != NULL ? stream : &default_stream, true);
    counts.waits++;
    return 0;
}

EXPORT int cuEventCreate(void **event, unsigned flags)
{
    (void)flags;
    *event = make(sizeof(double));
    counts.events++;
    return 0;
}

EXPORT int cuEventRecord(void *event, void *stream)
{
    add(stream)->time = event;
    return 0;
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    const double *const from = begin, *const to = end;

    *milliseconds = (float)((*to - *from) * 1e3);
    return *from > 0 && *to > 0 ? 0 : INVALID_VALUE;
}

EXPORT int cuEventDestroy_v2(void *event)
{
    free(event);
    counts.events--;
    return 0;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static int allocate(void **memory, size_t bytes)
{
    if (fails(MOCK_CUDA_MEMORY))
        return OUT_OF_MEMORY;
    *memory = malloc(bytes);
    if (*memory == NULL)
        return OUT_OF_MEMORY;
    memset(*memory, 0xa5, bytes);
    counts.allocations++;
    counts.all_allocations++;
    return 0;
}

static int release(void *memory)
{
    free(memory);
    counts.allocations--;
    return 0;
}

EXPORT int cuMemAlloc_v2(void **memory, size_t bytes)
{
    return allocate(memory, bytes);
}

EXPORT int cuMemFree_v2(void *memory)
{
    return release(memory);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    return flags == 3 ? allocate(memory, bytes) : INVALID_VALUE;
}

EXPORT int cuMemFreeHost(void *memory)
{
    return release(memory);
}
