/* Reading traces: every field wrong in every way, contradictions, cut files; and what is derived.
 */
#include "trace/trace.h"

#include "support/test.h"
#include "tests/sim/edit.h"

/* input 7 -> conv -> bn (in place after a clone); backward reads all of them. */
static const char good[] =
    "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"tiny\",\"batch\":4,"
    "\"optimizer\":\"adamw\",\"parameters\":10,\n\"ops\":["
    "{\"name\":\"conv\",\"phase\":\"forward\",\"view\":false,\"reads\":[7,3],\"writes\":[12,5],"
    "\"flops\":100,\"bytes\":60,\"float_bytes\":40},\n"
    "{\"name\":\"aten.clone.default\",\"phase\":\"forward\",\"view\":false,\"reads\":[12],"
    "\"writes\":[11],\"flops\":0,\"bytes\":80,\"float_bytes\":80,\"duration_ns\":17},\n"
    "{\"name\":\"relu_\",\"phase\":\"forward\",\"view\":false,\"reads\":[12],\"writes\":[12],"
    "\"flops\":1,\"bytes\":1,\"float_bytes\":1},\n"
    "{\"name\":\"aten.view\",\"phase\":\"forward\",\"view\":true,\"reads\":[12],\"writes\":[],"
    "\"flops\":0,\"bytes\":0,\"float_bytes\":0},\n"
    "{\"name\":\"back\",\"phase\":\"backward\",\"view\":false,\"reads\":[12,11],\"writes\":[13,4],"
    "\"flops\":2,\"bytes\":2,\"float_bytes\":2},\n"
    "{\"name\":\"last\",\"phase\":\"backward\",\"view\":false,\"reads\":[13,7,4],\"writes\":[13],"
    "\"flops\":2,\"bytes\":2,\"float_bytes\":2}],\n\"storages\":["
    "{\"id\":7,\"bytes\":16,\"dtype\":\"int64\",\"kind\":\"input\",\"op\":-1,\"slot\":0},\n"
    "{\"id\":3,\"bytes\":500,\"dtype\":\"float32\",\"kind\":\"parameter\",\"op\":-1,\"slot\":-1},\n"
    "{\"id\":12,\"bytes\":40,\"dtype\":\"float32\",\"kind\":\"activation\",\"op\":0,\"slot\":0},\n"
    "{\"id\":5,\"bytes\":8,\"dtype\":\"float32\",\"kind\":\"buffer\",\"op\":-1,\"slot\":-1},\n"
    "{\"id\":11,\"bytes\":40,\"dtype\":\"float32\",\"kind\":\"activation\",\"op\":1,\"slot\":0},\n"
    "{\"id\":13,\"bytes\":24,\"dtype\":\"bfloat16\",\"kind\":\"activation\",\"op\":4,\"slot\":0},\n"
    "{\"id\":4,\"bytes\":500,\"dtype\":\"float32\",\"kind\":\"parameter_gradient\",\"op\":4,"
    "\"slot\":1}]}\n";

static pz_status parse(const char *text, pz_diag *diag)
{
    pz_trace *trace = NULL;
    *diag = (pz_diag){0};
    const pz_status status = pz_trace_parse(text, strlen(text), &trace, diag);
    pz_trace_free(trace);
    return status;
}

static void check_edits(const struct edit *edits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pz_diag diag;
        char *text = edit_text(good, edits[i].find, edits[i].replace);
        TEST_CONTEXT("%.100s -> %.100s", edits[i].find ? edits[i].find : "all", edits[i].replace);
        if (CHECK(text != NULL)) {
            CHECK_STR(pz_status_name(parse(text, &diag)), pz_status_name(edits[i].status));
            CHECK_STR(diag.path, edits[i].path);
            CHECK(edits[i].status == PZ_OK || diag.text[0] != '\0');
        }
        free(text);
    }
}

#define CHECK_EDITS(edits) check_edits(edits, sizeof edits / sizeof edits[0])

