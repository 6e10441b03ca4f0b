/* Codecs of others, opened at run time: see baselines.h.  The types of their functions stand here,
 * since their headers need not be installed either. */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "baselines/baselines.h"

/* The largest input that all of them take, and whose bound they can tell. */
enum { RAW_MAX = INT_MAX - (1 << 25) };

struct lz4 {
    int (*bound)(int raw_bytes);
    int (*compress)(const char *raw, char *dst, int raw_bytes, int dst_bytes);
    int (*decompress)(const char *coded, char *raw, int coded_bytes, int raw_bytes);
};

struct zstd {
    size_t (*bound)(size_t raw_bytes);
    void *(*new_encoder)(void);
    void *(*new_decoder)(void);
    size_t (*free_encoder)(void *encoder);
    size_t (*free_decoder)(void *decoder);
    size_t (*compress)(void *encoder, void *dst, size_t dst_bytes, const void *raw,
                       size_t raw_bytes, int level);
    size_t (*decompress)(void *decoder, void *raw, size_t raw_bytes, const void *coded,
                         size_t coded_bytes);
    unsigned (*is_error)(size_t result);
    void *encoder, *decoder;
};

struct blosc {
    void (*start)(void);
    void (*stop)(void);
    int (*set_compressor)(const char *name);
    int16_t (*set_threads)(int16_t threads);
    int (*compress)(int level, int shuffle, int32_t element_bytes, const void *raw,
                    int32_t raw_bytes, void *dst, int32_t dst_bytes);
    int (*decompress)(const void *coded, int32_t coded_bytes, void *raw, int32_t raw_bytes);
};

/* What is the same for all peers of one library.  Sizes are at most RAW_MAX, or INT_MAX for dst and
 * coded. */
struct adapter {
    const char *const *files; /* of the library, newest first; the last is NULL */
    const char *version;      /* name of the function that tells it */
    bool (*open)(pzb_peer *peer);
    void (*close)(pzb_peer *peer); /* NULL: nothing to do */
    size_t (*bound)(const pzb_peer *peer, size_t raw_bytes);
    pz_status (*encode)(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                        size_t dst_bytes, size_t *coded_bytes);
    pz_status (*decode)(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                        size_t raw_bytes);
};

struct kind {
    const char *name;
    const struct adapter *adapter;
    const char *compressor; /* of c-blosc2 */
    int level, shuffle;
};

struct pzb_peer {
    const struct kind *kind;
    void *library;
    unsigned element_bytes;
    union {
        struct lz4 lz4;
        struct zstd zstd;
        struct blosc blosc;
    } as;
};

/* Sets a pointer to a function; C has no other way from an object pointer. */
static bool find(const pzb_peer *peer, const char *name, void *pointer)
{
    return (*(void **)pointer = dlsym(peer->library, name)) != NULL;
}

/* ---- lz4 ---- */

static bool open_lz4(pzb_peer *peer)
{
    struct lz4 *lz4 = &peer->as.lz4;

    return find(peer, "LZ4_compressBound", &lz4->bound) &&
           find(peer, "LZ4_compress_default", &lz4->compress) &&
           find(peer, "LZ4_decompress_safe", &lz4->decompress);
}

static size_t bound_lz4(const pzb_peer *peer, size_t raw_bytes)
{
    return (size_t)peer->as.lz4.bound((int)raw_bytes);
}

static pz_status encode_lz4(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                            size_t dst_bytes, size_t *coded_bytes)
{
    const int result = peer->as.lz4.compress(raw, dst, (int)raw_bytes, (int)dst_bytes);

    if (result <= 0)
        return PZ_ERR_SPACE;
    *coded_bytes = (size_t)result;
    return PZ_OK;
}

static pz_status decode_lz4(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                            size_t raw_bytes)
{
    const int result = peer->as.lz4.decompress(coded, raw, (int)coded_bytes, (int)raw_bytes);

    return result >= 0 && (size_t)result == raw_bytes ? PZ_OK : PZ_ERR_FORMAT;
}

static const char *const lz4_files[] = {"liblz4.so.1", NULL};
static const struct adapter lz4_adapter = {.files = lz4_files,
                                           .version = "LZ4_versionString",
                                           .open = open_lz4,
                                           .bound = bound_lz4,
                                           .encode = encode_lz4,
                                           .decode = decode_lz4};

