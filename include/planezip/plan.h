/* PlaneZip: traces, the predictor, platforms, plans, the simulator, the planner and the engine's
 * cost.  Everything here is computed from files; no GPU and no tensor data are needed.
 *
 * Rules that hold for every function: objects are opaque and made by a call that returns a
 * pz_status; _free(NULL) is allowed.  A finished const object may be used by many threads at once;
 * an object that is being changed belongs to one.  Time is int64_t nanoseconds, sizes are bytes, a
 * ratio is raw / coded.  A pz_diag may be NULL; it is written only on an error.  Pointers to names
 * point into the object that was asked and live as long as it. */
#ifndef PLANEZIP_PLAN_H
#define PLANEZIP_PLAN_H

#include <planezip/planezip.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a text that one of the _json functions returned. */
PZ_API void pz_text_free(char *text);

typedef enum pz_precision {
    PZ_FP32 = 0, /* floats as the trace has them */
    PZ_BF16 = 1  /* float32 storages take two bytes an element; masks and indices stay */
} pz_precision;

/* ---- Trace (docs/architecture.md, "Files") ----------------------------------------------------
 */

/* The operators of one training iteration and the storages that they read and write. */
typedef struct pz_trace pz_trace;

/* Reads and checks a trace.  PZ_ERR_IO, PZ_ERR_SYNTAX (line and column), PZ_ERR_FORMAT,
 * PZ_ERR_MEANING (path of the field), PZ_ERR_MEMORY.  The parsed text may be freed at once. */
PZ_API pz_status pz_trace_parse(const char *json, size_t json_bytes, pz_trace **trace,
                                pz_diag *diag);
PZ_API pz_status pz_trace_read(const char *file, pz_trace **trace, pz_diag *diag);
PZ_API void pz_trace_free(pz_trace *trace);

typedef struct pz_trace_info {
    const char *model;
    const char *optimizer; /* "sgd" or "adamw" */
    uint64_t batch;
    uint64_t parameters; /* number of parameters */
    size_t ops;
    size_t forward_ops;
    size_t view_ops;
    size_t storages;
    size_t saved;            /* tensors read in the backward pass: Table I */
    uint64_t saved_bytes[2]; /* by pz_precision */
    uint64_t peak_bytes[2];  /* activation memory without eviction, by pz_precision */
    size_t peak_op[2];       /* the operator at which it is reached */
    uint64_t digest;         /* XXH3-64 of everything that planning depends on */
} pz_trace_info;

PZ_API void pz_trace_get_info(const pz_trace *trace, pz_trace_info *info);

/* One saved tensor.  Operators are positions in the trace; op is -1 for an input. */
typedef struct pz_saved {
    size_t storage; /* id in the file */
    int64_t op;     /* producer, with slot the signature of section III-B */
    int64_t slot;
    const char *op_name; /* operator that wrote the saved value; "input" for an input */
    const char *dtype;
    uint64_t bytes[2]; /* by pz_precision */
    int64_t ready_op;  /* last forward writer; -1 for an input that nothing writes */
    int64_t last_forward_use;
    int64_t first_backward_use;
    int64_t last_use;
} pz_saved;

/* Name of an operator; NULL past the end. */
PZ_API const char *pz_trace_op_name(const pz_trace *trace, size_t op);

/* The saved tensors in the order of the file's storages; index < info.saved. */
PZ_API pz_status pz_trace_get_saved(const pz_trace *trace, size_t index, pz_saved *saved);

/* What stays in device memory besides activations, as the trace has it: mixed precision keeps these
 * in float32. */
typedef struct pz_trace_memory {
    uint64_t parameter_bytes; /* frozen ones, too */
    uint64_t buffer_bytes;
    uint64_t gradient_bytes;  /* of parameters */
    uint64_t optimizer_bytes; /* momentum (SGD) or both moments (AdamW) of what is trained */
} pz_trace_memory;

PZ_API void pz_trace_get_memory(const pz_trace *trace, pz_trace_memory *memory);

