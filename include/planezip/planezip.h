/* PlaneZip: lossless bit-plane compression of tensors.  This header: versions, statuses, the codec
 * of tensor streams (docs/format.md, docs/format2.md), files of tensors, and the container
 * (docs/container.md).
 * Planning and simulation: planezip/plan.h.  Swapping tensors: planezip/engine.h.  Packed rows:
 * planezip/ibp.h.  Devices: planezip/gpu.h, planezip/gpu_ibp.h.
 *
 * The codec is stateless: every pz_stream_ function may be called from any thread at any time,
 * keeps nothing between calls, allocates nothing, and never touches memory outside the buffers that
 * it is given.  Sizes of memory are size_t bytes; a ratio is raw / coded. */
#ifndef PLANEZIP_PLANEZIP_H
#define PLANEZIP_PLANEZIP_H

#include <stdbool.h>
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
    X(PZ_ERR_IO, "reading or writing a file failed, or a call of a driver")            \
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
    X(PZ_ERR_DATAFLOW, "the plan lets an operator read a value that is not there")     \
    X(PZ_ERR_CHECK, "stored data is damaged: a checksum does not match")               \
    X(PZ_ERR_MODE, "a chunk has a mode that needs exponents, and there are none")      \
    X(PZ_ERR_MASK, "a map or mask of coded symbols is not valid")                      \
    X(PZ_ERR_RANGE, "a coded number is outside its range")                             \
    X(PZ_ERR_FULL, "the storage is full")                                              \
    X(PZ_ERR_BUSY, "what is asked for is in use, or there is no room in the queue")    \
    X(PZ_ERR_CANCELLED, "the transfer was cancelled")

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
 * tensor).  In a chunk of format 2 block is 0, and bit is where the part of the payload begins that
 * is wrong or cut off. */
typedef struct pz_where {
    uint64_t chunk;
    uint32_t block;
    uint32_t bit;
} pz_where;

/* What is wrong with a file: the place (line and column for syntax; else the path of the field, or
 * tensor, segment and record; empty where there is none) and one complete sentence without a full
 * stop. */
typedef struct pz_diag {
    uint32_t line;
    uint32_t column;
    char path[128];
    char text[320];
} pz_diag;

/* ---- What to encode with ----------------------------------------------------------------------
 */

/* Stream formats: docs/format.md is the paper's, docs/format2.md our own. */
typedef enum pz_format { PZ_FORMAT_1 = 1, PZ_FORMAT_2 = 2 } pz_format;

/* Encodings.  Format 1 chooses one per block; the value is the tag of docs/format.md, "Block".
 * Format 2 chooses one per chunk: the modes E, I, D and C of docs/format2.md. */
typedef enum pz_encoding {
    PZ_RAW = 0,
    PZ_ZVC = 1,
    PZ_BX = 2,
    PZ_DBX = 3,
    PZ_ZBX = 4,
    PZ_EXPONENTS = 5,
    PZ_INTEGERS = 6,
    PZ_DIFFERENCES = 7,
    PZ_CONSTANTS = 8,
    PZ_ENCODINGS = 9
} pz_encoding;

/* Symbols, format, and the encodings that the encoder may choose from, as a set of bits
 * (1u << pz_encoding).  A decoder does not look at encodings.  Format 1: those up to PZ_ZBX, of
 * which RAW is always allowed.  Format 2 has two levels: PZ_LEVEL_NORMAL, and PZ_LEVEL_FAST, which
 * does not try differences. */
typedef struct pz_mode {
    uint32_t width_bits; /* 8, 16, 32 or 64 */
    uint32_t encodings;
    uint32_t format;        /* pz_format */
    uint32_t exponent_bits; /* format 2: of floating-point symbols, else 0; format 1: 0 */
} pz_mode;

#define PZ_LEVEL_FAST (1u << PZ_RAW | 1u << PZ_EXPONENTS | 1u << PZ_INTEGERS | 1u << PZ_CONSTANTS)
#define PZ_LEVEL_NORMAL (PZ_LEVEL_FAST | 1u << PZ_DIFFERENCES)

