/* The predictor: signatures, measurements, aggregates, files good and bad. */
#include <math.h>
#include <planezip/plan.h>

#include "support/test.h"
#include "tests/sim/edit.h"

static const char good[] =
    "{\"format\":\"planezip-ratios\",\"version\":1,\"model\":\"m\",\"entries\":["
    "{\"op\":5,\"slot\":1,\"class\":\"conv\",\"bf16\":{\"planezip\":1.5,\"zvc\":1.1},"
    "\"fp32\":{\"planezip\":1.25},\"measured\":[{\"codec\":\"planezip\",\"precision\":\"bf16\","
    "\"raw_bytes\":300,\"coded_bytes\":200,\"iteration\":3}]},\n"
    "{\"op\":-1,\"slot\":0,\"class\":\"input\",\"bf16\":{\"planezip\":3}}]}";

static const struct edit edits[] = {
    {NULL, "3.5", PZ_ERR_SYNTAX, ""},
    {NULL, "[]", PZ_ERR_FORMAT, ""},
    {"planezip-ratios", "ratios", PZ_ERR_FORMAT, "format"},
    {"\"version\":1", "\"version\":2", PZ_ERR_FORMAT, "version"},
    {"\"model\":\"m\",", "", PZ_ERR_MEANING, "model"},
    {"\"m\"", "{}", PZ_ERR_MEANING, "model"},
    {"\"m\"", "\"1234567890123456789012345678901234567890123456789012345678901234\"",
     PZ_ERR_MEANING, "model"},
    {"\"entries\":[", "\"no\":[", PZ_ERR_MEANING, "entries"},
    {"\"entries\":[", "\"entries\":7,\"x\":[", PZ_ERR_MEANING, "entries"},
    {"\"entries\":[", "\"entries\":[7,", PZ_ERR_MEANING, "entries[0]"},
    {"\"op\":5,", "", PZ_ERR_MEANING, "entries[0].op"},
    {"\"op\":5", "\"op\":-2", PZ_ERR_MEANING, "entries[0].op"},
    {"\"op\":5", "\"op\":5.0", PZ_ERR_MEANING, "entries[0].op"},
    {"\"op\":5", "\"op\":2147483648", PZ_ERR_MEANING, "entries[0].op"},
    {"\"op\":5", "\"op\":9223372036854775808", PZ_ERR_SYNTAX, ""},
    {"\"op\":5", "\"op\":5,\"op\":5", PZ_ERR_SYNTAX, ""},
    {"\"slot\":1,", "", PZ_ERR_MEANING, "entries[0].slot"},
    {"\"slot\":1", "\"slot\":-1", PZ_ERR_MEANING, "entries[0].slot"},
    {"\"op\":5,\"slot\":1", "\"op\":-1,\"slot\":0", PZ_ERR_MEANING, "entries"},
    {"\"conv\"", "1", PZ_ERR_MEANING, "entries[0].class"},
    {"\"conv\"", "\"123456789012345678901234\"", PZ_ERR_MEANING, "entries[0].class"},
    {"\"bf16\":{", "\"bf16\":[],\"x\":{", PZ_ERR_MEANING, "entries[0].bf16"},
    {"1.5", "0", PZ_ERR_MEANING, "entries[0].bf16.planezip"},
    {"1.5", "-1", PZ_ERR_MEANING, "entries[0].bf16.planezip"},
    {"1.5", "1000001", PZ_ERR_MEANING, "entries[0].bf16.planezip"},
    {"1.5", "\"1.5\"", PZ_ERR_MEANING, "entries[0].bf16.planezip"},
    {"1.5", "null", PZ_ERR_MEANING, "entries[0].bf16.planezip"},
    {"1.5", "NaN", PZ_ERR_SYNTAX, ""},
    {"1.5", "1e999", PZ_ERR_SYNTAX, ""},
    {"1.25", "-0.5", PZ_ERR_MEANING, "entries[0].fp32.planezip"},
    {"\"zvc\"", "\"\"", PZ_ERR_MEANING, "entries[0].bf16."},
    {"\"zvc\"", "\"a_codec_of_long_name\"", PZ_ERR_MEANING, "entries[0].bf16.a_codec_of_long_name"},
    {"\"measured\":[", "\"measured\":{},\"x\":[", PZ_ERR_MEANING, "entries[0].measured"},
    {"\"measured\":[", "\"measured\":[1,", PZ_ERR_MEANING, "entries[0].measured[0]"},
    {"\"codec\":\"planezip\",", "", PZ_ERR_MEANING, "entries[0].measured[0].codec"},
    {"\"codec\":\"planezip\"", "\"codec\":\"bpc\"", PZ_ERR_MEANING, "entries[0].measured[0].codec"},
    {"\"precision\":\"bf16\"", "\"precision\":\"fp8\"", PZ_ERR_MEANING,
     "entries[0].measured[0].precision"},
    {"\"raw_bytes\":300", "\"raw_bytes\":-1", PZ_ERR_MEANING, "entries[0].measured[0].raw_bytes"},
    {"\"coded_bytes\":200,", "", PZ_ERR_MEANING, "entries[0].measured[0].coded_bytes"},
    {"\"iteration\":3", "\"iteration\":-3", PZ_ERR_MEANING, "entries[0].measured[0].iteration"},
    {"\"model\":\"m\"", "\"model\":\"m\",\"note\":[1]", PZ_OK, ""},
};

