/* A loader of OpenCL with one device, which runs the kernels as plain C (support/lanes.h), in order
 * and at once; what jobs may do and when is tested with the driver of CUDA (mock_cuda.c). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/lanes.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_VALUE = -30,
    BUILD_FAILED = -11,
    NO_KERNEL = -46,
    COMPUTE_UNITS = 0x1002,
    DEVICE_NAME = 0x102b,
    SVM_CAPABILITIES = 0x1053,
    EXECUTION_STATUS = 0x11d3,
    COMMAND_END = 0x1283,
    ARGUMENTS = 12,
    ROOM = 256
};

struct program {
    char options[ROOM];
};

struct kernel {
    char name[32];
    uint64_t arguments[ARGUMENTS];
    unsigned set; /* bits of those that are */
};

static int device, context, queues, launches; /* addresses that stand for objects, and counts */
static uint64_t clock_ns;

int clGetPlatformIDs(uint32_t room, void **platforms, uint32_t *count);
int clGetDeviceIDs(void *platform, uint64_t types, uint32_t room, void **devices, uint32_t *count);
int clGetDeviceInfo(void *id, uint32_t what, size_t room, void *value, const size_t *size);
void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                      void *notify, void *user, int *error);
int clReleaseContext(void *released);
void *clCreateCommandQueue(void *of, void *id, uint64_t properties, int *error);
int clReleaseCommandQueue(void *queue);
void *clCreateProgramWithSource(void *of, uint32_t count, const char **texts, const size_t *sizes,
                                int *error);
int clBuildProgram(void *program, uint32_t count, void *const *devices, const char *options,
                   void *notify, void *user);
int clGetProgramBuildInfo(void *program, void *id, uint32_t what, size_t room, void *value,
                          size_t *size);
int clReleaseProgram(void *program);
void *clCreateKernel(void *program, const char *name, int *error);
int clReleaseKernel(void *kernel);
int clSetKernelArg(void *kernel, uint32_t index, size_t size, const void *value);
int clSetKernelArgSVMPointer(void *kernel, uint32_t index, const void *memory);
int clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,
                           const size_t *items, const size_t *group, uint32_t count,
                           void *const *wait, void **event);
void *clSVMAlloc(void *of, uint64_t flags, size_t bytes, uint32_t alignment);
void clSVMFree(void *of, void *memory);
int clEnqueueSVMMemcpy(void *queue, uint32_t blocking, void *to, const void *from, size_t bytes,
                       uint32_t count, void *const *wait, void **event);
int clFlush(void *queue);
int clFinish(void *queue);
int clEnqueueMarkerWithWaitList(void *queue, uint32_t count, void *const *wait, void **event);
int clEnqueueBarrierWithWaitList(void *queue, uint32_t count, void *const *wait, void **event);
int clWaitForEvents(uint32_t count, void *const *events);
int clGetEventInfo(void *event, uint32_t what, size_t room, void *value, const size_t *size);
int clGetEventProfilingInfo(void *event, uint32_t what, size_t room, void *value,
                            const size_t *size);
int clReleaseEvent(void *event);

static void *make(size_t bytes)
{
    void *const memory = calloc(1, bytes);

    if (memory == NULL)
        abort();
    return memory;
}

/* ---- Devices -------------------------------------------------------------------------------- */

EXPORT int clGetPlatformIDs(uint32_t room, void **platforms, uint32_t *count)
{
    if (room == 0)
        return INVALID_VALUE;
    platforms[0] = &device;
    *count = 1;
    return 0;
}

EXPORT int clGetDeviceIDs(void *platform, uint64_t types, uint32_t room, void **devices,
                          uint32_t *count)
{
    (void)types;
    if (room == 0 || platform != &device)
        return INVALID_VALUE;
    devices[0] = &device;
    *count = 1;
    return 0;
}

EXPORT int clGetDeviceInfo(void *id, uint32_t what, size_t room, void *value, const size_t *size)
{
    const uint32_t units = 2;
    const uint64_t capabilities = 3;

    if (id != &device || size != NULL)
        return INVALID_VALUE;
    if (what == DEVICE_NAME)
        snprintf(value, room, "mock: kernels as plain C");
    else if (what == COMPUTE_UNITS)
        memcpy(value, &units, sizeof units);
    else if (what == SVM_CAPABILITIES)
        memcpy(value, &capabilities, sizeof capabilities);
    return 0;
}

EXPORT void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                             void *notify, void *user, int *error)
{
    (void)properties;
    (void)notify;
    (void)user;
    *error = count == 1 && devices[0] == &device ? 0 : INVALID_VALUE;
    return *error == 0 ? &context : NULL;
}

EXPORT int clReleaseContext(void *released)
{
    return released == &context ? 0 : INVALID_VALUE;
}

EXPORT void *clCreateCommandQueue(void *of, void *id, uint64_t properties, int *error)
{
    (void)properties;
    *error = of == &context && id == &device ? 0 : INVALID_VALUE;
    queues++;
    return *error == 0 ? &queues : NULL;
}

EXPORT int clReleaseCommandQueue(void *queue)
{
    return queue == &queues && queues-- > 0 ? 0 : INVALID_VALUE;
}

/* ---- Programs ------------------------------------------------------------------------------- */

EXPORT void *clCreateProgramWithSource(void *of, uint32_t count, const char **texts,
                                       const size_t *sizes, int *error)
{
    *error = of == &context && count == 1 && sizes == NULL && strstr(texts[0], "pz_encode") != NULL
                 ? 0
                 : INVALID_VALUE;
    return *error == 0 ? make(sizeof(struct program)) : NULL;
}

