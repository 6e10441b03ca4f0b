/* The back end for OpenCL: functions of its loader, found when a device is opened.  Memory is
 * shared virtual memory, so that jobs have pointers as with CUDA; the kernels are OpenCL C 1.2. The
 * names of functions are OpenCL's, and so are the numbers below. */
#include <stdio.h>
#include <stdlib.h>

#include <dlfcn.h>

#include "base/diag.h"
#include "gpu/device.h"

typedef struct platform *cl_platform;
typedef struct cl_device *cl_device;
typedef struct context *cl_context;
typedef struct queue *cl_queue;
typedef struct cl_program *cl_program;
typedef struct kernel *cl_kernel;
typedef struct event *cl_event;

enum {
    OUT_OF_MEMORY = -4, /* CL_MEM_OBJECT_ALLOCATION_FAILURE */
    COMPUTE_UNITS = 0x1002,
    DEVICE_NAME = 0x102b,
    SVM_CAPABILITIES = 0x1053,
    BUILD_LOG = 0x1183,
    EXECUTION_STATUS = 0x11d3, /* of an event: 0 if it is complete, negative if it failed */
    COMMAND_END = 0x1283,
    PROFILING = 2,
    READ_WRITE = 1,
    FINE_GRAIN_MEMORY = 1 << 10,
    COARSE_GRAIN = 1, /* capabilities */
    FINE_GRAIN = 2,
    PLATFORMS_MAX = 16,
    DEVICES_MAX = 16,
    GROUPS_PER_UNIT = 16
};

static const uint64_t all_types = 0xffffffff; /* CL_DEVICE_TYPE_ALL */

struct loader {
    int (*clGetPlatformIDs)(uint32_t room, cl_platform *platforms, uint32_t *count);
    int (*clGetDeviceIDs)(cl_platform platform, uint64_t types, uint32_t room, cl_device *devices,
                          uint32_t *count);
    int (*clGetDeviceInfo)(cl_device device, uint32_t what, size_t room, void *value, size_t *size);
    cl_context (*clCreateContext)(const intptr_t *properties, uint32_t count,
                                  const cl_device *devices,
                                  void (*notify)(const char *, const void *, size_t, void *),
                                  void *user, int *error);
    int (*clReleaseContext)(cl_context context);
    cl_queue (*clCreateCommandQueue)(cl_context context, cl_device device, uint64_t properties,
                                     int *error);
    int (*clReleaseCommandQueue)(cl_queue queue);
    cl_program (*clCreateProgramWithSource)(cl_context context, uint32_t count, const char **texts,
                                            const size_t *sizes, int *error);
    int (*clBuildProgram)(cl_program program, uint32_t count, const cl_device *devices,
                          const char *options, void (*notify)(cl_program, void *), void *user);
    int (*clGetProgramBuildInfo)(cl_program program, cl_device device, uint32_t what, size_t room,
                                 void *value, size_t *size);
    int (*clReleaseProgram)(cl_program program);
    cl_kernel (*clCreateKernel)(cl_program program, const char *name, int *error);
    int (*clReleaseKernel)(cl_kernel kernel);
    int (*clSetKernelArg)(cl_kernel kernel, uint32_t index, size_t size, const void *value);
    int (*clSetKernelArgSVMPointer)(cl_kernel kernel, uint32_t index, const void *memory);
    int (*clEnqueueNDRangeKernel)(cl_queue queue, cl_kernel kernel, uint32_t dimensions,
                                  const size_t *offset, const size_t *items, const size_t *group,
                                  uint32_t count, const cl_event *wait, cl_event *event);
    void *(*clSVMAlloc)(cl_context context, uint64_t flags, size_t bytes, uint32_t alignment);
    void (*clSVMFree)(cl_context context, void *memory);
    int (*clEnqueueSVMMemcpy)(cl_queue queue, uint32_t blocking, void *to, const void *from,
                              size_t bytes, uint32_t count, const cl_event *wait, cl_event *event);
    int (*clFlush)(cl_queue queue);
    int (*clFinish)(cl_queue queue);
    int (*clEnqueueMarkerWithWaitList)(cl_queue queue, uint32_t count, const cl_event *wait,
                                       cl_event *event);
    int (*clEnqueueBarrierWithWaitList)(cl_queue queue, uint32_t count, const cl_event *wait,
                                        cl_event *event);
    int (*clWaitForEvents)(uint32_t count, const cl_event *events);
    int (*clGetEventInfo)(cl_event event, uint32_t what, size_t room, void *value, size_t *size);
    int (*clGetEventProfilingInfo)(cl_event event, uint32_t what, size_t room, void *value,
                                   size_t *size);
    int (*clReleaseEvent)(cl_event event);
};

