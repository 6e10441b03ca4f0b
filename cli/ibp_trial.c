/* Packing rows, tried: see ibp_trial.h. */
#include "ibp_trial.h"

#include "bench_clock.h"
#include "errors.h"
#include "memory.h"
#include "options.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5 };

/* ---- Measure --------------------------------------------------------------------------------- */

static const column measure_columns[] = {
    {"file", "file", COLUMN_TEXT},
    {"rows", "rows", COLUMN_COUNT},
    {"row_bytes", "row", COLUMN_COUNT},
    {"group_bits", "group", COLUMN_COUNT},
    {"saved", "saved", COLUMN_PERCENT},
    {"raw_rows", NULL, COLUMN_COUNT},
    {"packed_bytes", NULL, COLUMN_COUNT},
    {"planezip2_saved", "planezip2", COLUMN_PERCENT},
    {"planezip2_by_row_saved", "by row", COLUMN_PERCENT},
    {"learn_ns", "learn", COLUMN_NS},
    {"pack_bps", "pack", COLUMN_RATE},
    {"unpack_bps", "unpack", COLUMN_RATE},
    {"memcpy_bps", "memcpy", COLUMN_RATE},
};

/* Rows, packed without gaps. */
struct trial {
    const row_file *file;
    pz_ibp_table *table;
    pz_ibp_rows rows;
    unsigned char *packed, *back;
    uint64_t *offsets;
    size_t raw_bytes;
};

static void make_trial(struct trial *trial, const row_file *file, pz_ibp_table *learned)
{
    *trial = (struct trial){.file = file, .table = learned};
    trial->raw_bytes = file->count * file->row_bytes;
    trial->packed = memory_new(trial->raw_bytes, 1);
    trial->back = memory_new(trial->raw_bytes, 1);
    trial->offsets = memory_new(file->count + 1, sizeof *trial->offsets);
    trial->rows = (pz_ibp_rows){.size = sizeof trial->rows,
                                .table = learned,
                                .data = trial->packed,
                                .count = file->count,
                                .data_bytes = trial->raw_bytes,
                                .offsets = trial->offsets};
}

static void free_trial(struct trial *trial)
{
    free(trial->packed);
    free(trial->back);
    free(trial->offsets);
}

typedef pz_status trial_step(struct trial *trial);

static pz_status pack(struct trial *trial)
{
    return pz_ibp_condense(NULL, trial->table, row_file_rows(trial->file), 0, trial->file->count,
                           trial->packed, trial->raw_bytes, trial->offsets);
}

static pz_status unpack(struct trial *trial)
{
    return pz_ibp_unpack(NULL, &trial->rows, 0, trial->file->count, trial->back, NULL);
}

static pz_status copy(struct trial *trial)
{
    memcpy(trial->back, row_file_rows(trial->file), trial->raw_bytes);
    return PZ_OK;
}

/* The median rate of a step. */
static pz_status time_step(struct trial *trial, trial_step *step, double *bps)
{
    double rates[RUNS];

    for (unsigned i = 0; i < RUNS; i++) {
        const double begin = bench_clock_now(BENCH_CPU);
        const pz_status status = step(trial);

        if (status != PZ_OK)
            return status;
        rates[i] = (double)trial->raw_bytes / (bench_clock_now(BENCH_CPU) - begin);
    }
    *bps = bench_median(rates, RUNS);
    return PZ_OK;
}

/* planezip2 on all rows as one stream, and on each as a stream of its own. */
static pz_status size_streams(const row_file *file, uint64_t *all_bytes, uint64_t *row_bytes)
{
    const unsigned char *const raw = row_file_rows(file);
    pz_mode mode;
    pz_stats stats = {0};
    pz_status status = pz_mode_of("planezip2", PZ_PROFILE_NATIVE, file->dtype, &mode);

    if (status == PZ_OK)
        status = pz_stream_measure(mode, raw, file->count * file->row_bytes, &stats);
    *all_bytes = stats.coded_bytes;
    *row_bytes = 0;
    for (size_t row = 0; row < file->count && status == PZ_OK; row++) {
        status = pz_stream_measure(mode, raw + row * file->row_bytes, file->row_bytes, &stats);
        *row_bytes += stats.coded_bytes;
    }
    return status;
}

