/* PlaneZip on a device: streams of docs/format.md and docs/format2.md are made and read where
 * tensors are, so that only compressed bytes cross a link.  docs/gpu.md has how, and what it takes.
 *
 * Bytes and judgements are those of pz_stream_encode() and pz_stream_decode().  The library needs
 * no driver to be built or loaded: those of CUDA and OpenCL are opened when a device is.
 *
 * Work is put in a queue of the caller's (a stream), and the calls return at once: they allocate
 * nothing, wait for nothing, and can be captured in a CUDA graph, once pz_gpu_prepare() has been
 * called for the mode.  All functions may be called from any thread.  PZ_ERR_IO: a call of the
 * driver failed; PZ_ERR_ARGUMENT also for options and jobs of another size. */
#ifndef PLANEZIP_GPU_H
#define PLANEZIP_GPU_H

#include <planezip/planezip.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pz_gpu pz_gpu;

typedef enum pz_gpu_kind { PZ_GPU_CUDA = 1, PZ_GPU_OPENCL = 2 } pz_gpu_kind;

typedef struct pz_gpu_options {
    size_t size; /* sizeof (pz_gpu_options) */
    pz_gpu_kind kind;
    unsigned device;    /* the driver's number of it, over all OpenCL platforms */
    const char *driver; /* file of the library; NULL: libcuda.so.1, libOpenCL.so.1 */
    /* CUDA: file of NVRTC, which compiles the kernels; NULL: the driver's, if that is told and has
     * the functions of NVRTC too, else libnvrtc.so, .so.13, .so.12. */
    const char *compiler;
} pz_gpu_options;

/* PZ_ERR_IO if there is no such driver or device, or it lacks what is needed (OpenCL: shared
 * virtual memory); diag, which may be NULL, tells.  Keeps the context of the device (CUDA: the
 * primary one) until it is closed, when nothing of it may be at work any more. */
PZ_API pz_status pz_gpu_open(const pz_gpu_options *options, pz_gpu **gpu, pz_diag *diag);
PZ_API void pz_gpu_close(pz_gpu *gpu);

typedef struct pz_gpu_info {
    char name[128];
    unsigned units;  /* multiprocessors, compute units */
    unsigned groups; /* warps that a job without a limit is given to */
} pz_gpu_info;

PZ_API void pz_gpu_info_of(const pz_gpu *gpu, pz_gpu_info *info);

/* Compiles and loads the kernels for a mode, which takes seconds the first time.  Otherwise the
 * first job does.  PZ_ERR_ARGUMENT for an invalid mode, PZ_ERR_IO with what the compiler says.
 */
PZ_API pz_status pz_gpu_prepare(pz_gpu *gpu, pz_mode mode, pz_diag *diag);

/* ---- Jobs -------------------------------------------------------------------------------------
 */

/* What a job has found, written by the device when it has. */
typedef struct pz_gpu_result {
    uint64_t faults[2]; /* for pz_gpu_result_of() */
    uint64_t coded_bytes;
} pz_gpu_result;

/* Everything has to stay until the job has ended. */
typedef struct pz_gpu_job {
    size_t size;            /* sizeof (pz_gpu_job) */
    void *stream;           /* CUstream, NULL is CUDA's default one; cl_command_queue */
    void *workspace;        /* of the device, at a multiple of 16, used by one job at a time */
    size_t workspace_bytes; /* pz_gpu_workspace_bytes() or more */
    pz_gpu_result *result; /* where the device can write, best pinned memory that it is mapped to */
    unsigned groups;       /* at most so many warps at once, for room beside others; 0: no limit */
} pz_gpu_job;

/* For tensors of up to raw_bytes; decoding takes much less. */
PZ_API pz_status pz_gpu_workspace_bytes(size_t raw_bytes, bool is_decoder, size_t *bytes);

/* Codes raw (of the device, or pinned) to dst, at a multiple of 4: memory of the device, or pinned
 * and mapped memory, to which the stream then goes straight over the link.  The result has the size
 * of the stream, also if it has no room in dst_bytes: then PZ_ERR_SPACE, and dst is untouched. */
PZ_API pz_status pz_gpu_compress(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode, const void *raw,
                                 size_t raw_bytes, void *dst, size_t dst_bytes);

/* The two halves of it, on the same stream and with the same workspace.  After the first one the
 * size is known, if it is waited for, and raw is not needed any more. */
PZ_API pz_status pz_gpu_encode(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode, const void *raw,
                               size_t raw_bytes, size_t dst_bytes);
