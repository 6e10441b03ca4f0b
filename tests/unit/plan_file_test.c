/* Plans: setting, files good and bad, plans of other traces. */
#include <planezip/plan.h>

#include "support/test.h"
#include "tests/sim/edit.h"
#include "tests/sim/tracegen.h"

static pz_trace *trace;
static pz_plan *plan;
static char *good;
static int64_t prefetch_op;
static size_t saved_tensors;

static bool start(void)
{
    struct rng rng = {5};
    pz_trace_info info;
    pz_plan_info about = {.policy = "planezip",
                          .candidate = "m/x, eta 1",
                          .codec = "zvc",
                          .platform = "B",
                          .budget_bytes = 12345,
                          .predicted_overhead = 0.125};

    trace = tracegen_make(&rng, 12);
    if (!CHECK(trace != NULL) || !CHECK_EQ_I64(pz_plan_new(trace, &plan), PZ_OK))
        return false;
    pz_trace_get_info(trace, &info);
    saved_tensors = info.saved;
    prefetch_op = (int64_t)info.ops - 1;
    pz_plan_set_info(plan, &about);
    CHECK_EQ_I64(pz_plan_set(plan, 1, PZ_SWAP, prefetch_op), PZ_OK);
    CHECK_EQ_I64(pz_plan_set(plan, 2, PZ_DROP, 0), PZ_OK);
    pz_plan_set_replay(plan, PZ_REPLAY_HOLD);
    CHECK_EQ_I64(pz_plan_set_replay(plan, (pz_replay)PZ_REPLAYS), PZ_ERR_ARGUMENT);
    return CHECK_EQ_I64(pz_plan_json(trace, plan, &good), PZ_OK);
}

static void finish(void)
{
    pz_text_free(good);
    pz_plan_free(plan);
    pz_trace_free(trace);
}

