/* Platforms: the built-in ones, their files, and how long a transfer takes on one.  Figures of A
 * and B are Table II of the paper; each other platform names its source. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/transfer.h"
#include "trace/diag.h"
#include "trace/json.h"

#define PCIE4_BPS 24e9
#define PCIE5_BPS 50e9

static const pz_platform builtin[] = {
    {
        .name = "A",
        .description = "RTX 2080 Ti, FP32, PCIe 3.0, with the paper's compression engine",
        .source = "Table II of the paper (Turing whitepaper; 70 % and 80 % achievable)",
        .math_flops = 13.4e12,
        .math_fraction = 0.7,
        .memory_bps = 616e9,
        .memory_fraction = 0.8,
        .d2h_bps = 12e9,
        .h2d_bps = 12e9,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .engine_bps = 64e9,
        .precision = PZ_FP32,
        .memory_bytes = UINT64_C(11) << 30,
    },
    {
        .name = "B",
        .description = "A100 40 GB, BF16 mixed, PCIe 4.0, with the paper's compression engine",
        .source = "Table II of the paper (A100 whitepaper; 60 % and 80 % achievable)",
        .math_flops = 312e12,
        .math_fraction = 0.6,
        .memory_bps = 1555e9,
        .memory_fraction = 0.8,
        .d2h_bps = PCIE4_BPS,
        .h2d_bps = PCIE4_BPS,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .engine_bps = 64e9,
        .precision = PZ_BF16,
        .memory_bytes = UINT64_C(40) << 30,
    },
    {
        .name = "B-software",
        .description =
            "platform B without the engine: a codec in GPU kernels on about half the SMs",
        .source = "Table II; codec rate and share estimated from instruction counts, not measured",
        .math_flops = 312e12,
        .math_fraction = 0.6,
        .memory_bps = 1555e9,
        .memory_fraction = 0.8,
        .d2h_bps = PCIE4_BPS,
        .h2d_bps = PCIE4_BPS,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .software_bps = 41e9,
        .software_share = 0.48,
        .precision = PZ_BF16,
        .memory_bytes = UINT64_C(40) << 30,
    },
    {
        .name = "RTX4090",
        .description = "GeForce RTX 4090, BF16 mixed, PCIe 4.0; no compression engine",
        .source =
            "NVIDIA Ada GPU architecture whitepaper v2.1, appendix A: 165.2 TFLOPS dense BF16 "
            "with FP32 accumulation, 1008 GB/s, 24 GB; fractions and link as platform B",
        .math_flops = 165.2e12,
        .math_fraction = 0.6,
        .memory_bps = 1008e9,
        .memory_fraction = 0.8,
        .d2h_bps = PCIE4_BPS,
        .h2d_bps = PCIE4_BPS,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .precision = PZ_BF16,
        .memory_bytes = UINT64_C(24) << 30,
    },
    {
        .name = "H100-PCIe5",
        .description = "H100 PCIe 80 GB, BF16 mixed, PCIe 5.0; no compression engine",
        .source =
            "NVIDIA H100 data sheet: 756 TFLOPS dense BF16, 2.0 TB/s, PCIe 5 x16 (64 GB/s raw "
            "per direction, about 50 in practice); fractions as platform B",
        .math_flops = 756e12,
        .math_fraction = 0.6,
        .memory_bps = 2000e9,
        .memory_fraction = 0.8,
        .d2h_bps = PCIE5_BPS,
        .h2d_bps = PCIE5_BPS,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .precision = PZ_BF16,
        .memory_bytes = UINT64_C(80) << 30,
    },
    {
        .name = "GH200",
        .description = "Grace Hopper 96 GB, BF16 mixed, NVLink-C2C; no compression engine",
        .source = "NVIDIA GH200 data sheet: 990 TFLOPS dense BF16, 4 TB/s HBM3; NVLink-C2C as "
                  "measured by Fusco et al., arXiv:2408.11556; fractions as platform B",
        .math_flops = 990e12,
        .math_fraction = 0.6,
        .memory_bps = 4000e9,
        .memory_fraction = 0.8,
        .d2h_bps = 297e9,
        .h2d_bps = 375e9,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 5000,
        .precision = PZ_BF16,
        .memory_bytes = UINT64_C(96) << 30,
    },
};

static const char *const precisions[] = {"fp32", "bf16", NULL};

size_t pz_platform_count(void)
{
    return sizeof builtin / sizeof builtin[0];
}

pz_status pz_platform_builtin(size_t index, pz_platform *platform)
{
    if (index >= pz_platform_count())
        return PZ_ERR_ARGUMENT;
    *platform = builtin[index];
    return PZ_OK;
}

pz_status pz_platform_named(const char *name, pz_platform *platform)
{
    for (size_t i = 0; i < pz_platform_count(); i++)
        if (strcasecmp(builtin[i].name, name) == 0)
            return pz_platform_builtin(i, platform);
    return PZ_ERR_ARGUMENT;
}

static double codec_bps(const pz_platform *platform)
{
    return platform->engine_bps > 0 ? platform->engine_bps : platform->software_bps;
}

int64_t pz_platform_transfer_ns(const pz_platform *platform, uint64_t bytes, double ratio,
                                int to_host)
{
    const double link = (to_host ? platform->d2h_bps : platform->h2d_bps) / platform->gpus_per_link;
    return pzi_transfer_ns(bytes, ratio, link, codec_bps(platform), platform->transfer_ns);
}

/* File: one field each, so that reading, writing and checking cannot disagree. */
struct number {
    const char *name;
    size_t offset;
    double low, high;
    bool optional; /* 0 if it is missing */
};

#define NUMBER(field, name, low, high, optional)                \
    {                                                           \
        name, offsetof(pz_platform, field), low, high, optional \
    }

