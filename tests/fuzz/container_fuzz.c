/* Any bytes as a container: read front to back and at random, which must agree where both succeed.
 *
 * Input: byte 0 tells whether checksums are put right first (bit 0), so that a mutation reaches
 * what lies behind them, and how much a read gives at once (the rest); what follows is the
 * container. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/le.h"
#include "container/record.h"
#include "support/guard.h"
#include "support/memfile.h"

enum { RAW_MAX = 1 << 22, TENSORS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- Putting checksums right ---- */

static void repair_footer(struct memfile *file, size_t index_at)
{
    if (file->bytes < PZI_FOOTER_BYTES)
        return;
    pzi_footer_store(index_at, file->bytes, file->data + file->bytes - PZI_FOOTER_BYTES);
}

/* As far as the sizes of the records lead. */
static void repair(struct memfile *file)
{
    size_t at = PZI_FILE_HEADER_BYTES;

    while (at + PZI_HEAD_BYTES <= file->bytes) {
        uint8_t *const head = file->data + at;
        const uint64_t left = file->bytes - at - PZI_HEAD_BYTES;
        const uint64_t body_bytes = pzi_load_le64(head + 24);
        const uint32_t kind = pzi_load_le32(head);

        if (kind == PZI_INDX)
            repair_footer(file, at);
        if (body_bytes <= left && kind != PZI_SEGM)
            pzi_store_le64(head + 32, XXH3_64bits(head + PZI_HEAD_BYTES, (size_t)body_bytes));
        pzi_store_le64(head + 40, XXH3_64bits(head, 40));
        if (body_bytes > left)
            return;
        at += PZI_HEAD_BYTES + (size_t)body_bytes;
    }
}

/* ---- Reading ---- */

/* What a complete scan has seen: a sum over each tensor. */
struct seen {
    uint64_t check[TENSORS_MAX];
    uint64_t bytes[TENSORS_MAX];
    size_t tensors;
};

/* True if all of a tensor came without an error. */
static bool scan_tensor(pz_reader *reader, XXH3_state_t *state, uint64_t *all_bytes)
{
    pz_diag diag = {0};
    size_t bytes = 1;
    bool whole = true;

    for (*all_bytes = 0; bytes > 0; *all_bytes += bytes) {
        const void *raw = NULL;
        const pz_status status = pz_reader_segment(reader, &raw, &bytes, &diag);

        if (status != PZ_OK && (diag.text[0] == '\0' || diag.path[0] == '\0'))
            fail("an error of a segment without text or place");
        whole = whole && status == PZ_OK;
        if (bytes > 0)
            XXH3_64bits_update(state, raw, bytes);
    }
    return whole;
}

/* True if the whole file was read without an error. */
static bool scan(struct memfile *file, struct seen *seen)
{
    XXH3_state_t *const state = XXH3_createState();
    const pz_tensor *tensor = NULL;
    pz_reader *reader = NULL;
    pz_diag diag = {0};
    pz_status status = memfile_scan(file, &reader, &diag);
    bool whole = true;

    while (status == PZ_OK) {
        uint64_t bytes;

        status = pz_reader_next(reader, &tensor, &diag);
        if (status != PZ_OK || tensor == NULL)
            break;
        XXH3_64bits_reset(state);
        whole = scan_tensor(reader, state, &bytes) && whole;
        if (seen->tensors < TENSORS_MAX) {
            seen->check[seen->tensors] = XXH3_64bits_digest(state);
            seen->bytes[seen->tensors++] = bytes;
        }
    }
    if (status != PZ_OK && diag.text[0] == '\0')
        fail("an error without a text");
    pz_reader_free(reader);
    XXH3_freeState(state);
    return whole && status == PZ_OK;
}

/* Reads a tensor in ranges of odd sizes. */
static void read_tensor(pz_reader *reader, uint64_t index, const struct seen *seen, bool whole)
{
    static struct guard guard;
    const uint64_t bytes = pz_reader_tensor(reader, index)->raw_bytes;
    uint8_t *raw;
    pz_status status = PZ_OK;

    if (bytes > RAW_MAX)
        return;
    raw = malloc((size_t)bytes + 1);
    if (raw == NULL)
        abort();
    for (size_t at = 0, some; at < bytes && status == PZ_OK; at += some) {
        some = at % 3 == 0 ? 40001 : 100003;
        some = some < bytes - at ? some : (size_t)bytes - at;
        uint8_t *const part = guard_place(&guard, (enum guard_side)(at % GUARD_SIDES), some);
        status = pz_reader_read(reader, index, at, some, part, NULL);
        memcpy(raw + at, part, some);
    }
    if (whole && status != PZ_OK)
        fail("random access refuses what a scan reads");
    if (whole && index < seen->tensors &&
        (bytes != seen->bytes[index] || XXH3_64bits(raw, (size_t)bytes) != seen->check[index]))
        fail("random access reads other data than a scan");
    free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guard guard;
    struct memfile file = {0};
    struct seen seen = {0};
    pz_reader *reader = NULL;
    pz_diag diag = {0};
    pz_status status;
    bool whole;

    if (size < 1)
        return 0;
    file = (struct memfile){.data = guard_copy(&guard, GUARD_BACK, data + 1, size - 1),
                            .bytes = size - 1,
                            .piece = data[0] >> 1};
    if (data[0] & 1)
        repair(&file);
    whole = scan(&file, &seen);
    status = memfile_open(&file, &reader, &diag);
    if (status != PZ_OK && (whole || diag.text[0] == '\0'))
        fail("random access does not open what a scan reads, or does not say why");
    for (uint64_t i = 0; status == PZ_OK && i < pz_reader_count(reader) && i < TENSORS_MAX; i++)
        read_tensor(reader, i, &seen, whole);
    pz_reader_free(reader);
    return 0;
}