static pz_status add_measured(table *results, struct trial *trial, int64_t learn_ns)
{
    const double raw_bytes = (double)trial->raw_bytes;
    uint64_t stream_bytes = 0, by_row_bytes = 0;
    double bps[3] = {0};
    pz_ibp_stats stats;
    pz_status status =
        pz_ibp_measure(NULL, trial->table, row_file_rows(trial->file), trial->file->count, &stats);

    if (status == PZ_OK)
        status = size_streams(trial->file, &stream_bytes, &by_row_bytes);
    if (status == PZ_OK)
        status = time_step(trial, copy, &bps[2]);
    if (status == PZ_OK)
        status = time_step(trial, pack, &bps[0]);
    if (status == PZ_OK)
        status = time_step(trial, unpack, &bps[1]);
    if (status == PZ_OK && memcmp(trial->back, row_file_rows(trial->file), trial->raw_bytes) != 0)
        status = PZ_ERR_CHECK;
    table_text(results, trial->file->name);
    table_size(results, trial->file->count);
    table_size(results, trial->file->row_bytes);
    table_int(results, pz_ibp_table_shape(trial->table).group_bits);
    table_real(results, 1 - (double)stats.packed_bytes / raw_bytes);
    table_size(results, stats.raw_rows);
    table_size(results, stats.packed_bytes);
    table_real(results, 1 - (double)stream_bytes / raw_bytes);
    table_real(results, 1 - (double)by_row_bytes / raw_bytes);
    table_int(results, learn_ns);
    for (unsigned i = 0; i < 3; i++)
        table_real(results, bps[i]);
    return status;
}

static int measure_file(const char *name, const row_options *options, table *results)
{
    row_file file = {0};
    pz_ibp_table *learned = NULL;
    struct trial trial;
    pz_status result;
    double begin;
    int status = row_file_open(name, true, options, &file);

    if (status != STATUS_OK)
        return status;
    begin = bench_clock_now(BENCH_CPU);
    status = row_file_learn(&file, options, &learned);
    if (status != STATUS_OK)
        return status;
    const int64_t learn_ns = (int64_t)(1e9 * (bench_clock_now(BENCH_CPU) - begin));

    make_trial(&trial, &file, learned);
    result = add_measured(results, &trial, learn_ns);
    free_trial(&trial);
    return result == PZ_OK ? STATUS_OK : fail_status(name, result, NULL);
}

static void print(const table *results, const char *heading, bool json)
{
    if (json)
        json_show(table_json(results), stdout);
    else
        table_print(results, heading);
}

int ibp_trial_measure(char **files, size_t count, const row_options *options, bool json)
{
    table *const results = table_new(measure_columns, LENGTH(measure_columns));

    for (size_t i = 0; i < count; i++) {
        const int status = measure_file(files[i], options, results);

        if (status != STATUS_OK)
            return status;
    }
    print(results, NULL, json);
    return STATUS_OK;
}

/* ---- Cache ----------------------------------------------------------------------------------- */

static const column cache_columns[] = {
    {"memory", "memory", COLUMN_PERCENT},         {"memory_bytes", NULL, COLUMN_COUNT},
    {"plain_hits", "hits", COLUMN_PERCENT},       {"packed_hits", "packed hits", COLUMN_PERCENT},
    {"plain_bytes", "moved", COLUMN_NUMBER},      {"link_bytes", "packed link", COLUMN_NUMBER},
    {"packed_bytes", "and cache", COLUMN_NUMBER}, {"plain_lookups", "look-ups/s", COLUMN_NUMBER},
    {"link_speedup", "x link", COLUMN_RATIO},     {"packed_speedup", "x cache", COLUMN_RATIO},
};

static const double memories[] = {0.02, 0.05, 0.1, 0.2, 0.4};

/* The share of the look-ups of the first k + 1 rows of some order. */
static double *zipf_shares(size_t rows, double skew)
{
    double *const shares = memory_keep(rows, sizeof *shares), sum = 0;

    for (size_t k = 0; k < rows; k++)
        shares[k] = sum += pow((double)k + 1, -skew);
    for (size_t k = 0; k < rows; k++)
        shares[k] /= sum;
    return shares;
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* An order of the rows in which those that are used much are anywhere. */
static uint64_t *random_order(size_t rows, uint64_t *state)
{
    uint64_t *const order = memory_keep(rows, sizeof *order);

    for (size_t k = 0; k < rows; k++) {
        const size_t i = (size_t)(random_next(state) % (k + 1));

        order[k] = order[i];
        order[i] = k;
    }
    return order;
}

static uint64_t *make_lookups(size_t rows, double skew, size_t count)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    const double *const shares = zipf_shares(rows, skew);
    const uint64_t *const order = random_order(rows, &state);
    uint64_t *const lookups = memory_keep(count, sizeof *lookups);

    for (size_t i = 0; i < count; i++) {
        const double share = (double)(random_next(&state) >> 11) * 0x1p-53;
        size_t low = 0, high = rows - 1;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (shares[middle] > share)
                high = middle;
            else
                low = middle + 1;
        }
        lookups[i] = order[low];
    }
    return lookups;
}