struct device {
    void *library;
    struct loader cl;
    cl_device id;
    cl_context context;
    cl_queue queue;            /* for jobs without a stream */
    uint64_t capabilities;     /* of shared memory */
    pthread_mutex_t arguments; /* a kernel keeps its arguments until it is started */
};

static struct device *device_of(const struct pz_gpu *gpu)
{
    return gpu->device;
}

static pz_status status_of(int result)
{
    return result == 0 ? PZ_OK : result == OUT_OF_MEMORY ? PZ_ERR_MEMORY : PZ_ERR_IO;
}

static cl_queue queue_of(const struct device *self, void *stream)
{
    return stream != NULL ? stream : self->queue;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static pz_status open_loader(struct device *self, const char *file, pz_diag *diag)
{
    const char *const files[] = {file != NULL ? file : "libOpenCL.so.1", NULL};
    struct loader *const cl = &self->cl;
    const struct pzi_symbol symbols[] = {
        {"clGetPlatformIDs", &cl->clGetPlatformIDs},
        {"clGetDeviceIDs", &cl->clGetDeviceIDs},
        {"clGetDeviceInfo", &cl->clGetDeviceInfo},
        {"clCreateContext", &cl->clCreateContext},
        {"clReleaseContext", &cl->clReleaseContext},
        {"clCreateCommandQueue", &cl->clCreateCommandQueue},
        {"clReleaseCommandQueue", &cl->clReleaseCommandQueue},
        {"clCreateProgramWithSource", &cl->clCreateProgramWithSource},
        {"clBuildProgram", &cl->clBuildProgram},
        {"clGetProgramBuildInfo", &cl->clGetProgramBuildInfo},
        {"clReleaseProgram", &cl->clReleaseProgram},
        {"clCreateKernel", &cl->clCreateKernel},
        {"clReleaseKernel", &cl->clReleaseKernel},
        {"clSetKernelArg", &cl->clSetKernelArg},
        {"clSetKernelArgSVMPointer", &cl->clSetKernelArgSVMPointer},
        {"clEnqueueNDRangeKernel", &cl->clEnqueueNDRangeKernel},
        {"clSVMAlloc", &cl->clSVMAlloc},
        {"clSVMFree", &cl->clSVMFree},
        {"clEnqueueSVMMemcpy", &cl->clEnqueueSVMMemcpy},
        {"clFlush", &cl->clFlush},
        {"clFinish", &cl->clFinish},
        {"clEnqueueMarkerWithWaitList", &cl->clEnqueueMarkerWithWaitList},
        {"clEnqueueBarrierWithWaitList", &cl->clEnqueueBarrierWithWaitList},
        {"clWaitForEvents", &cl->clWaitForEvents},
        {"clGetEventInfo", &cl->clGetEventInfo},
        {"clGetEventProfilingInfo", &cl->clGetEventProfilingInfo},
        {"clReleaseEvent", &cl->clReleaseEvent},
    };

    self->library = pzi_gpu_library(files, symbols, sizeof symbols / sizeof *symbols, diag);
    return self->library != NULL ? PZ_OK : PZ_ERR_IO;
}

/* The device of that number, counted over all platforms; *count is how many there are before. */
static bool find_on(struct device *self, cl_platform platform, unsigned wanted, unsigned *count)
{
    cl_device devices[DEVICES_MAX];
    uint32_t found = 0;

    if (self->cl.clGetDeviceIDs(platform, all_types, DEVICES_MAX, devices, &found) != 0)
        return false;
    found = found < DEVICES_MAX ? found : DEVICES_MAX;
    if (wanted - *count < found) {
        self->id = devices[wanted - *count];
        return true;
    }
    *count += found;
    return false;
}

static pz_status find_device(struct device *self, unsigned wanted, pz_diag *diag)
{
    cl_platform platforms[PLATFORMS_MAX];
    uint32_t found = 0;
    unsigned count = 0;

    if (self->cl.clGetPlatformIDs(PLATFORMS_MAX, platforms, &found) != 0)
        found = 0;
    for (uint32_t i = 0; i < found && i < PLATFORMS_MAX; i++)
        if (find_on(self, platforms[i], wanted, &count))
            return PZ_OK;
    return pzi_fail(diag, PZ_ERR_IO, "OpenCL: there is no device %u, but %u", wanted, count);
}

static pz_status open_queue(struct device *self, pz_diag *diag)
{
    int error = 0;

    self->cl.clGetDeviceInfo(self->id, SVM_CAPABILITIES, sizeof self->capabilities,
                             &self->capabilities, NULL);
    if ((self->capabilities & COARSE_GRAIN) == 0)
        return pzi_fail(diag, PZ_ERR_IO, "OpenCL: the device has no shared virtual memory");
    self->context = self->cl.clCreateContext(NULL, 1, &self->id, NULL, NULL, &error);
    if (self->context != NULL)
        self->queue = self->cl.clCreateCommandQueue(self->context, self->id, PROFILING, &error);
    return self->queue != NULL
               ? PZ_OK
               : pzi_fail(diag, PZ_ERR_IO, "OpenCL: the device cannot be used: error %d", error);
}

static void describe(const struct device *self, pz_gpu_info *info)
{
    uint32_t units = 1;

    self->cl.clGetDeviceInfo(self->id, DEVICE_NAME, sizeof info->name - 1, info->name, NULL);
    self->cl.clGetDeviceInfo(self->id, COMPUTE_UNITS, sizeof units, &units, NULL);
    info->units = units;
    info->groups = units * GROUPS_PER_UNIT;
}

static void close_device(struct pz_gpu *gpu)
{
    struct device *const self = gpu->device;

    if (self->queue != NULL)
        self->cl.clReleaseCommandQueue(self->queue);
    if (self->context != NULL)
        self->cl.clReleaseContext(self->context);
    /* The loader stays: drivers behind it have threads and handlers of their own. */
    pthread_mutex_destroy(&self->arguments);
    free(self);
}

static pz_status open_device(struct pz_gpu *gpu, const pz_gpu_options *options, pz_diag *diag)
{
    struct device *const self = calloc(1, sizeof *self);
    pz_status status;

    if (self == NULL)
        return pzi_no_memory(diag);
    gpu->device = self;
    pthread_mutex_init(&self->arguments, NULL);
    status = open_loader(self, options->driver, diag);
    if (status == PZ_OK)
        status = find_device(self, options->device, diag);
    if (status == PZ_OK)
        status = open_queue(self, diag);
    if (status == PZ_OK)
        describe(self, &gpu->info);
    else
        close_device(gpu);
    return status;
}

/* ---- Programs ------------------------------------------------------------------------------- */

static void unload(struct pz_gpu *gpu, struct pzi_program *program)
{
    const struct device *const self = device_of(gpu);

    for (unsigned i = 0; i < sizeof program->kernels / sizeof *program->kernels; i++)
        if (program->kernels[i] != NULL)
            self->cl.clReleaseKernel(program->kernels[i]);
    self->cl.clReleaseProgram(program->program);
    *program = (struct pzi_program){0};
}

static pz_status fail_build(const struct device *self, cl_program program, pz_diag *diag)
{
    size_t bytes = 0;
    char *text = NULL;

    self->cl.clGetProgramBuildInfo(program, self->id, BUILD_LOG, 0, NULL, &bytes);
    text = calloc(1, bytes + 1);
    if (text != NULL)
        self->cl.clGetProgramBuildInfo(program, self->id, BUILD_LOG, bytes, text, NULL);
    pzi_fail(diag, PZ_ERR_IO, "OpenCL: the kernels cannot be compiled: %s",
             text != NULL ? text : "without a reason");
    free(text);
    return PZ_ERR_IO;
}

static pz_status build(const struct device *self, cl_program program, const char *const *options,
                       unsigned count, pz_diag *diag)
{
    char all[256] = "-cl-std=CL1.2 -w";
    size_t used = 16;

    for (unsigned i = 0; i < count && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, " %s", options[i]);
    if (self->cl.clBuildProgram(program, 1, &self->id, all, NULL, NULL) != 0)
        return fail_build(self, program, diag);
    return PZ_OK;
}

static pz_status load(struct pz_gpu *gpu, const char *source, const char *const *options,
                      unsigned option_count, const char *const *names, unsigned name_count,
                      struct pzi_program *program, pz_diag *diag)
{
    const struct device *const self = device_of(gpu);
    int error = 0;
    pz_status status;

    program->program = self->cl.clCreateProgramWithSource(self->context, 1, &source, NULL, &error);
    if (program->program == NULL)
        return pzi_fail(diag, PZ_ERR_IO, "OpenCL: there can be no program: error %d", error);
    status = build(self, program->program, options, option_count, diag);
    for (unsigned i = 0; i < name_count && status == PZ_OK; i++) {
        program->kernels[i] = self->cl.clCreateKernel(program->program, names[i], &error);
        if (program->kernels[i] == NULL)
            status = pzi_fail(diag, PZ_ERR_IO, "OpenCL: no kernel %s: error %d", names[i], error);
    }
    if (status != PZ_OK)
        unload(gpu, program);
    return status;
}

static int set_argument(const struct device *self, cl_kernel kernel, uint32_t index,
                        const struct pzi_argument *argument)
{
    if (argument->kind == PZI_POINTER)
        return self->cl.clSetKernelArgSVMPointer(kernel, index, argument->as.pointer);
    return self->cl.clSetKernelArg(kernel, index, argument->kind == PZI_U32 ? 4 : 8, &argument->as);
}

static pz_status launch(struct pz_gpu *gpu, void *kernel, void *stream, unsigned groups,
                        const struct pzi_argument *arguments, unsigned count)
{
    struct device *const self = device_of(gpu);
    const size_t group = 32, items = group * groups;
    cl_queue queue = queue_of(self, stream);
    int result = 0;

    pthread_mutex_lock(&self->arguments);
    for (unsigned i = 0; i < count && result == 0; i++)
        result = set_argument(self, kernel, i, &arguments[i]);
    if (result == 0)
        result =
            self->cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL);
    pthread_mutex_unlock(&self->arguments);
    if (result == 0)
        result = self->cl.clFlush(queue);
    return status_of(result);
}