/* The trace of another batch size, with the same operators, storages and signatures.  With another
 * trace of the model, of another batch size, every number lies on the line through both; with NULL,
 * what follows from the inputs grows with the batch size.  PZ_ERR_MISMATCH if the operators or
 * storages of the traces differ, PZ_ERR_ARGUMENT for a batch size of 0 or above 2^30 and for two
 * traces of the same, PZ_ERR_MEANING for numbers that no trace may have. */
PZ_API pz_status pz_trace_scale(const pz_trace *trace, const pz_trace *other, uint64_t batch,
                                pz_trace **scaled, pz_diag *diag);

/* ---- Platform (Table II) ----------------------------------------------------------------------
 */

typedef struct pz_platform {
    char name[32];
    char description[160];
    char source[256];       /* where the figures come from */
    double math_flops;      /* peak FLOP/s at this precision */
    double math_fraction;   /* achievable share of it, 0..1 */
    double memory_bps;      /* peak device-memory bandwidth */
    double memory_fraction; /* achievable share of it, 0..1 */
    double d2h_bps;         /* host link, device to host */
    double h2d_bps;         /* host link, host to device */
    int64_t gpus_per_link;  /* GPUs that share the link: each gets bandwidth / this */
    int64_t launch_ns;      /* per operator that is not a view */
    int64_t transfer_ns;    /* set-up of a transfer */
    double engine_bps;      /* compression engine per direction in raw bytes; 0 = no engine */
    double software_bps;    /* without an engine: rate of a software codec, 0 = none */
    double software_share;  /* share of the compute stream that it takes while it runs, 0..1 */
    pz_precision precision;
    uint64_t memory_bytes; /* device memory, for the reader; the budget is what counts */
} pz_platform;

/* Built-in platforms; index < pz_platform_count().  By name: case does not matter. */
PZ_API size_t pz_platform_count(void);
PZ_API pz_status pz_platform_builtin(size_t index, pz_platform *platform);
PZ_API pz_status pz_platform_named(const char *name, pz_platform *platform);
PZ_API pz_status pz_platform_parse(const char *json, size_t json_bytes, pz_platform *platform,
                                   pz_diag *diag);
PZ_API pz_status pz_platform_read(const char *file, pz_platform *platform, pz_diag *diag);
PZ_API pz_status pz_platform_json(const pz_platform *platform, char **text);

/* Checks that every field is in range; the readers do it themselves. */
PZ_API pz_status pz_platform_check(const pz_platform *platform, pz_diag *diag);

/* Equation 2 and the set-up time: how long bytes of ratio occupy a copy queue of the platform
 * (device to host if to_host, else back).  A ratio of 1 or less, and a platform without a codec,
 * give the plain transfer. */
PZ_API int64_t pz_platform_transfer_ns(const pz_platform *platform, uint64_t bytes, double ratio,
                                       int to_host);

/* A trace on a platform without a budget. */
typedef struct pz_times {
    int64_t forward_ns;
    int64_t backward_ns;
    int64_t optimizer_ns;
    double link_share; /* Figure 1b: share of the saved bytes that the slower direction of the link
                          can move in the shorter of the passes, set-up left out */
} pz_times;

/* ratios: per saved tensor, as in pz_setup, for link_share; NULL for no compression. */
PZ_API pz_status pz_trace_times(const pz_trace *trace, const pz_platform *platform,
                                const double *ratios, pz_times *times, pz_diag *diag);

/* Figure 1a: for every saved tensor the time of its uncompressed transfer to the host and of its
 * recomputation with every other saved tensor resident (INT64_MAX for an input).  Arrays of
 * info.saved entries. */
PZ_API pz_status pz_trace_costs(const pz_trace *trace, const pz_platform *platform,
                                int64_t *swap_ns, int64_t *recompute_ns, pz_diag *diag);

/* ---- Predictor (section III-B): a table of ratios ---------------------------------------------
 */

/* One ratio per signature (producing operator, output slot), codec and precision. */
typedef struct pz_predictor pz_predictor;

typedef enum pz_signature {
    PZ_BY_TENSOR = 0,   /* operator position and slot: the paper's predictor */
    PZ_BY_OPERATOR = 1, /* operator type only: bytes-weighted mean of its tensors */
    PZ_BY_NOTHING = 2   /* one global ratio */
} pz_signature;

