/* Plans: making, changing, reading and writing them.  Decides nothing. */
#include "trace/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/json.h"
#include "trace/trace.h"

static const char *const actions[] = {"keep", "swap", "drop", "compress", NULL};
static const char *const codecs[] = {"none", "planezip", "zvc", "bpc", "bx", "zbx", NULL};
static const char *const replays[] = {"free", "keep", "hold", NULL};
static const char *const compressors[] = {"none", "spare", "second", "software", NULL};

pz_status pz_plan_new(const pz_trace *trace, pz_plan **plan)
{
    pz_plan *p = calloc(1, sizeof *p);
    pzi_step *steps = calloc(trace->n_saved + 1, sizeof *steps);
    if (!p || !steps) {
        free(p);
        free(steps);
        return PZ_ERR_MEMORY;
    }
    p->n = trace->n_saved;
    p->n_ops = trace->n_ops;
    p->steps = steps;
    p->info.digest = trace->digest;
    snprintf(p->info.model, sizeof p->info.model, "%s", trace->model);
    for (size_t i = 0; i < p->n; i++)
        steps[i].prefetch_op = PZI_NONE;
    *plan = p;
    return PZ_OK;
}

void pz_plan_free(pz_plan *plan)
{
    if (!plan)
        return;
    free(plan->steps);
    free(plan);
}

size_t pz_plan_size(const pz_plan *plan)
{
    return plan->n;
}

pz_action pz_plan_action(const pz_plan *plan, size_t index)
{
    return index < plan->n ? plan->steps[index].action : PZ_KEEP;
}

int64_t pz_plan_prefetch(const pz_plan *plan, size_t index)
{
    return index < plan->n ? plan->steps[index].prefetch_op : PZI_NONE;
}

pz_status pz_plan_set(pz_plan *plan, size_t index, pz_action action, int64_t prefetch_op)
{
    if (index >= plan->n || action < PZ_KEEP || action > PZ_COMPRESS)
        return PZ_ERR_ARGUMENT;
    const bool leaves = pzi_leaves(action);
    if (leaves && (prefetch_op < 0 || prefetch_op >= (int64_t)plan->n_ops))
        return PZ_ERR_ARGUMENT;
    plan->steps[index] = (pzi_step){action, leaves ? (int32_t)prefetch_op : PZI_NONE};
    return PZ_OK;
}

pz_replay pz_plan_replay(const pz_plan *plan)
{
    return plan->replay;
}

pz_status pz_plan_set_replay(pz_plan *plan, pz_replay replay)
{
    if (replay < PZ_REPLAY_FREE || replay > PZ_REPLAY_HOLD)
        return PZ_ERR_ARGUMENT;
    plan->replay = replay;
    return PZ_OK;
}

void pz_plan_get_info(const pz_plan *plan, pz_plan_info *info)
{
    *info = plan->info;
}

void pz_plan_set_info(pz_plan *plan, const pz_plan_info *info)
{
    const pz_plan_info old = plan->info;
    plan->info = *info;
    plan->info.digest = old.digest;
    memcpy(plan->info.model, old.model, sizeof old.model);
    plan->info.policy[sizeof plan->info.policy - 1] = '\0';
    plan->info.candidate[sizeof plan->info.candidate - 1] = '\0';
    plan->info.codec[sizeof plan->info.codec - 1] = '\0';
    plan->info.platform[sizeof plan->info.platform - 1] = '\0';
}

/* What a search did, as a field "search" ---------------------------------------------------------
 */

static const char *const moves[PZ_MOVES] = {"one", "exchange", "row"};

static json_t *search_json(const pz_search_info *search, bool *whole)
{
    json_t *object =
        json_pack("{s:I,s:I,s:f}", "evaluations", (json_int_t)search->evaluations, "accepted",
                  (json_int_t)search->accepted, "start_overhead", search->start_overhead);
    json_t *paid = json_object();
    for (size_t i = 0; i < PZ_MOVES; i++)
        pzi_json_set(paid, moves[i],
                     json_pack("{s:I,s:I}", "moves", (json_int_t)search->moves[i], "gain_ns",
                               (json_int_t)search->gain_ns[i]),
                     whole);
    pzi_json_set(object, "paid", paid, whole);
    return object;
}

/* Reading ---------------------------------------------------------------------------------------
 */