/* The codecs by name.  Format 1: "planezip" (all encodings), "zvc", "bpc" (DBX), "bx", "zbx";
 * format 2: "planezip2", "planezip2-fast", for integers: whoever has other symbols sets
 * exponent_bits, or asks pz_mode_of().  PZ_ERR_ARGUMENT for an unknown name or width; *mode is then
 * untouched. */
PZ_API pz_status pz_mode_named(const char *codec, unsigned width_bits, pz_mode *mode);

/* ---- Tensor streams, docs/format.md and docs/format2.md ----------------------------------------
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
 * garbage, as it does in any case behind the stream. */
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
    uint64_t blocks[PZ_ENCODINGS]; /* by canonical encoding, before raw chunks are chosen */
    uint64_t payload_bits; /* of all chunks as if none were raw; format 1: without padding */
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

/* Decodes `count` chunks from number `first` on, of a stream whose offsets pz_stream_index() has
 * given, to raw: their 4096 bytes each, fewer of the tensor's last one.  raw_bytes is the size of
 * the whole tensor.  PZ_ERR_ARGUMENT if the range or the offsets do not belong to the stream. */
PZ_API pz_status pz_stream_decode_chunks(pz_mode mode, const void *coded, size_t coded_bytes,
                                         size_t raw_bytes, const uint64_t *offsets, uint64_t first,
                                         uint64_t count, void *raw, pz_where *where);

/* ---- Threads ----------------------------------------------------------------------------------
 *
 * A pz_threads lets the functions below work on several chunks at once, with results that do not
 * depend on it.  Any number of threads may use one at the same time.  It may be used in a child
 * process after fork(), which then gets workers of its own, but not while the fork happens inside a
 * task.  A call needs less than 64 KiB of stack in each thread. */
typedef struct pz_threads pz_threads;

#define PZ_THREADS_MAX 1024

typedef struct pz_threads_options {
    size_t size;      /* sizeof (pz_threads_options) */
    unsigned threads; /* that work on a call, the calling one included; 0: as many as processors */

    /* NULL: the workers are threads of the library, which start at first use.  Else the caller's:
     * calls task(arg, i) for all i of 0 .. count-1, on any threads, in any order, and returns when
     * all calls have. */
    void (*run)(void *user, void (*task)(void *arg, size_t i), void *arg, size_t count);
    void *user;
} pz_threads_options;

/* options may be NULL for the defaults.  PZ_ERR_ARGUMENT for more than PZ_THREADS_MAX threads. */
PZ_API pz_status pz_threads_new(const pz_threads_options *options, pz_threads **threads);

/* Not while a call uses it.  NULL is fine. */
PZ_API void pz_threads_free(pz_threads *threads);

/* Threads that work on a call; 1 for NULL. */
PZ_API unsigned pz_threads_count(const pz_threads *threads);

/* As the functions without _on; NULL for threads: the calling thread alone.  The encoder needs
 * pz_stream_bound() bytes of dst to use more than one. */
PZ_API pz_status pz_stream_encode_on(pz_threads *threads, pz_mode mode, const void *raw,
                                     size_t raw_bytes, void *dst, size_t dst_bytes,
                                     size_t *coded_bytes);
PZ_API pz_status pz_stream_decode_on(pz_threads *threads, pz_mode mode, const void *coded,
                                     size_t coded_bytes, void *raw, size_t raw_bytes,
                                     pz_where *where);
PZ_API pz_status pz_stream_measure_on(pz_threads *threads, pz_mode mode, const void *raw,
                                      size_t raw_bytes, pz_stats *stats);

/* ---- Types of elements, docs/container.md, "Types" --------------------------------------------
 */