/* ---- zstd ---- */

static bool open_zstd(pzb_peer *peer)
{
    struct zstd *zstd = &peer->as.zstd;

    if (!find(peer, "ZSTD_compressBound", &zstd->bound) ||
        !find(peer, "ZSTD_createCCtx", &zstd->new_encoder) ||
        !find(peer, "ZSTD_createDCtx", &zstd->new_decoder) ||
        !find(peer, "ZSTD_freeCCtx", &zstd->free_encoder) ||
        !find(peer, "ZSTD_freeDCtx", &zstd->free_decoder) ||
        !find(peer, "ZSTD_compressCCtx", &zstd->compress) ||
        !find(peer, "ZSTD_decompressDCtx", &zstd->decompress) ||
        !find(peer, "ZSTD_isError", &zstd->is_error))
        return false;
    zstd->encoder = zstd->new_encoder();
    zstd->decoder = zstd->new_decoder();
    if (zstd->encoder != NULL && zstd->decoder != NULL)
        return true;
    zstd->free_encoder(zstd->encoder);
    zstd->free_decoder(zstd->decoder);
    return false;
}

static void close_zstd(pzb_peer *peer)
{
    peer->as.zstd.free_encoder(peer->as.zstd.encoder);
    peer->as.zstd.free_decoder(peer->as.zstd.decoder);
}

static size_t bound_zstd(const pzb_peer *peer, size_t raw_bytes)
{
    return peer->as.zstd.bound(raw_bytes);
}

static pz_status encode_zstd(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                             size_t dst_bytes, size_t *coded_bytes)
{
    const struct zstd *zstd = &peer->as.zstd;
    const size_t result =
        zstd->compress(zstd->encoder, dst, dst_bytes, raw, raw_bytes, peer->kind->level);

    if (zstd->is_error(result))
        return PZ_ERR_SPACE;
    *coded_bytes = result;
    return PZ_OK;
}

static pz_status decode_zstd(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                             size_t raw_bytes)
{
    const struct zstd *zstd = &peer->as.zstd;
    const size_t result = zstd->decompress(zstd->decoder, raw, raw_bytes, coded, coded_bytes);

    return result == raw_bytes ? PZ_OK : PZ_ERR_FORMAT;
}

static const char *const zstd_files[] = {"libzstd.so.1", NULL};
static const struct adapter zstd_adapter = {.files = zstd_files,
                                            .version = "ZSTD_versionString",
                                            .open = open_zstd,
                                            .close = close_zstd,
                                            .bound = bound_zstd,
                                            .encode = encode_zstd,
                                            .decode = decode_zstd};

/* ---- c-blosc2 ---- */

enum { BLOSC_SHUFFLE = 1, BLOSC_BITSHUFFLE = 2, BLOSC_OVERHEAD = 32 };

static bool open_blosc(pzb_peer *peer)
{
    struct blosc *blosc = &peer->as.blosc;

    if (!find(peer, "blosc2_init", &blosc->start) || !find(peer, "blosc2_destroy", &blosc->stop) ||
        !find(peer, "blosc1_set_compressor", &blosc->set_compressor) ||
        !find(peer, "blosc2_set_nthreads", &blosc->set_threads) ||
        !find(peer, "blosc2_compress", &blosc->compress) ||
        !find(peer, "blosc2_decompress", &blosc->decompress))
        return false;
    blosc->start();
    blosc->set_threads(1);
    /* A library may be built without some of its compressors. */
    if (blosc->set_compressor(peer->kind->compressor) >= 0)
        return true;
    blosc->stop();
    return false;
}

static void close_blosc(pzb_peer *peer)
{
    peer->as.blosc.stop();
}

static size_t bound_blosc(const pzb_peer *peer, size_t raw_bytes)
{
    (void)peer;
    return raw_bytes + BLOSC_OVERHEAD;
}

static pz_status encode_blosc(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                              size_t dst_bytes, size_t *coded_bytes)
{
    const struct kind *kind = peer->kind;
    int result;

    /* The choice is the library's, not the peer's: another peer may have made it since. */
    peer->as.blosc.set_compressor(kind->compressor);
    result = peer->as.blosc.compress(kind->level, kind->shuffle, (int32_t)peer->element_bytes, raw,
                                     (int32_t)raw_bytes, dst, (int32_t)dst_bytes);
    if (result <= 0)
        return PZ_ERR_SPACE;
    *coded_bytes = (size_t)result;
    return PZ_OK;
}

