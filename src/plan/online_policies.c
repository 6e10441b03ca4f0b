/* The online policies by name. */
#include <stdio.h>
#include <string.h>

#include "base/diag.h"
#include "plan/online.h"
#include "sim/sim.h"

static const pz_policy policies[] = {
    [PZI_ONLINE_DTR] = {"online-dtr", "none", "DTR: recomputation when memory runs out, no plan"},
    [PZI_ONLINE_EQUATION_1] = {"online-dte", "none", "MegTaiChi: Equation 1 then, no plan"},
    [PZI_ONLINE_COMPRESSED] = {"online-dte+codec", "planezip",
                               "Equation 1 then, with compressed transfers, no plan"},
};

const pz_policy *pzi_online_named(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        if (strcmp(policies[i].name, name) == 0)
            return &policies[i];
    return NULL;
}

int pz_policy_is_online(const char *name)
{
    return pzi_online_named(name) != NULL;
}

static pzi_online_rule rule_of(const pz_policy *policy)
{
    return (pzi_online_rule)(policy - policies);
}

static pz_status prepare(const pz_setup *setup, pzi_work *work, pz_diag *diag)
{
    const pz_status status = pzi_check_setup(setup, diag);
    return status == PZ_OK ? pzi_work_new(setup->trace, setup->platform, work, diag) : status;
}

static void describe(const pz_setup *setup, const pz_policy *policy, const pz_report *report,
                     pz_plan *plan)
{
    pz_plan_info *info = &plan->info;
    plan->replay = PZ_REPLAY_KEEP;
    info->predicted_overhead = report->overhead;
    info->budget_bytes = setup->budget_bytes;
    snprintf(info->policy, sizeof info->policy, "%s", policy->name);
    snprintf(info->codec, sizeof info->codec, "%s", policy->codec);
    snprintf(info->candidate, sizeof info->candidate, "no plan");
    snprintf(info->platform, sizeof info->platform, "%s", setup->platform->name);
}

pz_status pzi_online_make(const pz_setup *setup, const pz_policy *policy, pz_plan **plan,
                          pz_report *report, pz_diag *diag)
{
    pzi_work work;
    pz_status status = prepare(setup, &work, diag);
    if (status != PZ_OK)
        return status;
    pz_plan *made = NULL;
    status = pz_plan_new(setup->trace, &made);
    if (status != PZ_OK)
        pzi_no_memory(diag);
    else
        status = pzi_online_run(&work, setup, rule_of(policy), made, report, diag);
    pzi_work_free(&work);
    if (status != PZ_OK) {
        pz_plan_free(made);
        return status;
    }
    describe(setup, policy, report, made);
    *plan = made;
    return PZ_OK;
}

/* Bisection down to a thousandth of the peak. */
pz_status pzi_online_least(const pz_setup *setup, const pz_policy *policy, uint64_t *budget_bytes,
                           pz_diag *diag)
{
    pzi_work work;
    pz_status status = prepare(setup, &work, diag);
    if (status != PZ_OK)
        return status;
    const uint64_t peak = setup->trace->peak_bytes[setup->platform->precision];
    pz_setup tried = *setup;
    uint64_t low = 0, high = peak;
    while (status == PZ_OK && high - low > peak / 1000 + 1) {
        pz_report report;
        tried.budget_bytes = low + (high - low) / 2;
        status = pzi_online_run(&work, &tried, rule_of(policy), NULL, &report, diag);
        if (status == PZ_OK)
            high = tried.budget_bytes;
        else
            low = tried.budget_bytes;
        status = status == PZ_ERR_INFEASIBLE ? PZ_OK : status;
    }
    pzi_work_free(&work);
    if (status == PZ_OK)
        *budget_bytes = high;
    return status;
}
