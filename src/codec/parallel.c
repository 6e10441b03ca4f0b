/* Tensor streams on several threads.  The threads take parts, some consecutive chunks, in order.  A
 * part is encoded into the thread's own memory, as its place in the stream depends on the sizes of
 * those before; threads that are faster wait.  That is safe, since parts are taken by threads that
 * run: the first part that is not finished is always being worked on. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/threads.h"
#include "codec/format.h"
#include "codec/stream.h"

/* Small enough for the stack of any thread, large enough to make little of the hand-over. */
enum { PART_CHUNKS = 8, PART_BYTES = PART_CHUNKS * PZ_CHUNK_BYTES };

static uint64_t end_of_part(uint64_t first, uint64_t chunks)
{
    return chunks - first < PART_CHUNKS ? chunks : first + PART_CHUNKS;
}

static size_t useful_threads(pz_threads *threads, uint64_t chunks)
{
    const uint64_t parts = chunks / PART_CHUNKS + (chunks % PART_CHUNKS != 0);
    const unsigned count = pz_threads_count(threads);

    return parts < count ? (size_t)parts : count;
}

/* ---- Encoder -------------------------------------------------------------------------------- */

struct encoding {
    struct pzi_tensor tensor;
    uint64_t chunks;
    uint8_t *dst;
    size_t dst_bytes;
    atomic_size_t taken;  /* chunks before the next part that nobody has taken */
    atomic_size_t placed; /* chunks before the first part that has no place yet */
    size_t end;           /* of the stream so far; for the thread whose part is next */
    atomic_bool full;
};

/* The place of a part, in its turn; NULL if there is none. */
static uint8_t *place(struct encoding *encoding, uint64_t first, uint64_t end, size_t bytes)
{
    uint8_t *to = NULL;

    while (atomic_load_explicit(&encoding->placed, memory_order_acquire) != first)
        sched_yield();
    if (bytes <= encoding->dst_bytes - encoding->end) {
        to = encoding->dst + encoding->end;
        encoding->end += bytes;
    } else {
        atomic_store(&encoding->full, true);
    }
    atomic_store_explicit(&encoding->placed, end, memory_order_release);
    return to;
}

static void encode_parts(void *arg, size_t i)
{
    struct encoding *const encoding = arg;
    uint8_t part[PART_BYTES];
    uint64_t first;

    (void)i;
    while ((first = atomic_fetch_add(&encoding->taken, PART_CHUNKS)) < encoding->chunks) {
        const uint64_t end = end_of_part(first, encoding->chunks);
        size_t bytes = 0;
        uint8_t *to;

        /* Never larger than the input. */
        if (!atomic_load(&encoding->full))
            pzi_encode_chunks(&encoding->tensor, first, end, encoding->dst, part, sizeof part,
                              &bytes);
        to = place(encoding, first, end, bytes);
        if (to != NULL)
            memcpy(to, part, bytes);
    }
}

pz_status pz_stream_encode_on(pz_threads *threads, pz_mode mode, const void *raw, size_t raw_bytes,
                              void *dst, size_t dst_bytes, size_t *coded_bytes)
{
    struct encoding encoding = {.chunks = pz_stream_chunks(raw_bytes), .dst = dst};
    const size_t headers_bytes = (size_t)(PZI_HEADER_BYTES * encoding.chunks);
    const size_t count = useful_threads(threads, encoding.chunks);
    pz_status status = pzi_tensor_of(mode, raw, raw_bytes, &encoding.tensor);

    if (status != PZ_OK || coded_bytes == NULL || (dst == NULL && dst_bytes != 0))
        return PZ_ERR_ARGUMENT;
    if (dst_bytes < headers_bytes)
        return PZ_ERR_SPACE;
    if (raw_bytes == 0) {
        *coded_bytes = 0;
        return PZ_OK;
    }
    if (count == 1) {
        status = pzi_encode_chunks(&encoding.tensor, 0, encoding.chunks, dst,
                                   encoding.dst + headers_bytes, dst_bytes - headers_bytes,
                                   &encoding.end);
        encoding.end += headers_bytes;
    } else {
        encoding.dst_bytes = dst_bytes;
        encoding.end = headers_bytes;
        pzi_run(threads, encode_parts, &encoding, count);
        status = atomic_load(&encoding.full) ? PZ_ERR_SPACE : PZ_OK;
    }
    if (status == PZ_OK)
        *coded_bytes = encoding.end;
    return status;
}

/* ---- Size model ----------------------------------------------------------------------------- */

struct measuring {
    struct pzi_tensor tensor;
    uint64_t chunks;
    atomic_size_t taken;
    atomic_flag adding;
    pz_stats *stats;
};

