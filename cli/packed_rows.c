/* Files of packed rows: see packed_rows.h. */
#include "packed_rows.h"

#include "errors.h"
#include "memory.h"
#include "options.h"
#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER_BYTES = 48, CHECK_BYTES = 8, PIECE_BYTES = 4 << 20 };

static const unsigned char magic[8] = {0x89, 'I', 'B', 'P', 'R', '\r', '\n', 0x1a};

static uint64_t load(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static void store(unsigned char *to, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static void place_parts(packed_file *file)
{
    file->prefix_at = HEADER_BYTES + file->table_bytes;
    file->offsets_at = file->prefix_at + file->prefix_bytes;
    file->data_at = file->offsets_at + 8 * (file->count + 1);
    file->bytes = file->data_at + file->data_bytes + CHECK_BYTES;
}

static void store_header(const packed_file *file, unsigned char *to)
{
    memcpy(to, magic, sizeof magic);
    store(to + 8, 4, 1);
    store(to + 12, 4, file->dtype);
    store(to + 16, 8, file->count);
    store(to + 24, 8, file->prefix_bytes);
    store(to + 32, 8, file->data_bytes);
    store(to + 40, 8, XXH3_64bits(to, 40));
}

static void report(const row_file *in, const packed_file *out)
{
    const double raw = (double)in->count * (double)in->row_bytes;

    if (common.verbose)
        fprintf(stderr, "%" PRIu64 " rows, saved %.2f %%, groups of %" PRIu32 " bits\n", in->count,
                100 - 100 * (double)out->data_bytes / raw,
                pz_ibp_table_shape(out->table).group_bits);
}

/* ---- Packing: the rows are read for the table, for their bytes, for offsets, and for themselves.
 */

/* A file that is written: its parts, their checksum, and memory for a block of rows. */
typedef struct packer {
    row_file *in;
    packed_file parts;
    output_file out;
    XXH3_state_t *check, *raw_check;
    uint64_t *offsets;         /* of a block */
    unsigned char *block;      /* its packed rows, or its offsets as they are stored */
    uint64_t raw_digest, done; /* packed bytes so far */
} packer;

/* Packs a block of rows; offsets[0] to offsets[count] are then relative to it. */
static int pack_block(packer *self, uint64_t first, size_t *count)
{
    const unsigned char *rows = NULL;
    pz_status result;
    const int status = row_file_block(self->in, first, count, &rows);

    if (status != STATUS_OK)
        return status;
    XXH3_64bits_update(self->raw_check, rows, *count * self->in->row_bytes);
    result = pz_ibp_condense(NULL, self->parts.table, rows, 0, *count, self->block,
                             *count * self->in->row_bytes, self->offsets);
    return result == PZ_OK ? STATUS_OK : fail_status(self->in->name, result, NULL);
}

static int write_checked(packer *self, const void *data, size_t bytes)
{
    XXH3_64bits_update(self->check, data, bytes);
    return output_write(&self->out, data, bytes);
}

static int write_offsets(packer *self, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(self->block + 8 * i, 8, self->done + self->offsets[i + 1]);
    return write_checked(self, self->block, 8 * count);
}

enum pass { PASS_SIZES, PASS_OFFSETS, PASS_ROWS };

/* One time over all rows, which have to be the same each time. */
static int pass_over(packer *self, enum pass pass)
{
    size_t count = 0;
    int status = STATUS_OK;

    self->done = 0;
    XXH3_64bits_reset(self->raw_check);
    for (uint64_t first = 0; first < self->in->count && status == STATUS_OK; first += count) {
        status = pack_block(self, first, &count);
        const size_t bytes = (size_t)self->offsets[count];

        if (status == STATUS_OK && pass == PASS_OFFSETS)
            status = write_offsets(self, count);
        if (status == STATUS_OK && pass == PASS_ROWS)
            status = write_checked(self, self->block, bytes);
        self->done += bytes;
    }
    if (status != STATUS_OK)
        return status;
    if (pass == PASS_SIZES)
        self->raw_digest = XXH3_64bits_digest(self->raw_check);
    if (self->raw_digest != XXH3_64bits_digest(self->raw_check))
        return fail(self->in->name, NULL, "try again", "it changed while it was read");
    return STATUS_OK;
}

/* Header, table and prefix. */
static int write_start(packer *self)
{
    const packed_file *const parts = &self->parts;
    unsigned char *const start = memory_keep((size_t)parts->prefix_at, 1), first_offset[8] = {0};
    const unsigned char *prefix = NULL;
    int status = pieces_at(self->in->in, 0, self->in->prefix_bytes, &prefix);

    if (status != STATUS_OK)
        return status;
    store_header(parts, start);
    pz_ibp_table_save(parts->table, start + HEADER_BYTES, parts->table_bytes);
    status = output_write(&self->out, start, (size_t)parts->prefix_at);
    if (status == STATUS_OK)
        status = write_checked(self, prefix, self->in->prefix_bytes);
    return status == STATUS_OK ? write_checked(self, first_offset, 8) : status;
}

static int write_parts(packer *self)
{
    unsigned char end[CHECK_BYTES];
    int status = write_start(self);

    if (status == STATUS_OK)
        status = pass_over(self, PASS_OFFSETS);
    if (status == STATUS_OK)
        status = pass_over(self, PASS_ROWS);
    store(end, CHECK_BYTES, XXH3_64bits_digest(self->check));
    return status == STATUS_OK ? output_write(&self->out, end, CHECK_BYTES) : status;
}

static void free_check(void *check)
{
    XXH3_freeState(check);
}

/* A checksum, until the program ends. */
static XXH3_state_t *new_check(void)
{
    XXH3_state_t *const check = XXH3_createState();

    if (check == NULL)
        memory_fail();
    own(check, free_check);
    XXH3_64bits_reset(check);
    return check;
}

int packed_rows_pack(row_file *in, pz_ibp_table *table, const char *name, bool force)
{
    const size_t entry = in->row_bytes > 8 ? in->row_bytes : 8;
    packer self = {.in = in,
                   .parts = {.table = table,
                             .dtype = in->dtype,
                             .count = in->count,
                             .prefix_bytes = in->prefix_bytes,
                             .table_bytes = pz_ibp_table_bytes(table)},
                   .check = new_check(),
                   .raw_check = new_check(),
                   .offsets = memory_keep(in->block + 1, sizeof *self.offsets),
                   .block = memory_keep(in->block, entry)};
    int status = pass_over(&self, PASS_SIZES);

    if (status != STATUS_OK)
        return status;
    self.parts.data_bytes = self.done;
    place_parts(&self.parts);
    status = output_open(&self.out, name, force);
    if (status != STATUS_OK)
        return status;
    status = write_parts(&self);
    if (status != STATUS_OK) {
        output_abandon(&self.out);
        return status;
    }
    report(in, &self.parts);
    return output_commit(&self.out, NULL);
}

/* ---- Unpacking --------------------------------------------------------------------------------
 */

static int fail_packed(const char *name, const char *what)
{
    return fail(name, NULL, "get the file again", "%s", what);
}

static int read_header(pieces *in, const unsigned char *data, packed_file *file)
{
    if (in->bytes < HEADER_BYTES || memcmp(data, magic, sizeof magic) != 0)
        return fail(in->name, NULL, "give what planezip ibp pack wrote",
                    "this is no file of packed rows");
    if (load(data + 8, 4) != 1)
        return fail(in->name, NULL, "use a newer planezip",
                    "it has version %" PRIu64 ", known is 1", load(data + 8, 4));
    if (load(data + 40, 8) != XXH3_64bits(data, 40))
        return fail_packed(in->name, "the header is damaged: its checksum does not match");
    *file = (packed_file){.dtype = (pz_dtype)load(data + 12, 4),
                          .count = load(data + 16, 8),
                          .prefix_bytes = load(data + 24, 8),
                          .data_bytes = load(data + 32, 8)};
    if (file->count >= in->bytes / 8 || file->prefix_bytes > ROW_FILE_PREFIX_MAX ||
        file->data_bytes > in->bytes)
        return fail_packed(in->name, "it is shorter than its header tells");
    return STATUS_OK;
}

int packed_rows_table(pieces *in, uint64_t at, packed_file *file)
{
    const uint64_t left = in->bytes - at;
    const unsigned char *data = NULL;
    pz_diag diag = {0};
    pz_status result;

    if (pieces_at(in, at, left < PZ_IBP_START_BYTES ? (size_t)left : PZ_IBP_START_BYTES, &data) !=
        STATUS_OK)
        return STATUS_DATA;
    result = pz_ibp_table_stored_bytes(
        data, left < PZ_IBP_START_BYTES ? (size_t)left : PZ_IBP_START_BYTES, &file->table_bytes,
        &diag);
    if (result == PZ_OK && file->table_bytes > left)
        return fail_packed(in->name, "it ends within its table");
    if (result == PZ_OK && pieces_at(in, at, file->table_bytes, &data) != STATUS_OK)
        return STATUS_DATA;
    if (result == PZ_OK)
        result = pz_ibp_table_load(data, file->table_bytes, &file->table, &diag);
    if (result != PZ_OK)
        return fail_status(in->name, result, &diag);
    row_file_keep_table(file->table);
    return STATUS_OK;
}

int packed_rows_look(pieces *in, bool *is_rows)
{
    const unsigned char *data = NULL;

    *is_rows = false;
    if (in->bytes < sizeof magic)
        return STATUS_OK;
    if (pieces_at(in, 0, sizeof magic, &data) != STATUS_OK)
        return STATUS_DATA;
    *is_rows = memcmp(data, magic, sizeof magic) == 0;
    return STATUS_OK;
}

/* The first offset, and the last one: no byte of the rows is none of a row's. */
static int check_ends(pieces *in, const packed_file *file)
{
    const unsigned char *data = NULL;
    bool is_right = false;
    int status = pieces_at(in, file->offsets_at, 8, &data);

    if (status == STATUS_OK) {
        is_right = load(data, 8) == 0;
        status = pieces_at(in, file->data_at - 8, 8, &data);
    }
    if (status != STATUS_OK)
        return status;
    return is_right && load(data, 8) == file->data_bytes
               ? STATUS_OK
               : fail_packed(in->name, "its offsets are not from 0 to the bytes of all rows");
}

int packed_rows_open(pieces *in, packed_file *file)
{
    const unsigned char *data = NULL;
    int status =
        pieces_at(in, 0, in->bytes < HEADER_BYTES ? (size_t)in->bytes : HEADER_BYTES, &data);

    if (status == STATUS_OK)
        status = read_header(in, data, file);
    if (status == STATUS_OK)
        status = packed_rows_table(in, HEADER_BYTES, file);
    if (status != STATUS_OK)
        return status;
    place_parts(file);
    if (file->bytes != in->bytes)
        return fail_packed(in->name, "it has another size than its header tells");
    if (pz_profile_width(PZ_PROFILE_NATIVE, file->dtype) !=
        pz_ibp_table_shape(file->table).width_bits)
        return fail_packed(in->name, "its type of elements is none that its table is for");
    return check_ends(in, file);
}

/* What is read for its checksum, and then again. */
enum part { PREFIX, OFFSETS, ROWS, PARTS };

/* One part, for the checksum of all and one of its own. */
static int check_part(pieces *in, uint64_t at, uint64_t end, XXH3_state_t *check, uint64_t *digest)
{
    XXH3_state_t *const own_check = new_check();
    const unsigned char *data = NULL;
    int status = STATUS_OK;

    for (; at < end && status == STATUS_OK; at += PIECE_BYTES) {
        const size_t bytes = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;

        status = pieces_at(in, at, bytes, &data);
        if (status != STATUS_OK)
            break;
        XXH3_64bits_update(check, data, bytes);
        XXH3_64bits_update(own_check, data, bytes);
    }
    *digest = XXH3_64bits_digest(own_check);
    return status;
}

/* The checksum of prefix, offsets and rows. */
static int check_content(pieces *in, const packed_file *file, uint64_t digests[PARTS])
{
    const uint64_t ends[PARTS + 1] = {file->prefix_at, file->offsets_at, file->data_at,
                                      file->bytes - CHECK_BYTES};
    XXH3_state_t *const check = new_check();
    const unsigned char *data = NULL;
    int status = STATUS_OK;

    for (unsigned i = 0; i < PARTS && status == STATUS_OK; i++)
        status = check_part(in, ends[i], ends[i + 1], check, &digests[i]);
    if (status == STATUS_OK)
        status = pieces_at(in, ends[PARTS], CHECK_BYTES, &data);
    if (status == STATUS_OK && load(data, CHECK_BYTES) != XXH3_64bits_digest(check))
        status = fail_packed(in->name, "the rows are damaged: their checksum does not match");
    return status;
}

static int fail_row(const pieces *in, const packed_file *file, uint64_t row, uint64_t offset,
                    pz_status status)
{
    return fail(in->name,
                memory_text("row %" PRIu64 ", byte %" PRIu64, row, file->data_at + offset),
                "get the file again", "%s", pz_status_text(status));
}

/* A file that is read, and memory for a block of rows. */
typedef struct unpacker {
    pieces *in;
    const packed_file *file;
    uint64_t *offsets;
    unsigned char *raw;
    XXH3_state_t *checks[PARTS]; /* of what is read now */
} unpacker;

/* The offsets of count rows, which have to be those of rows. */
static int read_offsets(const unpacker *self, uint64_t first, size_t count)
{
    const packed_file *const file = self->file;
    const unsigned char *data = NULL;
    const int status = pieces_at(self->in, file->offsets_at + 8 * first, 8 * (count + 1), &data);

    if (status != STATUS_OK)
        return status;
    XXH3_64bits_update(self->checks[OFFSETS], data + 8, 8 * count);
    for (size_t i = 0; i <= count; i++)
        self->offsets[i] = load(data + 8 * i, 8);
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = self->offsets[i], end = self->offsets[i + 1];

        if (from > end || end > file->data_bytes || end - from > pz_ibp_row_bytes(file->table))
            return fail_row(self->in, file, first + i, from, PZ_ERR_RANGE);
    }
    return STATUS_OK;
}

static int unpack_block(const unpacker *self, uint64_t first, size_t count)
{
    const packed_file *const file = self->file;
    const unsigned char *data = NULL;
    pz_ibp_rows rows = {.size = sizeof rows, .table = file->table, .count = count};
    uint64_t bad = 0, begin;
    pz_status result;
    int status = read_offsets(self, first, count);

    if (status != STATUS_OK)
        return status;
    begin = self->offsets[0];
    rows.data_bytes = (size_t)(self->offsets[count] - begin);
    status = pieces_at(self->in, file->data_at + begin, rows.data_bytes, &data);
    if (status != STATUS_OK)
        return status;
    XXH3_64bits_update(self->checks[ROWS], data, rows.data_bytes);
    for (size_t i = 0; i <= count; i++)
        self->offsets[i] -= begin;
    rows.data = data;
    rows.offsets = self->offsets;
    result = pz_ibp_unpack(NULL, &rows, 0, count, self->raw, &bad);
    return result == PZ_OK
               ? STATUS_OK
               : fail_row(self->in, file, first + bad, begin + self->offsets[bad], result);
}

/* Whether it was the same again. */
static int check_again(const unpacker *self, const uint64_t digests[PARTS])
{
    for (unsigned i = 0; i < PARTS; i++)
        if (XXH3_64bits_digest(self->checks[i]) != digests[i])
            return fail(self->in->name, NULL, "try again", "it changed while it was read");
    return STATUS_OK;
}

static int write_rows(pieces *in, const packed_file *file, const uint64_t digests[PARTS],
                      output_file *out)
{
    const size_t row_bytes = pz_ibp_row_bytes(file->table), block = PIECE_BYTES / row_bytes;
    const unpacker self = {.in = in,
                           .file = file,
                           .offsets = memory_keep(block + 1, sizeof *self.offsets),
                           .raw = memory_keep(block, row_bytes),
                           .checks = {new_check(), new_check(), new_check()}};
    const unsigned char *prefix = NULL, *offset = NULL;
    int status = pieces_at(in, file->prefix_at, (size_t)file->prefix_bytes, &prefix);

    if (status == STATUS_OK) {
        XXH3_64bits_update(self.checks[PREFIX], prefix, (size_t)file->prefix_bytes);
        status = output_write(out, prefix, (size_t)file->prefix_bytes);
    }
    if (status == STATUS_OK)
        status = pieces_at(in, file->offsets_at, 8, &offset);
    if (status == STATUS_OK)
        XXH3_64bits_update(self.checks[OFFSETS], offset, 8);
    for (uint64_t first = 0; first < file->count && status == STATUS_OK; first += block) {
        const uint64_t left = file->count - first;
        const size_t count = left < block ? (size_t)left : block;

        status = unpack_block(&self, first, count);
        if (status == STATUS_OK)
            status = output_write(out, self.raw, count * row_bytes);
    }
    return status == STATUS_OK ? check_again(&self, digests) : status;
}

int packed_rows_unpack(pieces *in, const char *name, bool force)
{
    packed_file file = {0};
    output_file out;
    uint64_t digests[PARTS] = {0};
    int status = packed_rows_open(in, &file);

    if (status == STATUS_OK)
        status = check_content(in, &file, digests);
    if (status == STATUS_OK)
        status = output_open(&out, name, force);
    if (status != STATUS_OK)
        return status;
    status = write_rows(in, &file, digests, &out);
    if (status == STATUS_OK)
        return output_commit(&out, NULL);
    output_abandon(&out);
    return status;
}
