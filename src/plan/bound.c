/* A lower bound on the time of any plan that the simulator would run: the optimum of a linear
 * program all of whose constraints every plan meets (docs/simulator.md, "Bound").
 *
 * At the moment at which the operator of the peak begins, each saved tensor idle there is in memory
 * or is not.  What is not was dropped, and is replayed after that moment, with every operator on
 * the way whose result no saved tensor holds; or it was swapped, and its copy had to end before and
 * the way back to begin after that moment.  What waits, and what is replayed, is minimised; it
 * makes the windows of the copies longer.  Actions are fractions.  Compression in device memory is
 * free of cost here. */
#include <math.h>
#include <stdlib.h>

#include "base/diag.h"
#include "plan/swaps.h"
#include "sim/lane.h"
#include "sim/sim.h"

#ifdef PZ_HAVE_GLPK
#include <glpk.h>

/* Program ---------------------------------------------------------------------------------------
 */

/* Times are in units of TIME, memory in units of the budget, so that numbers are near one. */
#define TIME_UNIT 1e6
/* The solver works with tolerances: what is proven is a little less than what it says. */
#define TOLERANCE 1e-6

struct bound {
    const pzi_work *work;
    const pz_trace *trace;
    const pzi_copies *copies;
    const int64_t *codec_ns; /* per saved tensor, both ways */
    pz_compress compress;
    pz_replay mode;
    const uint64_t *pack_frees; /* per saved tensor: what compression in place frees */
    const double *ratios;       /* NULL: all 1 */
    double unit_bytes, budget_bytes;
    int32_t peak_op;
    glp_prob *lp;
    int *columns; /* of the row that is being made; GLPK counts from 1 */
    double *factors;
    int length, room;
    int drop, out, pack, replay; /* first columns: per saved tensor (3), per forward operator */
    int hold;                    /* first column, per storage; 0: nothing is held */
    int wait_before, wait_after; /* delays before the peak; after it, but for first replays */
    int32_t *earliest;           /* per forward operator: before which it may be replayed */
};

static void term(struct bound *b, int column, double factor)
{
    if (factor == 0)
        return;
    b->length++;
    b->columns[b->length] = column;
    b->factors[b->length] = factor;
}

/* Ends a row: its terms are at most limit. */
static void at_most(struct bound *b, double limit)
{
    const int row = glp_add_rows(b->lp, 1);
    glp_set_row_bnds(b->lp, row, GLP_UP, 0, limit);
    glp_set_mat_row(b->lp, row, b->length, b->columns, b->factors);
    b->length = 0;
}

static void is_zero(struct bound *b)
{
    const int row = glp_add_rows(b->lp, 1);
    glp_set_row_bnds(b->lp, row, GLP_FX, 0, 0);
    glp_set_mat_row(b->lp, row, b->length, b->columns, b->factors);
    b->length = 0;
}

static int add_columns(struct bound *b, size_t n, double most)
{
    const int first = n > 0 ? glp_add_cols(b->lp, (int)n) : 1;
    for (int k = 0; k < (int)n; k++)
        glp_set_col_bnds(b->lp, first + k, most > 0 ? GLP_DB : GLP_LO, 0, most);
    return first;
}

static double replay_time(const struct bound *b, size_t op)
{
    return (double)b->work->op_ns[op] / TIME_UNIT;
}

/* Idle at the peak. */
static bool idle_at(const struct bound *b, size_t i)
{
    const pzi_saved *saved = &b->trace->saved[i];
    return saved->last_forward_use < b->peak_op && b->peak_op < saved->first_backward_use;
}

/* Replays ---------------------------------------------------------------------------------------
 */

/* True if a saved tensor holds the value at the end of the forward pass, so that a replay may read
 * it. */
static bool is_held(const pz_trace *trace, int32_t value)
{
    const pzi_storage *storage = &trace->storages[trace->values[value].storage];
    return (storage->saved != PZI_NONE || storage->kind == PZI_INPUT) &&
           storage->final_value == value;
}