TEST(format_and_version)
{
    static const struct edit edits[] = {
        {"\"format\":\"planezip-trace\",", "", PZ_ERR_FORMAT, "format"},
        {"planezip-trace", "planezip-plan", PZ_ERR_FORMAT, "format"},
        {"\"planezip-trace\"", "7", PZ_ERR_FORMAT, "format"},
        {"\"version\":1,", "", PZ_ERR_FORMAT, "version"},
        {"\"version\":1", "\"version\":2", PZ_ERR_FORMAT, "version"},
        {"\"version\":1", "\"version\":0", PZ_ERR_FORMAT, "version"},
        {"\"version\":1", "\"version\":\"1\"", PZ_ERR_FORMAT, "version"},
        {"\"version\":1", "\"version\":-1e300", PZ_ERR_FORMAT, "version"},
        {"\"version\":1", "\"version\":1.5", PZ_OK, ""},
        {NULL, "[]", PZ_ERR_FORMAT, ""},
        {NULL, "{}", PZ_ERR_FORMAT, "format"},
    };
    CHECK_EDITS(edits);
}

TEST(syntax)
{
    static const struct edit edits[] = {
        {NULL, "", PZ_ERR_SYNTAX, ""},
        {NULL, "7", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":4,\"batch\":4", PZ_ERR_SYNTAX, ""},
        {"\"flops\":100", "\"flops\":100,\"flops\":1", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":NaN", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":Infinity", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":1e999", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":9223372036854775808", PZ_ERR_SYNTAX, ""},
        {"\"batch\":4", "\"batch\":-9223372036854775809", PZ_ERR_SYNTAX, ""},
        {"tiny", "\\u0000", PZ_ERR_SYNTAX, ""},
        {"tiny", "\xff", PZ_ERR_SYNTAX, ""},
        {"]}\n", "]} x", PZ_ERR_SYNTAX, ""},
        {"]}\n", "]} \n\t ", PZ_OK, ""},
    };
    CHECK_EDITS(edits);
}

TEST(syntax_errors_have_a_place)
{
    pz_diag diag;
    char *text = edit_text(good, "\"relu_\"", "relu_");

    CHECK_EQ_I64(parse(text, &diag), PZ_ERR_SYNTAX);
    CHECK_EQ_U64(diag.line, 4);
    CHECK(diag.column > 0);
    free(text);
}

TEST(header)
{
    static const struct edit edits[] = {
        {"\"model\":\"tiny\",", "", PZ_ERR_MEANING, "model"},
        {"\"tiny\"", "1", PZ_ERR_MEANING, "model"},
        {"tiny", "", PZ_ERR_MEANING, "model"},
        {"tiny", "a\\nb", PZ_ERR_MEANING, "model"},
        {"tiny", "a\\u007fb", PZ_ERR_MEANING, "model"},
        {"\"batch\":4,", "", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":0", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":-1", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":4.0", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":\"4\"", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":null", PZ_ERR_MEANING, "batch"},
        {"\"batch\":4", "\"batch\":9223372036854775807", PZ_ERR_MEANING, "batch"},
        {"\"adamw\"", "\"adam\"", PZ_ERR_MEANING, "optimizer"},
        {"\"adamw\"", "true", PZ_ERR_MEANING, "optimizer"},
        {"\"optimizer\":\"adamw\",", "", PZ_ERR_MEANING, "optimizer"},
        {"\"parameters\":10", "\"parameters\":-1", PZ_ERR_MEANING, "parameters"},
        {"\"parameters\":10", "\"parameters\":281474976710657", PZ_ERR_MEANING, "parameters"},
        {"\"parameters\":10,", "", PZ_ERR_MEANING, "parameters"},
        {"\"ops\":[", "\"opps\":[", PZ_ERR_MEANING, "ops"},
        {"\"storages\":[", "\"storrages\":[", PZ_ERR_MEANING, "storages"},
        {"\"ops\":[", "\"ops\":[],\"x\":[", PZ_ERR_MEANING, "ops"},
        {"\"ops\":[", "\"ops\":{},\"x\":[", PZ_ERR_MEANING, "ops"},
        {"\"storages\":[", "\"storages\":{},\"x\":[", PZ_ERR_MEANING, "storages"},
        {"\"storages\":[", "\"storages\":[],\"x\":[", PZ_ERR_MEANING, "ops[0].reads"},
        {"\"ops\":[", "\"unknown\":{\"a\":[1]},\"ops\":[", PZ_OK, ""},
    };
    CHECK_EDITS(edits);
}

