/* Platforms: the built-in ones, their files, Equation 2 and the times that follow from a platform.
 */
#include <math.h>
#include <planezip/plan.h>

#include "support/test.h"
#include "tests/sim/edit.h"

static const char good[] =
    "{\"format\":\"planezip-platform\",\"version\":1,\"name\":\"mine\",\"description\":\"d\","
    "\"source\":\"s\",\"precision\":\"bf16\",\"math_flops_per_s\":1e13,\"math_fraction\":0.5,"
    "\"memory_bytes_per_s\":1e12,\"memory_fraction\":0.8,\"d2h_bytes_per_s\":12e9,"
    "\"h2d_bytes_per_s\":13e9,\"engine_bytes_per_s\":64e9,\"software_codec_bytes_per_s\":1e9,"
    "\"software_codec_compute_share\":0.25,\"launch_ns\":4000,\"transfer_setup_ns\":5000,"
    "\"gpus_per_link\":2,\"memory_bytes\":1000}";

static const struct edit bad_edits[] = {
    {NULL, "[1]", PZ_ERR_FORMAT, ""},
    {"planezip-platform", "planezip-trace", PZ_ERR_FORMAT, "format"},
    {"\"version\":1", "\"version\":3", PZ_ERR_FORMAT, "version"},
    {"\"launch_ns\":4000", "\"launch_ns\":4000,\"launch_ns\":1", PZ_ERR_SYNTAX, ""},
    {"\"name\":\"mine\",", "", PZ_ERR_MEANING, "name"},
    {"\"mine\"", "1", PZ_ERR_MEANING, "name"},
    {"mine", "12345678901234567890123456789012", PZ_ERR_MEANING, "name"},
    {"mine", "1234567890123456789012345678901", PZ_OK, ""},
    {"\"description\":\"d\"", "\"description\":1", PZ_ERR_MEANING, "description"},
    {"\"description\":\"d\",", "", PZ_OK, ""},
    {"\"source\":\"s\",", "", PZ_OK, ""},
    {"\"precision\":\"bf16\",", "", PZ_ERR_MEANING, "precision"},
    {"bf16", "fp8", PZ_ERR_MEANING, "precision"},
    {"\"math_flops_per_s\":1e13,", "", PZ_ERR_MEANING, "math_flops_per_s"},
    {"1e13", "-1e13", PZ_ERR_MEANING, "math_flops_per_s"},
    {"1e13", "1e20", PZ_ERR_MEANING, "math_flops_per_s"},
    {"1e13", "\"1e13\"", PZ_ERR_MEANING, "math_flops_per_s"},
    {"1e13", "NaN", PZ_ERR_SYNTAX, ""},
    {"\"math_fraction\":0.5", "\"math_fraction\":0", PZ_ERR_MEANING, "math_fraction"},
    {"\"math_fraction\":0.5", "\"math_fraction\":1.01", PZ_ERR_MEANING, "math_fraction"},
    {"\"memory_bytes_per_s\":1e12,", "", PZ_ERR_MEANING, "memory_bytes_per_s"},
    {"\"memory_fraction\":0.8,", "", PZ_ERR_MEANING, "memory_fraction"},
    {"12e9", "0", PZ_ERR_MEANING, "d2h_bytes_per_s"},
    {"13e9", "0", PZ_ERR_MEANING, "h2d_bytes_per_s"},
    {"\"d2h_bytes_per_s\":12e9,", "", PZ_ERR_MEANING, "d2h_bytes_per_s"},
    {"\"h2d_bytes_per_s\":13e9,", "", PZ_ERR_MEANING, "h2d_bytes_per_s"},
    {"64e9", "-1", PZ_ERR_MEANING, "engine_bytes_per_s"},
    {"\"engine_bytes_per_s\":64e9,", "", PZ_ERR_MEANING, "engine_bytes_per_s"},
    {"\"software_codec_bytes_per_s\":1e9", "\"software_codec_bytes_per_s\":-1", PZ_ERR_MEANING,
     "software_codec_bytes_per_s"},
    {"0.25", "1.5", PZ_ERR_MEANING, "software_codec_compute_share"},
    {"\"launch_ns\":4000,", "", PZ_ERR_MEANING, "launch_ns"},
    {"4000", "-1", PZ_ERR_MEANING, "launch_ns"},
    {"4000", "1.5", PZ_ERR_MEANING, "launch_ns"},
    {"4000", "1000000001", PZ_ERR_MEANING, "launch_ns"},
    {"5000", "-1", PZ_ERR_MEANING, "transfer_setup_ns"},
    {"\"transfer_setup_ns\":5000,", "", PZ_ERR_MEANING, "transfer_setup_ns"},
    {"\"gpus_per_link\":2", "\"gpus_per_link\":0", PZ_ERR_MEANING, "gpus_per_link"},
    {"\"gpus_per_link\":2", "\"gpus_per_link\":1025", PZ_ERR_MEANING, "gpus_per_link"},
    {"\"gpus_per_link\":2,", "", PZ_OK, ""},
    {"\"memory_bytes\":1000", "\"memory_bytes\":-1", PZ_ERR_MEANING, "memory_bytes"},
    {"\"memory_bytes\":1000", "\"memory_bytes\":9223372036854775807", PZ_ERR_MEANING,
     "memory_bytes"},
    {",\"memory_bytes\":1000", "", PZ_OK, ""},
};

