/* Records as bytes: see record.h. */
#include "container/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/diag.h"
#include "base/le.h"
#include "codec/format.h"

enum { CONTAINER_VERSION = 1 };

static const uint8_t magic[PZI_MAGIC_BYTES] = {0x89, 'P', 'Z', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t end_magic[PZI_MAGIC_BYTES] = {'\n', 0x1a, '\n', '\r', 'T', 'Z', 'P', 0x89};

/* ---- Header, heads, footer ---- */

void pzi_file_header_store(uint8_t to[PZI_FILE_HEADER_BYTES])
{
    memset(to, 0, PZI_FILE_HEADER_BYTES);
    memcpy(to, magic, sizeof magic);
    pzi_store_le16(to + PZI_MAGIC_BYTES, CONTAINER_VERSION);
}

pz_status pzi_file_header_check(const uint8_t *from, size_t bytes, pz_diag *diag)
{
    static const uint8_t zeros[PZI_FILE_HEADER_BYTES - PZI_MAGIC_BYTES - 2];
    unsigned version;

    if (bytes < sizeof magic || memcmp(from, magic, sizeof magic) != 0)
        return pzi_fail(diag, PZ_ERR_FORMAT, "it is no .pz file");
    if (bytes < PZI_FILE_HEADER_BYTES)
        return pzi_fail_at(diag, PZ_ERR_TRUNCATED, "header", "the file ends within its header");
    version = pzi_load_le16(from + PZI_MAGIC_BYTES);
    if (version != CONTAINER_VERSION)
        return pzi_fail(diag, PZ_ERR_FORMAT, "it has version %u, known is version %d", version,
                        CONTAINER_VERSION);
    if (memcmp(from + PZI_MAGIC_BYTES + 2, zeros, sizeof zeros) != 0)
        return pzi_fail(diag, PZ_ERR_FORMAT, "reserved bytes of the header are not zero");
    return PZ_OK;
}

void pzi_head_store(const struct pzi_head *head, uint8_t to[PZI_HEAD_BYTES])
{
    pzi_store_le32(to, head->kind);
    pzi_store_le32(to + 4, head->tensor);
    pzi_store_le64(to + 8, head->segment);
    pzi_store_le64(to + 16, head->raw_bytes);
    pzi_store_le64(to + 24, head->body_bytes);
    pzi_store_le64(to + 32, head->check);
    pzi_store_le64(to + 40, XXH3_64bits(to, 40));
}

bool pzi_head_load(const uint8_t from[PZI_HEAD_BYTES], struct pzi_head *head)
{
    head->kind = pzi_load_le32(from);
    head->tensor = pzi_load_le32(from + 4);
    head->segment = pzi_load_le64(from + 8);
    head->raw_bytes = pzi_load_le64(from + 16);
    head->body_bytes = pzi_load_le64(from + 24);
    head->check = pzi_load_le64(from + 32);
    return pzi_load_le64(from + 40) == XXH3_64bits(from, 40);
}

void pzi_footer_store(uint64_t index_at, uint64_t file_bytes, uint8_t to[PZI_FOOTER_BYTES])
{
    pzi_store_le64(to, index_at);
    pzi_store_le64(to + 8, file_bytes);
    pzi_store_le64(to + 16, XXH3_64bits(to, 16));
    memcpy(to + 24, end_magic, sizeof end_magic);
}

pz_status pzi_footer_load(const uint8_t from[PZI_FOOTER_BYTES], uint64_t *index_at,
                          uint64_t *file_bytes, pz_diag *diag)
{
    if (memcmp(from + 24, end_magic, sizeof end_magic) != 0)
        return pzi_fail_at(diag, PZ_ERR_TRUNCATED, "footer",
                           "the file does not end with its footer: it is unfinished, was cut off, "
                           "or has other bytes behind it");
    if (pzi_load_le64(from + 16) != XXH3_64bits(from, 16))
        return pzi_fail_at(diag, PZ_ERR_CHECK, "footer", "its checksum does not match");
    *index_at = pzi_load_le64(from);
    *file_bytes = pzi_load_le64(from + 8);
    return PZ_OK;
}

/* ---- Metadata ---- */

bool pzi_metadata_store(const pz_metadata *entries, size_t count, struct pzi_bytes *to)
{
    for (size_t i = 0; i < count; i++) {
        const size_t key_bytes = strlen(entries[i].key);

        if (entries[i].value_bytes > SIZE_MAX || !pzi_bytes_append_u32(to, (uint32_t)key_bytes) ||
            !pzi_bytes_append_u64(to, entries[i].value_bytes) ||
            !pzi_bytes_append(to, entries[i].key, key_bytes) ||
            !pzi_bytes_append(to, entries[i].value, (size_t)entries[i].value_bytes))
            return false;
    }
    return true;
}

/* One entry.  Key and value are copied to *memory, the key with a zero behind it. */
static bool load_entry(struct pzi_cursor *from, pz_metadata *entry, uint8_t **memory)
{
    const uint64_t key_bytes = pzi_take_u32(from);
    const uint64_t value_bytes = pzi_take_u64(from);
    const uint8_t *const key = pzi_take(from, key_bytes);
    const uint8_t *const value = pzi_take(from, value_bytes);

    if (from->failed || key_bytes == 0 || memchr(key, 0, (size_t)key_bytes) != NULL)
        return false;
    memcpy(*memory, key, (size_t)key_bytes);
    (*memory)[key_bytes] = 0;
    entry->key = (const char *)*memory;
    *memory += key_bytes + 1;
    memcpy(*memory, value, (size_t)value_bytes);
    entry->value = *memory;
    entry->value_bytes = value_bytes;
    *memory += value_bytes;
    return true;
}

pz_status pzi_metadata_load(struct pzi_cursor *from, uint64_t count, struct pzi_metadata *metadata)
{
    uint8_t *next;

    *metadata = (struct pzi_metadata){0};
    if (count > from->left / PZI_ENTRY_BYTES)
        return PZ_ERR_MEANING;
    /* An entry is longer than the zero behind its key, so this is enough; one more, for none. */
    metadata->memory = next = malloc(from->left + 1);
    metadata->entries = calloc((size_t)count + 1, sizeof *metadata->entries);
    if (metadata->memory == NULL || metadata->entries == NULL) {
        pzi_metadata_release(metadata);
        return PZ_ERR_MEMORY;
    }
    while (metadata->count < count && load_entry(from, &metadata->entries[metadata->count], &next))
        metadata->count++;
    if (metadata->count == count && from->left == 0)
        return PZ_OK;
    pzi_metadata_release(metadata);
    return PZ_ERR_MEANING;
}

void pzi_metadata_release(struct pzi_metadata *metadata)
{
    free(metadata->entries);
    free(metadata->memory);
    *metadata = (struct pzi_metadata){0};
}

/* ---- TENS ---- */

bool pzi_tens_store(const pz_tensor *tensor, uint64_t segment_bytes, struct pzi_bytes *to)
{
    const size_t name_bytes = strlen(tensor->name);
    const uint32_t fields[] = {(uint32_t)tensor->dtype,
                               tensor->mode.format,
                               tensor->mode.width_bits,
                               tensor->mode.exponent_bits,
                               tensor->mode.encodings | 1u << PZ_RAW,
                               tensor->rank};
    bool stored = true;

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        stored = stored && pzi_bytes_append_u32(to, fields[i]);
    stored = stored && pzi_bytes_append_u64(to, segment_bytes) &&
             pzi_bytes_append_u32(to, (uint32_t)name_bytes) &&
             pzi_bytes_append_u32(to, (uint32_t)tensor->metadata_count);
    for (uint32_t i = 0; i < tensor->rank; i++)
        stored = stored && pzi_bytes_append_u64(to, tensor->shape[i]);
    return stored && pzi_bytes_append(to, tensor->name, name_bytes) &&
           pzi_metadata_store(tensor->metadata, tensor->metadata_count, to);
}

/* The fields in front of the shape; how many dimensions, bytes of name and entries follow. */
struct tens_fields {
    uint32_t name_bytes, entries;
};

static struct tens_fields take_fields(struct pzi_cursor *from, struct pzi_tensor *tensor)
{
    struct tens_fields fields;

    tensor->view.dtype = (pz_dtype)pzi_take_u32(from);
    tensor->view.mode.format = pzi_take_u32(from);
    tensor->view.mode.width_bits = pzi_take_u32(from);
    tensor->view.mode.exponent_bits = pzi_take_u32(from);
    tensor->view.mode.encodings = pzi_take_u32(from);
    tensor->view.rank = pzi_take_u32(from);
    tensor->segment_bytes = pzi_take_u64(from);
    fields.name_bytes = pzi_take_u32(from);
    fields.entries = pzi_take_u32(from);
    return fields;
}

static pz_status check_fields(const struct pzi_tensor *tensor, const char *path, pz_diag *diag)
{
    const pz_mode mode = tensor->view.mode;

    if (mode.format != PZ_FORMAT_1 && mode.format != PZ_FORMAT_2)
        return pzi_fail_at(diag, PZ_ERR_FORMAT, path,
                           "its streams have format %" PRIu32 ", known are the formats 1 and 2; "
                           "use a newer version of planezip",
                           mode.format);
    if (pz_dtype_bits(tensor->view.dtype) == 0)
        return pzi_fail_at(diag, PZ_ERR_FORMAT, path,
                           "its type has the number %u, which is not known; use a newer version "
                           "of planezip",
                           (unsigned)tensor->view.dtype);
    if (!pzi_mode_is_valid(mode) || (mode.encodings & 1) == 0)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path, "width or encodings are out of range");
    if (tensor->segment_bytes == 0 || tensor->segment_bytes % PZ_CHUNK_BYTES != 0 ||
        tensor->segment_bytes > PZ_SEGMENT_MAX_BYTES)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path, "the size of a segment is out of range");
    return PZ_OK;
}

