/* Opening a container: docs/container.md, "Header" and "META". */
#include "container/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "base/diag.h"
#include "container/segment.h"

void pzi_reader_place(const pz_reader *reader, uint64_t at, char text[128])
{
    const struct pzi_segment segment = {.tensor = reader->inside ? reader->tensor.name : "",
                                        .number = reader->segments};
    char place[PZI_PLACE_TEXT] = "";

    if (reader->inside)
        pzi_segment_place(&segment, place);
    snprintf(text, 128, "%.90s%srecord at byte %" PRIu64, place, reader->inside ? ", " : "", at);
}

/* Reading failed, or the file ended. */
static pz_status fail_source(const pz_reader *reader, uint64_t at, pz_status status, pz_diag *diag)
{
    char path[128];

    pzi_reader_place(reader, at, path);
    if (status == PZ_ERR_TRUNCATED)
        return pzi_fail_at(diag, status, path,
                           "the file ends here: it is unfinished or was cut off");
    return pzi_fail_at(diag, status, path, "%s", pz_status_text(status));
}

pz_status pzi_reader_head(pz_reader *reader, pz_diag *diag)
{
    uint8_t stored[PZI_HEAD_BYTES];
    char path[128];
    size_t got;
    pz_status status;

    reader->head_at = reader->source.at;
    status = pzi_source_take(&reader->source, stored, sizeof stored, &got);
    if (status == PZ_OK && got < sizeof stored)
        status = PZ_ERR_TRUNCATED;
    if (status != PZ_OK)
        return fail_source(reader, reader->head_at, status, diag);
    if (pzi_head_load(stored, &reader->head))
        return PZ_OK;
    pzi_reader_place(reader, reader->head_at, path);
    return pzi_fail_at(diag, PZ_ERR_CHECK, path, "the checksum of its head does not match");
}

pz_status pzi_reader_body(pz_reader *reader, pz_diag *diag)
{
    const struct pzi_head *const head = &reader->head;
    pz_status status;
    char path[128];

    reader->body.bytes = 0;
    pzi_reader_place(reader, reader->head_at, path);
    if ((head->kind == PZI_META || head->kind == PZI_TENS) && head->body_bytes > PZI_BODY_MAX_BYTES)
        return pzi_fail_at(diag, PZ_ERR_MEANING, path, "it is larger than a record may be");
    status = pzi_source_append(&reader->source, head->body_bytes, &reader->body);
    if (status != PZ_OK)
        return fail_source(reader, reader->head_at, status, diag);
    if (head->kind == PZI_SEGM || XXH3_64bits(reader->body.data, reader->body.bytes) == head->check)
        return PZ_OK;
    return pzi_fail_at(diag, PZ_ERR_CHECK, path, "the checksum of its body does not match");
}

pz_status pzi_reader_meta(pz_reader *reader, pz_diag *diag)
{
    pz_status status = pzi_reader_body(reader, diag);
    struct pzi_cursor from = {reader->body.data, reader->body.bytes, false};
    const uint64_t count = status == PZ_OK ? pzi_take_u64(&from) : 0;

    if (status != PZ_OK)
        return status;
    status = from.failed ? PZ_ERR_MEANING : pzi_metadata_load(&from, count, &reader->metadata);
    if (status == PZ_ERR_MEMORY)
        return pzi_no_memory(diag);
    if (status != PZ_OK)
        return pzi_fail_at(diag, status, "metadata", "its entries do not fill the record");
    return PZ_OK;
}

static pz_status check_header(pz_reader *reader, pz_diag *diag)
{
    uint8_t header[PZI_FILE_HEADER_BYTES];
    size_t got;
    const pz_status status = pzi_source_take(&reader->source, header, sizeof header, &got);

    if (status != PZ_OK)
        return pzi_fail(diag, status, "%s", pz_status_text(status));
    if (got == 0)
        return pzi_fail(diag, PZ_ERR_FORMAT, "it is empty and no .pz file");
    return pzi_file_header_check(header, got, diag);
}

/* What comes first: META, or what a scan keeps for later. */
static pz_status first_record(pz_reader *reader, pz_diag *diag)
{
    pz_status status = pzi_reader_head(reader, diag);

    if (status == PZ_OK && reader->head.kind == PZI_META) {
        if (reader->head.tensor != 0 || reader->head.segment != 0 || reader->head.raw_bytes != 0)
            return pzi_fail_at(diag, PZ_ERR_MEANING, "metadata", "unused fields are not zero");
        return pzi_reader_meta(reader, diag);
    }
    reader->has_head = status == PZ_OK;
    return status;
}

static pz_status open_reader(pz_reader *reader, pz_diag *diag)
{
    pz_status status = check_header(reader, diag);

    if (status == PZ_OK)
        status = first_record(reader, diag);
    if (status == PZ_OK && reader->options.read_at != NULL)
        status = pzi_reader_index(reader, diag);
    return status;
}

pz_status pz_reader_new(const pz_reader_options *options, pz_reader **reader, pz_diag *diag)
{
    pz_reader *made;
    pz_status status;

    if (options == NULL || reader == NULL || options->size != sizeof *options ||
        (options->read == NULL) == (options->read_at == NULL))
        return pzi_fail(diag, PZ_ERR_ARGUMENT, "%s", pz_status_text(PZ_ERR_ARGUMENT));
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return pzi_no_memory(diag);
    made->options = *options;
    made->source.options = &made->options;
    status = open_reader(made, diag);
    if (status != PZ_OK) {
        pz_reader_free(made);
        return status;
    }
    *reader = made;
    return PZ_OK;
}

void pz_reader_free(pz_reader *reader)
{
    if (reader == NULL)
        return;
    pzi_metadata_release(&reader->metadata);
    pzi_bytes_release(&reader->body);
    pzi_bytes_release(&reader->raw);
    pzi_bytes_release(&reader->page);
    pzi_tensor_release(&reader->tensor);
    pzi_index_release(&reader->seen);
    pzi_index_free_tensors(reader->tensors, reader->count);
    free(reader);
}

const pz_metadata *pz_reader_metadata(const pz_reader *reader, size_t *count)
{
    *count = reader->metadata.count;
    return reader->metadata.entries;
}