/* An empty table (PZ_ERR_ARGUMENT for a model of more than 63 bytes), one from a text or a file,
 * and back to text. */
PZ_API pz_status pz_predictor_new(const char *model, pz_predictor **predictor);
PZ_API pz_status pz_predictor_parse(const char *json, size_t json_bytes, pz_predictor **predictor,
                                    pz_diag *diag);
PZ_API pz_status pz_predictor_read(const char *file, pz_predictor **predictor, pz_diag *diag);
PZ_API pz_status pz_predictor_json(const pz_predictor *predictor, char **text);
PZ_API void pz_predictor_free(pz_predictor *predictor);

/* The model that the table belongs to, and its number of signatures. */
PZ_API const char *pz_predictor_model(const pz_predictor *predictor);
PZ_API size_t pz_predictor_entries(const pz_predictor *predictor);

/* One signature of the table; entries are sorted by op, then slot. */
typedef struct pz_ratio_entry {
    int64_t op;
    int64_t slot;
    const char *producer_class; /* "" if the file gives none */
} pz_ratio_entry;
PZ_API pz_status pz_predictor_entry(const pz_predictor *predictor, size_t index,
                                    pz_ratio_entry *entry);

/* The ratio of a signature; 1 until it has been measured. */
PZ_API double pz_predictor_ratio(const pz_predictor *predictor, int64_t op, int64_t slot,
                                 const char *codec, pz_precision precision);

/* Records a measurement, overwriting the last one.  coded_bytes of 0 only for raw_bytes of 0. */
PZ_API pz_status pz_predictor_update(pz_predictor *predictor, int64_t op, int64_t slot,
                                     const char *codec, pz_precision precision, uint64_t raw_bytes,
                                     uint64_t coded_bytes, uint64_t iteration);

/* Ratios for all saved tensors of a trace, in their order (info.saved entries). */
PZ_API pz_status pz_predictor_fill(const pz_predictor *predictor, const pz_trace *trace,
                                   const char *codec, pz_precision precision,
                                   pz_signature signature, double *ratios);

/* Table IV: sum of |predicted - actual| wire bytes over the actual wire bytes. */
PZ_API double pz_wire_error(const pz_trace *trace, pz_precision precision, const double *predicted,
                            const double *actual);

/* ---- Plan -------------------------------------------------------------------------------------
 */

typedef enum pz_action {
    PZ_KEEP = 0,
    PZ_SWAP = 1,
    PZ_DROP = 2,
    PZ_COMPRESS = 3 /* stays in device memory, compressed */
} pz_action;
#define PZ_ACTIONS 4

/* Who compresses in device memory. */
typedef enum pz_compress {
    PZ_COMPRESS_NONE = 0,    /* nobody: there is no such action */
    PZ_COMPRESS_SPARE = 1,   /* the platform's engine, with what swaps leave of its rate */
    PZ_COMPRESS_SECOND = 2,  /* another engine of the same rate */
    PZ_COMPRESS_SOFTWARE = 3 /* the platform's software codec, which takes its share of compute */
} pz_compress;
#define PZ_SLOT_BYTES_DEFAULT UINT64_C(65536)

/* What happens to the saved tensors that a replay rebuilds on its way. */
typedef enum pz_replay {
    PZ_REPLAY_FREE = 0, /* freed after each replay, as in the paper */
    PZ_REPLAY_KEEP = 1, /* kept until their own last use */
    PZ_REPLAY_HOLD = 2  /* the same; and what several saved tensors are made from, without being
                           saved, stays from the forward pass for the replays that read it */
} pz_replay;
#define PZ_REPLAYS 3

/* An action per saved tensor, and for PZ_SWAP and PZ_COMPRESS the operator before which its return
 * is asked for. */
typedef struct pz_plan pz_plan;