PZ_API pz_status pz_gpu_gather(pz_gpu *gpu, const pz_gpu_job *job, size_t raw_bytes, void *dst);

/* As pz_gpu_gather(), to pieces of piece_bytes, a multiple of 4096, whose addresses are at
 * `pieces`: both of the device, or pinned.  No more of them are looked at than the stream takes.
 * PZ_ERR_ARGUMENT with OpenCL, whose kernels reach only memory that they are told of. */
PZ_API pz_status pz_gpu_gather_pieces(pz_gpu *gpu, const pz_gpu_job *job, size_t raw_bytes,
                                      const uint64_t *pieces, size_t piece_bytes);

/* Reads a stream, which may lie in pinned and mapped memory too.  Any bytes are safe; where the
 * result has an error, what is in raw is undefined. */
PZ_API pz_status pz_gpu_decompress(pz_gpu *gpu, const pz_gpu_job *job, pz_mode mode,
                                   const void *coded, size_t coded_bytes, void *raw,
                                   size_t raw_bytes);

/* The status of a job that has ended; where, which may be NULL, gets the first chunk with an error,
 * and 0 for block and bit. */
PZ_API pz_status pz_gpu_result_of(const pz_gpu_result *result, pz_where *where);

/* How much to copy of a stream whose size nobody has waited for, as the last one of its kind had
 * that ratio: 2 % more, and not more than there can be.  The rest is copied once the size is known.
 */
PZ_API size_t pz_gpu_predicted_bytes(size_t raw_bytes, double ratio);

/* ---- Memory, streams and time, for whoever has none of the driver ------------------------------
 */

typedef enum pz_gpu_place {
    PZ_GPU_DEVICE = 0, /* memory of the device */
    PZ_GPU_PINNED = 1  /* the host's, which the device can read and write too */
} pz_gpu_place;

/* bytes > 0.  PZ_ERR_MEMORY if there is not so much, or no pinned memory (OpenCL without
 * fine-grained shared memory). */
PZ_API pz_status pz_gpu_alloc(pz_gpu *gpu, pz_gpu_place place, size_t bytes, void **memory);
PZ_API void pz_gpu_free(pz_gpu *gpu, pz_gpu_place place, void *memory);

/* A stream of its own, which waits for none of the driver's others. */
PZ_API pz_status pz_gpu_stream_new(pz_gpu *gpu, void **stream);
PZ_API void pz_gpu_stream_free(pz_gpu *gpu, void *stream);

/* Puts a copy in the stream, from and to memory of either place, or of the host's other memory, for
 * which a driver may wait.  Everything has to stay until it has ended. */
PZ_API pz_status pz_gpu_copy(pz_gpu *gpu, void *stream, void *to, const void *from, size_t bytes);

/* Until all in the stream has ended.  PZ_ERR_IO if something of it failed. */
PZ_API pz_status pz_gpu_wait(pz_gpu *gpu, void *stream);

/* A mark in a stream of pz_gpu_stream_new(); once both are waited for, the time from one to
 * another.
 */
PZ_API pz_status pz_gpu_mark(pz_gpu *gpu, void *stream, void **mark);
PZ_API pz_status pz_gpu_elapsed(pz_gpu *gpu, void *begin, void *end, double *seconds);
PZ_API void pz_gpu_mark_free(pz_gpu *gpu, void *mark);

/* What is put in the stream from now on waits until the mark, of any stream, is reached; the caller
 * does not.  The mark may be freed at once. */
PZ_API pz_status pz_gpu_follow(pz_gpu *gpu, void *stream, void *mark);

/* PZ_ERR_BUSY as long as the mark is not reached; PZ_ERR_IO if what is before it failed. */
PZ_API pz_status pz_gpu_reached(pz_gpu *gpu, void *mark);

/* Waits until it is. */
PZ_API pz_status pz_gpu_await(pz_gpu *gpu, void *mark);

/* Makes memory of the host pinned memory until pz_gpu_unpin(): options.pin and unpin of a pool
 * whose user is the device.  It begins at a page and is whole pages, as of mmap() or
 * aligned_alloc(), none of which is pinned yet; PZ_ERR_ARGUMENT if address or bytes are no multiple
 * of 4096.  PZ_ERR_MEMORY if it cannot be pinned (OpenCL cannot). */
PZ_API pz_status pz_gpu_pin(void *gpu, void *memory, size_t bytes);
PZ_API void pz_gpu_unpin(void *gpu, void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