/* The values are those of the container and never change; 0 is none. */
typedef enum pz_dtype {
    PZ_DTYPE_BOOL = 1,
    PZ_DTYPE_U8 = 2,
    PZ_DTYPE_I8 = 3,
    PZ_DTYPE_U16 = 4,
    PZ_DTYPE_I16 = 5,
    PZ_DTYPE_U32 = 6,
    PZ_DTYPE_I32 = 7,
    PZ_DTYPE_U64 = 8,
    PZ_DTYPE_I64 = 9,
    PZ_DTYPE_F16 = 10,
    PZ_DTYPE_BF16 = 11,
    PZ_DTYPE_F32 = 12,
    PZ_DTYPE_F64 = 13,
    PZ_DTYPE_C64 = 14,
    PZ_DTYPE_C128 = 15,
    PZ_DTYPE_F8_E4M3 = 16,
    PZ_DTYPE_F8_E5M2 = 17,
    PZ_DTYPE_F8_E8M0 = 18,
    PZ_DTYPE_F8_E4M3FNUZ = 19,
    PZ_DTYPE_F8_E5M2FNUZ = 20,
    PZ_DTYPE_F6_E2M3 = 21,
    PZ_DTYPE_F6_E3M2 = 22,
    PZ_DTYPE_F4 = 23,
    PZ_DTYPES = 24
} pz_dtype;

/* "bf16", and the bits of an element.  NULL and 0 for other numbers. */
PZ_API const char *pz_dtype_name(pz_dtype dtype);
PZ_API unsigned pz_dtype_bits(pz_dtype dtype);

/* By its short name, by its long one ("bfloat16") or by that of safetensors ("BF16").
 * PZ_ERR_ARGUMENT for others. */
PZ_API pz_status pz_dtype_named(const char *name, pz_dtype *dtype);

/* Bytes of a tensor.  shape may be NULL for rank 0, a single element.  PZ_ERR_ARGUMENT if elements
 * or bytes are 2^63 or more, if elements smaller than a byte do not fill whole bytes, or for an
 * unknown type. */
PZ_API pz_status pz_tensor_bytes(pz_dtype dtype, uint32_t rank, const uint64_t *shape,
                                 uint64_t *bytes);

/* A map from types to symbol widths, docs/container.md, "Profiles".  Names: "native", "paper". */
typedef enum pz_profile { PZ_PROFILE_NATIVE = 0, PZ_PROFILE_PAPER = 1, PZ_PROFILES = 2 } pz_profile;

/* PZ_ERR_ARGUMENT for an unknown name; bits per symbol, 0 for an unknown type or profile. */
PZ_API pz_status pz_profile_named(const char *name, pz_profile *profile);
PZ_API unsigned pz_profile_width(pz_profile profile, pz_dtype dtype);

/* The mode of a codec (pz_mode_named) for tensors of a type.  Format 2 has its symbols from the
 * type alone, whatever the profile.  PZ_ERR_ARGUMENT for an unknown codec, profile or type. */
PZ_API pz_status pz_mode_of(const char *codec, pz_profile profile, pz_dtype dtype, pz_mode *mode);

/* ---- Files of tensors -------------------------------------------------------------------------
 *
 * The headers of .npy and .safetensors files.  Their bytes are not trusted; whoever reads a file
 * brings its first bytes, learns the size of the header, and brings the header.  A pz_diag may be
 * NULL; it is written only on an error. */

enum { PZ_NPY_START_BYTES = 12, PZ_SAFETENSORS_START_BYTES = 8, PZ_NPY_RANK_MAX = 64 };

/* From the first PZ_NPY_START_BYTES: the bytes before the data.  Versions 1, 2 and 3.
 * PZ_ERR_FORMAT, PZ_ERR_TRUNCATED. */
PZ_API pz_status pz_npy_header_bytes(const void *start, size_t start_bytes, size_t *header_bytes,
                                     pz_diag *diag);

typedef struct pz_npy {
    pz_dtype dtype;
    bool fortran_order; /* the first dimension is contiguous; bytes stay as they are */
    uint32_t rank;
    uint64_t shape[PZ_NPY_RANK_MAX];
    uint64_t data_bytes;
} pz_npy;

/* Reads a header.  Elements that NumPy itself cannot name (kinds V, M, m, as ml_dtypes writes
 * bfloat16) take the type as_dtype of the same size, which is 0 if none was told.  PZ_ERR_FORMAT
 * for what is no .npy file, for types without a pz_dtype, structures, objects and big-endian
 * numbers; PZ_ERR_SYNTAX, PZ_ERR_MEANING. */
