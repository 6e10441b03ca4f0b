/* Template, parameter PZ_W: size model, encoder and decoder of the chunks of format 2
 * (docs/format2.md) for one symbol width and instruction set.  The including file has defined the
 * vocabulary of blocks (vec_scalar.tmpl.h) and that of groups (group_scalar.tmpl.h).  Ends with
 * encode2, measure2 and decode2, the entries of pzi_width2_ops. */
#include "codec/choose2.tmpl.h"

#include "codec/classes2.tmpl.h"

#include "codec/numbers2.tmpl.h"

static size_t PZ_CAT(encode2)(pz_mode mode, const uint8_t *raw, unsigned n, uint8_t *to)
{
    struct pzi_window2 window = {0};
    const pz_encoding encoding = PZ_CAT(choose2)(mode, raw, n, &window);

    if (encoding == PZ_EXPONENTS)
        return PZ_CAT(encode_exponents)(mode.exponent_bits, &window, raw, n, to);
    return PZ_CAT(encode_numbers)(encoding == PZ_DIFFERENCES, raw, n, to);
}

static size_t PZ_CAT(measure2)(pz_mode mode, const uint8_t *raw, unsigned n, pz_encoding *encoding)
{
    struct pzi_window2 window = {0};

    *encoding = PZ_CAT(choose2)(mode, raw, n, &window);
    if (*encoding == PZ_EXPONENTS)
        return PZ_CAT(measure_exponents)(mode.exponent_bits, &window, raw, n);
    return PZ_CAT(measure_numbers)(*encoding == PZ_DIFFERENCES, raw, n);
}

static pz_status PZ_CAT(decode2)(pz_mode mode, struct pzi_reader2 *from, uint8_t *raw, unsigned n)
{
    if (from->next == from->end)
        return PZ_ERR_CHUNK_END;
    switch (from->next[0] & 3) {
    case 0:
        if (mode.exponent_bits == 0)
            return PZ_ERR_MODE;
        return PZ_CAT(decode_exponents)(mode.exponent_bits, from, raw, n);
    case 1:
        return PZ_CAT(decode_numbers)(false, from, raw, n);
    case 2:
        return PZ_CAT(decode_numbers)(true, from, raw, n);
    default:
        return PZ_ERR_MODE;
    }
}