TEST(bad_files)
{
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        pz_predictor *predictor = NULL;
        pz_diag diag = {0};
        char *text = edit_text(good, edits[i].find, edits[i].replace);
        TEST_CONTEXT("%.100s -> %.100s", edits[i].find ? edits[i].find : "all", edits[i].replace);
        if (!CHECK(text != NULL))
            continue;
        CHECK_STR(pz_status_name(pz_predictor_parse(text, strlen(text), &predictor, &diag)),
                  pz_status_name(edits[i].status));
        CHECK_STR(diag.path, edits[i].path);
        pz_predictor_free(predictor);
        free(text);
    }
}

TEST(cut_everywhere)
{
    for (size_t n = 0; n < strlen(good); n++) {
        pz_predictor *predictor = NULL;
        CHECK_EQ_I64(pz_predictor_parse(good, n, &predictor, NULL), PZ_ERR_SYNTAX);
    }
}

TEST(fields)
{
    pz_predictor *p = NULL;
    pz_ratio_entry entry;

    CHECK_EQ_I64(pz_predictor_parse(good, strlen(good), &p, NULL), PZ_OK);
    CHECK_STR(pz_predictor_model(p), "m");
    CHECK_EQ_U64(pz_predictor_entries(p), 2);
    CHECK_EQ_I64(pz_predictor_entry(p, 0, &entry), PZ_OK);
    CHECK_EQ_I64(entry.op, -1);
    CHECK_STR(entry.producer_class, "input");
    CHECK_EQ_I64(pz_predictor_entry(p, 1, &entry), PZ_OK);
    CHECK(entry.op == 5 && entry.slot == 1);
    CHECK_EQ_I64(pz_predictor_entry(p, 2, &entry), PZ_ERR_ARGUMENT);
    CHECK(pz_predictor_ratio(p, 5, 1, "planezip", PZ_BF16) == 1.5);
    CHECK(pz_predictor_ratio(p, 5, 1, "planezip", PZ_FP32) == 1.25);
    CHECK(pz_predictor_ratio(p, 5, 1, "zvc", PZ_BF16) == 1.1);
    CHECK(pz_predictor_ratio(p, -1, 0, "planezip", PZ_BF16) == 3);
    /* unknown codec, precision, slot, operator: 1 */
    CHECK(pz_predictor_ratio(p, 5, 1, "zvc", PZ_FP32) == 1);
    CHECK(pz_predictor_ratio(p, 5, 1, "bpc", PZ_BF16) == 1);
    CHECK(pz_predictor_ratio(p, 5, 0, "planezip", PZ_BF16) == 1);
    CHECK(pz_predictor_ratio(p, 6, 1, "planezip", PZ_BF16) == 1);
    pz_predictor_free(p);
    pz_predictor_free(NULL);
}

static pz_status update(pz_predictor *p, int64_t op, int64_t slot, uint64_t raw, uint64_t coded)
{
    return pz_predictor_update(p, op, slot, "planezip", PZ_BF16, raw, coded, 1);
}