static pz_status decode_blosc(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                              size_t raw_bytes)
{
    const int result =
        peer->as.blosc.decompress(coded, (int32_t)coded_bytes, raw, (int32_t)raw_bytes);

    return result >= 0 && (size_t)result == raw_bytes ? PZ_OK : PZ_ERR_FORMAT;
}

static const char *const blosc_files[] = {
    "libblosc2.so",   "libblosc2.so.9", "libblosc2.so.8", "libblosc2.so.7", "libblosc2.so.6",
    "libblosc2.so.5", "libblosc2.so.4", "libblosc2.so.3", "libblosc2.so.2", NULL};
static const struct adapter blosc_adapter = {.files = blosc_files,
                                             .version = "blosc2_get_version_string",
                                             .open = open_blosc,
                                             .close = close_blosc,
                                             .bound = bound_blosc,
                                             .encode = encode_blosc,
                                             .decode = decode_blosc};

/* ---- All of them ---- */

static const struct kind kinds[] = {
    {"lz4", &lz4_adapter, NULL, 0, 0},
    {"zstd", &zstd_adapter, NULL, 1, 0},
    {"bitshuffle+lz4", &blosc_adapter, "lz4", 5, BLOSC_BITSHUFFLE},
    {"shuffle+zstd", &blosc_adapter, "zstd", 1, BLOSC_SHUFFLE},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *pzb_peer_name(unsigned index)
{
    return index < KINDS ? kinds[index].name : NULL;
}

const char *pzb_peer_library(unsigned index)
{
    return index < KINDS ? kinds[index].adapter->files[0] : NULL;
}

static void *open_library(const char *const *files)
{
    void *library = NULL;

    for (; *files != NULL && library == NULL; files++)
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
    return library;
}

pz_status pzb_peer_open(unsigned index, unsigned element_bytes, pzb_peer **peer)
{
    pzb_peer *opened;

    if (index >= KINDS || element_bytes == 0 || peer == NULL)
        return PZ_ERR_ARGUMENT;
    opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return PZ_ERR_MEMORY;
    opened->kind = &kinds[index];
    opened->element_bytes = element_bytes;
    opened->library = open_library(kinds[index].adapter->files);
    if (opened->library != NULL && kinds[index].adapter->open(opened)) {
        *peer = opened;
        return PZ_OK;
    }
    if (opened->library != NULL)
        dlclose(opened->library);
    free(opened);
    return PZ_ERR_IO;
}

void pzb_peer_close(pzb_peer *peer)
{
    if (peer == NULL)
        return;
    if (peer->kind->adapter->close != NULL)
        peer->kind->adapter->close(peer);
    dlclose(peer->library);
    free(peer);
}

const char *pzb_peer_version(const pzb_peer *peer)
{
    const char *(*version)(void);

    return find(peer, peer->kind->adapter->version, &version) ? version() : "unknown";
}

pz_status pzb_peer_bound(const pzb_peer *peer, size_t raw_bytes, size_t *bound_bytes)
{
    if (raw_bytes > RAW_MAX)
        return PZ_ERR_ARGUMENT;
    *bound_bytes = peer->kind->adapter->bound(peer, raw_bytes);
    return PZ_OK;
}

static size_t at_most_int(size_t bytes)
{
    return bytes < INT_MAX ? bytes : INT_MAX;
}

pz_status pzb_peer_encode(pzb_peer *peer, const void *raw, size_t raw_bytes, void *dst,
                          size_t dst_bytes, size_t *coded_bytes)
{
    if (raw_bytes > RAW_MAX)
        return PZ_ERR_ARGUMENT;
    return peer->kind->adapter->encode(peer, raw, raw_bytes, dst, at_most_int(dst_bytes),
                                       coded_bytes);
}

pz_status pzb_peer_decode(pzb_peer *peer, const void *coded, size_t coded_bytes, void *raw,
                          size_t raw_bytes)
{
    if (raw_bytes > RAW_MAX || coded_bytes > INT_MAX)
        return PZ_ERR_ARGUMENT;
    return peer->kind->adapter->decode(peer, coded, coded_bytes, raw, raw_bytes);
}
