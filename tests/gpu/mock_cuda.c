/* A driver of CUDA, and a compiler NVRTC, that play a GPU: kernels run as plain C
 * (support/lanes.h). As with a GPU nothing of a stream happens before somebody waits for it: so
 * whoever looks at a result too early, or takes back memory, is found out.  Threads take turns. */
#include "gpu/mock_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/lanes.h"

#define EXPORT __attribute__((visibility("default")))

/* First in a function: one thread at a time is in any of these. */
#define ALONE __attribute__((cleanup(unlock), unused)) pthread_mutex_t *held = take_lock()

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t *take_lock(void)
{
    pthread_mutex_lock(&lock);
    return &lock;
}

static void unlock(pthread_mutex_t **held)
{
    pthread_mutex_unlock(*held);
}

enum {
    FAILED = 719, /* CUDA_ERROR_LAUNCH_FAILED */
    OUT_OF_MEMORY = 2,
    INVALID_VALUE = 1,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    ARGUMENTS = 12,
    NAME_BYTES = 32,
    UNITS = 16,
    MAJOR = 75,
    SAME_ADDRESS = 91,
    PINS = 64,
    PAGE_BYTES = 4096
};

/* A point in a stream at which an event was recorded; of the event, of its work in the stream, and
 * of work that waits for it. */
struct point {
    unsigned owners;
    bool is_reached;
    double time;
    struct stream *stream;
};

/* A launch, a copy, a point that is reached, or one that is waited for. */
struct work {
    struct work *next;
    char kernel[NAME_BYTES]; /* empty: not a launch */
    unsigned groups;
    uint64_t arguments[ARGUMENTS];
    void *to;
    const void *from;
    size_t bytes;
    struct point *reaches, *waits;
};

struct stream {
    struct work *first, **end;
};

