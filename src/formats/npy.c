/* Headers of .npy files, versions 1 to 3.  The header is the text of a Python dictionary; what
 * NumPy writes and what it accepts of plain arrays is accepted here.  Knows no container. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/le.h"
#include "planezip/planezip.h"

enum { MAGIC_BYTES = 6, HEADER_MAX_BYTES = 1 << 20, DESCR_MAX = 32 };

static const uint8_t magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

pz_status pz_npy_header_bytes(const void *start, size_t start_bytes, size_t *header_bytes,
                              pz_diag *diag)
{
    const uint8_t *const from = start;
    uint64_t bytes;

    if (start_bytes < MAGIC_BYTES || memcmp(from, magic, MAGIC_BYTES) != 0)
        return pzi_fail(diag, PZ_ERR_FORMAT, "it is no .npy file");
    if (start_bytes < PZ_NPY_START_BYTES)
        return pzi_fail(diag, PZ_ERR_TRUNCATED, "the file ends within the .npy header");
    if (from[6] < 1 || from[6] > 3 || from[7] != 0)
        return pzi_fail(diag, PZ_ERR_FORMAT,
                        ".npy version %u.%u is not known, only 1.0, 2.0 and "
                        "3.0 are",
                        from[6], from[7]);
    if (from[6] == 1)
        bytes = 10 + (uint64_t)pzi_load_le16(from + 8);
    else
        bytes = 12 + (uint64_t)pzi_load_le32(from + 8);
    if (bytes > HEADER_MAX_BYTES)
        return pzi_fail(diag, PZ_ERR_FORMAT, "the .npy header is larger than 1 MiB");
    if (bytes < PZ_NPY_START_BYTES)
        return pzi_fail(diag, PZ_ERR_SYNTAX, "the .npy header is too short");
    *header_bytes = (size_t)bytes;
    return PZ_OK;
}

/* ---- The dictionary ---- */

struct text {
    const uint8_t *next, *end;
    pz_diag *diag;
};

static pz_status fail_syntax(const struct text *text, const char *what)
{
    return pzi_fail_at(text->diag, PZ_ERR_SYNTAX, ".npy header", "%s", what);
}

static void skip_blanks(struct text *text)
{
    while (text->next < text->end && (*text->next == ' ' || *text->next == '\n' ||
                                      *text->next == '\r' || *text->next == '\t'))
        text->next++;
}

/* Takes the character if it comes next, behind blanks. */
static bool take(struct text *text, char character)
{
    skip_blanks(text);
    if (text->next == text->end || *text->next != (uint8_t)character)
        return false;
    text->next++;
    return true;
}

/* A string in either kind of quotes, without escapes; false if there is none or it does not fit. */
static bool take_string(struct text *text, char *to, size_t to_bytes)
{
    const uint8_t *begin;
    size_t bytes;
    char quote;

    skip_blanks(text);
    if (text->next == text->end || (*text->next != '\'' && *text->next != '"'))
        return false;
    quote = (char)*text->next++;
    begin = text->next;
    while (text->next < text->end && *text->next != (uint8_t)quote && *text->next != '\\' &&
           *text->next != 0)
        text->next++;
    bytes = (size_t)(text->next - begin);
    if (bytes >= to_bytes || text->next == text->end || *text->next != (uint8_t)quote)
        return false;
    memcpy(to, begin, bytes);
    to[bytes] = '\0';
    text->next++;
    return true;
}

static bool take_word(struct text *text, const char *word)
{
    const size_t bytes = strlen(word);

    skip_blanks(text);
    if ((size_t)(text->end - text->next) < bytes || memcmp(text->next, word, bytes) != 0)
        return false;
    text->next += bytes;
    return true;
}

static bool take_bool(struct text *text, bool *value)
{
    *value = take_word(text, "True");
    return *value || take_word(text, "False");
}

