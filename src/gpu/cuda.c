/* The back end for CUDA: its driver's functions, found when a device is opened, and NVRTC, which
 * compiles the kernels for just this device.  The names of types are the driver's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include "base/diag.h"
#include "gpu/device.h"

typedef int CUresult, CUdevice, nvrtcResult;
typedef struct CUctx *CUcontext;
typedef struct CUmod *CUmodule;
typedef struct CUfunc *CUfunction;
typedef struct CUstr *CUstream;
typedef struct CUev *CUevent;
typedef uintptr_t CUdeviceptr;
typedef struct program *nvrtcProgram;

enum {
    OUT_OF_MEMORY = 2, /* CUDA_ERROR_OUT_OF_MEMORY */
    NOT_READY = 600,   /* CUDA_ERROR_NOT_READY */
    UNITS = 16,        /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
    MAJOR = 75,        /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
    MINOR = 76,
    NON_BLOCKING = 1,    /* CU_STREAM_NON_BLOCKING */
    PORTABLE_MAPPED = 3, /* CU_MEMHOSTALLOC_PORTABLE and _DEVICEMAP, CU_MEMHOSTREGISTER_ likewise */
    SAME_ADDRESS = 91,   /* CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
    GROUPS_PER_UNIT = 16 /* what local memory of 13 KiB a group leaves room for */
};

struct driver {
    CUresult (*cuInit)(unsigned flags);
    CUresult (*cuGetErrorString)(CUresult error, const char **text);
    CUresult (*cuDeviceGetCount)(int *count);
    CUresult (*cuDeviceGet)(CUdevice *device, int ordinal);
    CUresult (*cuDeviceGetName)(char *name, int bytes, CUdevice device);
    CUresult (*cuDeviceGetAttribute)(int *value, int attribute, CUdevice device);
    CUresult (*cuDevicePrimaryCtxRetain)(CUcontext *context, CUdevice device);
    CUresult (*cuDevicePrimaryCtxRelease)(CUdevice device);
    CUresult (*cuCtxGetCurrent)(CUcontext *context);
    CUresult (*cuCtxPushCurrent)(CUcontext context);
    CUresult (*cuCtxPopCurrent)(CUcontext *context);
    CUresult (*cuModuleLoadData)(CUmodule *module, const void *image);
    CUresult (*cuModuleUnload)(CUmodule module);
    CUresult (*cuModuleGetFunction)(CUfunction *function, CUmodule module, const char *name);
    CUresult (*cuLaunchKernel)(CUfunction function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void **arguments, void **extra);
    CUresult (*cuMemAlloc)(CUdeviceptr *memory, size_t bytes);
    CUresult (*cuMemFree)(CUdeviceptr memory);
    CUresult (*cuMemHostAlloc)(void **memory, size_t bytes, unsigned flags);
    CUresult (*cuMemFreeHost)(void *memory);
    CUresult (*cuMemHostRegister)(void *memory, size_t bytes, unsigned flags);
    CUresult (*cuMemHostUnregister)(void *memory);
    CUresult (*cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*cuStreamCreate)(CUstream *stream, unsigned flags);
    CUresult (*cuStreamDestroy)(CUstream stream);
    CUresult (*cuStreamSynchronize)(CUstream stream);
    CUresult (*cuEventCreate)(CUevent *event, unsigned flags);
    CUresult (*cuEventRecord)(CUevent event, CUstream stream);
    CUresult (*cuEventQuery)(CUevent event);
    CUresult (*cuEventSynchronize)(CUevent event);
    CUresult (*cuStreamWaitEvent)(CUstream stream, CUevent event, unsigned flags);
    CUresult (*cuEventElapsedTime)(float *milliseconds, CUevent begin, CUevent end);
    CUresult (*cuEventDestroy)(CUevent event);
};

struct compiler {
    nvrtcResult (*nvrtcCreateProgram)(nvrtcProgram *program, const char *source, const char *name,
                                      int headers, const char *const *texts,
                                      const char *const *names);
    nvrtcResult (*nvrtcCompileProgram)(nvrtcProgram program, int count, const char *const *options);
    nvrtcResult (*nvrtcGetCUBINSize)(nvrtcProgram program, size_t *bytes);
    nvrtcResult (*nvrtcGetCUBIN)(nvrtcProgram program, char *image);
    nvrtcResult (*nvrtcGetProgramLogSize)(nvrtcProgram program, size_t *bytes);
    nvrtcResult (*nvrtcGetProgramLog)(nvrtcProgram program, char *text);
    nvrtcResult (*nvrtcDestroyProgram)(nvrtcProgram *program);
};

