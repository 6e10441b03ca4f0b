/* Any bytes as the header of a .safetensors file: refused with a message, or tensors that cover the
 * data in order.
 *
 * Input: the JSON text, whose size is put before it here. */
#include <planezip/planezip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_right(const pz_safetensors *file)
{
    uint64_t at = 0, bytes;

    for (size_t i = 0; i < pz_safetensors_count(file); i++) {
        const pz_safetensors_entry *entry = pz_safetensors_tensor(file, i);

        if (entry->name == NULL || entry->begin_bytes != at ||
            pz_tensor_bytes(entry->dtype, entry->rank, entry->shape, &bytes) != PZ_OK ||
            bytes != entry->bytes)
            return false;
        at += bytes;
    }
    return at == pz_safetensors_data_bytes(file);
}

static void check(const uint8_t *header, size_t header_bytes)
{
    pz_safetensors *file = NULL;
    pz_diag diag = {0};
    const pz_status status = pz_safetensors_parse(header, header_bytes, &file, &diag);

    if (status != PZ_OK ? diag.text[0] == '\0' : !is_right(file)) {
        fprintf(stderr, "status %s: %s\n", pz_status_name(status), diag.text);
        abort();
    }
    pz_safetensors_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guard guard;

    for (enum guard_side side = GUARD_FRONT; side < GUARD_SIDES; side++) {
        const size_t bytes = size + PZ_SAFETENSORS_START_BYTES;
        uint8_t *const header = guard_place(&guard, side, bytes);

        for (int i = 0; i < PZ_SAFETENSORS_START_BYTES; i++)
            header[i] = (uint8_t)((uint64_t)size >> 8 * i);
        memcpy(header + PZ_SAFETENSORS_START_BYTES, data, size);
        check(header, bytes);
    }
    return 0;
}