static const struct number numbers[] = {
    NUMBER(math_flops, "math_flops_per_s", 1e6, 1e19, false),
    NUMBER(math_fraction, "math_fraction", 1e-3, 1, false),
    NUMBER(memory_bps, "memory_bytes_per_s", 1e6, 1e16, false),
    NUMBER(memory_fraction, "memory_fraction", 1e-3, 1, false),
    NUMBER(d2h_bps, "d2h_bytes_per_s", 1e6, 1e16, false),
    NUMBER(h2d_bps, "h2d_bytes_per_s", 1e6, 1e16, false),
    NUMBER(engine_bps, "engine_bytes_per_s", 0, 1e16, true),
    NUMBER(software_bps, "software_codec_bytes_per_s", 0, 1e16, true),
    NUMBER(software_share, "software_codec_compute_share", 0, 1, true),
};

#define MAX_NS INT64_C(1000000000)

static double *number_at(pz_platform *platform, const struct number *number)
{
    return (double *)(void *)((char *)platform + number->offset);
}

static void read_text(pzi_fields *fields, const char *name, char *out, size_t room, bool optional)
{
    out[0] = '\0';
    if (optional && !pzi_has(fields, name))
        return;
    const char *text = pzi_get_string(fields, name);
    if (strlen(text) >= room)
        pzi_bad_field(fields, name, "is longer than %zu bytes", room - 1);
    else
        snprintf(out, room, "%s", text);
}

static pz_status read_platform(const json_t *root, pz_platform *platform, pz_diag *diag)
{
    const pz_status status = pzi_json_check_format(root, "planezip-platform", diag);
    if (status != PZ_OK)
        return status;
    pzi_fields fields = pzi_fields_root(root, diag);
    pz_platform p = {0};
    read_text(&fields, "name", p.name, sizeof p.name, false);
    read_text(&fields, "description", p.description, sizeof p.description, true);
    read_text(&fields, "source", p.source, sizeof p.source, true);
    p.precision = (pz_precision)pzi_get_choice(&fields, "precision", precisions);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct number *n = &numbers[i];
        if (!n->optional || pzi_has(&fields, n->name))
            *number_at(&p, n) = pzi_get_number(&fields, n->name, n->low, n->high);
    }
    p.launch_ns = pzi_get_int(&fields, "launch_ns", 0, MAX_NS);
    p.transfer_ns = pzi_get_int(&fields, "transfer_setup_ns", 0, MAX_NS);
    p.gpus_per_link = 1;
    if (pzi_has(&fields, "gpus_per_link"))
        p.gpus_per_link = (uint32_t)pzi_get_int(&fields, "gpus_per_link", 1, 1024);
    if (pzi_has(&fields, "memory_bytes"))
        p.memory_bytes = (uint64_t)pzi_get_int(&fields, "memory_bytes", 0, INT64_C(1) << 50);
    if (fields.status == PZ_OK)
        *platform = p;
    return fields.status;
}

static pz_status from_json(json_t *root, pz_platform *platform, pz_diag *diag)
{
    const pz_status status = read_platform(root, platform, diag);
    json_decref(root);
    return status;
}

pz_status pz_platform_parse(const char *json, size_t json_bytes, pz_platform *platform,
                            pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_parse(json, json_bytes, &root, diag);
    return status == PZ_OK ? from_json(root, platform, diag) : status;
}

pz_status pz_platform_read(const char *file, pz_platform *platform, pz_diag *diag)
{
    json_t *root;
    const pz_status status = pzi_json_load(file, &root, diag);
    return status == PZ_OK ? from_json(root, platform, diag) : status;
}

static json_t *to_json(const pz_platform *platform, bool *whole)
{
    pz_platform p = *platform;
    json_t *root = json_pack("{s:s,s:i,s:s,s:s,s:s,s:s}", "format", "planezip-platform", "version",
                             1, "name", p.name, "description", p.description, "source", p.source,
                             "precision", precisions[p.precision]);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        pzi_json_set(root, numbers[i].name, json_real(*number_at(&p, &numbers[i])), whole);
    pzi_json_set(root, "launch_ns", json_integer(p.launch_ns), whole);
    pzi_json_set(root, "transfer_setup_ns", json_integer(p.transfer_ns), whole);
    pzi_json_set(root, "gpus_per_link", json_integer(p.gpus_per_link), whole);
    pzi_json_set(root, "memory_bytes", json_integer((json_int_t)p.memory_bytes), whole);
    return root;
}

pz_status pz_platform_json(const pz_platform *platform, char **text)
{
    bool whole = true;
    json_t *root = to_json(platform, &whole);
    return pzi_json_text(root, whole, PZI_DIGITS_TYPED, text);
}

pz_status pz_platform_check(const pz_platform *platform, pz_diag *diag)
{
    pz_platform p = *platform;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const double value = *number_at(&p, &numbers[i]);
        if (!(value >= numbers[i].low && value <= numbers[i].high))
            return pzi_fail_at(diag, PZ_ERR_MEANING, numbers[i].name, "is %g, outside %g..%g",
                               value, numbers[i].low, numbers[i].high);
    }
    if (p.launch_ns < 0 || p.launch_ns > MAX_NS || p.transfer_ns < 0 || p.transfer_ns > MAX_NS)
        return pzi_fail(diag, PZ_ERR_MEANING, "launch or set-up time outside 0..1 s");
    if (p.gpus_per_link < 1 || p.gpus_per_link > 1024)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "gpus_per_link", "is outside 1..1024");
    if (p.precision != PZ_FP32 && p.precision != PZ_BF16)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "precision", "is neither fp32 nor bf16");
    return PZ_OK;
}
