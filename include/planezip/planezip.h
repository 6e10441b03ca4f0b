/* PlaneZip: lossless bit-plane compression of tensors.  This header: versions, statuses and the
 * codec of tensor streams (docs/format.md).  Planning and simulation: planezip/plan.h.
 *
 * The codec is stateless: every function here may be called from any thread at any time, keeps
 * nothing between calls, allocates nothing, and never touches memory outside the buffers that it
 * is given.  Sizes of memory are size_t bytes; a ratio is raw / coded. */
#ifndef PLANEZIP_PLANEZIP_H
#define PLANEZIP_PLANEZIP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PZ_API __attribute__((visibility("default")))
#else
#define PZ_API
#endif

/* The one place where the version stands; CMake reads it from here. */
#define PZ_VERSION_MAJOR 0
#define PZ_VERSION_MINOR 1
#define PZ_VERSION_PATCH 0

/* "0.1.0" of the library that is linked, for comparison with the header's. */
PZ_API const char *pz_version(void);

/* Every status: name, and the sentence that pz_status_text() gives.  0 is success. */
#define PZ_STATUSES(X)                                                                 \
    X(PZ_OK, "success")                                                                \
    X(PZ_ERR_ARGUMENT, "an argument is outside what the function allows")              \
    X(PZ_ERR_SPACE, "the output buffer is too small")                                  \
    X(PZ_ERR_MEMORY, "out of memory")                                                  \
    X(PZ_ERR_IO, "reading or writing a file failed")                                   \
    X(PZ_ERR_TRUNCATED, "the stream ends before its data is complete")                 \
    X(PZ_ERR_TRAILING, "there are bytes after the last chunk")                         \
    X(PZ_ERR_CHUNK_SIZE, "a chunk header is larger than the raw chunk")                \
    X(PZ_ERR_CHUNK_END, "a chunk does not use exactly the bytes that its header says") \
    X(PZ_ERR_TAG, "a block has a reserved tag")                                        \
    X(PZ_ERR_ZERO_SYMBOL, "a symbol that the mask calls non-zero is zero")             \
    X(PZ_ERR_DELTA, "a delta leads outside the range of a symbol")                     \
    X(PZ_ERR_RUN, "a run of zero planes passes the last plane")                        \
    X(PZ_ERR_POSITION, "a position lies outside its plane")                            \
    X(PZ_ERR_ZERO_PLANE, "a code for a non-zero plane describes a zero plane")         \
    X(PZ_ERR_PADDING, "padding is not zero")                                           \
    X(PZ_ERR_SYNTAX, "the file is not valid JSON")                                     \
    X(PZ_ERR_FORMAT, "the file is not of the expected kind or version")                \
    X(PZ_ERR_MEANING, "a field of the file is missing, out of range or contradictory") \
    X(PZ_ERR_MISMATCH, "files that belong together do not match")                      \
    X(PZ_ERR_INFEASIBLE, "no plan fits the memory budget")                             \
    X(PZ_ERR_DATAFLOW, "the plan lets an operator read a value that is not there")

typedef enum pz_status {
#define PZ_STATUS_ENUM(name, text) name,
    PZ_STATUSES(PZ_STATUS_ENUM)
#undef PZ_STATUS_ENUM
} pz_status;

/* "PZ_ERR_TAG" and its sentence.  Never NULL; "PZ_?" and "unknown status" for other numbers. */
PZ_API const char *pz_status_name(pz_status status);
PZ_API const char *pz_status_text(pz_status status);

/* Where in a stream an error was found.  chunk counts from 0; it is the number of chunks for bytes
 * after the last one.  For errors of headers and lengths block and bit are 0.  Inside a coded chunk
 * block counts within the chunk (it is the number of blocks for what follows the last one), and bit
 * within the payload: where the code or field begins that is wrong or cut off, or where the block
 * ends if only the whole of it shows the error (PZ_ERR_DELTA, a zero symbol in ZBX, padding of the
 * tensor). */
typedef struct pz_where {
    uint64_t chunk;
    uint32_t block;
    uint32_t bit;
} pz_where;

/* ---- What to encode with ----------------------------------------------------------------------
 */

