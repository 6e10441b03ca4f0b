/* Invariant bit packing (docs/ibp.md): rows that are packed with a table learned once, and fetched
 * one by one, without loss.
 *
 * A table does not change once it is made; any number of threads may use it.  Rows are memory of
 * the caller.  Functions that take a pz_threads work on several threads, NULL for the calling one
 * alone; what they give does not depend on it, nor on the instruction set.  Nothing outside the
 * buffers that are given is read or written, whatever they hold.  A pointer that is NULL where that
 * is not said to be fine is PZ_ERR_ARGUMENT, as a structure of another size is; those that return
 * no status need a table. */
#ifndef PLANEZIP_IBP_H
#define PLANEZIP_IBP_H

#include <planezip/planezip.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PZ_IBP_ROW_MAX_BYTES = 1 << 20,
    PZ_IBP_GROUP_MAX_BITS = 512,
    PZ_IBP_START_BYTES = 40 /* of a stored table: what tells its size */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef struct pz_ibp_table pz_ibp_table;

/* The letters of docs/ibp.md: w, b and E. */
typedef struct pz_ibp_shape {
    uint32_t width_bits;
    uint32_t group_bits;
    uint64_t row_elements;
} pz_ibp_shape;

/* A table of masks and values, a row each.  PZ_ERR_ARGUMENT for a shape that the format does not
 * have, or a value with a bit that the mask lacks; PZ_ERR_MEMORY. */
PZ_API pz_status pz_ibp_table_new(const pz_ibp_shape *shape, const void *masks, const void *values,
                                  pz_ibp_table **table);

/* NULL is fine. */
PZ_API void pz_ibp_table_free(pz_ibp_table *table);

/* What a table is: its shape, bytes of a row, and masks and values, a row each, that live as long
 * as the table. */
PZ_API pz_ibp_shape pz_ibp_table_shape(const pz_ibp_table *table);
PZ_API size_t pz_ibp_row_bytes(const pz_ibp_table *table);
PZ_API const void *pz_ibp_table_masks(const pz_ibp_table *table);
PZ_API const void *pz_ibp_table_values(const pz_ibp_table *table);

/* Bytes of the stored table, and storing it.  PZ_ERR_SPACE if room is less. */
PZ_API size_t pz_ibp_table_bytes(const pz_ibp_table *table);
PZ_API pz_status pz_ibp_table_save(const pz_ibp_table *table, void *to, size_t room);

/* From the first PZ_IBP_START_BYTES of a stored table: all its bytes.  PZ_ERR_TRUNCATED,
 * PZ_ERR_FORMAT, PZ_ERR_MEANING. */
PZ_API pz_status pz_ibp_table_stored_bytes(const void *start, size_t start_bytes, size_t *bytes,
                                           pz_diag *diag);

/* A stored table of exactly so many bytes.  As above, and PZ_ERR_CHECK, PZ_ERR_TRAILING,
 * PZ_ERR_MEMORY.  diag may be NULL. */
PZ_API pz_status pz_ibp_table_load(const void *stored, size_t stored_bytes, pz_ibp_table **table,
                                   pz_diag *diag);

/* ---- Learning: docs/ibp.md, "Learning" ------------------------------------------------------- */

typedef struct pz_ibp_learner pz_ibp_learner;

typedef struct pz_ibp_learn_options {
    size_t size; /* sizeof(pz_ibp_learn_options) */
    uint32_t width_bits;
    uint32_t group_bits; /* 0: the one that packs the sample best */
    uint64_t row_elements;
    double threshold; /* T, above 0.5 and up to 1: a bit is invariant if it is so in this share of
                         the rows.  0: for each group the one that packs the sample best */
    size_t sample_bytes; /* kept of all rows at most, but 64 rows at least; 0: 4 MiB */
} pz_ibp_learn_options;

/* A learner belongs to one thread at a time.  It keeps every n-th row, n a power of two that grows,
 * so that its memory does not.  PZ_ERR_ARGUMENT, PZ_ERR_MEMORY. */
PZ_API pz_status pz_ibp_learner_new(const pz_ibp_learn_options *options, pz_ibp_learner **learner);
PZ_API void pz_ibp_learner_free(pz_ibp_learner *learner); /* NULL is fine */
PZ_API pz_status pz_ibp_learner_add(pz_ibp_learner *learner, const void *rows, size_t count);

/* The table of the rows so far; more may follow.  PZ_ERR_ARGUMENT without rows. */
PZ_API pz_status pz_ibp_learner_table(const pz_ibp_learner *learner, pz_ibp_table **table);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Rows as they are stored: in slots, or condensed.  All of it is the caller's, and not trusted. */
typedef struct pz_ibp_rows {
    size_t size; /* sizeof(pz_ibp_rows) */
    const pz_ibp_table *table;
    const void *data;
    uint64_t count;
    size_t data_bytes;       /* slots: the last one has the bytes of a row at least */
    size_t stride_bytes;     /* slots: from one to the next, the bytes of a row at least */
    const void *packed;      /* slots: the bit map of packed rows, else NULL */
    const uint64_t *offsets; /* condensed: count + 1, else NULL */
} pz_ibp_rows;