PZ_API pz_status pz_npy_parse(const void *header, size_t header_bytes, pz_dtype as_dtype,
                              pz_npy *npy, pz_diag *diag);

/* From the first PZ_SAFETENSORS_START_BYTES: the bytes before the data, at most 100 MB.
 * PZ_ERR_FORMAT, PZ_ERR_TRUNCATED. */
PZ_API pz_status pz_safetensors_header_bytes(const void *start, size_t start_bytes,
                                             size_t *header_bytes, pz_diag *diag);

typedef struct pz_safetensors pz_safetensors;

/* Where a tensor lies: begin_bytes is counted from the end of the header. */
typedef struct pz_safetensors_entry {
    const char *name;
    pz_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;
    uint64_t begin_bytes;
    uint64_t bytes;
} pz_safetensors_entry;

/* Reads a header.  The data must be covered without gaps and overlaps.  PZ_ERR_FORMAT,
 * PZ_ERR_SYNTAX, PZ_ERR_MEANING (the name of the tensor), PZ_ERR_MEMORY.  The header may be freed
 * at once. */
PZ_API pz_status pz_safetensors_parse(const void *header, size_t header_bytes,
                                      pz_safetensors **file, pz_diag *diag);
PZ_API void pz_safetensors_free(pz_safetensors *file);

/* Number of tensors, and the tensors in the order of their data; names and shapes live as long as
 * file.  NULL past the end. */
PZ_API size_t pz_safetensors_count(const pz_safetensors *file);
PZ_API const pz_safetensors_entry *pz_safetensors_tensor(const pz_safetensors *file, size_t index);

/* Bytes of all tensors: what must follow the header. */
PZ_API uint64_t pz_safetensors_data_bytes(const pz_safetensors *file);

/* ---- Container .pz, docs/container.md ---------------------------------------------------------
 *
 * A writer or a reader belongs to one thread at a time; several readers of one file are
 * independent.  Bytes go through functions of the caller.  They may take or give less than asked
 * for and are called again then; a status other than PZ_OK ends the call that they were called from
 * and is returned.  A pz_diag may be NULL; it is written only on an error. */

/* A length that is not known yet; no segment. */
#define PZ_UNKNOWN UINT64_MAX

enum {
    PZ_SEGMENT_BYTES = 1 << 24,     /* raw bytes of a segment by default */
    PZ_SEGMENT_MAX_BYTES = 1 << 28, /* and at most */
    PZ_PAGE_BYTES = 1 << 16         /* what a random access decodes at least */
};

/* A key without zero bytes and a value of any bytes. */
typedef struct pz_metadata {
    const char *key;
    const void *value;
    uint64_t value_bytes;
} pz_metadata;

/* A tensor of a container.  The first part is for both sides; what follows is told by a reader and
 * ignored by a writer.  shape[0] may be PZ_UNKNOWN to a writer, and is so in a reader that goes
 * front to back until the tensor's end is read. */
typedef struct pz_tensor {
    size_t size; /* sizeof(pz_tensor) */
    const char *name;
    pz_dtype dtype;
    pz_mode mode;
    uint32_t rank;
    const uint64_t *shape;
    const pz_metadata *metadata;
    size_t metadata_count;

    uint64_t raw_bytes;    /* PZ_UNKNOWN as long as the shape is */
    uint64_t stream_bytes; /* its streams; this and what follows: PZ_UNKNOWN before the end */
    uint64_t stored_bytes; /* all its records, streams included */
    uint64_t segments;
    uint64_t chunks;
    uint64_t raw_chunks;
    uint64_t blocks[PZ_ENCODINGS]; /* canonical winners, as in pz_stats */
} pz_tensor;

typedef struct pz_writer pz_writer;

typedef struct pz_writer_options {
    size_t size; /* sizeof(pz_writer_options) */
    /* Takes at least one of the bytes, *done of them. */
    pz_status (*write)(void *user, const void *data, size_t bytes, size_t *done);
    void *user;
    uint64_t segment_bytes; /* 0: PZ_SEGMENT_BYTES; a multiple of PZ_CHUNK_BYTES */
    pz_threads *threads; /* that encode a segment, outliving the writer; NULL: the caller alone */
} pz_writer_options;