TEST(bad_files)
{
    for (size_t i = 0; i < sizeof bad_edits / sizeof bad_edits[0]; i++) {
        pz_platform platform = {.name = "before"};
        pz_diag diag = {0};
        char *text = edit_text(good, bad_edits[i].find, bad_edits[i].replace);
        TEST_CONTEXT("%.100s -> %.100s", bad_edits[i].find ? bad_edits[i].find : "all",
                     bad_edits[i].replace);
        if (!CHECK(text != NULL))
            continue;
        CHECK_STR(pz_status_name(pz_platform_parse(text, strlen(text), &platform, &diag)),
                  pz_status_name(bad_edits[i].status));
        CHECK_STR(diag.path, bad_edits[i].path);
        if (bad_edits[i].status != PZ_OK)
            CHECK_STR(platform.name, "before");
        free(text);
    }
}

TEST(cut_everywhere)
{
    for (size_t n = 0; n < strlen(good); n++) {
        pz_platform platform;
        CHECK_EQ_I64(pz_platform_parse(good, n, &platform, NULL), PZ_ERR_SYNTAX);
    }
}

TEST(fields)
{
    pz_platform p;

    CHECK_EQ_I64(pz_platform_parse(good, strlen(good), &p, NULL), PZ_OK);
    CHECK_STR(p.name, "mine");
    CHECK_STR(p.description, "d");
    CHECK_STR(p.source, "s");
    CHECK(p.precision == PZ_BF16 && p.math_flops == 1e13 && p.math_fraction == 0.5);
    CHECK(p.memory_bps == 1e12 && p.memory_fraction == 0.8 && p.d2h_bps == 12e9);
    CHECK(p.h2d_bps == 13e9 && p.engine_bps == 64e9 && p.software_bps == 1e9);
    CHECK(p.software_share == 0.25 && p.launch_ns == 4000 && p.transfer_ns == 5000);
    CHECK(p.gpus_per_link == 2 && p.memory_bytes == 1000);
}

static void check_equal(const pz_platform *a, const pz_platform *b)
{
    CHECK_STR(a->name, b->name);
    CHECK_STR(a->description, b->description);
    CHECK_STR(a->source, b->source);
    CHECK(a->math_flops == b->math_flops && a->math_fraction == b->math_fraction);
    CHECK(a->memory_bps == b->memory_bps && a->memory_fraction == b->memory_fraction);
    CHECK(a->d2h_bps == b->d2h_bps && a->h2d_bps == b->h2d_bps);
    CHECK(a->engine_bps == b->engine_bps && a->software_bps == b->software_bps);
    CHECK(a->software_share == b->software_share && a->gpus_per_link == b->gpus_per_link);
    CHECK_EQ_I64(a->launch_ns, b->launch_ns);
    CHECK_EQ_I64(a->transfer_ns, b->transfer_ns);
    CHECK(a->precision == b->precision && a->memory_bytes == b->memory_bytes);
}

TEST(builtin_platforms_survive_their_files)
{
    pz_platform platform, again, named;

    CHECK(pz_platform_count() >= 4);
    CHECK_EQ_I64(pz_platform_builtin(pz_platform_count(), &platform), PZ_ERR_ARGUMENT);
    for (size_t i = 0; pz_platform_builtin(i, &platform) == PZ_OK; i++) {
        char *text = NULL;
        TEST_CONTEXT("%s", platform.name);
        CHECK(platform.source[0] != '\0' && platform.description[0] != '\0');
        CHECK_EQ_I64(pz_platform_check(&platform, NULL), PZ_OK);
        CHECK_EQ_I64(pz_platform_json(&platform, &text), PZ_OK);
        CHECK_EQ_I64(pz_platform_parse(text, strlen(text), &again, NULL), PZ_OK);
        check_equal(&platform, &again);
        CHECK_EQ_I64(pz_platform_named(platform.name, &named), PZ_OK);
        check_equal(&platform, &named);
        pz_text_free(text);
    }
    CHECK_EQ_I64(pz_platform_named("gh200", &named), PZ_OK);
    CHECK_STR(named.name, "GH200");
    CHECK_EQ_I64(pz_platform_named("C", &named), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_platform_named("", &named), PZ_ERR_ARGUMENT);
}

