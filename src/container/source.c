/* Bytes that are read: see source.h. */
#include "container/source.h"

enum { FIRST_BYTES = 1 << 20 };

static pz_status take_some(struct pzi_source *source, void *to, size_t bytes, size_t *got)
{
    const pz_reader_options *const options = source->options;
    pz_status status;

    *got = 0;
    if (options->read_at != NULL)
        status = options->read_at(options->user, source->at, to, bytes, got);
    else
        status = options->read(options->user, to, bytes, got);
    return status == PZ_OK && *got > bytes ? PZ_ERR_IO : status;
}

pz_status pzi_source_take(struct pzi_source *source, void *to, size_t bytes, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        size_t some;
        const pz_status status = take_some(source, (uint8_t *)to + *got, bytes - *got, &some);

        if (status != PZ_OK || some == 0)
            return status;
        *got += some;
        source->at += some;
    }
    return PZ_OK;
}

/* Bytes that memory may be taken for at once. */
static uint64_t trusted_bytes(const struct pzi_source *source, const struct pzi_bytes *to)
{
    const pz_reader_options *const options = source->options;

    if (options->read_at != NULL)
        return source->at < options->file_bytes ? options->file_bytes - source->at : 0;
    return to->bytes > FIRST_BYTES ? to->bytes : FIRST_BYTES;
}

pz_status pzi_source_append(struct pzi_source *source, uint64_t bytes, struct pzi_bytes *to)
{
    if (source->options->read_at != NULL && bytes > trusted_bytes(source, to))
        return PZ_ERR_TRUNCATED;
    while (bytes > 0) {
        const uint64_t trusted = trusted_bytes(source, to);
        const size_t step = (size_t)(bytes < trusted ? bytes : trusted);
        pz_status status;
        size_t got;

        if (!pzi_bytes_reserve(to, step))
            return PZ_ERR_MEMORY;
        status = pzi_source_take(source, to->data + to->bytes, step, &got);
        to->bytes += got;
        if (status != PZ_OK)
            return status;
        if (got < step)
            return PZ_ERR_TRUNCATED;
        bytes -= step;
    }
    return PZ_OK;
}
