/* What a back end has to offer, and what all of them share.  Above it (gpu.c) nothing knows CUDA or
 * OpenCL, below it nothing knows streams. */
#ifndef PZI_GPU_DEVICE_H
#define PZI_GPU_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "planezip/gpu.h"

enum { PZI_ARGUMENTS_MAX = 12, PZI_KERNELS_MAX = 8 };

/* An argument of a kernel: a pointer to device memory, or a number of 4 or 8 bytes. */
struct pzi_argument {
    enum { PZI_POINTER, PZI_U32, PZI_U64 } kind;
    union {
        const void *pointer;
        uint32_t u32;
        uint64_t u64;
    } as;
};

#define POINTER(p) ((struct pzi_argument){PZI_POINTER, {.pointer = (p)}})
#define U32(n) ((struct pzi_argument){PZI_U32, {.u32 = (n)}})
#define U64(n) ((struct pzi_argument){PZI_U64, {.u64 = (n)}})

/* A program and its kernels, as the back end has them; all NULL: not loaded yet. */
struct pzi_program {
    void *program;
    void *kernels[PZI_KERNELS_MAX];
};

struct pz_gpu;

struct pzi_backend {
    /* Sets device and info of *gpu. */
    pz_status (*open)(struct pz_gpu *gpu, const pz_gpu_options *options, pz_diag *diag);
    void (*close)(struct pz_gpu *gpu);

    /* Compiles a source with options as "-DPZ_W=16", and finds its kernels by their names. */
    pz_status (*load)(struct pz_gpu *gpu, const char *source, const char *const *options,
                      unsigned option_count, const char *const *names, unsigned name_count,
                      struct pzi_program *program, pz_diag *diag);
    void (*unload)(struct pz_gpu *gpu, struct pzi_program *program);

    /* Groups of 32. */
    pz_status (*launch)(struct pz_gpu *gpu, void *kernel, void *stream, unsigned groups,
                        const struct pzi_argument *arguments, unsigned count);

    pz_status (*alloc)(struct pz_gpu *gpu, pz_gpu_place place, size_t bytes, void **memory);
    void (*free)(struct pz_gpu *gpu, pz_gpu_place place, void *memory);
    pz_status (*stream_new)(struct pz_gpu *gpu, void **stream);
    void (*stream_free)(struct pz_gpu *gpu, void *stream);
    pz_status (*copy)(struct pz_gpu *gpu, void *stream, void *to, const void *from, size_t bytes);
    pz_status (*wait)(struct pz_gpu *gpu, void *stream);
    pz_status (*mark)(struct pz_gpu *gpu, void *stream, void **mark);
    pz_status (*elapsed)(struct pz_gpu *gpu, void *begin, void *end, double *seconds);
    void (*mark_free)(struct pz_gpu *gpu, void *mark);
    pz_status (*follow)(struct pz_gpu *gpu, void *stream, void *mark);
    pz_status (*reached)(struct pz_gpu *gpu, void *mark); /* PZ_ERR_BUSY: not yet */
    pz_status (*await)(struct pz_gpu *gpu, void *mark);

    /* Of memory that is there already; NULL: the driver has no such thing. */
    pz_status (*pin)(struct pz_gpu *gpu, void *memory, size_t bytes);
    void (*unpin)(struct pz_gpu *gpu, void *memory);
};

extern const struct pzi_backend pzi_backend_cuda, pzi_backend_opencl;

/* Programs: one for each format, direction and width; one for all that place.h has; one for rows.
 */
enum { PZI_PLACES = 2 * 2 * 4, PZI_IBP, PZI_PROGRAMS };

struct pz_gpu {
    const struct pzi_backend *backend;
    void *device; /* of the back end */
    pz_gpu_info info;
    pthread_mutex_t lock; /* of programs that are not loaded yet */
    struct pzi_program programs[PZI_PROGRAMS];
    atomic_bool loaded[PZI_PROGRAMS]; /* those that nobody changes any more */
    void *tables;                     /* in device memory */
};

/* Starts a kernel of a job with a group for each task, or as many as the device or the job allows.
 */
pz_status pzi_gpu_launch(pz_gpu *gpu, const pz_gpu_job *job, void *kernel, uint64_t tasks,
                         const struct pzi_argument *arguments, unsigned count);

/* The kernels as one text, without includes; empty where the library was built without. */
extern const char pzi_gpu_source[];

/* A function of a library and its name. */
struct pzi_symbol {
    const char *name;
    void *to; /* points to a pointer to a function */
};

/* Opens the first library of a list that ends with NULL, and finds symbols; NULL, with diag set, if
 * one is missing. */
void *pzi_gpu_library(const char *const *files, const struct pzi_symbol *symbols, size_t count,
                      pz_diag *diag);

#endif