/* Shape and name, into memory of the tensor. */
static pz_status load_shape_and_name(struct pzi_cursor *from, uint32_t name_bytes,
                                     struct pzi_tensor *tensor)
{
    const uint32_t rank = tensor->view.rank;
    const uint8_t *const shape = pzi_take(from, UINT64_C(8) * rank);
    const uint8_t *const name = pzi_take(from, name_bytes);

    if (from->failed || memchr(name, 0, name_bytes) != NULL)
        return PZ_ERR_MEANING;
    tensor->shape = malloc(sizeof *tensor->shape * ((size_t)rank + 1));
    tensor->name = malloc((size_t)name_bytes + 1);
    if (tensor->shape == NULL || tensor->name == NULL)
        return PZ_ERR_MEMORY;
    for (uint32_t i = 0; i < rank; i++)
        tensor->shape[i] = pzi_load_le64(shape + 8 * (size_t)i);
    memcpy(tensor->name, name, name_bytes);
    tensor->name[name_bytes] = '\0';
    return PZ_OK;
}

/* The size of the tensor, or that it is unknown. */
static pz_status set_raw_bytes(struct pzi_tensor *tensor)
{
    const uint32_t rank = tensor->view.rank;
    uint64_t unused;

    if (rank == 0 || tensor->shape[0] != PZ_UNKNOWN)
        return pz_tensor_bytes(tensor->view.dtype, rank, tensor->shape, &tensor->view.raw_bytes);
    tensor->view.raw_bytes = PZ_UNKNOWN;
    return pz_tensor_bytes(PZ_DTYPE_U8, rank - 1, tensor->shape + 1, &unused);
}