/* The forward operator that has to be replayed for an access of a replayed one, or PZI_NONE. */
static int32_t replayed_for(const pz_trace *trace, int32_t value)
{
    if (value == PZI_NONE)
        return PZI_NONE;
    const int32_t same = trace->values[value].same_as, twin = trace->values[same].twin;
    if (is_held(trace, same) || (twin != PZI_NONE && is_held(trace, twin)))
        return PZI_NONE;
    return trace->values[same].op;
}

/* Adds the column of the storage that may hold the value, negative: then it need not be replayed.
 */
static void term_of_holding(struct bound *b, int32_t value)
{
    if (b->hold == 0 || value == PZI_NONE)
        return;
    const int32_t storage = b->trace->values[value].storage;
    if (b->work->holdable[storage])
        term(b, b->hold + storage, -1);
}

static int32_t producer_of(const pz_trace *trace, size_t saved)
{
    return trace->values[trace->values[trace->saved[saved].value].same_as].op;
}

/* What an operator reads and what it overwrites. */
static int32_t input_value(const pz_trace *trace, const pzi_op *op, uint32_t k)
{
    const int32_t value = trace->accesses[k].value;
    if (value == PZI_NONE || k < op->reads_end)
        return value;
    return trace->values[value].previous;
}

/* A tensor that is dropped is rebuilt before its first use or earlier; an operator is replayed only
 * when something that depends on it is. */
static void find_earliest(struct bound *b)
{
    const pz_trace *trace = b->trace;
    for (size_t i = 0; i < trace->n_forward; i++)
        b->earliest[i] = INT32_MAX;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const int32_t op = producer_of(trace, i), use = trace->saved[i].first_backward_use;
        if (op >= 0 && use < b->earliest[op])
            b->earliest[op] = use;
    }
    for (size_t i = trace->n_forward; i-- > 0;) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const int32_t value = input_value(trace, op, k);
            const int32_t from =
                value == PZI_NONE ? PZI_NONE : trace->values[trace->values[value].same_as].op;
            if (from >= 0 && b->earliest[i] < b->earliest[from])
                b->earliest[from] = b->earliest[i];
        }
    }
}

static void add_replays(struct bound *b)
{
    const pz_trace *trace = b->trace;
    for (size_t i = 0; i < trace->n_saved; i++) {
        const int32_t op = producer_of(trace, i);
        if (op < 0 || trace->storages[trace->saved[i].storage].kind == PZI_INPUT) {
            glp_set_col_bnds(b->lp, b->drop + (int)i, GLP_FX, 0, 0);
            continue;
        }
        term(b, b->drop + (int)i, 1);
        term(b, b->replay + op, -1);
        at_most(b, 0);
    }
    for (size_t i = 0; i < trace->n_forward; i++) {
        const pzi_op *op = &trace->ops[i];
        for (uint32_t k = op->reads; k < op->writes_end; k++) {
            const int32_t value = input_value(trace, op, k);
            const int32_t from = replayed_for(trace, value);
            if (from < 0 || from == (int32_t)i)
                continue;
            const int32_t same = trace->values[value].same_as;
            term(b, b->replay + (int)i, 1);
            term(b, b->replay + from, -1);
            term_of_holding(b, same);
            term_of_holding(b, trace->values[same].twin);
            at_most(b, 0);
        }
    }
}

/* Memory ----------------------------------------------------------------------------------------
 */

/* What is above the budget at the peak has to be out. */
static void add_memory(struct bound *b)
{
    const double peak = (double)b->trace->peak_bytes[b->work->platform->precision];
    for (size_t i = 0; i < b->trace->n_saved; i++) {
        if (!idle_at(b, i))
            continue;
        const double bytes = (double)pzi_saved_bytes(b->work, i) / b->unit_bytes;
        term(b, b->out + (int)i, -bytes);
        term(b, b->drop + (int)i, -bytes);
        term(b, b->pack + (int)i, -(double)b->pack_frees[i] / b->unit_bytes);
    }
    for (size_t s = 0; b->hold > 0 && s < b->trace->n_storages; s++)
        if (b->work->holdable[s] && b->trace->storages[s].last_use < b->peak_op)
            term(b, b->hold + (int)s, (double)b->work->bytes[s] / b->unit_bytes);
    at_most(b, (b->budget_bytes - peak) / b->unit_bytes);
}