TEST(setting)
{
    pz_plan_info info;

    if (!start())
        return;
    CHECK_EQ_U64(pz_plan_size(plan), saved_tensors);
    CHECK_EQ_I64(pz_plan_action(plan, 0), PZ_KEEP);
    CHECK_EQ_I64(pz_plan_prefetch(plan, 0), -1);
    CHECK_EQ_I64(pz_plan_action(plan, 1), PZ_SWAP);
    CHECK_EQ_I64(pz_plan_prefetch(plan, 1), prefetch_op);
    CHECK_EQ_I64(pz_plan_action(plan, 2), PZ_DROP);
    CHECK_EQ_I64(pz_plan_prefetch(plan, 2), -1);
    CHECK_EQ_I64(pz_plan_set(plan, saved_tensors, PZ_KEEP, 0), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_plan_set(plan, 0, (pz_action)PZ_ACTIONS, 0), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_plan_set(plan, 0, PZ_SWAP, -1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_plan_set(plan, 0, PZ_SWAP, prefetch_op + 1), PZ_ERR_ARGUMENT);
    CHECK_EQ_I64(pz_plan_set(plan, 1, PZ_KEEP, 77777), PZ_OK);
    CHECK_EQ_I64(pz_plan_prefetch(plan, 1), -1);
    CHECK_EQ_I64(pz_plan_action(plan, saved_tensors + 5), PZ_KEEP);
    CHECK_EQ_I64(pz_plan_replay(plan), PZ_REPLAY_HOLD);
    pz_plan_get_info(plan, &info);
    const uint64_t digest = info.digest;
    info.digest++;
    pz_plan_set_info(plan, &info);
    pz_plan_get_info(plan, &info);
    CHECK_EQ_U64(info.digest, digest);
    finish();
    pz_plan_free(NULL);
}

TEST(round_trip)
{
    pz_plan *again = NULL;
    pz_plan_info a, b;
    char *second = NULL;

    if (!start())
        return;
    CHECK_EQ_I64(pz_plan_parse(trace, good, strlen(good), &again, NULL), PZ_OK);
    pz_plan_get_info(plan, &a);
    pz_plan_get_info(again, &b);
    CHECK_STR(a.policy, b.policy);
    CHECK_STR(a.candidate, b.candidate);
    CHECK_STR(a.codec, b.codec);
    CHECK_STR(a.platform, b.platform);
    CHECK_STR(a.model, "random");
    CHECK_STR(b.model, "random");
    CHECK_EQ_U64(a.budget_bytes, b.budget_bytes);
    CHECK_EQ_U64(a.digest, b.digest);
    CHECK(a.predicted_overhead == b.predicted_overhead);
    CHECK_EQ_I64(pz_plan_replay(again), PZ_REPLAY_HOLD);
    for (size_t i = 0; i < saved_tensors; i++) {
        CHECK_EQ_I64(pz_plan_action(plan, i), pz_plan_action(again, i));
        CHECK_EQ_I64(pz_plan_prefetch(plan, i), pz_plan_prefetch(again, i));
    }
    CHECK_EQ_I64(pz_plan_json(trace, again, &second), PZ_OK);
    CHECK_STR(good, second);
    pz_text_free(second);
    pz_plan_free(again);
    finish();
}

static void check_edit(const char *find, const char *replace, pz_status status, const char *path)
{
    pz_plan *read = NULL;
    pz_diag diag = {0};
    char *text = edit_text(good, find, replace);

    TEST_CONTEXT("%.100s -> %.100s", find ? find : "all", replace);
    if (!CHECK(text != NULL))
        return;
    CHECK_STR(pz_status_name(pz_plan_parse(trace, text, strlen(text), &read, &diag)),
              pz_status_name(status));
    CHECK_STR(diag.path, path);
    pz_plan_free(read);
    free(text);
}

TEST(bad_files)
{
    char number[64];

    if (!start())
        return;
    check_edit(NULL, "{}", PZ_ERR_FORMAT, "format");
    check_edit(NULL, "\"plan\"", PZ_ERR_SYNTAX, "");
    check_edit("planezip-plan", "planezip-trace", PZ_ERR_FORMAT, "format");
    check_edit("\"version\": 1", "\"version\": 9", PZ_ERR_FORMAT, "version");
    check_edit("\"trace_digest\"", "\"digest\"", PZ_ERR_MEANING, "trace_digest");
    check_edit("\"trace_digest\": \"", "\"trace_digest\": \"0", PZ_ERR_MISMATCH, "trace_digest");
    check_edit("\"replay\": \"hold\"", "\"replay\": \"never\"", PZ_ERR_MEANING, "replay");
    check_edit("\"replay\": \"hold\"", "\"replay\": 1", PZ_ERR_MEANING, "replay");
    check_edit("\"replay\"", "\"repl\"", PZ_ERR_MEANING, "replay");
    check_edit("\"policy\": \"planezip\"", "\"policy\": 1", PZ_ERR_MEANING, "policy");
    check_edit("\"policy\": \"planezip\"", "\"policy\": \"12345678901234567890123456789012\"",
               PZ_ERR_MEANING, "policy");
    check_edit("\"policy\": \"planezip\",", "", PZ_OK, "");
    check_edit("\"zvc\"", "\"1234567890123456\"", PZ_ERR_MEANING, "codec");
    check_edit("12345", "-1", PZ_ERR_MEANING, "budget_bytes");
    check_edit("12345", "1.5", PZ_ERR_MEANING, "budget_bytes");
    check_edit("12345", "9223372036854775808", PZ_ERR_SYNTAX, "");
    check_edit("0.125", "\"a\"", PZ_ERR_MEANING, "predicted_overhead");
    check_edit("0.125", "-2", PZ_ERR_MEANING, "predicted_overhead");
    check_edit("0.125", "NaN", PZ_ERR_SYNTAX, "");
    check_edit("\"tensors\"", "\"tensor\"", PZ_ERR_MEANING, "tensors");
    check_edit("\"tensors\": [", "\"tensors\": 1, \"x\": [", PZ_ERR_MEANING, "tensors");
    check_edit("\"tensors\": [", "\"tensors\": [1,", PZ_ERR_MEANING, "tensors[0]");
    check_edit("\"storage\": ", "\"storage\": -1", PZ_ERR_MEANING, "tensors[0].storage");
    check_edit("\"storage\": ", "\"storages\": ", PZ_ERR_MEANING, "tensors[0].storage");
    check_edit("\"storage\": ", "\"storage\": 99999", PZ_ERR_MEANING, "tensors[0].storage");
    check_edit("\"action\": \"keep\"", "\"action\": \"hold\"", PZ_ERR_MEANING, "tensors[0].action");
    check_edit("\"action\": \"keep\"", "\"act\": \"keep\"", PZ_ERR_MEANING, "tensors[0].action");
    check_edit("\"action\": \"keep\"", "\"action\": \"swap\"", PZ_ERR_MEANING,
               "tensors[0].prefetch_op");
    check_edit("\"prefetch_op\"", "\"prefetch\"", PZ_ERR_MEANING, "tensors[1].prefetch_op");
    snprintf(number, sizeof number, "\"prefetch_op\": %lld", (long long)prefetch_op);
    check_edit(number, "\"prefetch_op\": -1", PZ_ERR_MEANING, "tensors[1].prefetch_op");
    check_edit(number, "\"prefetch_op\": 1.0", PZ_ERR_MEANING, "tensors[1].prefetch_op");
    check_edit(number, "\"prefetch_op\": 123456", PZ_ERR_MEANING, "tensors[1].prefetch_op");
    check_edit("\"action\": \"drop\"", "\"action\": \"drop\", \"action\": \"keep\"", PZ_ERR_SYNTAX,
               "");
    finish();
}

/* Of another name, of none, and of one that has no room. */
TEST(models)
{
    static const struct {
        const char *text, *model;
    } models[] = {{"\"model\": \"other\"", "other"},
                  {"\"note\": \"other\"", "random"},
                  {"\"model\": "
                   "\"0123456789012345678901234567890123456789012345678901234567890123456789\"",
                   "012345678901234567890123456789012345678901234567890123456789012"}};

    if (!start())
        return;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        pz_plan *read = NULL;
        pz_plan_info info = {0};
        char *text = edit_text(good, "\"model\": \"random\"", models[i].text);
        if (!CHECK(text != NULL))
            return;
        CHECK_EQ_I64(pz_plan_parse(trace, text, strlen(text), &read, NULL), PZ_OK);
        pz_plan_get_info(read, &info);
        CHECK_STR(info.model, models[i].model);
        pz_plan_free(read);
        free(text);
    }
    check_edit("\"random\"", "1", PZ_ERR_MEANING, "model");
    finish();
}

