/* Rows in memory: packed into slots or without gaps, unpacked in order or by their numbers, on
 * several threads (docs/ibp.md, "Slots", "Condensed rows"). */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/threads.h"
#include "ibp/rows.h"

/* The instruction set is that of the codec; what has AVX2 there has BMI2. */
const struct pzi_ibp_ops *pzi_ibp_ops(void)
{
#if defined(__x86_64__)
    if (strcmp(pz_isa_active(), "scalar") != 0)
        return &pzi_ibp_bmi2;
#endif
    return &pzi_ibp_plain;
}

/* ---- Threads: parts of a job, some consecutive rows each ------------------------------------- */

/* Of a part at least: so many bytes of rows, so that handing it out costs nothing. */
enum { PART_BYTES = 1 << 18, PARTS_OF_THREAD = 8 };

struct job {
    const pz_ibp_table *table;
    const struct pzi_ibp_ops *ops;
    size_t count, part; /* rows, and those of a part, a multiple of 8 */
    size_t lead;        /* rows of part 0 fewer than of the others */
    const uint8_t *raw;
    uint8_t *to;

    /* Packing. */
    uint64_t first;
    size_t stride;
    uint8_t *packed;
    uint64_t *offsets;

    /* Unpacking. */
    const pz_ibp_rows *rows;
    const uint64_t *index;
    _Atomic uint64_t fault; /* the first one: where in the job, and the status in 8 bits */

    _Atomic uint64_t raw_rows, packed_groups, packed_bytes;
};

static size_t job_parts(pz_threads *threads, struct job *job)
{
    const size_t most = (size_t)pz_threads_count(threads) * PARTS_OF_THREAD;
    size_t part = PART_BYTES / job->table->row_bytes;

    if (part < job->count / most)
        part = job->count / most;
    job->part = part / 8 * 8 + 8;
    return (job->count + job->lead + job->part - 1) / job->part;
}

/* Rows *from .. *end - 1 of part i. */
static void part_rows(const struct job *job, size_t i, size_t *from, size_t *end)
{
    *from = i == 0 ? 0 : i * job->part - job->lead;
    *end = (i + 1) * job->part - job->lead;
    if (*end > job->count)
        *end = job->count;
}

static void run(pz_threads *threads, struct job *job, void (*task)(void *arg, size_t i))
{
    if (job->count != 0)
        pzi_run(threads, task, job, job_parts(threads, job));
}

/* ---- Packing --------------------------------------------------------------------------------- */

static size_t bytes_of(size_t bits)
{
    return (bits + 7) / 8;
}

/* Packs a row, or stores it raw, into row_bytes of memory; returns its size. */
static size_t pack_row(const struct job *job, const uint8_t *raw, uint8_t *row)
{
    const size_t R = job->table->row_bytes;
    const size_t bytes = job->ops->pack(job->table, raw, row, R - 1);

    if (bytes != 0)
        return bytes;
    memcpy(row, raw, R);
    return R;
}

/* The size of a row as it is stored. */
static size_t size_row(const struct job *job, const uint8_t *raw, size_t *packed_groups)
{
    const size_t bytes = bytes_of(job->ops->size(job->table, raw, packed_groups));

    return bytes < job->table->row_bytes ? bytes : job->table->row_bytes;
}

static void mark(uint8_t *packed, uint64_t row, bool is_packed)
{
    const uint8_t bit = (uint8_t)(1u << row % 8);

    packed[row / 8] = (uint8_t)(is_packed ? packed[row / 8] | bit : packed[row / 8] & ~bit);
}

static void pack_part(void *arg, size_t i)
{
    const struct job *const job = arg;
    const size_t R = job->table->row_bytes;
    size_t from, end;

    part_rows(job, i, &from, &end);
    for (size_t k = from; k < end; k++) {
        const uint64_t row = job->first + k;
        const size_t bytes = pack_row(job, job->raw + k * R, job->to + row * job->stride);

        mark(job->packed, row, bytes < R);
    }
}

pz_status pz_ibp_pack(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                      uint64_t first, size_t count, void *slots, size_t stride_bytes, void *packed)
{
    struct job job = {.table = table, .count = count, .first = first, .stride = stride_bytes};

    if (table == NULL || stride_bytes < table->row_bytes ||
        (count != 0 && (raw == NULL || slots == NULL || packed == NULL)) ||
        first > SIZE_MAX / stride_bytes || count > SIZE_MAX / stride_bytes - first)
        return PZ_ERR_ARGUMENT;
    job.ops = pzi_ibp_ops();
    job.raw = raw;
    job.to = slots;
    job.packed = packed;
    job.lead = first % 8; /* parts share no byte of the map */
    run(threads, &job, pack_part);
    return PZ_OK;
}

/* Sizes, at offsets[row + 1]. */
static void size_part(void *arg, size_t i)
{
    const struct job *const job = arg;
    size_t from, end, packed_groups;

    part_rows(job, i, &from, &end);
    for (size_t k = from; k < end; k++)
        job->offsets[k + 1] = size_row(job, job->raw + k * job->table->row_bytes, &packed_groups);
}