struct event {
    struct point *point; /* where it was recorded last, or NULL */
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
static unsigned calls_until_failure, follows_until_forgotten;
static bool failure_lasts;
static struct pin {
    const uint8_t *memory;
    size_t bytes;
} pins[PINS]; /* registered mappings */
static struct stream default_stream = {NULL, &default_stream.first};
static int context; /* stands for the one that there is */
static _Thread_local void *current;

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
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *memory);
int cuMemcpyAsync(void *to, const void *from, size_t bytes, void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventSynchronize(void *event);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
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
mock_cuda_fail_at mock_cuda_fail_at_call;
mock_cuda_forget mock_cuda_forget_follow;

EXPORT void mock_cuda_counts_now(struct mock_cuda_counts *now)
{
    ALONE;
    *now = counts;
}

EXPORT void mock_cuda_fail_next(enum mock_cuda_failure next)
{
    ALONE;
    failure = next;
}

EXPORT void mock_cuda_fail_at_call(unsigned call, int lasts)
{
    ALONE;
    calls_until_failure = call;
    failure_lasts = lasts;
}

EXPORT void mock_cuda_forget_follow(unsigned follow)
{
    ALONE;
    follows_until_forgotten = follow;
}

/* Whether a call does; without a context all of them do. */
static bool fails(enum mock_cuda_failure kind)
{
    const bool does = failure == kind || (current != &context && kind != MOCK_CUDA_COMPILE);

    counts.calls++;
    if (failure == kind)
        failure = MOCK_CUDA_NONE;
    if (calls_until_failure == 0)
        return does;
    if (calls_until_failure > 1) {
        calls_until_failure--;
        return does;
    }
    if (!failure_lasts)
        calls_until_failure = 0;
    return true;
}

/* Of calls whose status nobody looks at. */
static void need_context(void)
{
    if (current != &context)
        abort();
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
    *value = attribute == UNITS ? 2 : attribute == MAJOR ? 9 : attribute == SAME_ADDRESS ? 1 : 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **retained, int device)
{
    ALONE;
    (void)device;
    counts.contexts++;
    *retained = &context;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    ALONE;
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
    ALONE;

    if (failure == MOCK_CUDA_CONTEXT) {
        failure = MOCK_CUDA_NONE;
        return FAILED;
    }
    if (current != NULL || pushed != &context)
        return INVALID_VALUE;
    current = pushed;
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **popped)
{
    need_context();
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
    ALONE;
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
    ALONE;
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
    ALONE;
    struct module *const self = module;

    need_context();
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
        return strstr(self->options, "-DPZ_ONLY_IBP ") != NULL ||
               (strncmp(name, "pz_ibp_", 7) != 0 &&
                strstr(self->options, "-DPZ_ONLY_PLACES ") != NULL);
    snprintf(option, sizeof option, "-DPZ_W=%u ", w);
    return strstr(self->options, option) != NULL && strstr(self->options, "-DPZ_FORMAT=") != NULL &&
           strstr(self->options, strncmp(name, "pz_encode", 9) == 0 ? "-DPZ_ONLY_ENCODE "
                                                                    : "-DPZ_ONLY_DECODE ") != NULL;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    ALONE;
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

/* The registered mapping that an address lies in, or NULL. */
static const struct pin *mapping_of(const uint8_t *at)
{
    for (unsigned i = 0; i < PINS; i++)
        if (at >= pins[i].memory && (size_t)(at - pins[i].memory) < pins[i].bytes)
            return &pins[i];
    return NULL;
}

/* No copy goes from one registered mapping to another, or out of one. */
static bool is_in_one(const uint8_t *at, size_t bytes)
{
    return bytes == 0 || mapping_of(at) == mapping_of(at + bytes - 1);
}

/* Kernels cannot write to what is not pinned. */
static void check_pieces(const struct work *work)
{
    const uint8_t *const *pieces;

    memcpy(&pieces, &work->arguments[5], sizeof pieces);
    if (mapping_of(*pieces) == NULL)
        abort();
}

static void run_kernel(const struct work *work)
{
    void *values[ARGUMENTS];

    if (strcmp(work->kernel, "pz_gather_pieces") == 0)
        check_pieces(work);
    for (unsigned i = 0; i < ARGUMENTS; i++)
        values[i] = (void *)&work->arguments[i];
    if (!lanes_launch(counts.launches % 2 ? LANES_FORWARDS : LANES_BACKWARDS, work->kernel,
                      work->groups, values))
        abort();
}

static void let_go(struct point *point)
{
    if (point != NULL && --point->owners == 0)
        free(point);
}

static void reach(struct point *point);

static void run(const struct work *work)
{
    if (work->kernel[0] != '\0') {
        run_kernel(work);
    } else if (work->reaches != NULL) {
        work->reaches->time = now();
        work->reaches->is_reached = true;
    } else if (work->waits != NULL) {
        reach(work->waits);
    } else {
        memcpy(work->to, work->from, work->bytes);
    }
}

static void pop(struct stream *self, bool runs)
{
    struct work *const work = self->first;

    if (runs)
        run(work);
    else if (work->reaches != NULL)
        work->reaches->is_reached = true; /* nobody can wait for this stream any more */
    self->first = work->next;
    if (self->first == NULL)
        self->end = &self->first;
    let_go(work->reaches);
    let_go(work->waits);
    free(work);
}

/* Runs its stream as far as there. */
static void reach(struct point *point)
{
    while (!point->is_reached && point->stream->first != NULL)
        pop(point->stream, true);
}

static void empty(struct stream *self, bool runs)
{
    while (self->first != NULL)
        pop(self, runs);
}

/* Every argument has 8 bytes of memory, as the back end of the library keeps them. */
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra)
{
    ALONE;
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
    ALONE;
    struct work *work;

    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    if (!is_in_one(to, bytes) || !is_in_one(from, bytes))
        return INVALID_VALUE;
    work = add(stream);
    work->to = to;
    work->from = from;
    work->bytes = bytes;
    return 0;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    ALONE;
    struct stream *made;

    (void)flags;
    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    made = make(sizeof *made);
    made->end = &made->first;
    counts.streams++;
    *stream = made;
    return 0;
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    ALONE;
    need_context();
    empty(stream, false);
    free(stream);
    counts.streams--;
    return 0;
}

/* What fails is found when somebody waits; by then it is over. */
EXPORT int cuStreamSynchronize(void *stream)
{
    ALONE;
    empty(stream != NULL ? stream : &default_stream, true);
    counts.waits++;
    return fails(MOCK_CUDA_NEVER) ? FAILED : 0;
}

EXPORT int cuEventCreate(void **event, unsigned flags)
{
    ALONE;
    (void)flags;
    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    *event = make(sizeof(struct event));
    counts.events++;
    return 0;
}

EXPORT int cuEventRecord(void *event, void *stream)
{
    ALONE;
    struct event *const self = event;
    struct work *work;

    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    work = add(stream);
    let_go(self->point);
    self->point = make(sizeof *self->point);
    *self->point = (struct point){2, false, 0, stream != NULL ? stream : &default_stream};
    work->reaches = self->point;
    return 0;
}

/* An event that was never recorded is nothing to wait for. */
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    ALONE;
    struct point *const point = ((struct event *)event)->point;

    if (flags != 0 || fails(MOCK_CUDA_NEVER))
        return FAILED;
    counts.follows++;
    if (point == NULL || (follows_until_forgotten > 0 && --follows_until_forgotten == 0))
        return 0;
    point->owners++;
    add(stream)->waits = point;
    return 0;
}

