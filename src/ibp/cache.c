/* A cache of rows that stay packed, or are unpacked, in places of the same size; which row has to
 * make room is found by the clock algorithm. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibp/rows.h"

enum { SAMPLE_ROWS = 1024, PLACE_UNIT_BYTES = 16 };

static const uint32_t none = UINT32_MAX;

struct entry {
    uint32_t row, bytes; /* what is stored of it; all bytes of a row: raw */
    bool used;           /* since the hand went by */
};

struct pz_ibp_cache {
    pz_ibp_rows rows;
    bool unpacked;
    size_t transfer_bytes;
    uint32_t taken, hand; /* places that have been taken; the next one to be looked at */
    struct entry *entries;
    uint32_t *places; /* of each row, or none */
    uint8_t *memory;
    pz_ibp_cache_stats stats;
};

static int by_size(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Sizes of rows all over the table, sorted; rows that are wrong are left out. */
static size_t sample_sizes(const pz_ibp_rows *rows, const struct pzi_ibp_to *to,
                           size_t sizes[SAMPLE_ROWS])
{
    const uint64_t step = rows->count / SAMPLE_ROWS + 1;
    size_t count = 0;

    for (uint64_t row = 0; row < rows->count; row += step) {
        struct pzi_ibp_place place;

        if (pzi_ibp_find(rows, row, &place) == PZ_OK &&
            pzi_ibp_unpack(rows, pzi_ibp_ops(), &place, to, &sizes[count]) == PZ_OK)
            count++;
    }
    qsort(sizes, count, sizeof sizes[0], by_size);
    return count;
}

/* Of sizes of places, the best one for a budget: smaller ones have more places, larger ones are for
 * more rows.  Where look-ups are skewed, hits grow as the logarithm of the places. */
static size_t best_place(const pz_ibp_rows *rows, size_t budget_bytes, const struct pzi_ibp_to *to)
{
    const size_t row_bytes = rows->table->row_bytes;
    size_t sizes[SAMPLE_ROWS], best = row_bytes;
    const size_t count = sample_sizes(rows, to, sizes);
    double best_score = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t rounded = (sizes[i] + PLACE_UNIT_BYTES - 1) / PLACE_UNIT_BYTES;
        const size_t bytes =
            rounded * PLACE_UNIT_BYTES < row_bytes ? rounded * PLACE_UNIT_BYTES : row_bytes;
        const size_t room = budget_bytes / bytes;
        const double share = (double)(i + 1) / (double)count;
        const double places = fmin((double)room, share * (double)rows->count);
        const double score = share * log1p(places);

        if (score > best_score) {
            best = bytes;
            best_score = score;
        }
    }
    return best;
}

static pz_status place_bytes_of(const pz_ibp_rows *rows, const pz_ibp_cache_options *options,
                                size_t *bytes)
{
    uint8_t *raw;

    if (options->unpacked || options->place_bytes != 0) {
        *bytes = options->unpacked ? rows->table->row_bytes : options->place_bytes;
        return PZ_OK;
    }
    raw = malloc(rows->table->row_bytes);
    if (raw == NULL)
        return PZ_ERR_MEMORY;
    *bytes = best_place(rows, options->budget_bytes, &(struct pzi_ibp_to){raw, raw});
    free(raw);
    return PZ_OK;
}

static bool options_fit(const pz_ibp_cache_options *options)
{
    return options != NULL && options->size == sizeof *options &&
           options->transfer_bytes <= UINT32_MAX; /* so that the sum of many is right */
}

/* The cache without its memory. */
static pz_ibp_cache start_of(const pz_ibp_rows *rows, const pz_ibp_cache_options *options,
                             size_t place_bytes)
{
    const size_t places = options->budget_bytes / place_bytes;

    return (pz_ibp_cache){.rows = *rows,
                          .unpacked = options->unpacked,
                          .transfer_bytes =
                              options->transfer_bytes != 0 ? options->transfer_bytes : 1,
                          .stats = {.size = sizeof(pz_ibp_cache_stats),
                                    .places = places < rows->count ? places : rows->count,
                                    .place_bytes = place_bytes}};
}