static void set_view(struct pzi_tensor *tensor)
{
    pz_tensor *const view = &tensor->view;

    view->size = sizeof *view;
    view->name = tensor->name;
    view->shape = tensor->shape;
    view->metadata = tensor->metadata.entries;
    view->metadata_count = tensor->metadata.count;
    view->stream_bytes = view->stored_bytes = view->segments = PZ_UNKNOWN;
    view->chunks = view->raw_chunks = PZ_UNKNOWN;
    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        view->blocks[i] = PZ_UNKNOWN;
}

static pz_status load_tensor(struct pzi_cursor *from, const char *path, struct pzi_tensor *tensor,
                             pz_diag *diag)
{
    const struct tens_fields fields = take_fields(from, tensor);
    pz_status status;

    if (from->failed)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path, "the record of the tensor is too short");
    status = check_fields(tensor, path, diag);
    if (status != PZ_OK)
        return status;
    status = load_shape_and_name(from, fields.name_bytes, tensor);
    if (status == PZ_OK)
        status = pzi_metadata_load(from, fields.entries, &tensor->metadata);
    if (status == PZ_ERR_MEMORY)
        return pzi_no_memory(diag);
    if (status != PZ_OK)
        return pzi_fail_at(diag, status, path, "shape, name and metadata do not fill the record");
    if (set_raw_bytes(tensor) != PZ_OK)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path,
                           "its shape makes no size in whole bytes below 2^63");
    set_view(tensor);
    return PZ_OK;
}

pz_status pzi_tens_load(const uint8_t *body, size_t bytes, const char *path,
                        struct pzi_tensor *tensor, pz_diag *diag)
{
    struct pzi_cursor from = {body, bytes, false};
    pz_status status;

    *tensor = (struct pzi_tensor){0};
    status = load_tensor(&from, path, tensor, diag);
    if (status != PZ_OK)
        pzi_tensor_release(tensor);
    return status;
}

void pzi_tensor_release(struct pzi_tensor *tensor)
{
    free(tensor->name);
    free(tensor->shape);
    free(tensor->places);
    pzi_metadata_release(&tensor->metadata);
    *tensor = (struct pzi_tensor){0};
}

/* ---- TEND ---- */

enum { TEND_FIELDS = 6, TEND_COUNTS = 5 };

/* The encodings that a format has, of which TEND tells the counts; the unused places are zero. */
static unsigned encodings_of(const pz_tensor *tensor, pz_encoding *first)
{
    *first = tensor->mode.format == PZ_FORMAT_2 ? PZ_EXPONENTS : PZ_RAW;
    return tensor->mode.format == PZ_FORMAT_2 ? PZ_ENCODINGS - PZ_EXPONENTS : PZI_TAGS;
}