/* Packs count rows from raw into the slots number first and following, and tells the bit map.  This
 * is also how rows are replaced or appended; rows that share a byte of the bit map are not to be
 * packed by two calls at once.  PZ_ERR_ARGUMENT for a stride below a row. */
PZ_API pz_status pz_ibp_pack(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                             uint64_t first, size_t count, void *slots, size_t stride_bytes,
                             void *packed);

/* Packs count rows without gaps behind the first ones, which are in data already, and tells their
 * offsets: offsets[first + 1] to offsets[first + count].  offsets[first] is where they begin; if
 * first is 0, it is set to 0.  PZ_ERR_RANGE if it lies behind data_bytes.  PZ_ERR_SPACE if
 * data_bytes do not suffice, of which offsets[first + count] tells how many it takes; those of the
 * raw rows always do. */
PZ_API pz_status pz_ibp_condense(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                                 uint64_t first, size_t count, void *data, size_t data_bytes,
                                 uint64_t *offsets);

/* Unpacks count rows from number first on.  PZ_ERR_ARGUMENT if there are not so many; else
 * docs/ibp.md, "What a reader rejects": *bad_row, which may be NULL, is then the first row that is
 * wrong, the status is that of this row, and the content of raw is undefined. */
PZ_API pz_status pz_ibp_unpack(pz_threads *threads, const pz_ibp_rows *rows, uint64_t first,
                               size_t count, void *raw, uint64_t *bad_row);

/* The same for rows by their numbers, in any order and any number of times; the first is that of
 * the least position in index. */
PZ_API pz_status pz_ibp_fetch(pz_threads *threads, const pz_ibp_rows *rows, const uint64_t *index,
                              size_t count, void *raw, uint64_t *bad_row);

/* What packing gives, without packing. */
typedef struct pz_ibp_stats {
    uint64_t rows;
    uint64_t raw_rows; /* stored raw */
    uint64_t groups;
    uint64_t packed_groups; /* that participate, also those of raw rows */
    uint64_t raw_bytes;
    uint64_t packed_bytes; /* of the rows, condensed; without offsets, bit map and table */
} pz_ibp_stats;

PZ_API pz_status pz_ibp_measure(pz_threads *threads, const pz_ibp_table *table, const void *raw,
                                size_t count, pz_ibp_stats *stats);

/* ---- A cache of rows ------------------------------------------------------------------------- */

/* Rows that are used again and again, in a memory that has no room for all, as that of a device.
 * It has places of the same size; in those of packed rows, which are smaller, more rows fit the
 * same memory.  The place of a row that has not been used since the last round is taken for another
 * one (the clock algorithm).  A row that is too long for a place is never in it. */
typedef struct pz_ibp_cache pz_ibp_cache;

typedef struct pz_ibp_cache_options {
    size_t size;           /* sizeof(pz_ibp_cache_options) */
    size_t budget_bytes;   /* of the places; 12 bytes for each and 4 for each row come to it */
    size_t place_bytes;    /* 0: what gives most hits where few rows are used most */
    size_t transfer_bytes; /* what is moved of a row is a multiple of this, below 2^32; 0: 1 */
    bool unpacked;         /* rows are in it as they are; place_bytes is then those of a row */
} pz_ibp_cache_options;

/* The rows, fewer than 2^32 - 1, have to live as long and must not change.  A cache belongs to one
 * thread at a time.  PZ_ERR_ARGUMENT, also for a budget below one place; PZ_ERR_MEMORY. */
PZ_API pz_status pz_ibp_cache_new(const pz_ibp_rows *rows, const pz_ibp_cache_options *options,
                                  pz_ibp_cache **cache);

/* NULL is fine. */
PZ_API void pz_ibp_cache_free(pz_ibp_cache *cache);

/* As pz_ibp_fetch(), with a look at the cache first. */
PZ_API pz_status pz_ibp_cache_fetch(pz_ibp_cache *cache, const uint64_t *index, size_t count,
                                    void *raw, uint64_t *bad_row);

typedef struct pz_ibp_cache_stats {
    size_t size; /* sizeof(pz_ibp_cache_stats) */
    uint64_t places, place_bytes;
    uint64_t lookups, hits;
    uint64_t moved_bytes; /* of rows that were not there */
} pz_ibp_cache_stats;

/* Since the cache was made.  PZ_ERR_ARGUMENT. */
PZ_API pz_status pz_ibp_cache_get_stats(const pz_ibp_cache *cache, pz_ibp_cache_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