static pz_status read_head(pz_plan *plan, const json_t *root, pz_diag *diag)
{
    const pz_status status = pzi_json_check_format(root, "planezip-plan", diag);
    if (status != PZ_OK)
        return status;
    pzi_fields fields = pzi_fields_root(root, diag);
    const char *digest = pzi_get_string(&fields, "trace_digest");
    char expected[17];
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)plan->info.digest);
    if (fields.status == PZ_OK && strcmp(digest, expected) != 0)
        return pzi_fail_at(diag, PZ_ERR_MISMATCH, "trace_digest",
                           "is %.20s, but the trace has %s; use the trace that the plan was made "
                           "for, or plan again",
                           digest, expected);
    if (pzi_has(&fields, "model"))
        snprintf(plan->info.model, sizeof plan->info.model, "%s", pzi_get_string(&fields, "model"));
    plan->replay = (pz_replay)pzi_get_choice(&fields, "replay", replays);
    pzi_get_text(&fields, "policy", true, plan->info.policy, sizeof plan->info.policy);
    pzi_get_text(&fields, "candidate", true, plan->info.candidate, sizeof plan->info.candidate);
    if (pzi_has(&fields, "codec"))
        snprintf(plan->info.codec, sizeof plan->info.codec, "%s",
                 codecs[pzi_get_choice(&fields, "codec", codecs)]);
    pzi_get_text(&fields, "platform", true, plan->info.platform, sizeof plan->info.platform);
    if (pzi_has(&fields, "budget_bytes"))
        plan->info.budget_bytes = (uint64_t)pzi_get_int(&fields, "budget_bytes", 0, INT64_MAX);
    if (pzi_has(&fields, "predicted_overhead"))
        plan->info.predicted_overhead = pzi_get_number(&fields, "predicted_overhead", -1, 1e9);
    if (pzi_has(&fields, "compress")) {
        plan->info.compress = (pz_compress)pzi_get_choice(&fields, "compress", compressors);
        plan->info.slot_bytes = (uint64_t)pzi_get_int(&fields, "slot_bytes", 1, INT64_MAX);
    }
    pzi_get_array(&fields, "tensors");
    return fields.status;
}

/* The saved tensor with a storage id.  Files list the tensors in the order of the trace, so the
 * expected position comes first. */
static int32_t find_saved(const pz_trace *trace, int64_t id, size_t guess)
{
    for (size_t i = 0; i < trace->n_saved; i++) {
        const size_t k = (guess + i) % trace->n_saved;
        if (trace->storages[trace->saved[k].storage].id == id)
            return (int32_t)k;
    }
    return PZI_NONE;
}

/* Operator and slot are there for other readers of the file; a contradiction is still an error. */
static void check_producer(pzi_fields *fields, const pzi_storage *storage)
{
    if (pzi_has(fields, "op") && pzi_get_int(fields, "op", PZI_NONE, INT32_MAX) != storage->op)
        pzi_bad_field(fields, "op", "is not %d, the producer of the storage", storage->op);
    if (pzi_has(fields, "slot") && pzi_get_int(fields, "slot", 0, INT32_MAX) != storage->slot)
        pzi_bad_field(fields, "slot", "is not %d, the slot of the storage", storage->slot);
}

static pz_status read_tensor(const pz_trace *trace, pz_plan *plan, const pzi_fields *root, size_t k,
                             bool *seen)
{
    pzi_fields fields = pzi_fields_element(root, "tensors", k);
    const int64_t id = pzi_get_int(&fields, "storage", 0, INT32_MAX);
    const pz_action action = (pz_action)pzi_get_choice(&fields, "action", actions);
    int64_t prefetch = PZI_NONE;
    if (pzi_leaves(action))
        prefetch = pzi_get_int(&fields, "prefetch_op", 0, (int64_t)trace->n_ops - 1);
    if (fields.status != PZ_OK)
        return fields.status;
    const int32_t index = find_saved(trace, id, k);
    if (index == PZI_NONE)
        pzi_bad_field(&fields, "storage", "%lld is not a saved tensor of the trace", (long long)id);
    else if (seen[index])
        pzi_bad_field(&fields, "storage", "%lld is listed twice", (long long)id);
    else
        pz_plan_set(plan, (size_t)index, action, prefetch);
    if (index == PZI_NONE)
        return fields.status;
    seen[index] = true;
    check_producer(&fields, &trace->storages[trace->saved[index].storage]);
    return fields.status;
}

/* Who compresses, and into which slots, is a part of the plan. */
static pz_status check_compressor(const pz_plan *plan, const pzi_fields *root)
{
    pzi_fields fields = *root;
    for (size_t i = 0; plan->info.compress == PZ_COMPRESS_NONE && i < plan->n; i++)
        if (plan->steps[i].action == PZ_COMPRESS) {
            pzi_bad_field(&fields, "compress", "does not tell who compresses tensors");
            break;
        }
    return fields.status;
}

