/* The peers that the machine has, if any: there and back, too little room, what is damaged. */
#include "baselines/baselines.h"

#include <stdlib.h>
#include <string.h>

#include "support/rng.h"
#include "support/test.h"

enum { RAW_BYTES = 100000, ELEMENT_BYTES = 2 };

static uint8_t raw[RAW_BYTES], back[RAW_BYTES];

/* Noise in every second byte, which all of them can shrink once bytes are sorted, and a run that
 * all of them can. */
static void fill_raw(void)
{
    struct rng rng = {1};

    rng_fill(&rng, raw, sizeof raw);
    for (size_t i = 0; i < RAW_BYTES; i += 2)
        raw[i] = 0x3f;
    memset(raw, 0x11, RAW_BYTES / 4);
}

static void there_and_back(pzb_peer *peer, size_t bytes)
{
    size_t bound = 0, coded_bytes = 0;
    uint8_t *coded;

    CHECK_EQ_U64(pzb_peer_bound(peer, bytes, &bound), PZ_OK);
    coded = malloc(bound);
    CHECK_EQ_U64(pzb_peer_encode(peer, raw, bytes, coded, bound, &coded_bytes), PZ_OK);
    CHECK(coded_bytes <= bound);
    memset(back, 0, sizeof back);
    CHECK_EQ_U64(pzb_peer_decode(peer, coded, coded_bytes, back, bytes), PZ_OK);
    CHECK(memcmp(raw, back, bytes) == 0);
    if (bytes == RAW_BYTES)
        CHECK(coded_bytes < bytes);
    free(coded);
}

static void errors(pzb_peer *peer)
{
    size_t bound = 0, coded_bytes = 0;
    uint8_t *coded;

    CHECK_EQ_U64(pzb_peer_bound(peer, RAW_BYTES, &bound), PZ_OK);
    coded = malloc(bound);
    CHECK_EQ_U64(pzb_peer_encode(peer, raw, RAW_BYTES, coded, 100, &coded_bytes), PZ_ERR_SPACE);
    CHECK_EQ_U64(pzb_peer_encode(peer, raw, RAW_BYTES, coded, bound, &coded_bytes), PZ_OK);
    CHECK_EQ_U64(pzb_peer_decode(peer, coded, coded_bytes / 2, back, RAW_BYTES), PZ_ERR_FORMAT);
    CHECK_EQ_U64(pzb_peer_decode(peer, coded, coded_bytes, back, RAW_BYTES / 2), PZ_ERR_FORMAT);
    CHECK_EQ_U64(pzb_peer_bound(peer, (size_t)INT32_MAX, &bound), PZ_ERR_ARGUMENT);
    free(coded);
}

TEST(peers_of_this_machine)
{
    fill_raw();
    for (unsigned i = 0; pzb_peer_name(i) != NULL; i++) {
        pzb_peer *peer = NULL;
        const pz_status status = pzb_peer_open(i, ELEMENT_BYTES, &peer);

        if (status == PZ_ERR_IO) {
            printf("%s: %s is not on this machine\n", pzb_peer_name(i), pzb_peer_library(i));
            continue;
        }
        CHECK_EQ_U64(status, PZ_OK);
        CHECK(strchr(pzb_peer_version(peer), '.') != NULL);
        for (size_t bytes = RAW_BYTES; bytes > 0; bytes /= 7)
            there_and_back(peer, bytes);
        errors(peer);
        pzb_peer_close(peer);
    }
}

TEST(arguments)
{
    pzb_peer *peer = NULL;

    CHECK_EQ_U64(pzb_peer_open(1000, 2, &peer), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pzb_peer_open(0, 0, &peer), PZ_ERR_ARGUMENT);
    CHECK(pzb_peer_name(1000) == NULL && pzb_peer_library(1000) == NULL);
    pzb_peer_close(NULL);
}