static void add(struct measuring *measuring, const pz_stats *part)
{
    pz_stats *const all = measuring->stats;

    while (atomic_flag_test_and_set(&measuring->adding))
        sched_yield();
    all->coded_bytes += part->coded_bytes;
    all->chunks += part->chunks;
    all->raw_chunks += part->raw_chunks;
    for (unsigned tag = 0; tag < PZ_ENCODINGS; tag++)
        all->blocks[tag] += part->blocks[tag];
    all->payload_bits += part->payload_bits;
    atomic_flag_clear(&measuring->adding);
}

static void measure_parts(void *arg, size_t i)
{
    struct measuring *const measuring = arg;
    pz_stats stats = {0};
    uint64_t first;

    (void)i;
    while ((first = atomic_fetch_add(&measuring->taken, PART_CHUNKS)) < measuring->chunks)
        pzi_measure_chunks(&measuring->tensor, first, end_of_part(first, measuring->chunks),
                           &stats);
    add(measuring, &stats);
}

pz_status pz_stream_measure_on(pz_threads *threads, pz_mode mode, const void *raw, size_t raw_bytes,
                               pz_stats *stats)
{
    struct measuring measuring = {
        .chunks = pz_stream_chunks(raw_bytes), .adding = ATOMIC_FLAG_INIT, .stats = stats};

    if (stats == NULL || pzi_tensor_of(mode, raw, raw_bytes, &measuring.tensor) != PZ_OK)
        return PZ_ERR_ARGUMENT;
    *stats = (pz_stats){.raw_bytes = raw_bytes};
    pzi_run(threads, measure_parts, &measuring, useful_threads(threads, measuring.chunks));
    return PZ_OK;
}

/* ---- Decoder -------------------------------------------------------------------------------- */

struct decoding {
    struct pzi_coded stream;
    uint8_t *raw;
    uint64_t chunks;
    atomic_flag taking; /* locks all below */
    uint64_t taken;
    size_t position; /* of the payload of chunk number `taken` */
    pz_status status;
    pz_where where;
};

static void lock(struct decoding *decoding)
{
    while (atomic_flag_test_and_set_explicit(&decoding->taking, memory_order_acquire))
        sched_yield();
}

static void unlock(struct decoding *decoding)
{
    atomic_flag_clear_explicit(&decoding->taking, memory_order_release);
}

/* The next part: true if there is one.  None is taken after an error: all parts before the first
 * error have been taken then, so that the first one is found. */
static bool take(struct decoding *decoding, uint64_t *first, uint64_t *end, size_t *position)
{
    bool is_one;

    lock(decoding);
    is_one = decoding->status == PZ_OK && decoding->taken < decoding->chunks;
    if (is_one) {
        *first = decoding->taken;
        *end = decoding->taken = end_of_part(*first, decoding->chunks);
        *position = decoding->position;
        decoding->position = pzi_skip_chunks(&decoding->stream, *first, *end, *position);
    }
    unlock(decoding);
    return is_one;
}

static void decode_parts(void *arg, size_t i)
{
    struct decoding *const decoding = arg;
    uint64_t first, end;
    size_t position;

    (void)i;
    while (take(decoding, &first, &end, &position)) {
        pz_where where;
        const pz_status status =
            pzi_decode_chunks(&decoding->stream, first, end, position,
                              decoding->raw + (size_t)first * PZ_CHUNK_BYTES, &where);

        if (status == PZ_OK)
            continue;
        lock(decoding);
        if (decoding->status == PZ_OK || where.chunk < decoding->where.chunk) {
            decoding->status = status;
            decoding->where = where;
        }
        unlock(decoding);
    }
}

pz_status pz_stream_decode_on(pz_threads *threads, pz_mode mode, const void *coded,
                              size_t coded_bytes, void *raw, size_t raw_bytes, pz_where *where)
{
    struct decoding decoding = {
        .raw = raw, .chunks = pz_stream_chunks(raw_bytes), .taking = ATOMIC_FLAG_INIT};
    const size_t headers_bytes = (size_t)(PZI_HEADER_BYTES * decoding.chunks);
    const size_t count = useful_threads(threads, decoding.chunks);
    pz_where unwanted;
    pz_status status;

    if (where == NULL)
        where = &unwanted;
    status = pzi_coded_of(mode, coded, coded_bytes, raw, raw_bytes, &decoding.stream, where);
    if (status != PZ_OK || raw_bytes == 0)
        return status;
    if (count == 1)
        return pzi_decode_chunks(&decoding.stream, 0, decoding.chunks, headers_bytes, raw, where);
    decoding.position = headers_bytes;
    pzi_run(threads, decode_parts, &decoding, count);
    if (decoding.status != PZ_OK)
        *where = decoding.where;
    return decoding.status;
}