TEST(table_2)
{
    pz_platform a, b;

    CHECK_EQ_I64(pz_platform_named("A", &a), PZ_OK);
    CHECK_EQ_I64(pz_platform_named("B", &b), PZ_OK);
    CHECK(a.math_flops == 13.4e12 && a.math_fraction == 0.7 && a.precision == PZ_FP32);
    CHECK(a.memory_bps == 616e9 && a.memory_fraction == 0.8 && a.d2h_bps == 12e9);
    CHECK(b.math_flops == 312e12 && b.math_fraction == 0.6 && b.precision == PZ_BF16);
    CHECK(b.memory_bps == 1555e9 && b.memory_fraction == 0.8 && b.d2h_bps == 24e9);
    CHECK(a.engine_bps == 64e9 && b.engine_bps == 64e9);
    CHECK(a.launch_ns == 4000 && a.transfer_ns == 5000);
}

TEST(platform_check)
{
    pz_platform good_one, p;
    pz_diag diag;

    CHECK_EQ_I64(pz_platform_named("B", &good_one), PZ_OK);
#define CHECK_BAD(change)                                           \
    do {                                                            \
        p = good_one;                                               \
        change;                                                     \
        CHECK_EQ_I64(pz_platform_check(&p, &diag), PZ_ERR_MEANING); \
        CHECK(diag.text[0] != '\0');                                \
    } while (0)
    CHECK_BAD(p.math_flops = NAN);
    CHECK_BAD(p.math_flops = INFINITY);
    CHECK_BAD(p.math_fraction = 0);
    CHECK_BAD(p.memory_bps = -1);
    CHECK_BAD(p.memory_fraction = 1.1);
    CHECK_BAD(p.d2h_bps = 0);
    CHECK_BAD(p.h2d_bps = NAN);
    CHECK_BAD(p.engine_bps = -1);
    CHECK_BAD(p.software_bps = NAN);
    CHECK_BAD(p.software_share = 2);
    CHECK_BAD(p.launch_ns = -1);
    CHECK_BAD(p.launch_ns = INT64_C(1000000001));
    CHECK_BAD(p.transfer_ns = -1);
    CHECK_BAD(p.transfer_ns = INT64_MAX);
    CHECK_BAD(p.gpus_per_link = 0);
    CHECK_BAD(p.gpus_per_link = 1025);
    CHECK_BAD(p.precision = (pz_precision)2);
#undef CHECK_BAD
}

/* Equation 2 by hand, on 12 GB/s out, 24 GB/s back, engine 36 GB/s, set-up 5 us. */
TEST(equation_2)
{
    pz_platform p;

    CHECK_EQ_I64(pz_platform_named("A", &p), PZ_OK);
    p.h2d_bps = 24e9;
    p.engine_bps = 36e9;
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 0, 1, 1), 5000);
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 1, 1), 5000 + 1000000);
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 0.5, 1), 5000 + 1000000);
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 36000000, 2, 1), 5000 + 1500000);  /* link */
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 36000000, 10, 1), 5000 + 1000000); /* engine */
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 36000000, 1, 0), 5000 + 1500000);
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 36000000, 10, 0), 5000 + 1000000);
    p.engine_bps = 12e9; /* not above the link: bypassed */
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 10, 1), 5000 + 1000000);
    p.gpus_per_link = 2; /* half the link: now it pays */
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 1, 1), 5000 + 2000000);
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 10, 1), 5000 + 1000000);
    p.engine_bps = 0;
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 10, 1), 5000 + 2000000);
    p.software_bps = 24e9;
    CHECK_EQ_I64(pz_platform_transfer_ns(&p, 12000000, 10, 1), 5000 + 500000);
}

TEST(files)
{
    pz_platform platform;
    pz_diag diag;

    CHECK_EQ_I64(pz_platform_read("no/such/file", &platform, &diag), PZ_ERR_IO);
    CHECK_EQ_I64(pz_platform_read(".", &platform, &diag), PZ_ERR_IO);
    CHECK(edit_write("platform_test.json", good));
    CHECK_EQ_I64(pz_platform_read("platform_test.json", &platform, NULL), PZ_OK);
    remove("platform_test.json");
}
