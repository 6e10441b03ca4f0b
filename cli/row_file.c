/* Files of rows: see row_file.h. */
#include "row_file.h"

#include "batch.h"
#include "errors.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>

unsigned row_file_width(const row_file *file)
{
    return pz_profile_width(PZ_PROFILE_NATIVE, file->dtype);
}

static int read_npy(row_file *file, const row_options *options)
{
    pz_npy npy;
    pz_diag diag = {0};
    pz_status status =
        pz_npy_header_bytes(file->content.data, file->content.bytes, &file->prefix_bytes, &diag);

    if (status == PZ_OK && file->prefix_bytes > file->content.bytes)
        return fail(file->name, NULL, "get the file again", "the file ends within its header");
    if (status == PZ_OK)
        status = pz_npy_parse(file->content.data, file->prefix_bytes, options->dtype, &npy, &diag);
    if (status != PZ_OK)
        return fail_status(file->name, status, &diag);
    if (npy.rank == 0 || npy.fortran_order)
        return fail(file->name, NULL, "save it in C order", "it has no rows that lie together");
    file->dtype = npy.dtype;
    file->columns = npy.shape[npy.rank - 1];
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
    const size_t bytes = file->content.bytes - file->prefix_bytes;
    const int status = check_columns(file);

    if (status != STATUS_OK)
        return status;
    if (bytes == 0 || bytes % file->row_bytes != 0 || file->prefix_bytes > ROW_FILE_PREFIX_MAX)
        return fail(file->name, NULL, "check --dtype and --columns",
                    "its data of %zu bytes is no whole number of rows of %zu bytes", bytes,
                    file->row_bytes);
    file->count = bytes / file->row_bytes;
    return STATUS_OK;
}

int row_file_read(const char *name, const row_options *options, row_file *file)
{
    int status = input_read(name, &file->content);

    if (status != STATUS_OK)
        return status;
    own(file->content.data, free);
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

const unsigned char *row_file_rows(const row_file *file)
{
    return file->content.data + file->prefix_bytes;
}

static void free_table(void *table)
{
    pz_ibp_table_free(table);
}

void row_file_keep_table(pz_ibp_table *table)
{
    own(table, free_table);
}

int row_file_learn(const row_file *file, const row_options *options, pz_ibp_table **table)
{
    const pz_ibp_learn_options learn = {
        .size = sizeof learn,
        .width_bits = row_file_width(file),
        .group_bits = (uint32_t)options->group,
        .row_elements = file->columns,
        .threshold = options->threshold,
    };
    pz_ibp_learner *learner = NULL;
    pz_status status;

    if (learn.group_bits != 0 && learn.group_bits < learn.width_bits)
        return fail_usage("--group %" PRIu32 ": elements of %s have %" PRIu32 " bits",
                          learn.group_bits, file->name, learn.width_bits);
    status = pz_ibp_learner_new(&learn, &learner);
    if (status == PZ_OK)
        status = pz_ibp_learner_add(learner, row_file_rows(file), file->count);
    if (status == PZ_OK)
        status = pz_ibp_learner_table(learner, table);
    pz_ibp_learner_free(learner);
    if (status != PZ_OK)
        return fail_status(file->name, status, NULL);
    row_file_keep_table(*table);
    return STATUS_OK;
}