TEST(operators)
{
    static const struct edit edits[] = {
        {"{\"name\":\"conv\",", "{", PZ_ERR_MEANING, "ops[0].name"},
        {"\"conv\"", "[]", PZ_ERR_MEANING, "ops[0].name"},
        {"\"conv\"", "\"\"", PZ_ERR_MEANING, "ops[0].name"},
        {"\"conv\"", "\"\\u001b[31m\"", PZ_ERR_MEANING, "ops[0].name"},
        {"\"phase\":\"forward\",", "", PZ_ERR_MEANING, "ops[0].phase"},
        {"\"phase\":\"forward\"", "\"phase\":\"sideways\"", PZ_ERR_MEANING, "ops[0].phase"},
        {"\"phase\":\"forward\"", "\"phase\":0", PZ_ERR_MEANING, "ops[0].phase"},
        {"\"phase\":\"forward\"", "\"phase\":\"backward\"", PZ_ERR_MEANING, "ops[1].phase"},
        {"\"view\":false,", "", PZ_ERR_MEANING, "ops[0].view"},
        {"\"view\":false", "\"view\":0", PZ_ERR_MEANING, "ops[0].view"},
        {"\"view\":false", "\"view\":true", PZ_ERR_MEANING, "ops[0].writes"},
        {"\"reads\":[7,3],", "", PZ_ERR_MEANING, "ops[0].reads"},
        {"[7,3]", "7", PZ_ERR_MEANING, "ops[0].reads"},
        {"[7,3]", "[7,3.0]", PZ_ERR_MEANING, "ops[0].reads[1]"},
        {"[7,3]", "[7,\"3\"]", PZ_ERR_MEANING, "ops[0].reads[1]"},
        {"[7,3]", "[-1]", PZ_ERR_MEANING, "ops[0].reads[0]"},
        {"[7,3]", "[2147483648]", PZ_ERR_MEANING, "ops[0].reads[0]"},
        {"[7,3]", "[9]", PZ_ERR_MEANING, "ops[0].reads"},
        {"[12,5]", "[12,999]", PZ_ERR_MEANING, "ops[0].writes"},
        {"\"writes\":[12,5],", "", PZ_ERR_MEANING, "ops[0].writes"},
        {"\"flops\":100,", "", PZ_ERR_MEANING, "ops[0].flops"},
        {"\"flops\":100", "\"flops\":-1", PZ_ERR_MEANING, "ops[0].flops"},
        {"\"flops\":100", "\"flops\":1e2", PZ_ERR_MEANING, "ops[0].flops"},
        {"\"flops\":100", "\"flops\":1152921504606846977", PZ_ERR_MEANING, "ops[0].flops"},
        {"\"bytes\":60,", "", PZ_ERR_MEANING, "ops[0].bytes"},
        {"\"bytes\":60", "\"bytes\":-60", PZ_ERR_MEANING, "ops[0].bytes"},
        {"\"bytes\":60", "\"bytes\":281474976710657", PZ_ERR_MEANING, "ops[0].bytes"},
        {"\"float_bytes\":40", "\"float_bytes\":61", PZ_ERR_MEANING, "ops[0].float_bytes"},
        {"\"float_bytes\":40", "\"float_bytes\":-1", PZ_ERR_MEANING, "ops[0].float_bytes"},
        {",\"float_bytes\":40", "", PZ_ERR_MEANING, "ops[0].float_bytes"},
        {"\"duration_ns\":17", "\"duration_ns\":-1", PZ_ERR_MEANING, "ops[1].duration_ns"},
        {"\"duration_ns\":17", "\"duration_ns\":1.5", PZ_ERR_MEANING, "ops[1].duration_ns"},
        {"\"ops\":[", "\"ops\":[7,", PZ_ERR_MEANING, "ops[0]"},
        {"\"ops\":[", "\"ops\":[null,", PZ_ERR_MEANING, "ops[0]"},
        {"\"float_bytes\":40", "\"float_bytes\":40,\"extra\":[{}]", PZ_OK, ""},
    };
    CHECK_EDITS(edits);
}

