/* Any bytes as the header of a .npy file: refused with a message, or a shape that makes its size.
 *
 * Input: byte 0 is the type for elements without a name, in its low bits, and whether the bytes are
 * a dictionary whose header is made here (bit 7). */
#include <planezip/planezip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pz_dtype as_dtype;
    uint8_t *header;

    if (size < 1 || size > 60000)
        return 0;
    as_dtype = (pz_dtype)(data[0] % 32 % PZ_DTYPES);
    header = malloc(size + 9);
    if (header == NULL)
        abort();
    if (data[0] & 0x80) {
        memcpy(header, "\x93NUMPY\1\0", 8);
        header[8] = (uint8_t)(size - 1);
        header[9] = (uint8_t)((size - 1) >> 8);
        memcpy(header + 10, data + 1, size - 1);
        check(header, size + 9, as_dtype);
    } else {
        memcpy(header, data + 1, size - 1);
        check(header, size - 1, as_dtype);
    }
    free(header);
    return 0;
}
