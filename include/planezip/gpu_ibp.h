/* Rows packed by invariant bits (planezip/ibp.h) on a device: tables are learned, rows packed,
 * unpacked and fetched by kernels, which also read packed rows straight from pinned memory of the
 * host, and of them only what is stored.  Tables, slots, rows and judgements are those of
 * planezip/ibp.h.
 *
 * Jobs are put in a stream and return at once, as those of planezip/gpu.h; pointers are to memory
 * of the device or pinned memory, and everything has to stay until a job has ended. */
#ifndef PLANEZIP_GPU_IBP_H
#define PLANEZIP_GPU_IBP_H

#include <planezip/gpu.h>
#include <planezip/ibp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles and loads the kernels, which takes seconds the first time.  Otherwise the first job
 * does. PZ_ERR_IO with what the compiler says. */
PZ_API pz_status pz_gpu_ibp_prepare(pz_gpu *gpu, pz_diag *diag);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A table as the kernels read it: its bytes, and filling as many in memory of the host, of which a
 * copy for the device, at a multiple of 4, is given to jobs beside the table itself. */
PZ_API size_t pz_gpu_ibp_table_bytes(const pz_ibp_table *table);
PZ_API void pz_gpu_ibp_table_fill(const pz_ibp_table *table, void *to);

/* As pz_ibp_pack().  Needs of the job its stream only. */
PZ_API pz_status pz_gpu_ibp_pack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_table *table,
                                 const void *device_table, const void *raw, uint64_t first,
                                 size_t count, void *slots, size_t stride_bytes, void *packed);

/* As pz_ibp_unpack() and pz_ibp_fetch(): data, packed, offsets (at a multiple of 8, as index) of
 * rows are of the device, or pinned.  pz_gpu_result_of() tells the status of the first row that is
 * wrong, and where.chunk which one of the `count` it is.  Needs a workspace for rows. */
PZ_API pz_status pz_gpu_ibp_unpack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                                   const void *device_table, uint64_t first, size_t count,
                                   void *raw);
PZ_API pz_status pz_gpu_ibp_fetch(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                                  const void *device_table, const uint64_t *index, size_t count,
                                  void *raw);

/* ---- Learning -------------------------------------------------------------------------------- */

/* For jobs that learn with these options; with NULL, for those that unpack rows. */
PZ_API pz_status pz_gpu_ibp_workspace_bytes(const pz_ibp_learn_options *options, size_t *bytes);

/* What is learned is some bytes, at a multiple of 8, where the device can write.  Copied to the
 * host they become the table that a pz_ibp_learner would make of the same rows.  PZ_ERR_ARGUMENT
 * for options or rows that it refuses, and for a sample of 2^32 rows. */
PZ_API pz_status pz_gpu_ibp_learned_bytes(const pz_ibp_learn_options *options, size_t *bytes);
PZ_API pz_status pz_gpu_ibp_learn(pz_gpu *gpu, const pz_gpu_job *job,
                                  const pz_ibp_learn_options *options, const void *rows,
                                  size_t count, void *learned);
PZ_API pz_status pz_gpu_ibp_table_of(const pz_ibp_learn_options *options, size_t count,
                                     const void *learned, pz_ibp_table **table);

#ifdef __cplusplus
}
#endif

#endif