PZ_API pz_status pz_plan_new(const pz_trace *trace, pz_plan **plan); /* keeps everything */
PZ_API void pz_plan_free(pz_plan *plan);
PZ_API size_t pz_plan_size(const pz_plan *plan);
PZ_API pz_action pz_plan_action(const pz_plan *plan, size_t index);
PZ_API int64_t pz_plan_prefetch(const pz_plan *plan, size_t index); /* -1: does not leave */
/* prefetch_op is looked at for PZ_SWAP and PZ_COMPRESS only; it must lie in 0..ops-1. */
PZ_API pz_status pz_plan_set(pz_plan *plan, size_t index, pz_action action, int64_t prefetch_op);
PZ_API pz_replay pz_plan_replay(const pz_plan *plan);
PZ_API pz_status pz_plan_set_replay(pz_plan *plan, pz_replay replay);

/* How a search came from one plan to the next better one. */
typedef enum pz_move {
    PZ_MOVE_ONE = 0,      /* another action for one tensor */
    PZ_MOVE_EXCHANGE = 1, /* two tensors exchange their actions */
    PZ_MOVE_ROW = 2       /* the same action for tensors produced one after the other */
} pz_move;
#define PZ_MOVES 3

/* What a search did, and which moves paid. */
typedef struct pz_search_info {
    uint64_t evaluations; /* plans looked at; 0: no search */
    uint64_t accepted;
    double start_overhead;     /* predicted, of the plan that it started from */
    uint64_t moves[PZ_MOVES];  /* that led to a better plan than all before, by pz_move */
    int64_t gain_ns[PZ_MOVES]; /* by how much */
} pz_search_info;

/* What the plan was made for; set by the planner, kept in the file. */
typedef struct pz_plan_info {
    char policy[32];
    char candidate[64]; /* which plan of a portfolio won */
    char codec[16];     /* "none", "planezip", "zvc", "bpc", "bx", "zbx" or "" */
    char platform[32];
    uint64_t budget_bytes;
    double predicted_overhead;
    uint64_t digest; /* of the trace */
    pz_compress compress;
    uint64_t slot_bytes;
    pz_search_info search;
    char model[64]; /* of the trace, as far as it fits */
} pz_plan_info;
PZ_API void pz_plan_get_info(const pz_plan *plan, pz_plan_info *info);
PZ_API void pz_plan_set_info(pz_plan *plan, const pz_plan_info *info); /* but digest and model */

/* A plan file belongs to a trace: PZ_ERR_MISMATCH if the digest differs. */
PZ_API pz_status pz_plan_parse(const pz_trace *trace, const char *json, size_t json_bytes,
                               pz_plan **plan, pz_diag *diag);
PZ_API pz_status pz_plan_read(const pz_trace *trace, const char *file, pz_plan **plan,
                              pz_diag *diag);
PZ_API pz_status pz_plan_json(const pz_trace *trace, const pz_plan *plan, char **text);

/* ---- Simulator (section IV) -------------------------------------------------------------------
 */

/* The world in which plans are made and run.  size = sizeof(pz_setup); what is 0 has its default.
 */
typedef struct pz_setup {
    size_t size;
    const pz_trace *trace;
    const pz_platform *platform;
    const double *predicted; /* ratio per saved tensor; NULL: no compression */
    const double *actual;    /* ratios that transfers really have; NULL: the predicted ones */
    uint64_t budget_bytes;   /* hard limit for activation memory */
    pz_replay replay;        /* of the plans; policy "best" tries free and keep as well */
    pz_compress compress;    /* who compresses in device memory */
    uint64_t slot_bytes;     /* what is compressed there lies in slots of this size; 0: default */
    uint64_t search_evaluations; /* of policy "best": plans looked at; 0: about a second's worth */
    double search_seconds;       /* if above 0, search by the clock: not the same plan every time */
    uint64_t search_seed;
} pz_setup;

typedef struct pz_report {
    int64_t total_ns;     /* with the optimizer step */
    int64_t unlimited_ns; /* without a budget, with the optimizer step */
    int64_t compute_ns;   /* operators of the trace */
    int64_t optimizer_ns;
    int64_t replay_ns;         /* recomputation */
    int64_t stall_memory_ns;   /* waiting for a swap-out to free memory */
    int64_t stall_prefetch_ns; /* waiting for a tensor to come back */
    int64_t codec_ns;          /* compute time that a software codec takes */
    int64_t d2h_busy_ns;
    int64_t h2d_busy_ns;
    uint64_t swapped_bytes;  /* raw bytes of all swapped tensors, one direction */
    uint64_t d2h_wire_bytes; /* what crosses the link */
    uint64_t h2d_wire_bytes;
    uint64_t replayed_ops;
    uint64_t peak_bytes;
    int64_t peak_ns;
    size_t peak_op;
    size_t kept, swapped, dropped, compressed;
    uint64_t compressed_bytes; /* raw bytes of all tensors compressed in device memory */
    uint64_t packed_bytes;     /* the slots that hold them */
    double overhead;           /* total_ns / unlimited_ns - 1 */
} pz_report;