EXPORT int cuEventQuery(void *event)
{
    ALONE;
    const struct point *const point = ((struct event *)event)->point;

    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    return point == NULL || point->is_reached ? 0 : NOT_READY;
}

EXPORT int cuEventSynchronize(void *event)
{
    ALONE;
    struct event *const self = event;

    if (self->point != NULL)
        reach(self->point);
    counts.waits++;
    return fails(MOCK_CUDA_NEVER) ? FAILED : 0;
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    ALONE;
    const struct point *const from = ((struct event *)begin)->point;
    const struct point *const to = ((struct event *)end)->point;

    if (fails(MOCK_CUDA_NEVER))
        return FAILED;
    if (from == NULL || to == NULL || !from->is_reached || !to->is_reached)
        return INVALID_VALUE;
    *milliseconds = (float)((to->time - from->time) * 1e3);
    return 0;
}

EXPORT int cuEventDestroy_v2(void *event)
{
    ALONE;
    need_context();
    let_go(((struct event *)event)->point);
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
    need_context();
    free(memory);
    counts.allocations--;
    return 0;
}

EXPORT int cuMemAlloc_v2(void **memory, size_t bytes)
{
    ALONE;
    return allocate(memory, bytes);
}

EXPORT int cuMemFree_v2(void *memory)
{
    ALONE;
    return release(memory);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    ALONE;
    return flags == 3 ? allocate(memory, bytes) : INVALID_VALUE;
}

EXPORT int cuMemFreeHost(void *memory)
{
    ALONE;
    return release(memory);
}

static struct pin *pin_of(const void *memory)
{
    unsigned i = 0;

    while (i < PINS && pins[i].memory != memory)
        i++;
    return i < PINS ? &pins[i] : NULL;
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    ALONE;
    struct pin *const room = pin_of(NULL);

    if (fails(MOCK_CUDA_PIN) || room == NULL)
        return OUT_OF_MEMORY;
    if (flags != 3 || (uintptr_t)memory % PAGE_BYTES != 0 || bytes % PAGE_BYTES != 0)
        return INVALID_VALUE;
    if (pin_of(memory) != NULL)
        return ALREADY_REGISTERED;
    *room = (struct pin){memory, bytes};
    counts.pinned++;
    return 0;
}

EXPORT int cuMemHostUnregister(void *memory)
{
    ALONE;
    struct pin *const pin = pin_of(memory);

    need_context();
    if (pin == NULL)
        return NOT_REGISTERED;
    *pin = (struct pin){0};
    counts.pinned--;
    return 0;
}
