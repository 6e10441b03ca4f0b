/* Any bytes as the header of a .npy file: refused with a message, or a shape that makes its size.
 *
 * Input: byte 0 is the type for elements without a name, in its low bits, and whether the bytes are
 * a dictionary whose header is made here (bit 7). */
#include <planezip/planezip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"

enum { MAX_BYTES = 60000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *header, size_t size, pz_dtype as_dtype)
{
    pz_diag diag = {0};
    uint64_t bytes;
    size_t told;
    pz_npy npy;
    pz_status status = pz_npy_header_bytes(header, size, &told, &diag);

    if (status == PZ_OK && told <= size)
        status = pz_npy_parse(header, told, as_dtype, &npy, &diag);
    else if (status == PZ_OK)
        return;
    if (status != PZ_OK ? diag.text[0] == '\0'
                        : npy.rank > PZ_NPY_RANK_MAX ||
                              pz_tensor_bytes(npy.dtype, npy.rank, npy.shape, &bytes) != PZ_OK ||
                              bytes != npy.data_bytes) {
        fprintf(stderr, "status %s: %s\n", pz_status_name(status), diag.text);
        abort();
    }
}

/* The header that the input stands for. */
static size_t make_header(const uint8_t *data, size_t size, uint8_t *header)
{
    static const uint8_t start[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t start_bytes = 0;

    if (data[0] & 0x80) {
        memcpy(header, start, sizeof start);
        header[8] = (uint8_t)(size - 1);
        header[9] = (uint8_t)((size - 1) >> 8);
        start_bytes = 10;
    }
    memcpy(header + start_bytes, data + 1, size - 1);
    return start_bytes + size - 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t header[MAX_BYTES + 9];
    static struct guard guard;
    size_t header_bytes;

    if (size < 1 || size > MAX_BYTES)
        return 0;
    header_bytes = make_header(data, size, header);
    for (enum guard_side side = GUARD_FRONT; side < GUARD_SIDES; side++)
        check(guard_copy(&guard, side, header, header_bytes), header_bytes,
              (pz_dtype)(data[0] % 32 % PZ_DTYPES));
    return 0;
}
