/* Jobs on packed rows (planezip/gpu_ibp.h): which kernels make them up, and what they are given. */
#include "planezip/gpu_ibp.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "gpu/device.h"
#include "gpu/ibp.h"
#include "ibp/learn.h"
#include "ibp/rows.h"

enum kernel { BEGIN, UNPACK, PACK, CLEAR, ONES, LEVELS, CHOOSE, FINISH, KERNELS };

enum { STATE_BYTES = 256, COUNTS = PZI_IBP_BINS * (PZI_IBP_LEVELS + 1) };

pz_status pz_gpu_ibp_prepare(pz_gpu *gpu, pz_diag *diag)
{
    static const char *const options[] = {"-DPZ_ONLY_IBP"};
    static const char *const names[KERNELS] = {
        "pz_ibp_begin", "pz_ibp_unpack_rows", "pz_ibp_pack_rows", "pz_ibp_clear",
        "pz_ibp_ones",  "pz_ibp_levels",      "pz_ibp_choose",    "pz_finish"};
    pz_status status = PZ_OK;

    if (gpu == NULL)
        return PZ_ERR_ARGUMENT;
    if (gpu->loaded[PZI_IBP]) /* without waiting for others that compile */
        return PZ_OK;
    pthread_mutex_lock(&gpu->lock);
    if (!gpu->loaded[PZI_IBP])
        status = gpu->backend->load(gpu, pzi_gpu_source, options, 1, names, KERNELS,
                                    &gpu->programs[PZI_IBP], diag);
    gpu->loaded[PZI_IBP] = status == PZ_OK;
    pthread_mutex_unlock(&gpu->lock);
    return status;
}

static pz_status launch(pz_gpu *gpu, const pz_gpu_job *job, enum kernel kernel, uint64_t tasks,
                        const struct pzi_argument *arguments, unsigned count)
{
    return pzi_gpu_launch(gpu, job, gpu->programs[PZI_IBP].kernels[kernel], tasks, arguments,
                          count);
}

static bool is_aligned(const void *memory, size_t alignment)
{
    return (uintptr_t)memory % alignment == 0;
}

/* Whether a job has what it needs of a workspace and a result. */
static bool fits(const pz_gpu_job *job, size_t workspace_bytes)
{
    return job->workspace != NULL && job->workspace_bytes >= workspace_bytes &&
           is_aligned(job->workspace, 16) && job->result != NULL &&
           is_aligned(job->result, sizeof(uint64_t));
}

static pz_status begin(pz_gpu *gpu, const pz_gpu_job *job)
{
    if (gpu == NULL || job == NULL || job->size != sizeof *job)
        return PZ_ERR_ARGUMENT;
    return pz_gpu_ibp_prepare(gpu, NULL);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static size_t words_of(size_t row_bytes)
{
    return (row_bytes + 3) / 4;
}

size_t pz_gpu_ibp_table_bytes(const pz_ibp_table *table)
{
    return 4 * (PZI_IBP_HEAD_WORDS + 2 * words_of(table->row_bytes));
}

void pz_gpu_ibp_table_fill(const pz_ibp_table *table, void *to)
{
    const size_t R = table->row_bytes;
    const size_t bits = 8 * table->map_bytes + table->start[table->words + 1];
    uint8_t *const bytes = to, *const rows = bytes + 4 * PZI_IBP_HEAD_WORDS;

    memset(bytes, 0, pz_gpu_ibp_table_bytes(table));
    pzi_store_le32(bytes + 4 * PZI_IBP_ROW_BYTES, (uint32_t)R);
    pzi_store_le32(bytes + 4 * PZI_IBP_GROUP_LOG, (uint32_t)__builtin_ctz(table->shape.group_bits));
    pzi_store_le32(bytes + 4 * PZI_IBP_LEAST_BYTES, (uint32_t)((bits + 7) / 8));
    memcpy(rows, pz_ibp_table_masks(table), R);
    memcpy(rows + 4 * words_of(R), pz_ibp_table_values(table), R);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

pz_status pz_gpu_ibp_pack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_table *table,
                          const void *device_table, const void *raw, uint64_t first, size_t count,
                          void *slots, size_t stride_bytes, void *packed)
{
    const struct pzi_argument arguments[] = {
        POINTER(device_table), POINTER(raw),      U64(first),     U64(count),
        POINTER(slots),        U64(stride_bytes), POINTER(packed)};
    pz_status status = begin(gpu, job);

    if (status != PZ_OK)
        return status;
    if (table == NULL || stride_bytes < table->row_bytes || device_table == NULL ||
        !is_aligned(device_table, 4) ||
        (count != 0 && (raw == NULL || slots == NULL || packed == NULL)) ||
        first > SIZE_MAX / stride_bytes || count > SIZE_MAX / stride_bytes - first)
        return PZ_ERR_ARGUMENT;
    if (count == 0)
        return PZ_OK;
    return launch(gpu, job, PACK, (first + count + 7) / 8 - first / 8, arguments, 7);
}

/* Row k from number first + k, or from index[k]. */
static pz_status unpack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                        const void *device_table, const uint64_t *index, uint64_t first,
                        size_t count, void *raw)
{
    const bool is_condensed = rows->offsets != NULL;
    const struct pzi_argument arguments[] = {
        POINTER(device_table),
        U32((is_condensed ? PZI_IBP_CONDENSED : 0) | (index != NULL ? PZI_IBP_BY_INDEX : 0)),
        POINTER(rows->data != NULL ? rows->data : device_table), /* OpenCL wants some memory */
        POINTER(is_condensed           ? (const void *)rows->offsets
                : rows->packed != NULL ? rows->packed
                                       : device_table),
        U64(rows->count),
        U64(is_condensed ? rows->data_bytes : rows->stride_bytes),
        POINTER(index != NULL ? (const void *)index : device_table),
        U64(first),
        U64(count),
        POINTER(raw),
        POINTER(job->workspace)};
    const struct pzi_argument state[] = {POINTER(job->workspace), POINTER(job->result)};
    pz_status status = launch(gpu, job, BEGIN, 1, state, 1);

    if (status == PZ_OK && count != 0)
        status = launch(gpu, job, UNPACK, count, arguments, 11);
    return status == PZ_OK ? launch(gpu, job, FINISH, 1, state, 2) : status;
}