TEST(updates)
{
    pz_predictor *p = NULL;

    CHECK_EQ_I64(pz_predictor_new("m", &p), PZ_OK);
    CHECK(pz_predictor_ratio(p, 1, 0, "planezip", PZ_BF16) == 1);
    CHECK_EQ_I64(update(p, 1, 0, 100, 50), PZ_OK);
    CHECK_EQ_I64(update(p, 0, 0, 100, 25), PZ_OK);
    CHECK_EQ_I64(update(p, -1, 3, 100, 20), PZ_OK);
    CHECK(pz_predictor_ratio(p, 1, 0, "planezip", PZ_BF16) == 2);
    CHECK(pz_predictor_ratio(p, 0, 0, "planezip", PZ_BF16) == 4);
    CHECK(pz_predictor_ratio(p, -1, 3, "planezip", PZ_BF16) == 5);
    CHECK_EQ_I64(update(p, 1, 0, 100, 80), PZ_OK); /* the last measurement counts */
    CHECK(pz_predictor_ratio(p, 1, 0, "planezip", PZ_BF16) == 1.25);
    CHECK_EQ_U64(pz_predictor_entries(p), 3);
    CHECK_EQ_I64(update(p, 2, 0, 0, 0), PZ_OK);
    CHECK(pz_predictor_ratio(p, 2, 0, "planezip", PZ_BF16) == 1);
    CHECK_EQ_I64(update(p, 2, 0, 10, 0), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, 2, 0, 0, 10), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, -2, 0, 1, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, 1, -1, 1, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, INT64_MAX, 0, 1, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, 1, INT64_MAX, 1, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(update(p, 1, 0, UINT64_MAX, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_predictor_update(p, 1, 0, "", PZ_BF16, 1, 1, 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_predictor_update(p, 1, 0, "a_codec_of_long_name", PZ_BF16, 1, 1, 1),
                 PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_predictor_update(p, 1, 0, "zvc", (pz_precision)2, 1, 1, 1), PZ_ERR_ARGUMENT);
    pz_predictor_free(p);
}

static void check_same(const pz_predictor *a, const pz_predictor *b)
{
    static const char *const codecs[] = {"planezip", "zvc", "bpc"};
    pz_ratio_entry x, y;

    CHECK_STR(pz_predictor_model(a), pz_predictor_model(b));
    CHECK_EQ_U64(pz_predictor_entries(a), pz_predictor_entries(b));
    for (size_t i = 0; pz_predictor_entry(a, i, &x) == PZ_OK; i++) {
        CHECK_EQ_I64(pz_predictor_entry(b, i, &y), PZ_OK);
        CHECK(x.op == y.op && x.slot == y.slot);
        CHECK_STR(x.producer_class, y.producer_class);
        for (int k = 0; k < 6; k++)
            CHECK(pz_predictor_ratio(a, x.op, x.slot, codecs[k / 2], (pz_precision)(k % 2)) ==
                  pz_predictor_ratio(b, x.op, x.slot, codecs[k / 2], (pz_precision)(k % 2)));
    }
}

/* Every ratio exactly, and the text of the second file is the text of the first. */
static void check_round_trip(const pz_predictor *p)
{
    pz_predictor *again = NULL;
    pz_diag diag = {0};
    char *text = NULL, *second = NULL;

    CHECK_EQ_I64(pz_predictor_json(p, &text), PZ_OK);
    if (CHECK_EQ_I64(pz_predictor_parse(text, strlen(text), &again, &diag), PZ_OK)) {
        check_same(p, again);
        CHECK_EQ_I64(pz_predictor_json(again, &second), PZ_OK);
        CHECK_STR(text, second);
    } else {
        printf("    %s: %s\n", diag.path, diag.text);
    }
    pz_text_free(text);
    pz_text_free(second);
    pz_predictor_free(again);
}

TEST(round_trip)
{
    pz_predictor *p = NULL;

    CHECK_EQ_I64(pz_predictor_parse(good, strlen(good), &p, NULL), PZ_OK);
    check_round_trip(p);
    for (uint64_t i = 1; i < 200; i++)
        CHECK_EQ_I64(pz_predictor_update(p, (int64_t)(i * 37 % 101), (int64_t)(i % 3),
                                         i % 2 ? "zvc" : "planezip", (pz_precision)(i % 2),
                                         1000000 + i * 7919, 3 + i * 31, i),
                     PZ_OK);
    /* More than a file may say, and the largest numbers. */
    CHECK_EQ_I64(update(p, 7, 0, UINT64_C(1) << 60, 1), PZ_OK);
    CHECK_EQ_I64(update(p, 8, 0, INT64_MAX, INT64_MAX), PZ_OK);
    CHECK_EQ_I64(update(p, 9, 0, 1, INT64_MAX), PZ_OK);
    CHECK_EQ_I64(update(p, INT32_MAX, INT32_MAX, 3, 1), PZ_OK);
    check_round_trip(p);
    pz_predictor_free(p);
}

/* Two operators of type conv (100 and 300 bytes), one of type relu, an input. */
static const char trace_text[] =
    "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"m\",\"batch\":1,\"optimizer\":"
    "\"sgd\","
    "\"parameters\":0,\"ops\":["
    "{\"name\":\"conv\",\"phase\":\"forward\",\"view\":false,\"reads\":[0],\"writes\":[1],"
    "\"flops\":1,\"bytes\":1,\"float_bytes\":1},"
    "{\"name\":\"conv\",\"phase\":\"forward\",\"view\":false,\"reads\":[1],\"writes\":[2],"
    "\"flops\":1,\"bytes\":1,\"float_bytes\":1},"
    "{\"name\":\"relu\",\"phase\":\"forward\",\"view\":false,\"reads\":[2],\"writes\":[3],"
    "\"flops\":1,\"bytes\":1,\"float_bytes\":1},"
    "{\"name\":\"back\",\"phase\":\"backward\",\"view\":false,\"reads\":[0,1,2,3],\"writes\":[4],"
    "\"flops\":1,\"bytes\":1,\"float_bytes\":1}],\"storages\":["
    "{\"id\":0,\"bytes\":50,\"dtype\":\"int8\",\"kind\":\"input\",\"op\":-1,\"slot\":0},"
    "{\"id\":1,\"bytes\":100,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":0,\"slot\":0},"
    "{\"id\":2,\"bytes\":300,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":1,\"slot\":0},"
    "{\"id\":3,\"bytes\":40,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":2,\"slot\":0},"
    "{\"id\":4,\"bytes\":40,\"dtype\":\"int8\",\"kind\":\"activation\",\"op\":3,\"slot\":0}]}";

TEST(signatures)
{
    pz_trace *trace = NULL;
    pz_predictor *p = NULL;
    double r[4], actual[4] = {1, 2, 4, 1};

    CHECK_EQ_I64(pz_trace_parse(trace_text, strlen(trace_text), &trace, NULL), PZ_OK);
    CHECK_EQ_I64(pz_predictor_new("m", &p), PZ_OK);
    CHECK_EQ_I64(update(p, 0, 0, 100, 50), PZ_OK);
    CHECK_EQ_I64(update(p, 1, 0, 300, 75), PZ_OK);
    CHECK_EQ_I64(pz_predictor_fill(p, trace, "planezip", PZ_BF16, PZ_BY_TENSOR, r), PZ_OK);
    CHECK(r[0] == 1 && r[1] == 2 && r[2] == 4 && r[3] == 1);
    /* conv: 400 bytes become 50 + 75; nothing is known of relu and the input. */
    CHECK_EQ_I64(pz_predictor_fill(p, trace, "planezip", PZ_BF16, PZ_BY_OPERATOR, r), PZ_OK);
    CHECK(r[0] == 1 && fabs(r[1] - 3.2) < 1e-12 && r[1] == r[2] && r[3] == 1);
    CHECK_EQ_I64(pz_predictor_fill(p, trace, "planezip", PZ_BF16, PZ_BY_NOTHING, r), PZ_OK);
    CHECK(fabs(r[0] - 3.2) < 1e-12 && r[1] == r[0] && r[2] == r[0] && r[3] == r[0]);
    CHECK_EQ_I64(pz_predictor_fill(p, trace, "zvc", PZ_BF16, PZ_BY_NOTHING, r), PZ_OK);
    CHECK(r[0] == 1 && r[1] == 1);
    CHECK_EQ_I64(update(p, -1, 0, 50, 25), PZ_OK);
    CHECK_EQ_I64(pz_predictor_fill(p, trace, "planezip", PZ_BF16, PZ_BY_OPERATOR, r), PZ_OK);
    CHECK(r[0] == 2);
    /* Wire bytes 50 + 50 + 75 + 40 = 215; predicted 1 for all: 0 + 50 + 225 + 0 off. */
    const double ones[4] = {1, 1, 1, 1};
    CHECK(fabs(pz_wire_error(trace, PZ_BF16, ones, actual) - 275.0 / 215) < 1e-12);
    CHECK(pz_wire_error(trace, PZ_BF16, actual, actual) == 0);
    pz_predictor_free(p);
    pz_trace_free(trace);
}

TEST(files)
{
    pz_predictor *p = NULL;
    pz_diag diag;

    CHECK_EQ_I64(pz_predictor_read("no/such/file", &p, &diag), PZ_ERR_IO);
    CHECK_EQ_I64(pz_predictor_read(".", &p, &diag), PZ_ERR_IO);
    CHECK(edit_write("predictor_test.json", good));
    CHECK_EQ_I64(pz_predictor_read("predictor_test.json", &p, NULL), PZ_OK);
    pz_predictor_free(p);
    remove("predictor_test.json");
}