/* Where their places are known. */
static void condense_part(void *arg, size_t i)
{
    const struct job *const job = arg;
    const size_t R = job->table->row_bytes;
    size_t from, end;

    part_rows(job, i, &from, &end);
    for (size_t k = from; k < end; k++) {
        const size_t bytes = (size_t)(job->offsets[k + 1] - job->offsets[k]);
        uint8_t *const row = job->to + job->offsets[k];

        if (bytes == R)
            memcpy(row, job->raw + k * R, R);
        else
            job->ops->pack(job->table, job->raw + k * R, row, bytes);
    }
}

/* One row after the other, each where the one before ends; what has no room is only counted. */
static void condense_in_order(const struct job *job, size_t data_bytes)
{
    const size_t R = job->table->row_bytes;
    size_t packed_groups;

    for (size_t k = 0; k < job->count; k++) {
        const uint64_t at = job->offsets[k];
        const size_t left = at < data_bytes ? data_bytes - (size_t)at : 0;
        const uint8_t *const raw = job->raw + k * R;

        job->offsets[k + 1] = at + (left >= R ? pack_row(job, raw, job->to + at)
                                              : size_row(job, raw, &packed_groups));
        if (left < R && job->offsets[k + 1] - at <= left)
            job->ops->pack(job->table, raw, job->to + at, (size_t)(job->offsets[k + 1] - at));
    }
}