static pz_status begin_unpack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                              const void *device_table, size_t count, const void *raw)
{
    const pz_status status = begin(gpu, job);

    if (status != PZ_OK)
        return status;
    if (!fits(job, STATE_BYTES) || !pzi_ibp_rows_fit(rows) || device_table == NULL ||
        !is_aligned(device_table, 4) || !is_aligned(rows->offsets, sizeof(uint64_t)) ||
        (count != 0 && raw == NULL) || count > SIZE_MAX / rows->table->row_bytes)
        return PZ_ERR_ARGUMENT;
    return PZ_OK;
}

pz_status pz_gpu_ibp_unpack(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                            const void *device_table, uint64_t first, size_t count, void *raw)
{
    const pz_status status = begin_unpack(gpu, job, rows, device_table, count, raw);

    if (status != PZ_OK)
        return status;
    if (first > rows->count || count > rows->count - first)
        return PZ_ERR_ARGUMENT;
    return unpack(gpu, job, rows, device_table, NULL, first, count, raw);
}

pz_status pz_gpu_ibp_fetch(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_rows *rows,
                           const void *device_table, const uint64_t *index, size_t count, void *raw)
{
    const pz_status status = begin_unpack(gpu, job, rows, device_table, count, raw);

    if (status != PZ_OK)
        return status;
    if (!is_aligned(index, sizeof *index) || (index == NULL && count != 0))
        return PZ_ERR_ARGUMENT;
    return unpack(gpu, job, rows, device_table, index, 0, count, raw);
}

/* ---- Learning ------------------------------------------------------------------------------- */

/* A job that learns; its workspace has the numbers of ones, and behind them the counts of levels,
 * together so many words. */
struct learning {
    struct pzi_ibp_plan plan;
    size_t columns, ones, words;
    uint64_t step, kept; /* of a sample: from one row to the next; rows */
    uint8_t *learned;
};