/* A tensor is out in one way at most; what is not idle is not out. */
static void add_actions(struct bound *b)
{
    for (size_t i = 0; i < b->trace->n_saved; i++) {
        if (idle_at(b, i)) {
            term(b, b->out + (int)i, 1);
            term(b, b->drop + (int)i, 1);
            term(b, b->pack + (int)i, 1);
            at_most(b, 1);
        } else {
            glp_set_col_bnds(b->lp, b->out + (int)i, GLP_FX, 0, 0);
            glp_set_col_bnds(b->lp, b->drop + (int)i, GLP_FX, 0, 0);
        }
    }
}

/* Copies ----------------------------------------------------------------------------------------
 */

/* A column that is the time of what can be replayed before op, on top of another such column (0:
 * none) for what can be replayed before op after. */
static int add_replayed(struct bound *b, int other, int32_t after, int32_t op)
{
    const int column = add_columns(b, 1, 0);
    term(b, column, 1);
    if (other > 0)
        term(b, other, -1);
    for (size_t i = 0; i < b->trace->n_forward; i++)
        if (b->earliest[i] > after && b->earliest[i] <= op)
            term(b, b->replay + (int)i, -replay_time(b, i));
    is_zero(b);
    return column;
}

/* A column that is the time of one copy and that of another column (0: none). */
static int add_copy(struct bound *b, int other, int32_t saved, int64_t copy_ns)
{
    const int column = add_columns(b, 1, 0);
    term(b, column, 1);
    if (other > 0)
        term(b, other, -1);
    term(b, b->out + saved, -(double)copy_ns / TIME_UNIT);
    is_zero(b);
    return column;
}

/* The same for the codec that compresses in device memory: its work, and what a swap takes of it.
 */
static int add_packing(struct bound *b, int other, int32_t saved, int64_t copy_ns, bool to_host)
{
    const double ratio = b->ratios ? b->ratios[saved] : 1.0;
    const int64_t spare = pzi_spare_rate(b->work, b->compress, (size_t)saved, ratio, to_host);
    /* The rate is rounded: at most one unit of it is not taken. */
    const double taken = spare < PZI_FULL_RATE ? (double)(PZI_FULL_RATE - spare - 1) : 0;
    const int column = add_columns(b, 1, 0);
    term(b, column, 1);
    if (other > 0)
        term(b, other, -1);
    term(b, b->out + saved, -(double)copy_ns * taken / (double)PZI_FULL_RATE / TIME_UNIT);
    term(b, b->pack + saved, -(double)pzi_pack_ns(b->work, b->compress, (size_t)saved) / TIME_UNIT);
    is_zero(b);
    return column;
}

/* Work ends within a window, which delays make longer (second delay 0: none). */
static void fits_window(struct bound *b, int work, int64_t window_ns, int delay, int delay_2)
{
    term(b, work, 1);
    term(b, delay, -1);
    if (delay_2 > 0)
        term(b, delay_2, -1);
    at_most(b, (double)window_ns / TIME_UNIT);
}

/* The copies of what is ready from some moment on run between that moment and the peak. */
static void add_copies_out(struct bound *b)
{
    const pzi_work *work = b->work;
    int copies = 0, packing = 0;
    for (size_t k = b->trace->n_saved; k-- > 0;) {
        const int32_t saved = work->by_ready[k];
        if (!idle_at(b, (size_t)saved))
            continue;
        copies = add_copy(b, copies, saved, b->copies->out_ns[saved]);
        const int64_t window = work->start_ns[b->peak_op] - pzi_ready_ns(work, (size_t)saved);
        fits_window(b, copies, window, b->wait_before, 0);
        if (b->compress == PZ_COMPRESS_NONE)
            continue;
        packing = add_packing(b, packing, saved, b->copies->out_ns[saved], true);
        fits_window(b, packing, window, b->wait_before, 0);
    }
}