struct device {
    void *library, *compiler_library;
    struct driver driver;
    struct compiler compiler;
    CUdevice device;
    CUcontext context;
    char architecture[32]; /* an option of NVRTC */
};

static const struct device *device_of(const struct pz_gpu *gpu)
{
    return gpu->device;
}

static pz_status status_of(CUresult result)
{
    return result == 0 ? PZ_OK : result == OUT_OF_MEMORY ? PZ_ERR_MEMORY : PZ_ERR_IO;
}

/* ---- Context -------------------------------------------------------------------------------- */

/* Makes the context the thread's, unless it is; *entered: it has to be taken back.  Where that
 * fails nothing may be called, as it would be for another device. */
static CUresult enter(const struct device *self, bool *entered)
{
    CUcontext current = NULL;
    CUresult result;

    *entered = false;
    if (self->driver.cuCtxGetCurrent(&current) == 0 && current == self->context)
        return 0;
    result = self->driver.cuCtxPushCurrent(self->context);
    *entered = result == 0;
    return result;
}

static void leave(const struct device *self, bool entered)
{
    CUcontext unused;

    if (entered)
        self->driver.cuCtxPopCurrent(&unused);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static pz_status fail(const struct device *self, CUresult result, const char *what, pz_diag *diag)
{
    const char *text = NULL;

    self->driver.cuGetErrorString(result, &text);
    return pzi_fail(diag, PZ_ERR_IO, "CUDA: %s: %s", what, text != NULL ? text : "unknown error");
}

static pz_status open_driver(struct device *self, const char *file, pz_diag *diag)
{
    const char *const files[] = {file != NULL ? file : "libcuda.so.1", NULL};
    struct driver *const d = &self->driver;
    const struct pzi_symbol symbols[] = {
        {"cuInit", &d->cuInit},
        {"cuGetErrorString", &d->cuGetErrorString},
        {"cuDeviceGetCount", &d->cuDeviceGetCount},
        {"cuDeviceGet", &d->cuDeviceGet},
        {"cuDeviceGetName", &d->cuDeviceGetName},
        {"cuDeviceGetAttribute", &d->cuDeviceGetAttribute},
        {"cuDevicePrimaryCtxRetain", &d->cuDevicePrimaryCtxRetain},
        {"cuDevicePrimaryCtxRelease_v2", &d->cuDevicePrimaryCtxRelease},
        {"cuCtxGetCurrent", &d->cuCtxGetCurrent},
        {"cuCtxPushCurrent_v2", &d->cuCtxPushCurrent},
        {"cuCtxPopCurrent_v2", &d->cuCtxPopCurrent},
        {"cuModuleLoadData", &d->cuModuleLoadData},
        {"cuModuleUnload", &d->cuModuleUnload},
        {"cuModuleGetFunction", &d->cuModuleGetFunction},
        {"cuLaunchKernel", &d->cuLaunchKernel},
        {"cuMemAlloc_v2", &d->cuMemAlloc},
        {"cuMemFree_v2", &d->cuMemFree},
        {"cuMemHostAlloc", &d->cuMemHostAlloc},
        {"cuMemFreeHost", &d->cuMemFreeHost},
        {"cuMemHostRegister_v2", &d->cuMemHostRegister},
        {"cuMemHostUnregister", &d->cuMemHostUnregister},
        {"cuMemcpyAsync", &d->cuMemcpyAsync},
        {"cuStreamCreate", &d->cuStreamCreate},
        {"cuStreamDestroy_v2", &d->cuStreamDestroy},
        {"cuStreamSynchronize", &d->cuStreamSynchronize},
        {"cuEventCreate", &d->cuEventCreate},
        {"cuEventRecord", &d->cuEventRecord},
        {"cuEventQuery", &d->cuEventQuery},
        {"cuEventSynchronize", &d->cuEventSynchronize},
        {"cuStreamWaitEvent", &d->cuStreamWaitEvent},
        {"cuEventElapsedTime", &d->cuEventElapsedTime},
        {"cuEventDestroy_v2", &d->cuEventDestroy},
    };

    self->library = pzi_gpu_library(files, symbols, sizeof symbols / sizeof *symbols, diag);
    return self->library != NULL ? PZ_OK : PZ_ERR_IO;
}

/* A driver that plays a device compiles for it as well. */
static const char *compiler_file(const struct device *self, const pz_gpu_options *options)
{
    if (options->compiler == NULL && options->driver != NULL &&
        dlsym(self->library, "nvrtcCreateProgram") != NULL)
        return options->driver;
    return options->compiler;
}

static pz_status open_compiler(struct device *self, const char *file, pz_diag *diag)
{
    static const char *const known[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", NULL};
    const char *const files[] = {file, NULL};
    struct compiler *const c = &self->compiler;
    const struct pzi_symbol symbols[] = {
        {"nvrtcCreateProgram", &c->nvrtcCreateProgram},
        {"nvrtcCompileProgram", &c->nvrtcCompileProgram},
        {"nvrtcGetCUBINSize", &c->nvrtcGetCUBINSize},
        {"nvrtcGetCUBIN", &c->nvrtcGetCUBIN},
        {"nvrtcGetProgramLogSize", &c->nvrtcGetProgramLogSize},
        {"nvrtcGetProgramLog", &c->nvrtcGetProgramLog},
        {"nvrtcDestroyProgram", &c->nvrtcDestroyProgram},
    };

    self->compiler_library = pzi_gpu_library(file != NULL ? files : known, symbols,
                                             sizeof symbols / sizeof *symbols, diag);
    return self->compiler_library != NULL ? PZ_OK : PZ_ERR_IO;
}

static pz_status find_device(struct device *self, unsigned ordinal, pz_diag *diag)
{
    const struct driver *const driver = &self->driver;
    int count = 0;
    CUresult result = driver->cuInit(0);

    if (result == 0)
        result = driver->cuDeviceGetCount(&count);
    if (result != 0)
        return fail(self, result, "the driver has no device", diag);
    if (ordinal >= (unsigned)count)
        return pzi_fail(diag, PZ_ERR_IO, "CUDA: there is no device %u, but %d", ordinal, count);
    result = driver->cuDeviceGet(&self->device, (int)ordinal);
    if (result == 0)
        result = driver->cuDevicePrimaryCtxRetain(&self->context, self->device);
    return result == 0 ? PZ_OK : fail(self, result, "the device cannot be used", diag);
}

static int attribute(const struct device *self, int which)
{
    int value = 0;

    self->driver.cuDeviceGetAttribute(&value, which, self->device);
    return value;
}

static void describe(struct device *self, pz_gpu_info *info)
{
    self->driver.cuDeviceGetName(info->name, sizeof info->name - 1, self->device);
    info->units = (unsigned)attribute(self, UNITS);
    info->groups = info->units * GROUPS_PER_UNIT;
    snprintf(self->architecture, sizeof self->architecture, "--gpu-architecture=sm_%d%d",
             attribute(self, MAJOR), attribute(self, MINOR));
}

static void close_device(struct pz_gpu *gpu)
{
    struct device *const self = gpu->device;

    if (self->context != NULL)
        self->driver.cuDevicePrimaryCtxRelease(self->device);
    if (self->compiler_library != NULL)
        dlclose(self->compiler_library);
    if (self->library != NULL)
        dlclose(self->library);
    free(self);
}

static pz_status open_device(struct pz_gpu *gpu, const pz_gpu_options *options, pz_diag *diag)
{
    struct device *const self = calloc(1, sizeof *self);
    pz_status status;

    if (self == NULL)
        return pzi_no_memory(diag);
    gpu->device = self;
    status = open_driver(self, options->driver, diag);
    if (status == PZ_OK)
        status = find_device(self, options->device, diag);
    if (status == PZ_OK)
        status = open_compiler(self, compiler_file(self, options), diag);
    if (status == PZ_OK)
        describe(self, &gpu->info);
    else
        close_device(gpu);
    return status;
}

/* ---- Programs ------------------------------------------------------------------------------- */

/* What NVRTC has to say, to diag. */
static pz_status fail_compile(const struct device *self, nvrtcProgram program, pz_diag *diag)
{
    size_t bytes = 0;
    char *text = NULL;

    if (self->compiler.nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 0)
        text = calloc(1, bytes + 1);
    if (text != NULL)
        self->compiler.nvrtcGetProgramLog(program, text);
    pzi_fail(diag, PZ_ERR_IO, "NVRTC refuses the kernels for %s: %s", self->architecture,
             text != NULL ? text : "without a reason");
    free(text);
    return PZ_ERR_IO;
}

/* The image of a program, to be freed. */
static pz_status image_of(const struct device *self, nvrtcProgram program,
                          const char *const *options, unsigned count, char **image, pz_diag *diag)
{
    size_t bytes = 0;

    if (self->compiler.nvrtcCompileProgram(program, (int)count, options) != 0 ||
        self->compiler.nvrtcGetCUBINSize(program, &bytes) != 0 || bytes == 0)
        return fail_compile(self, program, diag);
    *image = malloc(bytes);
    if (*image == NULL)
        return pzi_no_memory(diag);
    return self->compiler.nvrtcGetCUBIN(program, *image) == 0 ? PZ_OK
                                                              : fail_compile(self, program, diag);
}

static pz_status compile(const struct device *self, const char *source, const char *const *options,
                         unsigned option_count, char **image, pz_diag *diag)
{
    const char *all[8] = {self->architecture};
    unsigned count = 1;
    nvrtcProgram program = NULL;
    pz_status status;

    while (count < 8 && count - 1 < option_count) {
        all[count] = options[count - 1];
        count++;
    }
    if (self->compiler.nvrtcCreateProgram(&program, source, "planezip.cu", 0, NULL, NULL) != 0)
        return pzi_fail(diag, PZ_ERR_IO, "NVRTC cannot make a program");
    status = image_of(self, program, all, count, image, diag);
    self->compiler.nvrtcDestroyProgram(&program);
    return status;
}

static void unload(struct pz_gpu *gpu, struct pzi_program *program)
{
    const struct device *const self = device_of(gpu);
    bool entered;

    if (enter(self, &entered) == 0)
        self->driver.cuModuleUnload(program->program);
    leave(self, entered);
}

static pz_status load_image(const struct device *self, const char *image, const char *const *names,
                            unsigned name_count, struct pzi_program *program, pz_diag *diag)
{
    CUmodule module;
    CUresult result = self->driver.cuModuleLoadData(&module, image);

    if (result != 0)
        return fail(self, result, "the kernels cannot be loaded", diag);
    program->program = module;
    for (unsigned i = 0; i < name_count && result == 0; i++)
        result =
            self->driver.cuModuleGetFunction((CUfunction *)&program->kernels[i], module, names[i]);
    if (result == 0)
        return PZ_OK;
    self->driver.cuModuleUnload(module);
    *program = (struct pzi_program){0};
    return fail(self, result, "a kernel is missing", diag);
}

static pz_status load(struct pz_gpu *gpu, const char *source, const char *const *options,
                      unsigned option_count, const char *const *names, unsigned name_count,
                      struct pzi_program *program, pz_diag *diag)
{
    const struct device *const self = device_of(gpu);
    char *image = NULL;
    pz_status status = compile(self, source, options, option_count, &image, diag);

    if (status == PZ_OK) {
        bool entered;
        const CUresult result = enter(self, &entered);

        status = result == 0 ? load_image(self, image, names, name_count, program, diag)
                             : fail(self, result, "the device cannot be used", diag);
        leave(self, entered);
    }
    free(image);
    return status;
}

static pz_status launch(struct pz_gpu *gpu, void *kernel, void *stream, unsigned groups,
                        const struct pzi_argument *arguments, unsigned count)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);
    void *values[PZI_ARGUMENTS_MAX] = {0};

    for (unsigned i = 0; i < count; i++)
        values[i] = (void *)&arguments[i].as;
    if (result == 0)
        result =
            self->driver.cuLaunchKernel(kernel, groups, 1, 1, 32, 1, 1, 0, stream, values, NULL);
    leave(self, entered);
    return status_of(result);
}

