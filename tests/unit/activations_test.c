/* Every chunk of the bundled activations against the sizes and encodings that its index gives,
 * which were computed by other programs than ours. */
#include <stdlib.h>

#include "baselines/baselines.h"
#include "planezip/planezip.h"
#include "support/activations.h"
#include "support/test.h"

static const struct {
    enum activation_codec column;
    const char *name;
} codecs[] = {
    {ACTIVATION_ZVC, "zvc"}, {ACTIVATION_BPC, "bpc"},           {ACTIVATION_BX, "bx"},
    {ACTIVATION_ZBX, "zbx"}, {ACTIVATION_PLANEZIP, "planezip"},
};

enum { CODECS = sizeof codecs / sizeof codecs[0] };

static void set_context(const struct activation *chunk)
{
    TEST_CONTEXT("%s %s %s, offset %zu, w %u", chunk->model, chunk->cls, chunk->kind, chunk->offset,
                 chunk->w);
}

static void check_sizes(const struct activation *chunk)
{
    for (unsigned i = 0; i < CODECS; i++) {
        pz_mode mode;
        pz_stats stats;

        CHECK_EQ_U64(pz_mode_named(codecs[i].name, chunk->w, &mode), PZ_OK);
        CHECK_EQ_U64(pz_stream_measure(mode, chunk->data, chunk->bytes, &stats), PZ_OK);
        CHECK_EQ_U64(stats.coded_bytes, chunk->coded_bytes[codecs[i].column]);
        if (codecs[i].column != ACTIVATION_PLANEZIP)
            continue;
        for (unsigned tag = 0; tag < ACTIVATION_TAGS; tag++)
            CHECK_EQ_U64(stats.blocks[tag], chunk->blocks[tag]);
    }
}

TEST(sizes_and_encodings_of_every_chunk)
{
    struct activations *all = activations_load();

    CHECK_EQ_U64(all->count, 1835);
    for (size_t i = 0; i < all->count; i++) {
        set_context(&all->chunks[i]);
        check_sizes(&all->chunks[i]);
    }
    activations_free(all);
}

TEST(bdi_of_every_chunk)
{
    struct activations *all = activations_load();
    uint64_t coded_bytes = 0;

    for (size_t i = 0; i < all->count; i++) {
        set_context(&all->chunks[i]);
        CHECK_EQ_U64(pzb_bdi_measure(all->chunks[i].data, all->chunks[i].bytes, &coded_bytes),
                     PZ_OK);
        CHECK_EQ_U64(coded_bytes, all->chunks[i].coded_bytes[ACTIVATION_BDI]);
    }
    activations_free(all);
}

static void check_roundtrip(const struct activation *chunk, pz_mode mode)
{
    uint8_t coded[PZ_CHUNK_BYTES + 2], back[PZ_CHUNK_BYTES];
    size_t coded_bytes = 0;

    if (!CHECK(chunk->bytes <= sizeof back))
        return;
    CHECK_EQ_U64(
        pz_stream_encode(mode, chunk->data, chunk->bytes, coded, sizeof coded, &coded_bytes),
        PZ_OK);
    CHECK_EQ_U64(coded_bytes, chunk->coded_bytes[ACTIVATION_PLANEZIP]);
    CHECK_EQ_U64(pz_stream_decode(mode, coded, coded_bytes, back, chunk->bytes, NULL), PZ_OK);
    CHECK_MEM(back, chunk->data, chunk->bytes);
}

TEST(every_chunk_comes_back)
{
    struct activations *all = activations_load();

    for (unsigned i = 0; i < pz_isa_count(); i++) {
        CHECK_EQ_U64(pz_isa_select(pz_isa_name(i)), PZ_OK);
        for (size_t k = 0; k < all->count; k++) {
            pz_mode mode;

            set_context(&all->chunks[k]);
            CHECK_EQ_U64(pz_mode_named("planezip", all->chunks[k].w, &mode), PZ_OK);
            check_roundtrip(&all->chunks[k], mode);
        }
    }
    activations_free(all);
}

TEST(rounding_to_bfloat16)
{
    CHECK_EQ_U64(activations_bf16(0x3f800000), 0x3f80);
    CHECK_EQ_U64(activations_bf16(0x3f808000), 0x3f80); /* a tie goes to the even one, down */
    CHECK_EQ_U64(activations_bf16(0x3f818000), 0x3f82); /* ... and up */
    CHECK_EQ_U64(activations_bf16(0x3f808001), 0x3f81);
    CHECK_EQ_U64(activations_bf16(0x7f7fffff), 0x7f80); /* the largest number to infinity */
    CHECK_EQ_U64(activations_bf16(0x80000000), 0x8000);
    CHECK_EQ_U64(activations_bf16(0x7f800001), 0x7fc0); /* not to infinity: NaN */
    CHECK_EQ_U64(activations_bf16(0xffffffff), 0xffff);
}