/* A writer: metadata of the file, then for each tensor begin, data in pieces of any size, end; then
 * finish, which writes the index.  Calls in another order are PZ_ERR_ARGUMENT.  After an error
 * every call returns it again.  Holds one segment and the index in memory. */
PZ_API pz_status pz_writer_new(const pz_writer_options *options, pz_writer **writer);
PZ_API void pz_writer_free(pz_writer *writer);
PZ_API pz_status pz_writer_metadata(pz_writer *writer, const pz_metadata *metadata, size_t count);

/* PZ_ERR_ARGUMENT for a name that is missing, an unknown type or mode, or a shape that
 * pz_tensor_bytes() refuses; the writer can go on then.  Nothing of tensor is used after the call.
 */
PZ_API pz_status pz_writer_begin(pz_writer *writer, const pz_tensor *tensor);
PZ_API pz_status pz_writer_data(pz_writer *writer, const void *data, size_t bytes);

/* PZ_ERR_ARGUMENT if the data does not have the size of the shape, or is no whole number of rows
 * where the length was not known. */
PZ_API pz_status pz_writer_end(pz_writer *writer);
PZ_API pz_status pz_writer_finish(pz_writer *writer);

typedef struct pz_reader pz_reader;

typedef struct pz_reader_options {
    size_t size; /* sizeof(pz_reader_options) */
    /* One of these two: bytes in order, for a reader that goes front to back, or bytes at any place
     * of a file of file_bytes, for random access.  *got is 0 at the end of the file. */
    pz_status (*read)(void *user, void *to, size_t bytes, size_t *got);
    pz_status (*read_at)(void *user, uint64_t from, void *to, size_t bytes, size_t *got);
    void *user;
    uint64_t file_bytes;
    bool check_pages;    /* front to back: also the checks that are for random access */
    bool trust_index;    /* random access: do without the heads of segments, which may be damaged */
    pz_threads *threads; /* that decode a segment, outliving the reader; NULL: the caller alone */
} pz_reader_options;

/* Opens a container: reads its header and metadata, and for random access the index. */
PZ_API pz_status pz_reader_new(const pz_reader_options *options, pz_reader **reader, pz_diag *diag);
PZ_API void pz_reader_free(pz_reader *reader);

/* The metadata of the file, *count entries that live as long as the reader. */
PZ_API const pz_metadata *pz_reader_metadata(const pz_reader *reader, size_t *count);

/* Front to back: goes to the next tensor, past what is left of this one; *tensor lives until the
 * next call and is NULL at the end, after index and footer were checked. */
PZ_API pz_status pz_reader_next(pz_reader *reader, const pz_tensor **tensor, pz_diag *diag);

/* Front to back: the next segment of the tensor, decoded and checked; *raw lives until the next
 * call.  *bytes is 0 at the tensor's end, which makes *tensor complete.  If an error concerns the
 * content of the segment alone, *bytes is its size and *raw holds its pages that are whole, and
 * zeros for those that are not, pz_reader_lost() bytes; the next call goes on behind it.  After any
 * other error *bytes is 0, and every call returns it again. */
PZ_API pz_status pz_reader_segment(pz_reader *reader, const void **raw, size_t *bytes,
                                   pz_diag *diag);
PZ_API uint64_t pz_reader_lost(const pz_reader *reader);

/* Random access: number of tensors, each of them (NULL past the end; lives as long as the reader),
 * and the first one of a name (PZ_UNKNOWN if there is none). */
PZ_API uint64_t pz_reader_count(const pz_reader *reader);
PZ_API const pz_tensor *pz_reader_tensor(const pz_reader *reader, uint64_t index);
PZ_API uint64_t pz_reader_find(const pz_reader *reader, const char *name);

/* Random access: bytes [from, from + bytes) of a tensor into to.  Reads and decodes the pages that
 * hold them; everything returned is checked.  PZ_ERR_ARGUMENT past the tensor's end. */
PZ_API pz_status pz_reader_read(pz_reader *reader, uint64_t index, uint64_t from, size_t bytes,
                                void *to, pz_diag *diag);

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