/* Events of a simulated iteration, for people and for viewers. */
typedef struct pz_timeline pz_timeline;

typedef enum pz_lane {
    PZ_LANE_COMPUTE = 0,
    PZ_LANE_D2H = 1,
    PZ_LANE_H2D = 2,
    PZ_LANE_COMPRESS = 3, /* compression in device memory */
    PZ_LANE_RESTORE = 4   /* and back */
} pz_lane;
#define PZ_LANES 5

typedef struct pz_event {
    pz_lane lane;
    const char *kind; /* "op", "replay", "stall: memory", "stall: prefetch", "codec", "optimizer",
                         "swap-out", "prefetch", "compress" or "restore" */
    const char *name; /* operator, or operator that produced the tensor */
    int64_t op;       /* position; -1 for the optimizer, and for what an input needs */
    int64_t tensor;   /* saved tensor, -1 if none */
    int64_t begin_ns, end_ns;
    uint64_t raw_bytes, wire_bytes;
} pz_event;

/* Runs the plan event by event with the actual ratios.  PZ_ERR_INFEASIBLE if it needs more memory
 * than the budget and nothing is under way that would free some, PZ_ERR_DATAFLOW if an operator
 * would read a value that is not there, PZ_ERR_MISMATCH for a plan of another trace.  timeline may
 * be NULL.  A pure function: the same arguments give the same report on every machine. */
PZ_API pz_status pz_simulate(const pz_setup *setup, const pz_plan *plan, pz_report *report,
                             pz_timeline **timeline, pz_diag *diag);

/* A run in blocks of PyTorch's caching allocator (docs/simulator.md, "Fragmentation"). */
typedef struct pz_fragmentation {
    uint64_t allocated_bytes;      /* highest sum of the blocks in use, their sizes rounded up */
    uint64_t reserved_bytes;       /* highest sum of the segments that hold them */
    uint64_t idle_bytes;           /* of these free at that moment */
    uint64_t largest_free_bytes;   /* and the largest free block then */
    int64_t failed_op;             /* operator at which segments within the limit have no room for a
                                      block; -1: none.  From there on there is no limit. */
    uint64_t failed_bytes;         /* the block */
    uint64_t failed_free_bytes;    /* what was free then, in sum */
    uint64_t failed_largest_bytes; /* and the largest free block */
} pz_fragmentation;

/* Runs the plan as pz_simulate() does, and tells how fragmented its memory gets in segments of at
 * most limit_bytes together. */
PZ_API pz_status pz_simulate_allocator(const pz_setup *setup, const pz_plan *plan,
                                       uint64_t limit_bytes, pz_fragmentation *fragmentation,
                                       pz_diag *diag);

/* Frees it with its events. */
PZ_API void pz_timeline_free(pz_timeline *timeline);

/* Number of events.  Within a lane they are in order of time. */
PZ_API size_t pz_timeline_events(const pz_timeline *timeline);
/* One of them. */
PZ_API pz_status pz_timeline_event(const pz_timeline *timeline, size_t index, pz_event *event);
/* Live storages at the moment of the peak, largest first: id in the file, bytes. */
PZ_API size_t pz_timeline_peak_count(const pz_timeline *timeline);
/* One of them; index < pz_timeline_peak_count(). */
PZ_API pz_status pz_timeline_peak(const pz_timeline *timeline, size_t index, size_t *storage,
                                  uint64_t *bytes);
/* Chrome trace JSON: a thread per lane; counters for live bytes and the budget. */
PZ_API pz_status pz_timeline_json(const pz_timeline *timeline, char **text);

/* ---- Planner (section III-C) and the policies of section IV ------------------------------------
 */