void pzi_tend_store(const pz_tensor *tensor, uint8_t to[PZI_TEND_BYTES])
{
    pz_encoding first;
    const unsigned encodings = encodings_of(tensor, &first);
    const uint64_t fields[TEND_FIELDS] = {tensor->raw_bytes, tensor->stream_bytes, tensor->segments,
                                          tensor->chunks,    tensor->raw_chunks,   encodings};

    memset(to, 0, PZI_TEND_BYTES);
    for (size_t i = 0; i < TEND_FIELDS; i++)
        pzi_store_le64(to + 8 * i, fields[i]);
    for (size_t i = 0; i < encodings; i++)
        pzi_store_le64(to + 8 * (TEND_FIELDS + i), tensor->blocks[first + i]);
}

/* False if the number of encodings is not that of the format, or an unused place is not zero. */
static bool take_blocks(const uint8_t *from, pz_tensor *tensor)
{
    pz_encoding first;
    const unsigned encodings = encodings_of(tensor, &first);

    for (unsigned i = 0; i < PZ_ENCODINGS; i++)
        tensor->blocks[i] = 0;
    for (unsigned i = 0; i < encodings; i++)
        tensor->blocks[first + i] = pzi_load_le64(from + 8 * (TEND_FIELDS + i));
    for (unsigned i = encodings; i < TEND_COUNTS; i++)
        if (pzi_load_le64(from + 8 * (TEND_FIELDS + i)) != 0)
            return false;
    return pzi_load_le64(from + 40) == encodings;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Sums cannot overflow: every part is checked against the whole. */
static bool blocks_fit(const pz_tensor *view)
{
    uint64_t left = ceil_div(view->raw_bytes, PZ_BLOCK_BYTES);

    for (unsigned i = 0; i < PZ_ENCODINGS; i++) {
        if (view->blocks[i] > left)
            return false;
        left -= view->blocks[i];
    }
    return left == 0;
}

static bool counts_fit(const struct pzi_tensor *tensor)
{
    const pz_tensor *const view = &tensor->view;

    return view->raw_bytes < UINT64_C(1) << 63 &&
           view->segments == ceil_div(view->raw_bytes, tensor->segment_bytes) &&
           view->chunks == ceil_div(view->raw_bytes, PZ_CHUNK_BYTES) &&
           view->raw_chunks <= view->chunks &&
           view->stream_bytes <= view->raw_bytes + 2 * view->chunks && blocks_fit(view);
}

pz_status pzi_tend_load(const uint8_t from[PZI_TEND_BYTES], const char *path,
                        struct pzi_tensor *tensor, pz_diag *diag)
{
    pz_tensor *const view = &tensor->view;
    const uint64_t raw_bytes = pzi_load_le64(from);

    if (view->raw_bytes != PZ_UNKNOWN && view->raw_bytes != raw_bytes)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path,
                           "its end tells %" PRIu64 " raw bytes, its shape %" PRIu64, raw_bytes,
                           view->raw_bytes);
    if (view->raw_bytes == PZ_UNKNOWN && pzi_first_dimension(view->dtype, view->rank, view->shape,
                                                             raw_bytes, tensor->shape) != PZ_OK)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path,
                           "%" PRIu64 " raw bytes are no whole number of rows", raw_bytes);
    view->raw_bytes = raw_bytes;
    view->stream_bytes = pzi_load_le64(from + 8);
    view->segments = pzi_load_le64(from + 16);
    view->chunks = pzi_load_le64(from + 24);
    view->raw_chunks = pzi_load_le64(from + 32);
    if (!take_blocks(from, view) || !counts_fit(tensor))
        return pzi_fail_at(diag, PZ_ERR_MEANING, path,
                           "the counts of its end contradict one another");
    return PZ_OK;
}

pz_status pzi_first_dimension(pz_dtype dtype, uint32_t rank, const uint64_t *shape,
                              uint64_t raw_bytes, uint64_t *length)
{
    const uint64_t bits = pz_dtype_bits(dtype);
    uint64_t row, elements;

    if (rank == 0 || pz_tensor_bytes(PZ_DTYPE_U8, rank - 1, shape + 1, &row) != PZ_OK ||
        raw_bytes >= UINT64_C(1) << 63)
        return PZ_ERR_ARGUMENT;
    /* raw_bytes * 8 / bits without overflow. */
    elements = raw_bytes / bits * 8 + raw_bytes % bits * 8 / bits;
    if (raw_bytes % bits * 8 % bits != 0 || elements >= UINT64_C(1) << 63)
        return PZ_ERR_ARGUMENT;
    if (row == 0) {
        *length = 0;
        return raw_bytes == 0 ? PZ_OK : PZ_ERR_ARGUMENT;
    }
    *length = elements / row;
    return elements % row == 0 ? PZ_OK : PZ_ERR_ARGUMENT;
}