/* ---- Memory, streams, time ------------------------------------------------------------------ */

/* Coarse-grained memory is no use to a host that looks at it while the device works. */
static pz_status alloc_memory(struct pz_gpu *gpu, pz_gpu_place place, size_t bytes, void **memory)
{
    const struct device *const self = device_of(gpu);
    const uint64_t flags = READ_WRITE | (place == PZ_GPU_PINNED ? FINE_GRAIN_MEMORY : 0);

    if (place == PZ_GPU_PINNED && (self->capabilities & FINE_GRAIN) == 0)
        return PZ_ERR_MEMORY;
    *memory = self->cl.clSVMAlloc(self->context, flags, bytes, 0);
    return *memory != NULL ? PZ_OK : PZ_ERR_MEMORY;
}

static void free_memory(struct pz_gpu *gpu, pz_gpu_place place, void *memory)
{
    const struct device *const self = device_of(gpu);

    (void)place;
    self->cl.clSVMFree(self->context, memory);
}

static pz_status new_stream(struct pz_gpu *gpu, void **stream)
{
    const struct device *const self = device_of(gpu);
    int error = 0;

    *stream = self->cl.clCreateCommandQueue(self->context, self->id, PROFILING, &error);
    return *stream != NULL ? PZ_OK : PZ_ERR_IO;
}

