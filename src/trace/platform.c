/* Platforms: the built-in ones, their files, and how long a transfer takes on one.  Figures of A
 * and B are Table II of the paper; each other platform names its source. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/diag.h"
#include "base/transfer.h"
#include "trace/json.h"
#include "trace/trace.h"

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
    {
        /* The codec's rate is that of format 2, FP32, to encode, which is the slower direction. */
        .name = "CPU-disk",
        .description =
            "16 cores of an EPYC CPU, FP32, disk of 1 GB/s; format 2 on one of the cores",
        .source =
            "codec: one EPYC core, AVX2, measured (bench/results/README.md); 3.24 GHz with two "
            "FMA units of 256 bits, 8 channels of DDR4-3200; fractions as platform A; disk "
            "assumed",
        .math_flops = 1659e9,
        .math_fraction = 0.7,
        .memory_bps = 204.8e9,
        .memory_fraction = 0.8,
        .d2h_bps = 1e9,
        .h2d_bps = 1e9,
        .gpus_per_link = 1,
        .launch_ns = 4000,
        .transfer_ns = 100000,
        .software_bps = 1.23e9,
        .software_share = 0.0625,
        .precision = PZ_FP32,
        .memory_bytes = UINT64_C(128) << 30,
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

double pzi_link_bps(const pz_platform *platform, bool to_host)
{
    return (to_host ? platform->d2h_bps : platform->h2d_bps) / (double)platform->gpus_per_link;
}

static double codec_bps(const pz_platform *platform)
{
    return platform->engine_bps > 0 ? platform->engine_bps : platform->software_bps;
}

int64_t pz_platform_transfer_ns(const pz_platform *platform, uint64_t bytes, double ratio,
                                int to_host)
{
    return pzi_transfer_ns(bytes, ratio, pzi_link_bps(platform, to_host != 0), codec_bps(platform),
                           platform->transfer_ns);
}

/* One table per type, so that reading, writing and checking cannot disagree. */
struct number {
    const char *name;
    size_t offset; /* of a double */
    double low, high;
    bool optional; /* 0 if it is missing */
};

struct integer {
    const char *name;
    size_t offset; /* of 64 bits */
    int64_t low, high;
    bool optional;
    int64_t missing; /* what it is then */
};

#define AT(field) offsetof(pz_platform, field)

static const struct number numbers[] = {
    {"math_flops_per_s", AT(math_flops), 1e6, 1e19, false},
    {"math_fraction", AT(math_fraction), 1e-3, 1, false},
    {"memory_bytes_per_s", AT(memory_bps), 1e6, 1e16, false},
    {"memory_fraction", AT(memory_fraction), 1e-3, 1, false},
    {"d2h_bytes_per_s", AT(d2h_bps), 1e6, 1e16, false},
    {"h2d_bytes_per_s", AT(h2d_bps), 1e6, 1e16, false},
    {"engine_bytes_per_s", AT(engine_bps), 0, 1e16, false},
    {"software_codec_bytes_per_s", AT(software_bps), 0, 1e16, true},
    {"software_codec_compute_share", AT(software_share), 0, 1, true},
};

static const struct integer integers[] = {
    {"launch_ns", AT(launch_ns), 0, 1000000000, false, 0},
    {"transfer_setup_ns", AT(transfer_ns), 0, 1000000000, false, 0},
    {"gpus_per_link", AT(gpus_per_link), 1, 1024, true, 1},
    {"memory_bytes", AT(memory_bytes), 0, INT64_C(1) << 50, true, 0},
};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static double get_double(const pz_platform *platform, size_t offset)
{
    double value;
    memcpy(&value, (const char *)platform + offset, sizeof value);
    return value;
}

static int64_t get_integer(const pz_platform *platform, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)platform + offset, sizeof value);
    return value;
}

static void read_values(pzi_fields *fields, pz_platform *p)
{
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const struct number *n = &numbers[i];
        double value = 0;
        if (!n->optional || pzi_has(fields, n->name))
            value = pzi_get_number(fields, n->name, n->low, n->high);
        memcpy((char *)p + n->offset, &value, sizeof value);
    }
    for (size_t i = 0; i < COUNT(integers); i++) {
        const struct integer *n = &integers[i];
        int64_t value = n->missing;
        if (!n->optional || pzi_has(fields, n->name))
            value = pzi_get_int(fields, n->name, n->low, n->high);
        memcpy((char *)p + n->offset, &value, sizeof value);
    }
}

static pz_status read_platform(const json_t *root, pz_platform *platform, pz_diag *diag)
{
    const pz_status status = pzi_json_check_format(root, "planezip-platform", diag);
    if (status != PZ_OK)
        return status;
    pzi_fields fields = pzi_fields_root(root, diag);
    pz_platform p = {0};
    pzi_get_text(&fields, "name", false, p.name, sizeof p.name);
    pzi_get_text(&fields, "description", true, p.description, sizeof p.description);
    pzi_get_text(&fields, "source", true, p.source, sizeof p.source);
    p.precision = (pz_precision)pzi_get_choice(&fields, "precision", precisions);
    read_values(&fields, &p);
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

static json_t *to_json(const pz_platform *p, bool *whole)
{
    json_t *root = json_pack("{s:s,s:i,s:s,s:s,s:s,s:s}", "format", "planezip-platform", "version",
                             1, "name", p->name, "description", p->description, "source", p->source,
                             "precision", precisions[p->precision]);
    for (size_t i = 0; i < COUNT(numbers); i++)
        pzi_json_set(root, numbers[i].name, json_real(get_double(p, numbers[i].offset)), whole);
    for (size_t i = 0; i < COUNT(integers); i++)
        pzi_json_set(root, integers[i].name, json_integer(get_integer(p, integers[i].offset)),
                     whole);
    return root;
}

pz_status pz_platform_json(const pz_platform *platform, char **text)
{
    const pz_status status = pz_platform_check(platform, NULL);
    if (status != PZ_OK)
        return status;
    bool whole = true;
    json_t *root = to_json(platform, &whole);
    return pzi_json_text(root, whole, PZI_DIGITS_TYPED, text);
}

static bool is_string(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

pz_status pz_platform_check(const pz_platform *p, pz_diag *diag)
{
    if (!is_string(p->name, sizeof p->name) || !is_string(p->source, sizeof p->source) ||
        !is_string(p->description, sizeof p->description))
        return pzi_fail(diag, PZ_ERR_MEANING, "a text of the platform has no end");
    if (p->precision != PZ_FP32 && p->precision != PZ_BF16)
        return pzi_fail_at(diag, PZ_ERR_MEANING, "precision", "is neither fp32 nor bf16");
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const struct number *n = &numbers[i];
        const double value = get_double(p, n->offset);
        if (!(value >= n->low && value <= n->high))
            return pzi_fail_at(diag, PZ_ERR_MEANING, n->name, "is %g, outside %g..%g", value,
                               n->low, n->high);
    }
    for (size_t i = 0; i < COUNT(integers); i++) {
        const struct integer *n = &integers[i];
        const int64_t value = get_integer(p, n->offset);
        if (value < n->low || value > n->high)
            return pzi_fail_at(diag, PZ_ERR_MEANING, n->name, "is %lld, outside %lld..%lld",
                               (long long)value, (long long)n->low, (long long)n->high);
    }
    return PZ_OK;
}