static pz_status read_tensors(const pz_trace *trace, pz_plan *plan, const json_t *root,
                              pz_diag *diag)
{
    const pzi_fields fields = pzi_fields_root(root, diag);
    bool *seen = calloc(trace->n_saved + 1, sizeof *seen);
    if (!seen)
        return pzi_no_memory(diag);
    pz_status status = PZ_OK;
    const size_t n = json_array_size(json_object_get(root, "tensors"));
    for (size_t k = 0; status == PZ_OK && k < n; k++)
        status = read_tensor(trace, plan, &fields, k, seen);
    free(seen);
    return status == PZ_OK ? check_compressor(plan, &fields) : status;
}

static pz_status from_json(const pz_trace *trace, json_t *root, pz_plan **plan, pz_diag *diag)
{
    pz_plan *p = NULL;
    pz_status status = pz_plan_new(trace, &p);
    if (status != PZ_OK)
        pzi_no_memory(diag);
    if (status == PZ_OK)
        status = read_head(p, root, diag);
    if (status == PZ_OK)
        status = read_tensors(trace, p, root, diag);
    json_decref(root);
    if (status == PZ_OK)
        *plan = p;
    else
        pz_plan_free(p);
    return status;
}

pz_status pz_plan_parse(const pz_trace *trace, const char *json, size_t json_bytes, pz_plan **plan,
                        pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_parse(json, json_bytes, &root, diag);
    return status == PZ_OK ? from_json(trace, root, plan, diag) : status;
}

pz_status pz_plan_read(const pz_trace *trace, const char *file, pz_plan **plan, pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_load(file, &root, diag);
    return status == PZ_OK ? from_json(trace, root, plan, diag) : status;
}

/* Writing ---------------------------------------------------------------------------------------
 */

static json_t *tensor_json(const pz_trace *trace, const pz_plan *plan, size_t i, bool *whole)
{
    const pzi_storage *storage = &trace->storages[trace->saved[i].storage];
    const pzi_step *step = &plan->steps[i];
    json_t *tensor = json_pack("{s:I,s:i,s:i,s:s}", "storage", (json_int_t)storage->id, "op",
                               storage->op, "slot", storage->slot, "action", actions[step->action]);
    if (pzi_leaves(step->action))
        pzi_json_set(tensor, "prefetch_op", json_integer(step->prefetch_op), whole);
    return tensor;
}

static bool is_codec(const char *name)
{
    for (size_t i = 0; codecs[i]; i++)
        if (strcmp(codecs[i], name) == 0)
            return true;
    return false;
}

pz_status pz_plan_json(const pz_trace *trace, const pz_plan *plan, char **text)
{
    if (plan->info.digest != trace->digest)
        return PZ_ERR_MISMATCH;
    const bool has_codec = plan->info.codec[0] != '\0';
    if (has_codec && !is_codec(plan->info.codec))
        return PZ_ERR_ARGUMENT;
    char digest[17];
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)trace->digest);
    bool whole = true;
    json_t *tensors = json_array();
    for (size_t i = 0; i < plan->n; i++)
        pzi_json_append(tensors, tensor_json(trace, plan, i, &whole), &whole);
    const pz_plan_info *info = &plan->info;
    json_t *root =
        json_pack("{s:s,s:i,s:s,s:s,s:s,s:s,s:s,s:I,s:f,s:s,s:o}", "format", "planezip-plan",
                  "version", 1, "model", trace->model, "trace_digest", digest, "policy",
                  info->policy, "candidate", info->candidate, "platform", info->platform,
                  "budget_bytes", (json_int_t)info->budget_bytes, "predicted_overhead",
                  info->predicted_overhead, "replay", replays[plan->replay], "tensors", tensors);
    if (info->compress != PZ_COMPRESS_NONE) {
        pzi_json_set(root, "compress", json_string(compressors[info->compress]), &whole);
        pzi_json_set(root, "slot_bytes", json_integer((json_int_t)info->slot_bytes), &whole);
    }
    if (info->search.evaluations > 0)
        pzi_json_set(root, "search", search_json(&info->search, &whole), &whole);
    if (has_codec)
        pzi_json_set(root, "codec", json_string(info->codec), &whole);
    return pzi_json_text(root, whole, PZI_DIGITS_TYPED, text);
}