static void free_stream(struct pz_gpu *gpu, void *stream)
{
    device_of(gpu)->cl.clReleaseCommandQueue(stream);
}

static pz_status copy(struct pz_gpu *gpu, void *stream, void *to, const void *from, size_t bytes)
{
    const struct device *const self = device_of(gpu);

    return status_of(
        self->cl.clEnqueueSVMMemcpy(queue_of(self, stream), 0, to, from, bytes, 0, NULL, NULL));
}

static pz_status wait_for(struct pz_gpu *gpu, void *stream)
{
    const struct device *const self = device_of(gpu);

    return status_of(self->cl.clFinish(queue_of(self, stream)));
}

static pz_status new_mark(struct pz_gpu *gpu, void *stream, void **mark)
{
    const struct device *const self = device_of(gpu);
    cl_queue queue = queue_of(self, stream);
    cl_event event = NULL;
    int result = self->cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);

    if (result == 0)
        result = self->cl.clFlush(queue); /* or other queues might wait for it forever */
    if (result != 0 && event != NULL) {
        self->cl.clReleaseEvent(event);
        event = NULL;
    }
    *mark = event;
    return status_of(result);
}

static pz_status elapsed(struct pz_gpu *gpu, void *begin, void *end, double *seconds)
{
    const struct loader *const cl = &device_of(gpu)->cl;
    uint64_t from_ns = 0, to_ns = 0;
    int result = cl->clGetEventProfilingInfo(begin, COMMAND_END, sizeof from_ns, &from_ns, NULL);

    if (result == 0)
        result = cl->clGetEventProfilingInfo(end, COMMAND_END, sizeof to_ns, &to_ns, NULL);
    *seconds = (double)(to_ns - from_ns) * 1e-9;
    return status_of(result);
}