typedef struct pz_policy {
    const char *name;    /* "recomp", "swap", "dte", "bw", "bw+zvc", "planezip", ... */
    const char *codec;   /* whose ratios it wants: "none", "zvc" or "planezip" */
    const char *summary; /* one line */
} pz_policy;

PZ_API size_t pz_policy_count(void);
PZ_API pz_status pz_policy_at(size_t index, pz_policy *policy);
PZ_API pz_status pz_policy_named(const char *name, pz_policy *policy);

/* 1 for a policy that decides while the iteration runs, and only when memory runs out, so that
 * operators need not repeat: "online-dtr", "online-dte" and "online-dte+codec".  They are not among
 * those that pz_policy_at() tells.  The plan that pz_plan_make() returns then says what was done
 * with each tensor; run as a plan it gives another time. */
PZ_API int pz_policy_is_online(const char *name);

/* The policy to use if nothing speaks for another. */
#define PZ_POLICY_DEFAULT "best"

/* Plans with the predicted ratios and reports the plan's run with the actual ones.  A run that
 * overflows is planned again for 2 % less, at most 14 times.  PZ_ERR_INFEASIBLE if nothing fits. */
PZ_API pz_status pz_plan_make(const pz_setup *setup, const char *policy, pz_plan **plan,
                              pz_report *report, pz_diag *diag);

/* A budget for which the policy has a plan, while it has none for a byte less, nor for what was
 * tried of the 3 % below (an online policy: none for 0.1 % of the peak less); the whole peak if
 * nothing below it was found.  The greedy is not monotone, nor is an online policy, so a smaller
 * one may exist.  Only the predicted ratios count. */
PZ_API pz_status pz_plan_least_budget(const pz_setup *setup, const char *policy,
                                      uint64_t *budget_bytes, pz_diag *diag);

/* What no plan can beat (docs/simulator.md, "Bound"). */
typedef struct pz_bound {
    double overhead;  /* at least this */
    int64_t total_ns; /* at least this, with the optimizer step */
    size_t op;        /* the operator of the peak */
} pz_bound;

/* 1 if the library was built with a solver of linear programs (GLPK). */
PZ_API int pz_plan_bound_available(void);

/* A lower bound on the time of every plan that keeps the budget, with the actual ratios.
 * PZ_ERR_INFEASIBLE if no such plan can exist; PZ_ERR_ARGUMENT without a solver.  The solver has
 * state of its own per thread. */
PZ_API pz_status pz_plan_bound(const pz_setup *setup, pz_bound *bound, pz_diag *diag);

/* ---- Engine cost (section III-D) ---------------------------------------------------------------
 */

typedef struct pz_engine_spec {
    size_t size;
    uint32_t lanes_per_direction; /* 2 */
    double clock_hz;              /* 1.5e9 */
    double bytes_per_block;       /* 128 */
    double cycles_per_block;      /* 4 */
    double latency_cycles;        /* 11, BPC's compressor */
    double bpc_area_um2;          /* 48000 in the source process */
    double lane_area_factor;      /* 3: lane area over BPC's compressor */
    double density_scaling;       /* 16: area in the source process over area in the target
                                     process */
    double die_area_mm2;          /* 826, the A100 */
    double bpc_power_w;           /* 0.007 */
    double bpc_clock_hz;          /* 800e6, at which that power was given */
    double power_scaling;         /* 4: energy per operation, source over target process; a
                                     conservative figure for 40 nm to 7 nm, as the paper only says
                                     "well under 0.1 W" */
} pz_engine_spec;

typedef struct pz_engine_cost {
    double throughput_bps; /* per direction */
    double lane_area_mm2;  /* one lane in the target process */
    double area_mm2;       /* all lanes of both directions */
    double die_share;      /* area / die */
    double power_w;        /* all lanes active, scaled with area factor and clock */
    double latency_ns;     /* of one block */
} pz_engine_cost;

PZ_API void pz_engine_spec_default(pz_engine_spec *spec);
/* PZ_ERR_ARGUMENT if a field is not finite and positive. */
PZ_API pz_status pz_engine_cost_of(const pz_engine_spec *spec, pz_engine_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
