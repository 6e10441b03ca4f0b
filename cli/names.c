/* Words for the values of enumerations: see names.h. */
#include "names.h"

#include "memory.h"

#include <string.h>

static const char *const precisions[] = {[PZ_FP32] = "fp32", [PZ_BF16] = "bf16"};
static const char *const encodings[] = {
    [PZ_RAW] = "raw",    [PZ_ZVC] = "zvc",       [PZ_BX] = "bx",
    [PZ_DBX] = "dbx",    [PZ_ZBX] = "zbx",       [PZ_EXPONENTS] = "E",
    [PZ_INTEGERS] = "I", [PZ_DIFFERENCES] = "D", [PZ_CONSTANTS] = "C"};
static const char *const signatures[] = {
    [PZ_BY_TENSOR] = "tensor", [PZ_BY_OPERATOR] = "operator", [PZ_BY_NOTHING] = "none"};
static const char *const replays[PZ_REPLAYS] = {
    [PZ_REPLAY_FREE] = "free", [PZ_REPLAY_KEEP] = "keep", [PZ_REPLAY_HOLD] = "hold"};
static const char *const actions[PZ_ACTIONS] = {
    [PZ_KEEP] = "keep", [PZ_SWAP] = "swap", [PZ_DROP] = "drop", [PZ_COMPRESS] = "compress"};
static const char *const compressors[] = {
    [PZ_COMPRESS_NONE] = "none",
    [PZ_COMPRESS_SPARE] = "spare",
    [PZ_COMPRESS_SECOND] = "second",
    [PZ_COMPRESS_SOFTWARE] = "software",
};
const char *const names_codecs[NAMES_CODECS] = {"planezip", "zvc"};

const char *names_precision(pz_precision precision)
{
    return precisions[precision];
}

const char *names_encoding(pz_encoding encoding)
{
    return encodings[encoding];
}

const char *names_signature(pz_signature signature)
{
    return signatures[signature];
}

const char *names_replay(pz_replay replay)
{
    return replays[replay];
}

const char *names_action(pz_action action)
{
    return actions[action];
}

const char *names_policies(void)
{
    const char *names = "";

    for (size_t i = 0; i < pz_policy_count(); i++) {
        pz_policy policy;

        if (pz_policy_at(i, &policy) == PZ_OK)
            names = memory_text("%s%s%s", names, i > 0 ? ", " : "", policy.name);
    }
    return memory_text("%s, online-dtr, online-dte, online-dte+codec", names);
}

const char *names_isas(void)
{
    const char *names = pz_isa_name(0);

    for (unsigned i = 1; i < pz_isa_count(); i++)
        names = memory_text("%s, %s", names, pz_isa_name(i));
    return names;
}

/* The place of text in a list of words, or -1. */
static int find(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], text) == 0)
            return (int)i;
    return -1;
}

const char *option_precision(const char *text, void *target)
{
    int found = find(text, precisions, LENGTH(precisions));

    if (found < 0)
        return "known are bf16 and fp32";
    *(pz_precision *)target = (pz_precision)found;
    return NULL;
}

const char *option_signature(const char *text, void *target)
{
    int found = find(text, signatures, LENGTH(signatures));

    if (found < 0)
        return "known are tensor, operator and none";
    *(pz_signature *)target = (pz_signature)found;
    return NULL;
}

const char *option_replay(const char *text, void *target)
{
    int found = find(text, replays, LENGTH(replays));

    if (found < 0)
        return "known are free, keep and hold";
    *(pz_replay *)target = (pz_replay)found;
    return NULL;
}

const char *option_compress(const char *text, void *target)
{
    int found = find(text, compressors, LENGTH(compressors));

    if (found < 0)
        return "known are none, spare, second and software";
    *(pz_compress *)target = (pz_compress)found;
    return NULL;
}

const char *option_codec(const char *text, void *target)
{
    int found = find(text, names_codecs, NAMES_CODECS);

    if (found < 0)
        return "known are planezip and zvc";
    *(const char **)target = names_codecs[found];
    return NULL;
}

const char *option_stream_codec(const char *text, void *target)
{
    pz_mode mode;

    if (pz_mode_named(text, 8, &mode) != PZ_OK)
        return "known are planezip2, planezip2-fast, planezip, zvc, bpc, bx and zbx";
    *(const char **)target = text;
    return NULL;
}

const char *names_stream_codec(pz_mode mode)
{
    static const char *const codecs[] = {
        "planezip2", "planezip2-fast", "planezip", "zvc", "bpc", "bx", "zbx"};

    for (size_t i = 0; i < LENGTH(codecs); i++) {
        pz_mode named;

        if (pz_mode_named(codecs[i], mode.width_bits, &named) == PZ_OK &&
            named.format == mode.format && named.encodings == mode.encodings)
            return codecs[i];
    }
    return NULL;
}