TEST(storages)
{
    static const struct edit edits[] = {
        {"{\"id\":7,", "{", PZ_ERR_MEANING, "storages[0].id"},
        {"{\"id\":7,", "{\"id\":-7,", PZ_ERR_MEANING, "storages[0].id"},
        {"{\"id\":7,", "{\"id\":2147483648,", PZ_ERR_MEANING, "storages[0].id"},
        {"{\"id\":3,", "{\"id\":7,", PZ_ERR_MEANING, "storages[1].id"},
        {"\"bytes\":16,", "", PZ_ERR_MEANING, "storages[0].bytes"},
        {"\"bytes\":16", "\"bytes\":-16", PZ_ERR_MEANING, "storages[0].bytes"},
        {"\"bytes\":16", "\"bytes\":16.5", PZ_ERR_MEANING, "storages[0].bytes"},
        {"\"bytes\":16", "\"bytes\":281474976710657", PZ_ERR_MEANING, "storages[0].bytes"},
        {"\"bytes\":16", "\"bytes\":281474976710656", PZ_OK, ""},
        {"\"int64\"", "\"int65\"", PZ_ERR_MEANING, "storages[0].dtype"},
        {"\"dtype\":\"int64\",", "", PZ_ERR_MEANING, "storages[0].dtype"},
        {"\"int64\"", "64", PZ_ERR_MEANING, "storages[0].dtype"},
        {"\"kind\":\"input\"", "\"kind\":\"output\"", PZ_ERR_MEANING, "storages[0].kind"},
        {"\"kind\":\"input\"", "\"kind\":null", PZ_ERR_MEANING, "storages[0].kind"},
        {"\"kind\":\"input\",\"op\":-1,\"slot\":0", "\"kind\":\"input\",\"op\":0,\"slot\":0",
         PZ_ERR_MEANING, "storages[0].op"},
        {"\"kind\":\"input\",\"op\":-1,\"slot\":0", "\"kind\":\"input\",\"op\":-1,\"slot\":-1",
         PZ_ERR_MEANING, "storages[0].slot"},
        {"\"kind\":\"input\",\"op\":-1,\"slot\":0", "\"kind\":\"input\",\"slot\":0", PZ_ERR_MEANING,
         "storages[0].op"},
        {"\"kind\":\"input\",\"op\":-1,\"slot\":0", "\"kind\":\"input\",\"op\":-1", PZ_ERR_MEANING,
         "storages[0].slot"},
        {"\"op\":0,\"slot\":0", "\"op\":-1,\"slot\":0", PZ_ERR_MEANING, "storages[2].op"},
        {"\"op\":0,\"slot\":0", "\"op\":-2,\"slot\":0", PZ_ERR_MEANING, "storages[2].op"},
        {"\"op\":0,\"slot\":0", "\"op\":6,\"slot\":0", PZ_ERR_MEANING, "storages[2].op"},
        {"\"op\":0,\"slot\":0", "\"op\":0,\"slot\":-1", PZ_ERR_MEANING, "storages[2].slot"},
        {"\"op\":0,\"slot\":0", "\"op\":0,\"slot\":2147483648", PZ_ERR_MEANING, "storages[2].slot"},
        {"\"kind\":\"parameter\"", "\"kind\":\"activation\"", PZ_ERR_MEANING, "storages[1].op"},
        {"\"storages\":[", "\"storages\":[\"a\",", PZ_ERR_MEANING, "storages[0]"},
    };
    CHECK_EDITS(edits);
}

TEST(contradictions)
{
    static const struct edit edits[] = {
        /* producer and slot */
        {"\"op\":0,\"slot\":0", "\"op\":0,\"slot\":1", PZ_ERR_MEANING, "storages[2]"},
        {"\"op\":0,\"slot\":0", "\"op\":0,\"slot\":2", PZ_ERR_MEANING, "storages[2]"},
        {"\"op\":4,\"slot\":0", "\"op\":5,\"slot\":0", PZ_ERR_MEANING, "ops[4]"},
        {"\"op\":1,\"slot\":0", "\"op\":0,\"slot\":0", PZ_ERR_MEANING, "storages[4]"},
        {"\"op\":4,\"slot\":1", "\"op\":3,\"slot\":1", PZ_ERR_MEANING, "storages[6]"},
        /* read before written */
        {"[7,3]", "[11]", PZ_ERR_MEANING, "ops[0]"},
        {"[7,3]", "[4]", PZ_ERR_MEANING, "ops[0]"},
        {"[7,3]", "[7,12]", PZ_OK, ""}, /* what it makes itself */
        /* written twice by one operator */
        {"[12,5]", "[12,12]", PZ_ERR_MEANING, "ops[0]"},
        {"[12,5]", "[12,11]", PZ_ERR_MEANING, "ops[0]"},
        {"[13,4]", "[13,4,13]", PZ_ERR_MEANING, "ops[4]"},
    };
    CHECK_EDITS(edits);
}