EXPORT int clBuildProgram(void *program, uint32_t count, void *const *devices, const char *options,
                          void *notify, void *user)
{
    (void)notify;
    (void)user;
    snprintf(((struct program *)program)->options, ROOM, "%s ", options);
    return count == 1 && devices[0] == &device ? 0 : BUILD_FAILED;
}

EXPORT int clGetProgramBuildInfo(void *program, void *id, uint32_t what, size_t room, void *value,
                                 size_t *size)
{
    (void)program;
    (void)id;
    (void)what;
    if (value != NULL)
        snprintf(value, room, "refused");
    if (size != NULL)
        *size = sizeof "refused";
    return 0;
}

EXPORT int clReleaseProgram(void *program)
{
    free(program);
    return 0;
}

/* A kernel has to be among those that the program was built for. */
EXPORT void *clCreateKernel(void *program, const char *name, int *error)
{
    const char *const options = ((struct program *)program)->options;
    struct kernel *made;
    char width[16];
    unsigned w = 0;

    if (sscanf(name, "pz_%*[a-z]_w%u", &w) == 1)
        snprintf(width, sizeof width, "-DPZ_W=%u ", w);
    else
        snprintf(width, sizeof width, strstr(options, "ONLY_IBP") ? "ONLY_IBP " : "ONLY_PLACES ");
    *error = strstr(options, width) != NULL ? 0 : NO_KERNEL;
    if (*error != 0)
        return NULL;
    made = make(sizeof *made);
    snprintf(made->name, sizeof made->name, "%s", name);
    return made;
}

EXPORT int clReleaseKernel(void *kernel)
{
    free(kernel);
    return 0;
}

EXPORT int clSetKernelArg(void *kernel, uint32_t index, size_t size, const void *value)
{
    struct kernel *const self = kernel;

    if (index >= ARGUMENTS || (size != 4 && size != 8))
        return INVALID_VALUE;
    memcpy(&self->arguments[index], value, size);
    self->set |= 1u << index;
    return 0;
}

EXPORT int clSetKernelArgSVMPointer(void *kernel, uint32_t index, const void *memory)
{
    return clSetKernelArg(kernel, index, sizeof memory, &memory);
}

EXPORT int clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions,
                                  const size_t *offset, const size_t *items, const size_t *group,
                                  uint32_t count, void *const *wait, void **event)
{
    struct kernel *const self = kernel;
    void *values[ARGUMENTS];

    if (queue != &queues || dimensions != 1 || offset != NULL || *group != 32 || *items % 32 != 0 ||
        *items == 0 || count != 0 || wait != NULL || event != NULL ||
        (self->set & (self->set + 1)) != 0)
        return INVALID_VALUE;
    for (unsigned i = 0; i < ARGUMENTS; i++)
        values[i] = &self->arguments[i];
    self->set = 0;
    return lanes_launch(++launches % 2 ? LANES_FORWARDS : LANES_BACKWARDS, self->name,
                        (unsigned)(*items / 32), values)
               ? 0
               : NO_KERNEL;
}

/* ---- Memory and time ------------------------------------------------------------------------ */

EXPORT void *clSVMAlloc(void *of, uint64_t flags, size_t bytes, uint32_t alignment)
{
    (void)flags;
    (void)alignment;
    return of == &context ? malloc(bytes) : NULL;
}

EXPORT void clSVMFree(void *of, void *memory)
{
    (void)of;
    free(memory);
}

EXPORT int clEnqueueSVMMemcpy(void *queue, uint32_t blocking, void *to, const void *from,
                              size_t bytes, uint32_t count, void *const *wait, void **event)
{
    if (queue != &queues || blocking != 0 || count != 0 || wait != NULL || event != NULL)
        return INVALID_VALUE;
    memcpy(to, from, bytes);
    return 0;
}

EXPORT int clFlush(void *queue)
{
    return queue == &queues ? 0 : INVALID_VALUE;
}

EXPORT int clFinish(void *queue)
{
    return clFlush(queue);
}

/* Time passes from mark to mark. */
EXPORT int clEnqueueMarkerWithWaitList(void *queue, uint32_t count, void *const *wait, void **event)
{
    uint64_t *const made = make(sizeof *made);

    (void)count;
    (void)wait;
    *made = clock_ns += 1000;
    *event = made;
    return clFlush(queue);
}

/* Everything has happened when its call returns. */
EXPORT int clEnqueueBarrierWithWaitList(void *queue, uint32_t count, void *const *wait,
                                        void **event)
{
    return count == 1 && wait[0] != NULL && event == NULL ? clFlush(queue) : INVALID_VALUE;
}

EXPORT int clWaitForEvents(uint32_t count, void *const *events)
{
    return count == 1 && events[0] != NULL ? 0 : INVALID_VALUE;
}

EXPORT int clGetEventInfo(void *event, uint32_t what, size_t room, void *value, const size_t *size)
{
    if (event == NULL || what != EXECUTION_STATUS || room != sizeof(int) || size != NULL)
        return INVALID_VALUE;
    memset(value, 0, room);
    return 0;
}

EXPORT int clGetEventProfilingInfo(void *event, uint32_t what, size_t room, void *value,
                                   const size_t *size)
{
    if (what != COMMAND_END || room != sizeof(uint64_t) || size != NULL)
        return INVALID_VALUE;
    memcpy(value, event, room);
    return 0;
}

EXPORT int clReleaseEvent(void *event)
{
    free(event);
    return 0;
}
