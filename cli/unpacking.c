/* Containers front to back: see unpacking.h. */
#include "unpacking.h"

#include "errors.h"
#include "memory.h"
#include "progress.h"

#include <string.h>

struct unpacking {
    source *in;
    output_file *out;
    const unpacking_options *options;
    unpacking_result *result;
    pz_reader *reader;
};

const pz_metadata *unpacking_metadata(const pz_reader *reader, const char *key)
{
    size_t count;
    const pz_metadata *entries = pz_reader_metadata(reader, &count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i].key, key) == 0)
            return &entries[i];
    return NULL;
}

static int fail_reader(const struct unpacking *self, pz_status status, const pz_diag *diag)
{
    return self->in->error != 0 ? source_fail(self->in)
                                : fail_container(self->in->name, status, diag);
}

/* Without memory nothing is known about the data, so nothing may stand for it. */
static void give_up_salvage(const struct unpacking *self, pz_status status)
{
    if (self->options->salvage && status == PZ_ERR_MEMORY)
        memory_fail();
}

static int put(const struct unpacking *self, const void *data, uint64_t bytes)
{
    return self->out != NULL ? output_write(self->out, data, (size_t)bytes) : STATUS_OK;
}

/* Counts what arrives from the file, for the progress. */
static pz_status read_in(void *user, void *to, size_t bytes, size_t *got)
{
    pz_status status = source_read(user, to, bytes, got);

    if (status == PZ_OK)
        progress_add(*got);
    return status;
}

/* One segment; *more is false after the last one. */
static int take_segment(struct unpacking *self, bool *more)
{
    pz_diag diag = {0};
    const void *raw = NULL;
    size_t bytes;
    pz_status result = pz_reader_segment(self->reader, &raw, &bytes, &diag);

    *more = bytes > 0;
    self->result->raw_bytes += bytes;
    if (result != PZ_OK) {
        give_up_salvage(self, result);
        fail_reader(self, result, &diag);
        *more = self->options->salvage && bytes > 0;
        if (!*more)
            return STATUS_DATA;
        self->result->lost_bytes += pz_reader_lost(self->reader);
    }
    return bytes > 0 ? put(self, raw, bytes) : STATUS_OK;
}

static int take_tensors(struct unpacking *self)
{
    const pz_tensor *tensor;
    int status = STATUS_OK;

    while (status == STATUS_OK) {
        pz_diag diag = {0};
        pz_status result = pz_reader_next(self->reader, &tensor, &diag);
        bool more = true;

        if (result != PZ_OK)
            return fail_reader(self, result, &diag);
        if (tensor == NULL)
            return STATUS_OK;
        while (more && status == STATUS_OK)
            status = take_segment(self, &more);
        self->result->tensors++;
    }
    return status;
}

static int unpack(struct unpacking *self)
{
    const pz_reader_options reader_options = {.size = sizeof reader_options,
                                              .read = read_in,
                                              .user = self->in,
                                              .check_pages = self->options->check_pages,
                                              .threads = self->options->threads};
    const pz_metadata *header;
    pz_diag diag = {0};
    pz_status result = pz_reader_new(&reader_options, &self->reader, &diag);
    int status = STATUS_OK;

    if (result != PZ_OK)
        return fail_reader(self, result, &diag);
    header = unpacking_metadata(self->reader, "source.header");
    if (header != NULL)
        status = put(self, header->value, header->value_bytes);
    if (status == STATUS_OK)
        status = take_tensors(self);
    pz_reader_free(self->reader);
    return status == STATUS_OK && self->result->lost_bytes > 0 ? STATUS_DATA : status;
}

/* ---- Salvage by the index, which also leads past damaged heads ---- */

/* A page that cannot be read as a whole: its chunks, or zeros.  Segments may be that small. */
static void salvage_chunks(struct unpacking *self, uint64_t tensor, uint64_t from, size_t bytes,
                           unsigned char *page)
{
    for (size_t at = 0, some; at < bytes; at += some) {
        some = bytes - at < PZ_CHUNK_BYTES ? bytes - at : PZ_CHUNK_BYTES;
        const pz_status result =
            pz_reader_read(self->reader, tensor, from + at, some, page + at, NULL);

        give_up_salvage(self, result);
        if (result == PZ_OK)
            continue;
        memset(page + at, 0, some);
        self->result->lost_bytes += some;
    }
}

/* Every run of damaged pages gives one message. */
static int salvage_page(struct unpacking *self, uint64_t tensor, uint64_t from, size_t bytes,
                        bool *was_lost)
{
    unsigned char page[PZ_PAGE_BYTES];
    pz_diag diag = {0};
    const pz_status result = pz_reader_read(self->reader, tensor, from, bytes, page, &diag);

    give_up_salvage(self, result);
    if (result != PZ_OK && !*was_lost)
        fail_reader(self, result, &diag);
    if (result != PZ_OK)
        salvage_chunks(self, tensor, from, bytes, page);
    *was_lost = result != PZ_OK;
    self->result->raw_bytes += bytes;
    progress_add(bytes);
    return put(self, page, bytes);
}

static int salvage_tensor(struct unpacking *self, uint64_t tensor)
{
    const uint64_t all = pz_reader_tensor(self->reader, tensor)->raw_bytes;
    bool was_lost = false;
    int status = STATUS_OK;

    for (uint64_t at = 0; at < all && status == STATUS_OK; at += PZ_PAGE_BYTES) {
        const uint64_t left = all - at;

        status = salvage_page(self, tensor, at, left < PZ_PAGE_BYTES ? (size_t)left : PZ_PAGE_BYTES,
                              &was_lost);
    }
    self->result->tensors++;
    return status;
}

/* False if there is no index to go by; the descriptor is where it was then. */
static bool salvage_by_index(struct unpacking *self, int *status)
{
    const pz_reader_options reader_options = {.size = sizeof reader_options,
                                              .read_at = source_read_at,
                                              .user = self->in,
                                              .file_bytes = self->in->bytes,
                                              .trust_index = true,
                                              .threads = self->options->threads};
    const pz_metadata *header;

    if (self->in->bytes == PZ_UNKNOWN ||
        pz_reader_new(&reader_options, &self->reader, NULL) != PZ_OK)
        return false;
    header = unpacking_metadata(self->reader, "source.header");
    *status = header != NULL ? put(self, header->value, header->value_bytes) : STATUS_OK;
    for (uint64_t i = 0; i < pz_reader_count(self->reader) && *status == STATUS_OK; i++)
        *status = salvage_tensor(self, i);
    pz_reader_free(self->reader);
    if (self->result->lost_bytes > 0)
        *status = STATUS_DATA;
    return true;
}

int unpacking_run(source *in, output_file *out, const unpacking_options *options,
                  unpacking_result *result)
{
    struct unpacking self = {.in = in, .out = out, .options = options, .result = result};
    int status;

    *result = (unpacking_result){0};
    progress_start(in->name, in->bytes);
    if (!options->salvage || !salvage_by_index(&self, &status))
        status = unpack(&self);
    progress_end();
    return status;
}