/* ---- Memory, streams, time ------------------------------------------------------------------ */

static pz_status alloc_memory(struct pz_gpu *gpu, pz_gpu_place place, size_t bytes, void **memory)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = place == PZ_GPU_DEVICE
                     ? self->driver.cuMemAlloc((CUdeviceptr *)memory, bytes)
                     : self->driver.cuMemHostAlloc(memory, bytes, PORTABLE_MAPPED);
    leave(self, entered);
    return status_of(result);
}

static void free_memory(struct pz_gpu *gpu, pz_gpu_place place, void *memory)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    const CUresult result = enter(self, &entered);

    if (result == 0 && place == PZ_GPU_DEVICE)
        self->driver.cuMemFree((CUdeviceptr)memory);
    else if (result == 0)
        self->driver.cuMemFreeHost(memory);
    leave(self, entered);
}

static pz_status new_stream(struct pz_gpu *gpu, void **stream)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuStreamCreate((CUstream *)stream, NON_BLOCKING);
    leave(self, entered);
    return status_of(result);
}

static void free_stream(struct pz_gpu *gpu, void *stream)
{
    const struct device *const self = device_of(gpu);
    bool entered;

    if (enter(self, &entered) == 0)
        self->driver.cuStreamDestroy(stream);
    leave(self, entered);
}