/* The copies of what is used up to some operator run between the peak and that operator. */
static void add_copies_in(struct bound *b)
{
    const pzi_work *work = b->work;
    int copies = 0, packing = 0, replayed = 0;
    int32_t after = -1;
    for (size_t k = 0; k < b->trace->n_saved; k++) {
        const int32_t saved = work->by_use[k];
        if (!idle_at(b, (size_t)saved))
            continue;
        const int32_t use = b->trace->saved[saved].first_backward_use;
        copies = add_copy(b, copies, saved, b->copies->in_ns[saved]);
        replayed = add_replayed(b, replayed, after, use);
        after = use;
        const int64_t window = work->start_ns[use] - work->start_ns[b->peak_op];
        fits_window(b, copies, window, b->wait_after, replayed);
        if (b->compress == PZ_COMPRESS_NONE)
            continue;
        packing = add_packing(b, packing, saved, b->copies->in_ns[saved], false);
        fits_window(b, packing, window, b->wait_after, replayed);
    }
}

/* Waiting, a software codec, and each replayed operator once.  Codec time counts as waiting, too:
 * it makes the windows longer. */
static void set_objective(struct bound *b)
{
    glp_set_obj_dir(b->lp, GLP_MIN);
    glp_set_obj_coef(b->lp, b->wait_before, 1);
    glp_set_obj_coef(b->lp, b->wait_after, 1);
    for (size_t i = 0; i < b->trace->n_forward; i++)
        glp_set_obj_coef(b->lp, b->replay + (int)i, replay_time(b, i));
    for (size_t i = 0; i < b->trace->n_saved; i++)
        if (b->codec_ns[i] > 0)
            term(b, b->out + (int)i, (double)b->codec_ns[i] / TIME_UNIT);
    if (b->length > 0) {
        term(b, b->wait_before, -1);
        term(b, b->wait_after, -1);
        at_most(b, 0);
    }
}

static void build(struct bound *b)
{
    const size_t n = b->trace->n_saved;
    b->drop = add_columns(b, n, 1);
    b->out = add_columns(b, n, 1);
    b->pack = add_columns(b, n, 1);
    b->replay = add_columns(b, b->trace->n_forward, 1);
    b->hold = b->mode == PZ_REPLAY_HOLD ? add_columns(b, b->trace->n_storages, 1) : 0;
    b->wait_before = add_columns(b, 1, 0);
    b->wait_after = add_columns(b, 1, 0);
    find_earliest(b);
    add_actions(b);
    add_replays(b);
    add_memory(b);
    add_copies_out(b);
    add_copies_in(b);
    set_objective(b);
}

static pz_status solve(struct bound *b, double *overhead_ns, pz_diag *diag)
{
    glp_smcp parameters;
    glp_init_smcp(&parameters);
    parameters.msg_lev = GLP_MSG_OFF;
    parameters.presolve = GLP_ON;
    const int result = glp_simplex(b->lp, &parameters);
    if (result == GLP_ENOPFS)
        return pzi_fail(diag, PZ_ERR_INFEASIBLE, "no plan whatever fits the budget");
    if (result != 0 || glp_get_status(b->lp) != GLP_OPT)
        return pzi_fail(diag, PZ_ERR_MEMORY, "the linear program was not solved (%d)", result);
    *overhead_ns = fmax(glp_get_obj_val(b->lp) - TOLERANCE, 0) * TIME_UNIT * (1 - TOLERANCE);
    return PZ_OK;
}