static void free_mark(struct pz_gpu *gpu, void *mark)
{
    device_of(gpu)->cl.clReleaseEvent(mark);
}

static pz_status follow(struct pz_gpu *gpu, void *stream, void *mark)
{
    const struct device *const self = device_of(gpu);
    cl_event event = mark;

    return status_of(
        self->cl.clEnqueueBarrierWithWaitList(queue_of(self, stream), 1, &event, NULL));
}

static pz_status reached(struct pz_gpu *gpu, void *mark)
{
    int state = 0;

    if (device_of(gpu)->cl.clGetEventInfo(mark, EXECUTION_STATUS, sizeof state, &state, NULL) != 0)
        return PZ_ERR_IO;
    return state > 0 ? PZ_ERR_BUSY : status_of(state);
}

static pz_status await_mark(struct pz_gpu *gpu, void *mark)
{
    cl_event event = mark;

    return status_of(device_of(gpu)->cl.clWaitForEvents(1, &event));
}

const struct pzi_backend pzi_backend_opencl = {.open = open_device,
                                               .close = close_device,
                                               .load = load,
                                               .unload = unload,
                                               .launch = launch,
                                               .alloc = alloc_memory,
                                               .free = free_memory,
                                               .stream_new = new_stream,
                                               .stream_free = free_stream,
                                               .copy = copy,
                                               .wait = wait_for,
                                               .mark = new_mark,
                                               .elapsed = elapsed,
                                               .mark_free = free_mark,
                                               .follow = follow,
                                               .reached = reached,
                                               .await = await_mark};
