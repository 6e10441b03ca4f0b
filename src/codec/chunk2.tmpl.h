/* Template, parameter PZ_W: size model, encoder and decoder of the chunks of format 2
 * (docs/format2.md) for one symbol width and instruction set.  The including file has defined the
 * vocabulary of blocks (vec_scalar.tmpl.h) and that of groups (group_scalar.tmpl.h).  Ends with
 * encode2, measure2 and decode2, the entries of pzi_width2_ops. */
#include "codec/cut2.tmpl.h"

#include "codec/choose2.tmpl.h"

#include "codec/classes2.tmpl.h"

#include "codec/numbers2.tmpl.h"

/* For each e that the width has, which is then a constant. */
PZI_INLINE size_t PZ_CAT(encode_floats)(unsigned e, uint32_t encodings, const uint8_t *raw,
                                        unsigned n, uint8_t *to)
{
    PZ_LAYOUT layout;
    bool packed;

    if (PZ_CAT(choose_exponents)(e, encodings, raw, n, &layout, &packed) == PZ_DIFFERENCES)
        return packed ? PZ_CAT(encode_packed)(e, &layout, raw, n, to)
                      : PZ_CAT(encode_numbers)(e, true, raw, n, to);
    return PZ_CAT(encode_exponents)(e, &layout, raw, n, to);
}

PZI_INLINE size_t PZ_CAT(measure_floats)(unsigned e, uint32_t encodings, const uint8_t *raw,
                                         unsigned n, pz_encoding *encoding)
{
    PZ_LAYOUT layout;
    bool packed;

    *encoding = PZ_CAT(choose_exponents)(e, encodings, raw, n, &layout, &packed);
    if (*encoding == PZ_DIFFERENCES)
        return packed ? PZ_CAT(measure_packed)(e, &layout, raw, n)
                      : PZ_CAT(measure_numbers)(e, true, raw, n);
    return PZ_CAT(measure_exponents)(e, &layout, raw, n);
}

static size_t PZ_CAT(encode2)(pz_mode mode, const uint8_t *raw, unsigned n, uint8_t *to)
{
    pz_encoding encoding;

    if (mode.exponent_bits != 0)
        return PZ_WITH_E(mode.exponent_bits, encode_floats, mode.encodings, raw, n, to);
    encoding = PZ_CAT(choose_numbers)(mode.encodings, raw, n);
    return PZ_CAT(encode_numbers)(0, encoding == PZ_DIFFERENCES, raw, n, to);
}

static size_t PZ_CAT(measure2)(pz_mode mode, const uint8_t *raw, unsigned n, pz_encoding *encoding)
{
    if (mode.exponent_bits != 0)
        return PZ_WITH_E(mode.exponent_bits, measure_floats, mode.encodings, raw, n, encoding);
    *encoding = PZ_CAT(choose_numbers)(mode.encodings, raw, n);
    return PZ_CAT(measure_numbers)(0, *encoding == PZ_DIFFERENCES, raw, n);
}

static pz_status PZ_CAT(decode2)(pz_mode mode, struct pzi_reader2 *from, uint8_t *raw, unsigned n)
{
    const unsigned e = mode.exponent_bits;

    if (from->next == from->end)
        return PZ_ERR_CHUNK_END;
    switch (from->next[0] & 3) {
    case PZI_MODE2_I:
    case PZI_MODE2_D:
        return PZ_CAT(decode_numbers)(e, from, raw, n);
    default:
        return e == 0 ? PZ_ERR_MODE : PZ_WITH_E(e, decode_exponents, from, raw, n);
    }
}