/* A number below 2^63, with the L that Python 2 wrote. */
static bool take_number(struct text *text, uint64_t *number)
{
    const uint8_t *begin;

    skip_blanks(text);
    begin = text->next;
    for (*number = 0; text->next < text->end && *text->next >= '0' && *text->next <= '9';
         text->next++) {
        if (*number > (INT64_MAX - 9) / 10)
            return false;
        *number = 10 * *number + (*text->next - '0');
    }
    if (text->next == begin)
        return false;
    if (text->next < text->end && *text->next == 'L')
        text->next++;
    return true;
}

static pz_status take_shape(struct text *text, pz_npy *npy)
{
    if (!take(text, '('))
        return fail_syntax(text, "the shape is no tuple");
    for (npy->rank = 0; !take(text, ')'); npy->rank++) {
        if (npy->rank == PZ_NPY_RANK_MAX)
            return fail_syntax(text, "the shape has more than 64 dimensions");
        if (!take_number(text, &npy->shape[npy->rank]))
            return fail_syntax(text, "a dimension is no number from 0 to 2^63 - 1");
        if (take(text, ','))
            continue;
        /* In Python, (5) is a number. */
        if (npy->rank == 0 || !take(text, ')'))
            return fail_syntax(text, "the shape is no tuple");
        npy->rank++;
        return PZ_OK;
    }
    return PZ_OK;
}

/* The values of the three keys, and which of them were there. */
struct dictionary {
    char descr[DESCR_MAX];
    bool has_descr, has_order, has_shape;
};

static pz_status take_descr(struct text *text, struct dictionary *dictionary)
{
    skip_blanks(text);
    if (text->next < text->end && *text->next == '[')
        return pzi_fail_at(text->diag, PZ_ERR_FORMAT, ".npy header",
                           "its elements are structures; save each field as an array of its own");
    if (!take_string(text, dictionary->descr, sizeof dictionary->descr))
        return fail_syntax(text, "the type of the elements is no text");
    return PZ_OK;
}

static pz_status take_item(struct text *text, struct dictionary *dictionary, pz_npy *npy)
{
    char key[DESCR_MAX];
    bool *seen = NULL;
    pz_status status = PZ_OK;

    if (!take_string(text, key, sizeof key) || !take(text, ':'))
        return fail_syntax(text, "it is no dictionary");
    if (strcmp(key, "descr") == 0) {
        seen = &dictionary->has_descr;
        status = take_descr(text, dictionary);
    } else if (strcmp(key, "fortran_order") == 0) {
        seen = &dictionary->has_order;
        if (!take_bool(text, &npy->fortran_order))
            status = fail_syntax(text, "fortran_order is neither True nor False");
    } else if (strcmp(key, "shape") == 0) {
        seen = &dictionary->has_shape;
        status = take_shape(text, npy);
    }
    if (status != PZ_OK)
        return status;
    if (seen == NULL || *seen)
        return fail_syntax(text, "it has a key that is not known, or one twice");
    *seen = true;
    return PZ_OK;
}

static pz_status take_dictionary(struct text *text, struct dictionary *dictionary, pz_npy *npy)
{
    if (!take(text, '{'))
        return fail_syntax(text, "it is no dictionary");
    while (!take(text, '}')) {
        const pz_status status = take_item(text, dictionary, npy);

        if (status != PZ_OK)
            return status;
        if (take(text, ','))
            continue;
        if (!take(text, '}'))
            return fail_syntax(text, "it is no dictionary");
        break;
    }
    skip_blanks(text);
    if (text->next != text->end)
        return fail_syntax(text, "the dictionary has something behind it");
    if (!dictionary->has_descr || !dictionary->has_order || !dictionary->has_shape)
        return fail_syntax(text, "descr, fortran_order or shape is missing");
    return PZ_OK;
}

/* ---- The type ---- */

