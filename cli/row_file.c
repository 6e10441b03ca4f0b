/* Files of rows: see row_file.h. */
#include "row_file.h"

#include "batch.h"
#include "errors.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 4 << 20 }; /* more than a row */

unsigned row_file_width(const row_file *file)
{
    return pz_profile_width(PZ_PROFILE_NATIVE, file->dtype);
}

static int fail_header(const row_file *file)
{
    if (file->prefix_bytes > file->in->bytes)
        return fail(file->name, NULL, "get the file again", "the file ends within its header");
    return fail(file->name, NULL, "give other rows", "its header has %zu bytes, allowed is 1 MiB",
                file->prefix_bytes);
}

static int read_npy(row_file *file, const row_options *options)
{
    const size_t there =
        file->in->bytes < ROW_FILE_PREFIX_MAX ? (size_t)file->in->bytes : ROW_FILE_PREFIX_MAX;
    const unsigned char *start = NULL;
    pz_npy npy;
    pz_diag diag = {0};
    pz_status status;

    if (pieces_at(file->in, 0, there, &start) != STATUS_OK)
        return STATUS_DATA;
    status = pz_npy_header_bytes(start, there, &file->prefix_bytes, &diag);
    if (status == PZ_OK && file->prefix_bytes > there)
        return fail_header(file);
    if (status == PZ_OK)
        status = pz_npy_parse(start, file->prefix_bytes, options->dtype, &npy, &diag);
    if (status != PZ_OK)
        return fail_status(file->name, status, &diag);
    if (npy.rank == 0)
        return fail(file->name, NULL, "give other rows", "it is a single element without rows");
    if (npy.fortran_order)
        return fail(file->name, NULL, "save it in C order", "it has no rows that lie together");
    if (file->in->bytes - file->prefix_bytes != npy.data_bytes)
        return fail(file->name, NULL, "get the file again",
                    "it has %" PRIu64 " bytes instead of %" PRIu64, file->in->bytes,
                    file->prefix_bytes + npy.data_bytes);
    if (options->dtype != 0 && options->dtype != npy.dtype)
        return fail(file->name, NULL, "leave --dtype out", "its elements are %s, not %s",
                    pz_dtype_name(npy.dtype), pz_dtype_name(options->dtype));
    file->dtype = npy.dtype;
    file->columns = npy.shape[npy.rank - 1];
    if (options->columns != 0 && options->columns != file->columns)
        return fail(file->name, NULL, "leave --columns out",
                    "its rows have %" PRIu64 " elements, not %" PRIu64, file->columns,
                    options->columns);
    return STATUS_OK;
}

/* Elements of some types have more bits than a symbol, or less than a byte: columns are counted in
 * symbols from here on. */
static int check_columns(row_file *file)
{
    const unsigned width = row_file_width(file), bits = pz_dtype_bits(file->dtype);

    if (file->columns == 0 || file->columns > (uint64_t)PZ_IBP_ROW_MAX_BYTES * 8 / bits)
        return fail(file->name, NULL, "give other rows",
                    "a row has %" PRIu64 " elements, allowed are 1 byte to 1 MiB", file->columns);
    if (file->columns * bits % width != 0)
        return fail(file->name, NULL, "give other rows", "a row is no whole number of bytes");
    file->columns = file->columns * bits / width;
    file->row_bytes = (size_t)file->columns * (width / 8);
    return STATUS_OK;
}

/* A whole number of rows. */
static int check_rows(row_file *file)
{
    const uint64_t bytes = file->in->bytes - file->prefix_bytes;
    const int status = check_columns(file);

    if (status != STATUS_OK)
        return status;
    if (bytes == 0 || bytes % file->row_bytes != 0)
        return fail(file->name, NULL, "check --dtype and --columns",
                    "its data of %" PRIu64 " bytes is no whole number of rows of %zu bytes", bytes,
                    file->row_bytes);
    file->count = bytes / file->row_bytes;
    file->block = BLOCK_BYTES / file->row_bytes;
    return STATUS_OK;
}

int row_file_open(const char *name, bool is_whole, const row_options *options, row_file *file)
{
    int status = pieces_open(name, is_whole, &file->in);

    if (status != STATUS_OK)
        return status;
    file->name = name;
    if (batch_has_suffix(name, ".npy")) {
        status = read_npy(file, options);
    } else {
        if (options->dtype == 0 || options->columns == 0)
            return fail_usage("%s: raw elements need --dtype and --columns", name);
        file->dtype = options->dtype;
        file->columns = options->columns;
    }
    return status == STATUS_OK ? check_rows(file) : status;
}

int row_file_block(row_file *file, uint64_t first, size_t *count, const unsigned char **rows)
{
    const uint64_t left = file->count - first;

    *count = left < file->block ? (size_t)left : file->block;
    return pieces_at(file->in, file->prefix_bytes + first * file->row_bytes,
                     *count * file->row_bytes, rows);
}

const unsigned char *row_file_rows(const row_file *file)
{
    return file->in->content.data + file->prefix_bytes;
}

static void free_table(void *table)
{
    pz_ibp_table_free(table);
}

void row_file_keep_table(pz_ibp_table *table)
{
    own(table, free_table);
}

static int add_rows(row_file *file, pz_ibp_learner *learner)
{
    const unsigned char *rows = NULL;
    size_t count = 0;

    for (uint64_t first = 0; first < file->count; first += count) {
        const int status = row_file_block(file, first, &count, &rows);

        if (status != STATUS_OK)
            return status;
        pz_ibp_learner_add(learner, rows, count);
    }
    return STATUS_OK;
}

int row_file_learn(row_file *file, const row_options *options, pz_ibp_table **table)
{
    const pz_ibp_learn_options learn = {
        .size = sizeof learn,
        .width_bits = row_file_width(file),
        .group_bits = (uint32_t)options->group,
        .row_elements = file->columns,
        .threshold = options->threshold,
    };
    pz_ibp_learner *learner = NULL;
    pz_status result;
    int status;

    if (learn.group_bits != 0 && learn.group_bits < learn.width_bits)
        return fail_usage("--group %" PRIu32 ": elements of %s have %" PRIu32 " bits",
                          learn.group_bits, file->name, learn.width_bits);
    result = pz_ibp_learner_new(&learn, &learner);
    if (result != PZ_OK)
        return fail_status(file->name, result, NULL);
    status = add_rows(file, learner);
    if (status == STATUS_OK)
        result = pz_ibp_learner_table(learner, table);
    pz_ibp_learner_free(learner);
    if (status == STATUS_OK && result != PZ_OK)
        status = fail_status(file->name, result, NULL);
    if (status == STATUS_OK)
        row_file_keep_table(*table);
    return status;
}