pz_status pz_ibp_condense(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                          uint64_t first, size_t count, void *data, size_t data_bytes,
                          uint64_t *offsets)
{
    struct job job = {.table = table, .count = count, .raw = raw, .to = data};

    if (table == NULL || offsets == NULL || (count != 0 && (raw == NULL || data == NULL)) ||
        count > SIZE_MAX / table->row_bytes || first > SIZE_MAX / sizeof *offsets - 1 - count)
        return PZ_ERR_ARGUMENT;
    job.ops = pzi_ibp_ops();
    job.offsets = offsets + first;
    if (first == 0)
        offsets[0] = 0;
    if (job.offsets[0] > data_bytes)
        return PZ_ERR_RANGE;
    if (pz_threads_count(threads) == 1) {
        condense_in_order(&job, data_bytes);
        return job.offsets[count] > data_bytes ? PZ_ERR_SPACE : PZ_OK;
    }
    run(threads, &job, size_part);
    for (size_t k = 0; k < count; k++)
        job.offsets[k + 1] += job.offsets[k];
    if (job.offsets[count] > data_bytes)
        return PZ_ERR_SPACE;
    run(threads, &job, condense_part);
    return PZ_OK;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void measure_part(void *arg, size_t i)
{
    struct job *const job = arg;
    const size_t R = job->table->row_bytes;
    uint64_t raw_rows = 0, all_groups = 0, all_bytes = 0;
    size_t from, end;

    part_rows(job, i, &from, &end);
    for (size_t k = from; k < end; k++) {
        size_t packed_groups;
        const size_t bytes = size_row(job, job->raw + k * R, &packed_groups);

        raw_rows += bytes == R;
        all_groups += packed_groups;
        all_bytes += bytes;
    }
    job->raw_rows += raw_rows;
    job->packed_groups += all_groups;
    job->packed_bytes += all_bytes;
}

pz_status pz_ibp_measure(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                         size_t count, pz_ibp_stats *stats)
{
    struct job job = {.table = table, .count = count, .raw = raw};

    if (table == NULL || stats == NULL || (count != 0 && raw == NULL) ||
        count > SIZE_MAX / table->row_bytes)
        return PZ_ERR_ARGUMENT;
    job.ops = pzi_ibp_ops();
    run(threads, &job, measure_part);
    *stats = (pz_ibp_stats){
        .rows = count,
        .raw_rows = job.raw_rows,
        .groups = (uint64_t)count * table->groups,
        .packed_groups = job.packed_groups,
        .raw_bytes = (uint64_t)count * table->row_bytes,
        .packed_bytes = job.packed_bytes,
    };
    return PZ_OK;
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

/* Rows that are fetched soon are asked for early: so many of them. */
enum { AHEAD_ROWS = 4, LINE_BYTES = 64 };

pz_status pzi_ibp_find(const pz_ibp_rows *rows, uint64_t row, struct pzi_ibp_place *place)
{
    const size_t R = rows->table->row_bytes;
    const uint8_t *const data = rows->data, *const packed = rows->packed;

    if (row >= rows->count)
        return PZ_ERR_ARGUMENT;
    if (rows->offsets == NULL) {
        place->at = data + row * rows->stride_bytes;
        place->is_raw = (packed[row / 8] >> row % 8 & 1) == 0;
        place->bytes = place->is_raw ? R : R - 1;
        return PZ_OK;
    }
    const uint64_t from = rows->offsets[row], end = rows->offsets[row + 1];

    if (from > end || end > rows->data_bytes || end - from > R)
        return PZ_ERR_RANGE;
    *place = (struct pzi_ibp_place){data + from, (size_t)(end - from), end - from == R};
    return PZ_OK;
}

pz_status pzi_ibp_unpack(const pz_ibp_rows *rows, const struct pzi_ibp_ops *ops,
                         const struct pzi_ibp_place *place, const struct pzi_ibp_to *to,
                         size_t *bytes)
{
    size_t bits;
    pz_status status;

    *bytes = place->bytes;
    if (place->is_raw) {
        for (size_t i = 0; i < place->bytes; i += LINE_BYTES)
            __builtin_prefetch(to->next + i);
        memcpy(to->raw, place->at, place->bytes);
        return PZ_OK;
    }
    status = ops->unpack(rows->table, place, to, &bits);
    if (status != PZ_OK)
        return status;
    *bytes = bytes_of(bits);
    return rows->offsets != NULL && *bytes != place->bytes ? PZ_ERR_TRAILING : PZ_OK;
}

static uint64_t row_at(const struct job *job, size_t k)
{
    return job->index != NULL ? job->index[k] : job->first + k;
}

/* The row that is asked for while row k is unpacked, k being counted from the first one. */
static const uint8_t *next_row(const struct job *job, size_t k, size_t end)
{
    struct pzi_ibp_place place;

    if (job->index == NULL || k + AHEAD_ROWS >= end ||
        pzi_ibp_find(job->rows, job->index[k + AHEAD_ROWS], &place) != PZ_OK)
        return job->rows->data;
    return place.at;
}

enum { STATUS_BITS = 8 };

/* Keeps the first fault of all parts. */
static void tell(struct job *job, size_t k, pz_status status)
{
    const uint64_t fault = (uint64_t)k << STATUS_BITS | (uint64_t)status;
    uint64_t first = job->fault;

    while (fault < first && !atomic_compare_exchange_weak(&job->fault, &first, fault))
        ;
}

/* What is behind a fault does not matter any more; what is before it may have another one. */
static void unpack_part(void *arg, size_t i)
{
    struct job *const job = arg;
    const size_t R = job->table->row_bytes;
    size_t from, end;

    part_rows(job, i, &from, &end);
    for (size_t k = from; k < end && k < job->fault >> STATUS_BITS; k++) {
        const struct pzi_ibp_to to = {job->to + k * R, next_row(job, k, end)};
        struct pzi_ibp_place place;
        size_t bytes;
        pz_status status = pzi_ibp_find(job->rows, row_at(job, k), &place);

        if (status == PZ_OK)
            status = pzi_ibp_unpack(job->rows, job->ops, &place, &to, &bytes);
        if (status != PZ_OK)
            tell(job, k, status);
    }
}

bool pzi_ibp_rows_fit(const pz_ibp_rows *rows)
{
    if (rows == NULL || rows->size != sizeof *rows || rows->table == NULL)
        return false;
    if (rows->count == 0)
        return true;
    if (rows->data == NULL)
        return false;
    if (rows->offsets != NULL)
        return true;
    return rows->packed != NULL && rows->stride_bytes >= rows->table->row_bytes &&
           rows->data_bytes >= rows->table->row_bytes &&
           (rows->data_bytes - rows->table->row_bytes) / rows->stride_bytes >= rows->count - 1;
}

static pz_status unpack_rows(pz_threads *threads, struct job *job, uint64_t *bad_row)
{
    job->table = job->rows->table;
    job->ops = pzi_ibp_ops();
    job->fault = UINT64_MAX;
    if (job->count > SIZE_MAX / job->table->row_bytes || (job->count != 0 && job->to == NULL))
        return PZ_ERR_ARGUMENT;
    run(threads, job, unpack_part);
    if (job->fault == UINT64_MAX)
        return PZ_OK;
    if (bad_row != NULL)
        *bad_row = row_at(job, (size_t)(job->fault >> STATUS_BITS));
    return (pz_status)(job->fault & ((1u << STATUS_BITS) - 1));
}

pz_status pz_ibp_unpack(pz_threads *threads, const pz_ibp_rows *rows, uint64_t first, size_t count,
                        void *raw, uint64_t *bad_row)
{
    struct job job = {.rows = rows, .first = first, .count = count, .to = raw};

    if (!pzi_ibp_rows_fit(rows) || first > rows->count || count > rows->count - first)
        return PZ_ERR_ARGUMENT;
    return unpack_rows(threads, &job, bad_row);
}

pz_status pz_ibp_fetch(pz_threads *threads, const pz_ibp_rows *rows, const uint64_t *index,
                       size_t count, void *raw, uint64_t *bad_row)
{
    struct job job = {.rows = rows, .index = index, .count = count, .to = raw};

    if (!pzi_ibp_rows_fit(rows) || (index == NULL && count != 0))
        return PZ_ERR_ARGUMENT;
    return unpack_rows(threads, &job, bad_row);
}
