/* Any bytes as a packed row of any table: library and reference must agree on every one, on every
 * instruction set; what they accept packs and unpacks again.  And any bytes as a stored table.
 *
 * Input: byte 0 holds w (bits 0-1), b (bits 2-4), the number of elements (1 + 5 * bits 5-7), byte 1
 * whether the row is in a slot (bit 0) or the input a table (bit 1); then masks, values and row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planezip/ibp.h"
#include "reference/ibpref.h"

enum { MAX_ROW_BYTES = 8 * 40, PREFIX_BYTES = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held, const char *what)
{
    if (held)
        return;
    fprintf(stderr, "ibp_fuzz: %s\n", what);
    abort();
}

static void try_table(const uint8_t *data, size_t size)
{
    struct ibpref_table reference;
    pz_ibp_table *table = NULL;
    const bool accepted = pz_ibp_table_load(data, size, &table, NULL) == PZ_OK;

    require(accepted == (ibpref_table_read(data, size, &reference) == IBPREF_OK),
            "the reference takes another table");
    if (accepted)
        require(memcmp(pz_ibp_table_masks(table), reference.masks, pz_ibp_row_bytes(table)) == 0,
                "the table has other masks");
    pz_ibp_table_free(table);
}

/* Rows are in memory of exactly their size, so that a sanitizer sees the first byte beyond. */
static void try_row(const pz_ibp_table *table, const struct ibpref_table *reference,
                    const uint8_t *row, size_t bytes, bool is_slot)
{
    static const pz_status statuses[] = {PZ_OK, PZ_ERR_TRUNCATED, PZ_ERR_TRAILING, PZ_ERR_PADDING};
    const size_t R = pz_ibp_row_bytes(table);
    uint8_t expected[MAX_ROW_BYTES], raw[MAX_ROW_BYTES], again[2 * MAX_ROW_BYTES + 64];
    uint8_t packed[MAX_ROW_BYTES], map = 1;
    uint64_t offsets[2] = {0, bytes};
    const pz_ibp_rows rows = {sizeof rows, table,           row,  1,
                              bytes,       is_slot ? R : 0, &map, is_slot ? NULL : offsets};
    size_t used = is_slot ? R - 1 : bytes;
    const pz_status status = statuses[ibpref_unpack(reference, row, &used, !is_slot, expected)];

    require(pz_ibp_unpack(NULL, &rows, 0, 1, raw, NULL) == status, "another status");
    if (status != PZ_OK)
        return;
    require(memcmp(raw, expected, R) == 0, "another row");
    used = ibpref_pack(reference, raw, again);
    require(pz_ibp_pack(NULL, table, raw, 0, 1, packed, R, &map) == PZ_OK &&
                (map & 1) == (used < R) && memcmp(packed, again, used) == 0,
            "packed in another way");
}

static void try_rows(const uint8_t *data, size_t size)
{
    const uint32_t w = 8u << (data[0] & 3), b = w << (data[0] >> 2 & 7);
    const pz_ibp_shape shape = {w, b <= 512 ? b : 512, 1 + 5 * (uint64_t)(data[0] >> 5)};
    const size_t R = (size_t)shape.row_elements * (w / 8);
    uint8_t masks[MAX_ROW_BYTES], values[MAX_ROW_BYTES], *row;
    const bool is_slot = (data[1] & 1) != 0;
    size_t bytes = size - PREFIX_BYTES - 2 * R;
    pz_ibp_table *table = NULL;

    if (size < PREFIX_BYTES + 3 * R && (is_slot || size < PREFIX_BYTES + 2 * R))
        return;
    memcpy(masks, data + PREFIX_BYTES, R);
    for (size_t i = 0; i < R; i++)
        values[i] = data[PREFIX_BYTES + R + i] & masks[i];
    bytes = is_slot ? R : bytes < R ? bytes : R - 1;
    row = malloc(bytes != 0 ? bytes : 1);
    require(row != NULL && pz_ibp_table_new(&shape, masks, values, &table) == PZ_OK, "no table");
    memcpy(row, data + PREFIX_BYTES + 2 * R, bytes);
    for (unsigned i = 0; i < pz_isa_count(); i++) {
        const struct ibpref_table reference = {w, shape.group_bits, (size_t)shape.row_elements,
                                               masks, values};

        pz_isa_select(pz_isa_name(i));
        try_row(table, &reference, row, bytes, is_slot);
    }
    pz_ibp_table_free(table);
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < PREFIX_BYTES)
        return 0;
    if ((data[1] & 2) != 0)
        try_table(data + PREFIX_BYTES, size - PREFIX_BYTES);
    else
        try_rows(data, size);
    return 0;
}