/* Hits and bytes of the second half of the look-ups; the first one fills the cache. */
static pz_status run_cache(const pz_ibp_rows *rows, const pz_ibp_cache_options *options,
                           const uint64_t *lookups, size_t half, pz_ibp_cache_stats *stats)
{
    unsigned char *const row = memory_new(pz_ibp_row_bytes(rows->table), 1);
    pz_ibp_cache_stats before = {.size = sizeof before};
    pz_ibp_cache *cache = NULL;
    pz_status status = pz_ibp_cache_new(rows, options, &cache);

    for (size_t i = 0; i < 2 * half && status == PZ_OK; i++) {
        if (i == half)
            pz_ibp_cache_get_stats(cache, &before);
        status = pz_ibp_cache_fetch(cache, &lookups[i], 1, row, NULL);
    }
    stats->size = sizeof *stats;
    if (status == PZ_OK)
        status = pz_ibp_cache_get_stats(cache, stats);
    stats->hits -= before.hits;
    stats->moved_bytes -= before.moved_bytes;
    pz_ibp_cache_free(cache);
    free(row);
    return status;
}

/* What a plain cache moves of rows that are not packed. */
static double plain_bytes(const pz_ibp_cache_stats *plain, size_t half, size_t row_bytes,
                          uint64_t line_bytes)
{
    const uint64_t lines = (row_bytes + line_bytes - 1) / line_bytes;

    return (double)((half - plain->hits) * lines * line_bytes) / (double)half;
}

static pz_status add_cached(table *results, const struct trial *trial,
                            const ibp_cache_options *cache, double memory, const uint64_t *lookups,
                            size_t half)
{
    pz_ibp_cache_options options = {.size = sizeof options,
                                    .budget_bytes = (size_t)(memory * (double)trial->raw_bytes),
                                    .transfer_bytes = (size_t)cache->line_bytes};
    pz_ibp_cache_stats packed = {0}, plain = {0};
    pz_status status = run_cache(&trial->rows, &options, lookups, half, &packed);

    options.unpacked = true;
    if (status == PZ_OK)
        status = run_cache(&trial->rows, &options, lookups, half, &plain);
    if (status != PZ_OK)
        return status;

    const double all = plain_bytes(&plain, half, trial->file->row_bytes, cache->line_bytes);
    const double link = (double)plain.moved_bytes / (double)half;
    const double both = (double)packed.moved_bytes / (double)half;

    table_real(results, memory);
    table_size(results, options.budget_bytes);
    table_real(results, (double)plain.hits / (double)half);
    table_real(results, (double)packed.hits / (double)half);
    table_real(results, all);
    table_real(results, link);
    table_real(results, both);
    table_real(results, cache->link_bps / all);
    table_real(results, all / link);
    table_real(results, all / both);
    return PZ_OK;
}

/* The memories of which a cache has a place at least. */
static pz_status add_all(table *results, const struct trial *trial, const ibp_cache_options *cache)
{
    enum { FEWEST = 20000, MOST = 2000000, PER_ROW = 4 };
    const size_t rows = trial->file->count;
    size_t half = rows > MOST / PER_ROW ? MOST : rows * PER_ROW;
    const uint64_t *lookups;
    pz_status status = PZ_OK;

    half = half < FEWEST ? FEWEST : half;
    if (cache->lookups != 0)
        half = (size_t)cache->lookups;
    lookups = make_lookups(rows, cache->skew, 2 * half);
    for (size_t i = 0; i < LENGTH(memories) && status == PZ_OK; i++)
        if (memories[i] * (double)rows >= 1)
            status = add_cached(results, trial, cache, memories[i], lookups, half);
    return status;
}

int ibp_trial_cache(const char *name, const row_options *options, const ibp_cache_options *cache,
                    bool json)
{
    table *const results = table_new(cache_columns, LENGTH(cache_columns));
    row_file file = {0};
    pz_ibp_table *learned = NULL;
    struct trial trial;
    pz_status result;
    int status = row_file_open(name, true, options, &file);

    if (status == STATUS_OK)
        status = row_file_learn(&file, options, &learned);
    if (status != STATUS_OK)
        return status;
    if (file.count < 1 / memories[LENGTH(memories) - 1])
        return fail(name, NULL, "give more rows", "it has too few rows for a cache");
    make_trial(&trial, &file, learned);
    result = pack(&trial);
    if (result == PZ_OK)
        result = add_all(results, &trial, cache);
    free_trial(&trial);
    if (result != PZ_OK)
        return fail_status(name, result, NULL);
    print(results,
          "Bytes moved for a look-up, look-ups a second over the link, and how many times as many\n"
          "with rows that are packed on the link, and in the cache too",
          json);
    return STATUS_OK;
}
