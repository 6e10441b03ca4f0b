/* Tensor streams on several threads.  The threads take parts, some consecutive chunks, in order.
 * Where a part's payloads begin depends on the sizes of those before: the encoder writes each part
 * where it would stand if none had shrunk, and whoever finishes one moves those down whose turn it
 * is.  So no thread has to wait for another that the system has put to sleep. */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/threads.h"
#include "codec/format.h"
#include "codec/stream.h"

/* Small enough to stay in a cache until it is moved, large enough to make little of that. */
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

/* Parts that may be finished before the one whose turn it is. */
enum { WINDOW = 1024 };

struct encoding {
    struct pzi_tensor tensor;
    uint64_t chunks;
    uint8_t *dst;
    uint8_t *payloads;              /* behind the headers, with room for all of the input */
    atomic_size_t taken;            /* parts that somebody has taken */
    atomic_flag moving;             /* locks `end` */
    size_t end;                     /* of the payloads that are in their place */
    atomic_size_t moved;            /* parts of which that is true */
    _Atomic uint32_t bytes[WINDOW]; /* of part i at i % WINDOW; 0: not finished */
};

/* Moves the parts down whose turn it is. */
static void move_finished(struct encoding *encoding)
{
    size_t part = atomic_load(&encoding->moved);
    uint32_t bytes;

    while ((bytes = atomic_load(&encoding->bytes[part % WINDOW])) != 0) {
        memmove(encoding->payloads + encoding->end, encoding->payloads + part * PART_BYTES, bytes);
        encoding->end += bytes;
        atomic_store(&encoding->bytes[part % WINDOW], 0);
        atomic_store(&encoding->moved, ++part);
    }
}

static bool is_next_finished(struct encoding *encoding)
{
    return atomic_load(&encoding->bytes[atomic_load(&encoding->moved) % WINDOW]) != 0;
}

/* If another thread is at it, it will see what has been finished meanwhile. */
static void move_if_free(struct encoding *encoding)
{
    while (is_next_finished(encoding) && !atomic_flag_test_and_set(&encoding->moving)) {
        move_finished(encoding);
        atomic_flag_clear(&encoding->moving);
    }
}

static void encode_parts(void *arg, size_t i)
{
    struct encoding *const encoding = arg;
    size_t part;

    (void)i;
    while ((part = atomic_fetch_add(&encoding->taken, 1)) * (uint64_t)PART_CHUNKS <
           encoding->chunks) {
        const uint64_t first = part * (uint64_t)PART_CHUNKS;
        const size_t from = part * PART_BYTES, left = encoding->tensor.raw_bytes - from;
        size_t bytes = 0;

        while (part - atomic_load(&encoding->moved) >= WINDOW) {
            sched_yield();
            move_if_free(encoding);
        }
        /* Never larger than the input, so there is space. */
        pzi_encode_chunks(&encoding->tensor, first, end_of_part(first, encoding->chunks),
                          encoding->dst, encoding->payloads + from,
                          left < PART_BYTES ? left : PART_BYTES, &bytes);
        atomic_store(&encoding->bytes[part % WINDOW], (uint32_t)bytes);
        move_if_free(encoding);
    }
}

static pz_status encode_on(pz_threads *threads, const struct pzi_tensor *tensor, size_t count,
                           void *dst, size_t headers_bytes, size_t *coded_bytes)
{
    struct encoding encoding = {.tensor = *tensor,
                                .chunks = pz_stream_chunks(tensor->raw_bytes),
                                .dst = dst,
                                .payloads = (uint8_t *)dst + headers_bytes,
                                .moving = ATOMIC_FLAG_INIT};

    pzi_run(threads, encode_parts, &encoding, count);
    *coded_bytes = headers_bytes + encoding.end;
    return PZ_OK;
}

pz_status pz_stream_encode_on(pz_threads *threads, pz_mode mode, const void *raw, size_t raw_bytes,
                              void *dst, size_t dst_bytes, size_t *coded_bytes)
{
    const uint64_t chunks = pz_stream_chunks(raw_bytes);
    const size_t headers_bytes = (size_t)(PZI_HEADER_BYTES * chunks);
    const size_t count = useful_threads(threads, chunks);
    struct pzi_tensor tensor;
    size_t payload_bytes = 0;
    pz_status status = pzi_tensor_of(mode, raw, raw_bytes, &tensor);

    if (status != PZ_OK || coded_bytes == NULL || (dst == NULL && dst_bytes != 0))
        return PZ_ERR_ARGUMENT;
    if (dst_bytes < headers_bytes)
        return PZ_ERR_SPACE;
    if (count > 1 && dst_bytes - headers_bytes >= raw_bytes)
        return encode_on(threads, &tensor, count, dst, headers_bytes, coded_bytes);
    if (raw_bytes != 0)
        status = pzi_encode_chunks(&tensor, 0, chunks, dst, (uint8_t *)dst + headers_bytes,
                                   dst_bytes - headers_bytes, &payload_bytes);
    if (status == PZ_OK)
        *coded_bytes = headers_bytes + payload_bytes;
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