static pz_status plan_of(const pz_ibp_learn_options *options, struct learning *self)
{
    if (pzi_ibp_plan_learning(options, &self->plan) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    self->columns = pzi_ibp_columns((uint32_t)self->plan.row_bytes);
    self->ones = 8 * self->plan.row_bytes;
    self->words = self->ones + COUNTS * self->columns;
    return PZ_OK;
}

/* Every step-th row, as a learner keeps them that gets all rows. */
static pz_status sample(struct learning *self, size_t count)
{
    if (count == 0)
        return PZ_ERR_ARGUMENT;
    self->step = 1;
    while ((count - 1) / self->step >= self->plan.room)
        self->step *= 2;
    self->kept = (count - 1) / self->step + 1;
    return self->kept > UINT32_MAX ? PZ_ERR_ARGUMENT : PZ_OK;
}

/* In how many rows a bit has to be the same to be invariant; 0 for all thresholds. */
static uint32_t least_rows(const struct learning *self)
{
    const double rows = (double)self->kept, threshold = self->plan.threshold;
    uint32_t least = (uint32_t)(threshold * rows);

    if (threshold == 0)
        return 0;
    least -= least > 0;
    while (least < self->kept && least / rows < threshold)
        least++;
    return least;
}

pz_status pz_gpu_ibp_workspace_bytes(const pz_ibp_learn_options *options, size_t *bytes)
{
    struct learning self;

    if (bytes == NULL || (options != NULL && plan_of(options, &self) != PZ_OK))
        return PZ_ERR_ARGUMENT;
    *bytes = options == NULL ? STATE_BYTES : 4 * self.words;
    return PZ_OK;
}

static size_t saved_bytes(const struct learning *self)
{
    return sizeof(uint64_t) * PZI_IBP_SIZES * self->columns;
}

pz_status pz_gpu_ibp_learned_bytes(const pz_ibp_learn_options *options, size_t *bytes)
{
    struct learning self;

    if (bytes == NULL || plan_of(options, &self) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    *bytes = saved_bytes(&self) + (1 + PZI_IBP_SIZES) * self.plan.row_bytes;
    return PZ_OK;
}

static uint64_t tasks_of(const struct learning *self, uint64_t rows_at_once)
{
    return self->columns * ((self->kept + rows_at_once - 1) / rows_at_once);
}

static pz_status learn(pz_gpu *gpu, const pz_gpu_job *job, const struct learning *self,
                       const void *rows)
{
    const uint32_t R = (uint32_t)self->plan.row_bytes, least = least_rows(self);
    const uint32_t width_log = (uint32_t)__builtin_ctz(self->plan.shape.width_bits);
    uint32_t *const ones = job->workspace, *const counts = ones + self->ones;
    const struct pzi_argument clear[] = {POINTER(ones), U64(self->words)};
    const struct pzi_argument count[] = {POINTER(rows), U32(R), U64(self->step), U64(self->kept),
                                         POINTER(ones)};
    const struct pzi_argument levels[] = {POINTER(rows),   U32(R),         U64(self->step),
                                          U64(self->kept), U32(width_log), U32(least),
                                          POINTER(ones),   POINTER(counts)};
    const struct pzi_argument choose[] = {U32(R),
                                          U64(self->kept),
                                          U32(least),
                                          POINTER(ones),
                                          POINTER(counts),
                                          POINTER(self->learned),
                                          POINTER(self->learned + saved_bytes(self))};
    pz_status status = launch(gpu, job, CLEAR, self->words / 32 + 1, clear, 2);

    if (status == PZ_OK)
        status = launch(gpu, job, ONES, tasks_of(self, PZI_IBP_ROWS_OF_COUNTER), count, 5);
    if (status == PZ_OK)
        status = launch(gpu, job, LEVELS, tasks_of(self, PZI_IBP_ROWS_AT_ONCE), levels, 8);
    return status == PZ_OK ? launch(gpu, job, CHOOSE, self->columns, choose, 7) : status;
}

pz_status pz_gpu_ibp_learn(pz_gpu *gpu, const pz_gpu_job *job, const pz_ibp_learn_options *options,
                           const void *rows, size_t count, void *learned)
{
    struct learning self;
    pz_status status = begin(gpu, job);

    if (status != PZ_OK)
        return status;
    if (plan_of(options, &self) != PZ_OK || sample(&self, count) != PZ_OK || rows == NULL ||
        learned == NULL || !is_aligned(learned, sizeof(uint64_t)) || job->workspace == NULL ||
        !is_aligned(job->workspace, 16) || job->workspace_bytes < 4 * self.words)
        return PZ_ERR_ARGUMENT;
    self.learned = learned;
    return learn(gpu, job, &self, rows);
}

pz_status pz_gpu_ibp_table_of(const pz_ibp_learn_options *options, size_t count,
                              const void *learned, pz_ibp_table **table)
{
    struct learning self;
    struct pzi_ibp_learned all = {0};
    uint8_t *rows;
    pz_status status;

    if (learned == NULL || table == NULL || plan_of(options, &self) != PZ_OK ||
        sample(&self, count) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    all.kept = self.kept;
    for (size_t i = 0; i < self.columns * PZI_IBP_SIZES; i++)
        all.saved[i % PZI_IBP_SIZES] += pzi_load_le64((const uint8_t *)learned + 8 * i);
    rows = malloc((1 + PZI_IBP_SIZES) * self.plan.row_bytes);
    if (rows == NULL)
        return PZ_ERR_MEMORY;
    memcpy(rows, (const uint8_t *)learned + saved_bytes(&self),
           (1 + PZI_IBP_SIZES) * self.plan.row_bytes);
    all.values = rows;
    for (unsigned size = 0; size < PZI_IBP_SIZES; size++)
        all.masks[size] = rows + (1 + size) * self.plan.row_bytes;
    status = pzi_ibp_learned_table(&self.plan, &all, table);
    free(rows);
    return status;
}