static pz_status bound_overhead(const pzi_work *work, const pz_setup *setup,
                                const pzi_copies *copies, const int64_t *codec_ns,
                                const uint64_t *pack_frees, const double *ratios,
                                double *overhead_ns, pz_bound *bound, pz_diag *diag)
{
    const pz_trace *trace = work->trace;
    const size_t room = trace->n_saved * 3 + trace->n_forward + trace->n_storages + 16;
    struct bound b = {
        .work = work,
        .trace = trace,
        .copies = copies,
        .codec_ns = codec_ns,
        .compress = setup->compress,
        .mode = setup->replay,
        .pack_frees = pack_frees,
        .ratios = ratios,
        .unit_bytes = (double)trace->peak_bytes[work->platform->precision] + 1,
        .budget_bytes = (double)setup->budget_bytes,
        .columns = calloc(room, sizeof *b.columns),
        .factors = calloc(room, sizeof *b.factors),
        .earliest = calloc(trace->n_ops, sizeof *b.earliest),
        .peak_op = (int32_t)trace->peak_op[work->platform->precision],
    };
    pz_status status = PZ_ERR_MEMORY;
    if (b.columns && b.factors && b.earliest) {
        /* GLPK keeps something for each thread, which goes as it came: the caller may use it, too.
         */
        const bool is_first = glp_init_env() == 0;
        b.lp = glp_create_prob();
        build(&b);
        status = solve(&b, overhead_ns, diag);
        glp_delete_prob(b.lp);
        if (is_first)
            glp_free_env();
        bound->op = (size_t)b.peak_op;
    }
    free(b.columns);
    free(b.factors);
    free(b.earliest);
    return status;
}

/* Bound ----------------------------------------------------------------------------------------
 */

/* The bound for plans whose transfers have these ratios. */
static pz_status bound_with(const pzi_work *work, const pz_setup *setup, const double *ratios,
                            double *overhead_ns, pz_bound *bound, pz_diag *diag)
{
    pzi_copies copies = {0};
    const size_t n = work->trace->n_saved;
    int64_t *codec_ns = calloc(n + 1, sizeof *codec_ns);
    uint64_t *pack_frees = calloc(n + 1, sizeof *pack_frees);
    pz_status status =
        codec_ns && pack_frees ? pzi_copies_new(work, ratios, &copies) : PZ_ERR_MEMORY;
    for (size_t i = 0; status == PZ_OK && i < n; i++) {
        const double ratio = ratios ? ratios[i] : 1.0;
        codec_ns[i] = pzi_codec_ns(work, (int32_t)i, ratio, true) +
                      pzi_codec_ns(work, (int32_t)i, ratio, false);
        pack_frees[i] = pzi_pack_frees(work, setup, i, ratio);
    }
    if (status == PZ_OK)
        status = bound_overhead(work, setup, &copies, codec_ns, pack_frees, ratios, overhead_ns,
                                bound, diag);
    free(codec_ns);
    free(pack_frees);
    pzi_copies_free(&copies);
    return status == PZ_ERR_MEMORY ? pzi_no_memory(diag) : status;
}

int pz_plan_bound_available(void)
{
    return 1;
}

pz_status pz_plan_bound(const pz_setup *setup, pz_bound *bound, pz_diag *diag)
{
    pzi_work work;
    pz_status status = pzi_check_setup(setup, diag);
    if (status == PZ_OK)
        status = pzi_work_new(setup->trace, setup->platform, &work, diag);
    if (status != PZ_OK)
        return status;
    const double *ratios = setup->actual ? setup->actual : setup->predicted;
    const double unlimited_ns = (double)(work.start_ns[work.trace->n_ops] + work.optimizer_ns);
    double least_ns = 0, plain_ns = 0;
    status = bound_with(&work, setup, ratios, &least_ns, bound, diag);
    /* A codec in software may be left out. */
    if (status == PZ_OK && setup->platform->engine_bps <= 0 && setup->platform->software_bps > 0) {
        status = bound_with(&work, setup, NULL, &plain_ns, bound, diag);
        least_ns = plain_ns < least_ns ? plain_ns : least_ns;
    }
    bound->overhead = status == PZ_OK && unlimited_ns > 0 ? least_ns / unlimited_ns : 0;
    bound->total_ns = (int64_t)(unlimited_ns + floor(least_ns));
    pzi_work_free(&work);
    return status;
}

#else

int pz_plan_bound_available(void)
{
    return 0;
}

pz_status pz_plan_bound(const pz_setup *setup, pz_bound *bound, pz_diag *diag)
{
    (void)setup;
    (void)bound;
    return pzi_fail(diag, PZ_ERR_ARGUMENT,
                    "this build has no solver for linear programs; build with GLPK");
}

#endif