/* A plan that compresses says who does so, and into which slots. */
TEST(compressors)
{
    if (!start())
        return;
    check_edit("\"action\": \"swap\"", "\"action\": \"compress\"", PZ_ERR_MEANING, "compress");
    char *compressing = edit_text(good, "\"action\": \"swap\"", "\"action\": \"compress\"");
    pz_text_free(good);
    good = compressing;
    check_edit("\"replay\"", "\"compress\": \"none\", \"slot_bytes\": 1, \"replay\"",
               PZ_ERR_MEANING, "compress");
    check_edit("\"replay\"", "\"compress\": \"spare\", \"replay\"", PZ_ERR_MEANING, "slot_bytes");
    check_edit("\"replay\"", "\"compress\": \"spare\", \"slot_bytes\": 1, \"replay\"", PZ_OK, "");
    finish();
}

TEST(one_tensor_twice)
{
    pz_plan *read = NULL;
    pz_diag diag = {0};
    pz_saved saved;
    char tensor[64];

    if (!start())
        return;
    CHECK_EQ_I64(pz_trace_get_saved(trace, 0, &saved), PZ_OK);
    snprintf(tensor, sizeof tensor, "[{\"storage\": %zu, \"action\": \"keep\"},", saved.storage);
    char *text = edit_text(good, "[", tensor);
    CHECK_EQ_I64(pz_plan_parse(trace, text, strlen(text), &read, &diag), PZ_ERR_MEANING);
    CHECK_STR(diag.path, "tensors[1].storage");
    free(text);
    finish();
}

TEST(cut_everywhere)
{
    if (!start())
        return;
    for (size_t n = 0; n < strlen(good); n++) {
        pz_plan *read = NULL;
        pz_diag diag = {0};
        TEST_CONTEXT("%zu bytes", n);
        CHECK_EQ_I64(pz_plan_parse(trace, good, n, &read, &diag), PZ_ERR_SYNTAX);
    }
    finish();
}

TEST(another_trace)
{
    struct rng rng = {6};
    pz_platform platform;
    pz_plan *read = NULL;
    pz_report report;
    pz_diag diag = {0};
    char *text = NULL;

    if (!start())
        return;
    pz_trace *other = tracegen_make(&rng, 12);
    CHECK_EQ_I64(pz_plan_parse(other, good, strlen(good), &read, &diag), PZ_ERR_MISMATCH);
    CHECK_STR(diag.path, "trace_digest");
    CHECK_EQ_I64(pz_plan_json(other, plan, &text), PZ_ERR_MISMATCH);
    CHECK_EQ_I64(pz_platform_named("A", &platform), PZ_OK);
    const pz_setup setup = {
        .size = sizeof setup, .trace = other, .platform = &platform, .budget_bytes = 1 << 30};
    CHECK_EQ_I64(pz_simulate(&setup, plan, &report, NULL, &diag), PZ_ERR_MISMATCH);
    pz_trace_free(other);
    finish();
}

TEST(files)
{
    pz_plan *read = NULL;
    pz_diag diag = {0};

    if (!start())
        return;
    CHECK_EQ_I64(pz_plan_read(trace, "no/such/file", &read, &diag), PZ_ERR_IO);
    CHECK_EQ_I64(pz_plan_read(trace, ".", &read, &diag), PZ_ERR_IO);
    CHECK(edit_write("plan_file_test.json", good));
    CHECK_EQ_I64(pz_plan_read(trace, "plan_file_test.json", &read, NULL), PZ_OK);
    pz_plan_free(read);
    remove("plan_file_test.json");
    finish();
}
