/* The trace of another batch size, from one trace and from two. */
#include "planezip/plan.h"

#include <string.h>

#include "support/test.h"

/* A trace whose numbers are lines over the batch size; offset is what does not grow. */
static pz_trace *make(unsigned batch, unsigned offset, const char *last_name)
{
    static const char format[] =
        "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"line\",\"batch\":%u,"
        "\"optimizer\":\"adamw\",\"parameters\":50,\"ops\":["
        "{\"name\":\"cast\",\"phase\":\"forward\",\"view\":false,\"reads\":[1],\"writes\":[2],"
        "\"flops\":7,\"bytes\":300,\"float_bytes\":200},"
        "{\"name\":\"mm\",\"phase\":\"forward\",\"view\":false,\"reads\":[0,2],\"writes\":[3],"
        "\"flops\":%u,\"bytes\":%u,\"float_bytes\":%u},"
        "{\"name\":\"%s\",\"phase\":\"backward\",\"view\":false,\"reads\":[3,0],\"writes\":[4],"
        "\"flops\":%u,\"bytes\":%u,\"float_bytes\":%u}],\"storages\":["
        "{\"id\":0,\"bytes\":%u,\"dtype\":\"int64\",\"kind\":\"input\",\"op\":-1,\"slot\":0},"
        "{\"id\":1,\"bytes\":200,\"dtype\":\"float32\",\"kind\":\"parameter\",\"op\":-1,"
        "\"slot\":-1},"
        "{\"id\":2,\"bytes\":100,\"dtype\":\"bfloat16\",\"kind\":\"activation\",\"op\":0,"
        "\"slot\":0},"
        "{\"id\":3,\"bytes\":%u,\"dtype\":\"float32\",\"kind\":\"activation\",\"op\":1,"
        "\"slot\":0},"
        "{\"id\":4,\"bytes\":200,\"dtype\":\"float32\",\"kind\":\"parameter_gradient\",\"op\":2,"
        "\"slot\":0}]}";
    char text[2048];
    pz_trace *trace = NULL;
    pz_diag diag = {0};
    const int bytes = snprintf(text, sizeof text, format, batch, 10 * batch,
                               8 * batch + 100 + 40 * batch + offset, 40 * batch + offset,
                               last_name, 30 * batch, 48 * batch + 200 + offset,
                               40 * batch + 200 + offset, 8 * batch, 40 * batch + offset);

    if (pz_trace_parse(text, (size_t)bytes, &trace, &diag) != PZ_OK)
        printf("%s: %s\n", diag.path, diag.text);
    return trace;
}

static uint64_t digest_of(const pz_trace *trace)
{
    pz_trace_info info;

    pz_trace_get_info(trace, &info);
    return info.digest;
}

/* The scaled trace is the one that is recorded at that batch size, to the last number. */
static void check_scaled(const pz_trace *a, const pz_trace *b, unsigned batch, unsigned offset)
{
    pz_trace *scaled = NULL, *wanted = make(batch, offset, "back");
    pz_diag diag = {0};
    pz_trace_info info;

    TEST_CONTEXT("batch %u, offset %u", batch, offset);
    CHECK_EQ_U64(pz_trace_scale(a, b, batch, &scaled, &diag), PZ_OK);
    if (!scaled || !wanted)
        return;
    pz_trace_get_info(scaled, &info);
    CHECK_EQ_U64(info.digest, digest_of(wanted));
    CHECK_EQ_U64(info.batch, batch);
    CHECK_STR(info.model, "line");
    CHECK_STR(pz_trace_op_name(scaled, 2), "back");
    CHECK_EQ_U64(info.saved, 2);
    pz_trace_free(scaled);
    pz_trace_free(wanted);
}

TEST(one_trace)
{
    pz_trace *trace = make(4, 0, "back");

    for (unsigned batch = 1; batch <= 40; batch++)
        check_scaled(trace, NULL, batch, 0);
    check_scaled(trace, NULL, 1000000, 0);
    pz_trace_free(trace);
}

TEST(two_traces)
{
    static const unsigned pairs[][2] = {{4, 8}, {8, 4}, {3, 1000}, {1, 2}};

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        pz_trace *a = make(pairs[i][0], 24, "back"), *b = make(pairs[i][1], 24, "back");

        for (unsigned batch = 1; batch <= 40; batch++)
            check_scaled(a, b, batch, 24);
        check_scaled(a, b, 1000000, 24);
        pz_trace_free(a);
        pz_trace_free(b);
    }
}

TEST(what_cannot_be)
{
    pz_trace *a = make(4, 0, "back"), *b = make(8, 0, "other"), *same = make(4, 8, "back");
    pz_trace *scaled = NULL;
    pz_diag diag = {0};

    CHECK_EQ_U64(pz_trace_scale(a, b, 6, &scaled, &diag), PZ_ERR_MISMATCH);
    CHECK(strstr(diag.text, "not the same operators") != NULL);
    CHECK_EQ_U64(pz_trace_scale(a, same, 6, &scaled, &diag), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_trace_scale(a, NULL, 0, &scaled, &diag), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_trace_scale(a, NULL, (1U << 30) + 1, &scaled, &diag), PZ_ERR_ARGUMENT);
    CHECK(scaled == NULL);
    CHECK_EQ_U64(pz_trace_scale(a, NULL, 1U << 30, &scaled, &diag), PZ_OK);
    pz_trace_free(scaled);
    pz_trace_free(a);
    pz_trace_free(b);
    pz_trace_free(same);
}

TEST(memory_besides_activations)
{
    pz_trace *trace = make(4, 0, "back");
    pz_trace_memory memory;

    pz_trace_get_memory(trace, &memory);
    CHECK_EQ_U64(memory.parameter_bytes, 200);
    CHECK_EQ_U64(memory.buffer_bytes, 0);
    CHECK_EQ_U64(memory.gradient_bytes, 200);
    CHECK_EQ_U64(memory.optimizer_bytes, 400);
    pz_trace_free(trace);
}

/* A real trace comes back when it is scaled there and back, and its peak grows as it should. */
TEST(bundled_traces)
{
    static const char *const files[] = {PZ_DATA_DIR "/traces/resnet50.json",
                                        PZ_DATA_DIR "/traces/gpt2.json",
                                        PZ_DATA_DIR "/traces/vit_b_16.json"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        pz_trace *trace = NULL, *twice = NULL, *again = NULL;
        pz_trace_info info, large;
        pz_diag diag = {0};

        TEST_CONTEXT("%s", files[i]);
        if (!CHECK(pz_trace_read(files[i], &trace, &diag) == PZ_OK))
            continue;
        pz_trace_get_info(trace, &info);
        CHECK_EQ_U64(pz_trace_scale(trace, NULL, 2 * info.batch, &twice, &diag), PZ_OK);
        CHECK_EQ_U64(pz_trace_scale(twice, NULL, info.batch, &again, &diag), PZ_OK);
        pz_trace_get_info(twice, &large);
        CHECK_EQ_U64(digest_of(again), info.digest);
        CHECK_EQ_U64(large.saved, info.saved);
        CHECK(large.peak_bytes[PZ_BF16] <= 2 * info.peak_bytes[PZ_BF16]);
        CHECK((double)large.peak_bytes[PZ_BF16] > 1.99 * (double)info.peak_bytes[PZ_BF16]);
        pz_trace_free(trace);
        pz_trace_free(twice);
        pz_trace_free(again);
    }
}