/* Encodings of a block; the value is the tag of docs/format.md, "Block". */
typedef enum pz_encoding {
    PZ_RAW = 0,
    PZ_ZVC = 1,
    PZ_BX = 2,
    PZ_DBX = 3,
    PZ_ZBX = 4,
    PZ_ENCODINGS = 5
} pz_encoding;

/* A symbol width and the encodings that the encoder may choose from, as a set of bits
 * (1u << pz_encoding).  RAW is always allowed.  A decoder looks at width_bits only. */
typedef struct pz_mode {
    uint32_t width_bits; /* 8, 16, 32 or 64 */
    uint32_t encodings;
} pz_mode;

/* The codecs by name: "planezip" (all encodings), "zvc", "bpc" (DBX), "bx", "zbx".
 * PZ_ERR_ARGUMENT for an unknown name or width; *mode is then untouched. */
PZ_API pz_status pz_mode_named(const char *codec, unsigned width_bits, pz_mode *mode);

/* ---- Tensor streams, docs/format.md -----------------------------------------------------------
 */

#define PZ_BLOCK_BYTES 128
#define PZ_CHUNK_BLOCKS 32
#define PZ_CHUNK_BYTES 4096

/* The largest stream of raw_bytes of input: raw_bytes + 2 per started 4096 bytes, exact for
 * incompressible input.  *bound_bytes is the result; PZ_ERR_ARGUMENT if it does not fit size_t. */
PZ_API pz_status pz_stream_bound(size_t raw_bytes, size_t *bound_bytes);

/* Encodes raw_bytes from raw into dst (capacity dst_bytes), canonically: the same input and mode
 * give the same bytes everywhere.  *coded_bytes receives the size.  raw and dst must not overlap.
 * PZ_ERR_SPACE if the stream does not fit dst (never with pz_stream_bound() bytes); dst then holds
 * garbage. */
PZ_API pz_status pz_stream_encode(pz_mode mode, const void *raw, size_t raw_bytes, void *dst,
                                  size_t dst_bytes, size_t *coded_bytes);

/* Decodes a stream of exactly coded_bytes into exactly raw_bytes.  Accepts every valid stream,
 * canonical or not, and rejects everything else; on an error the content of raw is undefined.
 * where may be NULL; it is written only on an error. */
PZ_API pz_status pz_stream_decode(pz_mode mode, const void *coded, size_t coded_bytes, void *raw,
                                  size_t raw_bytes, pz_where *where);

/* What an encoder would write, computed by the size model without writing anything. */
typedef struct pz_stats {
    uint64_t raw_bytes;
    uint64_t coded_bytes; /* equals *coded_bytes of pz_stream_encode() */
    uint64_t chunks;
    uint64_t raw_chunks;           /* stored raw because coding would not shrink them */
    uint64_t blocks[PZ_ENCODINGS]; /* canonical winner per block, before the chunk's choice */
    uint64_t payload_bits;         /* block streams with tags, before padding and raw chunks */
} pz_stats;

PZ_API pz_status pz_stream_measure(pz_mode mode, const void *raw, size_t raw_bytes,
                                   pz_stats *stats);

/* Number of chunks of raw_bytes of input. */
PZ_API uint64_t pz_stream_chunks(size_t raw_bytes);

/* The prefix sum over the chunk headers: offsets[i] is where the payload of chunk i begins, counted
 * from the start of the stream; offsets[chunks] is the stream's end.  offsets holds
 * pz_stream_chunks(raw_bytes) + 1 entries.  Checks the headers and the stream's length only. */
PZ_API pz_status pz_stream_index(const void *coded, size_t coded_bytes, size_t raw_bytes,
                                 uint64_t *offsets, pz_where *where);

/* ---- Instruction sets -------------------------------------------------------------------------
 */

/* The codec's implementations that this CPU can run, slowest first.  All give the same bytes.
 * The fastest is chosen at first use; the environment variable PZ_ISA=name forces one.  A name that
 * this CPU or build does not have is ignored, and pz_isa_active() tells what runs instead. */
PZ_API unsigned pz_isa_count(void);
PZ_API const char *pz_isa_name(unsigned index); /* NULL past the end */
PZ_API const char *pz_isa_active(void);
PZ_API pz_status pz_isa_select(const char *name); /* for tests; PZ_ERR_ARGUMENT if not available */

#ifdef __cplusplus
}
#endif
#endif
