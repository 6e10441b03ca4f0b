/* Running a plan on a prepared trace: what the planner calls for every candidate. */
#ifndef PZI_SIM_SIM_H
#define PZI_SIM_SIM_H

#include "sim/ledger.h"
#include "sim/timeline.h"

/* pz_simulate() with work and replayer already there; setup gives budget and ratios. */
pz_status pzi_simulate(const pzi_work *work, pzi_replayer *replayer, const pz_setup *setup,
                       const pz_plan *plan, pz_report *report, pz_timeline *timeline,
                       pz_diag *diag);

/* The same, with every storage and everything that replays build in blocks of an allocator.  The
 * replayer must tell moves. */
pz_status pzi_simulate_blocks(const pzi_work *work, pzi_replayer *replayer, const pz_setup *setup,
                              const pz_plan *plan, pz_report *report, pzi_ledger *ledger,
                              pz_diag *diag);

/* Compute time that a software codec takes for one transfer of a saved tensor; 0 without one. */
int64_t pzi_codec_ns(const pzi_work *work, int32_t saved, double ratio, bool to_host);

/* The checks that every entry point makes of a setup. */
pz_status pzi_check_setup(const pz_setup *setup, pz_diag *diag);

#endif