pz_status pz_ibp_cache_new(const pz_ibp_rows *rows, const pz_ibp_cache_options *options,
                           pz_ibp_cache **cache)
{
    pz_ibp_cache *made;
    size_t place_bytes;
    pz_status status;

    if (!pzi_ibp_rows_fit(rows) || !options_fit(options) || cache == NULL || rows->count >= none)
        return PZ_ERR_ARGUMENT;
    status = place_bytes_of(rows, options, &place_bytes);
    if (status != PZ_OK)
        return status;
    if (options->budget_bytes < place_bytes || rows->count == 0)
        return PZ_ERR_ARGUMENT;
    made = malloc(sizeof *made);
    if (made == NULL)
        return PZ_ERR_MEMORY;
    *made = start_of(rows, options, place_bytes);
    made->entries = calloc((size_t)made->stats.places, sizeof *made->entries);
    made->memory = malloc((size_t)made->stats.places * place_bytes);
    made->places = malloc((size_t)rows->count * sizeof *made->places);
    if (made->entries == NULL || made->memory == NULL || made->places == NULL) {
        pz_ibp_cache_free(made);
        return PZ_ERR_MEMORY;
    }
    memset(made->places, 0xff, (size_t)rows->count * sizeof *made->places);
    *cache = made;
    return PZ_OK;
}

void pz_ibp_cache_free(pz_ibp_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->entries);
    free(cache->memory);
    free(cache->places);
    free(cache);
}

/* A place for a row: one that was never taken, or that of a row not used for a round. */
static uint32_t make_room(pz_ibp_cache *cache)
{
    uint32_t place;

    if (cache->taken < cache->stats.places)
        return cache->taken++;
    do {
        place = cache->hand;
        cache->hand = (uint32_t)((cache->hand + 1) % cache->stats.places);
        if (!cache->entries[place].used)
            break;
        cache->entries[place].used = false;
    } while (true);
    cache->places[cache->entries[place].row] = none;
    return place;
}

static uint8_t *memory_of(const pz_ibp_cache *cache, uint32_t place)
{
    return cache->memory + (size_t)place * cache->stats.place_bytes;
}

static void keep(pz_ibp_cache *cache, uint64_t row, const uint8_t *from, size_t bytes)
{
    uint32_t place;

    if (bytes > cache->stats.place_bytes)
        return;
    place = make_room(cache);
    memcpy(memory_of(cache, place), from, bytes);
    cache->entries[place] = (struct entry){(uint32_t)row, (uint32_t)bytes, false};
    cache->places[row] = place;
}

/* What was kept is right: it has been unpacked before. */
static pz_status fetch_here(pz_ibp_cache *cache, uint32_t place, const struct pzi_ibp_to *to)
{
    struct entry *const entry = &cache->entries[place];
    const struct pzi_ibp_place here = {memory_of(cache, place), entry->bytes,
                                       entry->bytes == cache->rows.table->row_bytes};
    size_t bytes;

    entry->used = true;
    cache->stats.hits++;
    return pzi_ibp_unpack(&cache->rows, pzi_ibp_ops(), &here, to, &bytes);
}

static pz_status fetch_there(pz_ibp_cache *cache, uint64_t row, const struct pzi_ibp_to *to)
{
    struct pzi_ibp_place there;
    size_t bytes;
    pz_status status = pzi_ibp_find(&cache->rows, row, &there);

    if (status == PZ_OK)
        status = pzi_ibp_unpack(&cache->rows, pzi_ibp_ops(), &there, to, &bytes);
    if (status != PZ_OK)
        return status;
    cache->stats.moved_bytes +=
        ((bytes - 1) / cache->transfer_bytes + 1) * (uint64_t)cache->transfer_bytes;
    if (cache->unpacked)
        keep(cache, row, to->raw, cache->rows.table->row_bytes);
    else
        keep(cache, row, there.at, bytes);
    return PZ_OK;
}

pz_status pz_ibp_cache_fetch(pz_ibp_cache *cache, const uint64_t *index, size_t count, void *raw,
                             uint64_t *bad_row)
{
    if (cache == NULL || (count != 0 && (index == NULL || raw == NULL)))
        return PZ_ERR_ARGUMENT;
    for (size_t i = 0; i < count; i++) {
        uint8_t *const to = (uint8_t *)raw + i * cache->rows.table->row_bytes;
        const uint32_t place = index[i] < cache->rows.count ? cache->places[index[i]] : none;
        const struct pzi_ibp_to here = {to, to};
        const pz_status status =
            place != none ? fetch_here(cache, place, &here) : fetch_there(cache, index[i], &here);

        cache->stats.lookups++;
        if (status == PZ_OK)
            continue;
        if (bad_row != NULL)
            *bad_row = index[i];
        return status;
    }
    return PZ_OK;
}

pz_status pz_ibp_cache_get_stats(const pz_ibp_cache *cache, pz_ibp_cache_stats *stats)
{
    if (cache == NULL || stats == NULL || stats->size != sizeof *stats)
        return PZ_ERR_ARGUMENT;
    *stats = cache->stats;
    return PZ_OK;
}