TEST(no_forward_operator)
{
    pz_diag diag;
    static const char text[] =
        "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"m\",\"batch\":1,\"optimizer\":"
        "\"sgd\",\"parameters\":0,\"ops\":[{\"name\":\"b\",\"phase\":\"backward\",\"view\":false,"
        "\"reads\":[],\"writes\":[],\"flops\":0,\"bytes\":0,\"float_bytes\":0}],\"storages\":[]}";

    CHECK_EQ_I64(parse(text, &diag), PZ_ERR_MEANING);
    CHECK_STR(diag.path, "ops[0]");
}

/* More than 2^56 bytes in all; the sums of the profile must not overflow. */
TEST(too_many_bytes)
{
    static char text[1 << 17];
    pz_diag diag;
    int n =
        snprintf(text, sizeof text,
                 "{\"format\":\"planezip-trace\",\"version\":1,\"model\":\"m\",\"batch\":1,"
                 "\"optimizer\":\"sgd\",\"parameters\":0,\"ops\":[{\"name\":\"f\",\"phase\":"
                 "\"forward\",\"view\":false,\"reads\":[],\"writes\":[],\"flops\":0,\"bytes\":0,"
                 "\"float_bytes\":0}],\"storages\":[");

    for (int i = 0; i <= 256; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{\"id\":%d,\"bytes\":281474976710656,\"dtype\":\"int8\",\"kind\":"
                      "\"input\",\"op\":-1,\"slot\":%d}",
                      i ? "," : "", i, i);
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    CHECK_EQ_I64(parse(text, &diag), PZ_ERR_MEANING);
    CHECK_STR(diag.path, "storages[256].bytes");
}

/* Cut at every byte: never accepted before it is whole. */
TEST(cut_everywhere)
{
    const size_t bytes = strlen(good);

    for (size_t n = 0; n < bytes; n++) {
        pz_trace *trace = NULL;
        pz_diag diag = {0};
        char *text = malloc(n ? n : 1);
        memcpy(text, good, n);
        TEST_CONTEXT("%zu bytes", n);
        const pz_status status = pz_trace_parse(text, n, &trace, &diag);
        CHECK_EQ_I64(status, n == bytes - 1 ? PZ_OK : PZ_ERR_SYNTAX);
        CHECK(status == PZ_OK || diag.line > 0);
        pz_trace_free(trace);
        free(text);
    }
}

/* One byte changed, anywhere: no crash, and what is accepted can be asked. */
TEST(every_byte_changed)
{
    static const char changes[] = {'0', '9', '-', '"', ',', ']', '}', '\x01', '\x7f'};
    char *text = edit_text(good, NULL, good);

    for (size_t i = 0; text[i] != '\0'; i++) {
        const char old = text[i];
        for (size_t c = 0; c < sizeof changes; c++) {
            pz_trace *trace = NULL;
            pz_trace_info info;
            text[i] = changes[c];
            if (pz_trace_parse(text, strlen(text), &trace, NULL) == PZ_OK) {
                pz_trace_get_info(trace, &info);
                CHECK(info.ops == 6 && info.forward_ops > 0);
            }
            pz_trace_free(trace);
        }
        text[i] = old;
    }
    free(text);
}

TEST(what_is_derived)
{
    pz_trace *trace = NULL;
    pz_trace_info info;
    pz_saved saved;

    CHECK_EQ_I64(pz_trace_parse(good, strlen(good), &trace, NULL), PZ_OK);
    pz_trace_get_info(trace, &info);
    CHECK_STR(info.model, "tiny");
    CHECK_STR(info.optimizer, "adamw");
    CHECK_EQ_U64(info.batch, 4);
    CHECK_EQ_U64(info.parameters, 10);
    CHECK_EQ_U64(info.ops, 6);
    CHECK_EQ_U64(info.forward_ops, 4);
    CHECK_EQ_U64(info.view_ops, 1);
    CHECK_EQ_U64(info.storages, 7);
    CHECK_EQ_U64(info.saved, 3); /* the input, conv's output and its clone */
    CHECK_EQ_U64(info.saved_bytes[PZ_FP32], 16 + 40 + 40);
    CHECK_EQ_U64(info.saved_bytes[PZ_BF16], 16 + 20 + 20);
    CHECK_EQ_U64(info.peak_bytes[PZ_FP32], 16 + 40 + 40 + 24);
    CHECK_EQ_U64(info.peak_bytes[PZ_BF16], 16 + 20 + 20 + 24); /* 13 has two bytes already */
    CHECK_EQ_U64(info.peak_op[PZ_FP32], 4);
    CHECK_EQ_I64(pz_trace_get_saved(trace, 0, &saved), PZ_OK);
    CHECK_EQ_U64(saved.storage, 7);
    CHECK_EQ_I64(saved.op, -1);
    CHECK_EQ_I64(saved.ready_op, -1);
    CHECK_STR(saved.op_name, "input");
    CHECK_STR(saved.dtype, "int64");
    CHECK_EQ_I64(saved.last_forward_use, 0);
    CHECK_EQ_I64(saved.first_backward_use, 5);
    CHECK_EQ_I64(pz_trace_get_saved(trace, 1, &saved), PZ_OK);
    CHECK_EQ_U64(saved.storage, 12);
    CHECK_EQ_I64(saved.op, 0);
    CHECK_EQ_I64(saved.ready_op, 2); /* relu_ wrote it last */
    CHECK_STR(saved.op_name, "relu_");
    CHECK_EQ_I64(saved.last_forward_use, 3); /* the view */
    CHECK_EQ_I64(saved.first_backward_use, 4);
    CHECK_EQ_I64(saved.last_use, 4);
    CHECK_EQ_I64(pz_trace_get_saved(trace, 2, &saved), PZ_OK);
    CHECK_EQ_U64(saved.storage, 11);
    CHECK_EQ_I64(pz_trace_get_saved(trace, 3, &saved), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(trace->ops[1].duration_ns, 17);
    CHECK_EQ_I64(trace->ops[0].duration_ns, PZI_NONE);
    pz_trace_free(trace);
    pz_trace_free(NULL);
}

static uint64_t digest_of(const char *find, const char *replace)
{
    pz_trace *trace = NULL;
    pz_trace_info info = {0};
    char *text = edit_text(good, find, replace);

    TEST_CONTEXT("%s -> %s", find, replace);
    if (CHECK(text != NULL) &&
        CHECK_EQ_I64(pz_trace_parse(text, strlen(text), &trace, NULL), PZ_OK))
        pz_trace_get_info(trace, &info);
    pz_trace_free(trace);
    free(text);
    return info.digest;
}

/* Equal for what planning does not look at, different for everything else. */
TEST(digest)
{
    const uint64_t same = digest_of("tiny", "tiny");

    CHECK(digest_of("tiny", "other") == same);
    CHECK(digest_of("\"batch\":4", "\"batch\":5") == same);
    CHECK(digest_of("\"ops\":[", "\"x\":1,\"ops\":[") == same);
    CHECK(digest_of("\"flops\":100", "\"flops\":101") != same);
    CHECK(digest_of("\"bytes\":60", "\"bytes\":61") != same);
    CHECK(digest_of("\"float_bytes\":40", "\"float_bytes\":41") != same);
    CHECK(digest_of("\"conv\"", "\"conw\"") != same);
    CHECK(digest_of("\"adamw\"", "\"sgd\"") != same);
    CHECK(digest_of("\"parameters\":10", "\"parameters\":11") != same);
    CHECK(digest_of("[7,3]", "[7]") != same);
    CHECK(digest_of("[7,3]", "[3,7]") != same);
    CHECK(digest_of("\"reads\":[13,7,4],\"writes\":[13]", "\"reads\":[13,7],\"writes\":[4,13]") !=
          same);
    CHECK(digest_of("\"bytes\":16", "\"bytes\":17") != same);
    CHECK(digest_of("\"int64\"", "\"float32\"") != same);
    CHECK(digest_of("\"int64\"", "\"int8\"") == same); /* of the same bytes, and not shrinking */
}

TEST(files)
{
    pz_trace *trace = NULL;
    pz_diag diag = {0};

    CHECK_EQ_I64(pz_trace_read("no/such/file", &trace, &diag), PZ_ERR_IO);
    CHECK(diag.text[0] != '\0' && diag.line == 0);
    CHECK_EQ_I64(pz_trace_read(".", &trace, &diag), PZ_ERR_IO);
    CHECK(edit_write("trace_test.json", good));
    CHECK_EQ_I64(pz_trace_read("trace_test.json", &trace, NULL), PZ_OK);
    pz_trace_free(trace);
    CHECK(edit_write("trace_test.json", "{"));
    CHECK_EQ_I64(pz_trace_read("trace_test.json", &trace, NULL), PZ_ERR_SYNTAX);
    remove("trace_test.json");
}