static pz_status copy(struct pz_gpu *gpu, void *stream, void *to, const void *from, size_t bytes)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    leave(self, entered);
    return status_of(result);
}

static pz_status wait_for(struct pz_gpu *gpu, void *stream)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuStreamSynchronize(stream);
    leave(self, entered);
    return status_of(result);
}

static void free_mark(struct pz_gpu *gpu, void *mark)
{
    const struct device *const self = device_of(gpu);
    bool entered;

    if (enter(self, &entered) == 0)
        self->driver.cuEventDestroy(mark);
    leave(self, entered);
}

static pz_status new_mark(struct pz_gpu *gpu, void *stream, void **mark)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUevent event = NULL;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuEventCreate(&event, 0);
    if (result == 0) {
        result = self->driver.cuEventRecord(event, stream);
        if (result != 0) {
            free_mark(gpu, event);
            event = NULL;
        }
    }
    leave(self, entered);
    *mark = event;
    return status_of(result);
}

static pz_status elapsed(struct pz_gpu *gpu, void *begin, void *end, double *seconds)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    float milliseconds = 0;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuEventElapsedTime(&milliseconds, begin, end);
    leave(self, entered);
    *seconds = (double)milliseconds * 1e-3;
    return status_of(result);
}

static pz_status follow(struct pz_gpu *gpu, void *stream, void *mark)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuStreamWaitEvent(stream, mark, 0);
    leave(self, entered);
    return status_of(result);
}