static const struct {
    char kind;
    unsigned char bytes;
    pz_dtype dtype;
} kinds[] = {
    {'b', 1, PZ_DTYPE_BOOL}, {'u', 1, PZ_DTYPE_U8},    {'i', 1, PZ_DTYPE_I8},
    {'u', 2, PZ_DTYPE_U16},  {'i', 2, PZ_DTYPE_I16},   {'u', 4, PZ_DTYPE_U32},
    {'i', 4, PZ_DTYPE_I32},  {'u', 8, PZ_DTYPE_U64},   {'i', 8, PZ_DTYPE_I64},
    {'f', 2, PZ_DTYPE_F16},  {'f', 4, PZ_DTYPE_F32},   {'f', 8, PZ_DTYPE_F64},
    {'c', 8, PZ_DTYPE_C64},  {'c', 16, PZ_DTYPE_C128},
};

static pz_status fail_type(const char *descr, const char *what, pz_diag *diag)
{
    return pzi_fail_at(diag, PZ_ERR_FORMAT, ".npy header", "its elements are '%s'; %s", descr,
                       what);
}

/* Elements without a name in NumPy. */
static pz_status find_void_type(const char *descr, uint64_t bytes, pz_dtype as_dtype, pz_npy *npy,
                                pz_diag *diag)
{
    if (as_dtype == 0)
        return fail_type(descr, "tell what they are with --dtype, as in --dtype bf16", diag);
    if (pz_dtype_bits(as_dtype) % 8 != 0 || pz_dtype_bits(as_dtype) / 8 != bytes)
        return fail_type(descr, "give a --dtype of the same size", diag);
    npy->dtype = as_dtype;
    return PZ_OK;
}

static pz_status find_type(const char *descr, pz_dtype as_dtype, pz_npy *npy, pz_diag *diag)
{
    const char order = descr[0];
    const char kind = order != '\0' ? descr[1] : '\0';
    char *end = NULL;
    const unsigned long bytes =
        kind != '\0' && descr[2] >= '1' && descr[2] <= '9' ? strtoul(descr + 2, &end, 10) : 0;

    if (end == NULL || (order != '<' && order != '|' && order != '>' && order != '='))
        return fail_type(descr, "convert them to plain numbers", diag);
    if (order == '>' && bytes > 1)
        return fail_type(descr,
                         "they are big-endian: convert them, in NumPy with "
                         "a.astype(a.dtype.newbyteorder('<'))",
                         diag);
    if (order == '=' || (order == '|' && bytes > 1 && kind != 'V'))
        return fail_type(descr, "their byte order is not told", diag);
    /* Dates carry their unit behind the size, as in <M8[ns]. */
    if ((kind == 'V' && *end == '\0') || ((kind == 'M' || kind == 'm') && *end == '['))
        return find_void_type(descr, bytes, as_dtype, npy, diag);
    for (size_t i = 0; *end == '\0' && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].kind == kind && kinds[i].bytes == bytes) {
            npy->dtype = kinds[i].dtype;
            return PZ_OK;
        }
    }
    return fail_type(descr, "convert them to plain numbers", diag);
}

pz_status pz_npy_parse(const void *header, size_t header_bytes, pz_dtype as_dtype, pz_npy *npy,
                       pz_diag *diag)
{
    const uint8_t *const from = header;
    struct dictionary dictionary = {0};
    struct text text;
    size_t told_bytes = 0;
    pz_status status = pz_npy_header_bytes(header, header_bytes, &told_bytes, diag);

    if (status != PZ_OK)
        return status;
    if (told_bytes != header_bytes)
        return pzi_fail(diag, PZ_ERR_TRUNCATED, "the file ends within the .npy header");
    *npy = (pz_npy){0};
    text = (struct text){from + (from[6] == 1 ? 10 : 12), from + header_bytes, diag};
    status = take_dictionary(&text, &dictionary, npy);
    if (status == PZ_OK)
        status = find_type(dictionary.descr, as_dtype, npy, diag);
    if (status != PZ_OK)
        return status;
    if (pz_tensor_bytes(npy->dtype, npy->rank, npy->shape, &npy->data_bytes) != PZ_OK)
        return pzi_fail_at(diag, PZ_ERR_MEANING, ".npy header",
                           "its shape makes no size below 2^63 bytes");
    return PZ_OK;
}