static pz_status reached(struct pz_gpu *gpu, void *mark)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuEventQuery(mark);
    leave(self, entered);
    return result == NOT_READY ? PZ_ERR_BUSY : status_of(result);
}

static pz_status await_mark(struct pz_gpu *gpu, void *mark)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result = enter(self, &entered);

    if (result == 0)
        result = self->driver.cuEventSynchronize(mark);
    leave(self, entered);
    return status_of(result);
}

/* Where the device has another address for it, memory is as good as not pinned. */
static pz_status pin(struct pz_gpu *gpu, void *memory, size_t bytes)
{
    const struct device *const self = device_of(gpu);
    bool entered;
    CUresult result;

    if (attribute(self, SAME_ADDRESS) == 0)
        return PZ_ERR_MEMORY;
    result = enter(self, &entered);
    if (result == 0)
        result = self->driver.cuMemHostRegister(memory, bytes, PORTABLE_MAPPED);
    leave(self, entered);
    return result == 0 ? PZ_OK : PZ_ERR_MEMORY;
}

static void unpin(struct pz_gpu *gpu, void *memory)
{
    const struct device *const self = device_of(gpu);
    bool entered;

    if (enter(self, &entered) == 0)
        self->driver.cuMemHostUnregister(memory);
    leave(self, entered);
}

const struct pzi_backend pzi_backend_cuda = {.open = open_device,
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
                                             .await = await_mark,
                                             .pin = pin,
                                             .unpin = unpin};
