/* Types of elements and the symbol widths that the profiles give them: docs/container.md, "Types"
 * and "Profiles". */
#include "base/dtype.h"

#include <string.h>

/* part_bits: of a number; less than bits for complex types. */
static const struct {
    const char *name, *long_name, *safetensors_name;
    unsigned char bits, part_bits;
} dtypes[PZ_DTYPES] = {
    [PZ_DTYPE_BOOL] = {"bool", "bool", "BOOL", 8, 8},
    [PZ_DTYPE_U8] = {"u8", "uint8", "U8", 8, 8},
    [PZ_DTYPE_I8] = {"i8", "int8", "I8", 8, 8},
    [PZ_DTYPE_U16] = {"u16", "uint16", "U16", 16, 16},
    [PZ_DTYPE_I16] = {"i16", "int16", "I16", 16, 16},
    [PZ_DTYPE_U32] = {"u32", "uint32", "U32", 32, 32},
    [PZ_DTYPE_I32] = {"i32", "int32", "I32", 32, 32},
    [PZ_DTYPE_U64] = {"u64", "uint64", "U64", 64, 64},
    [PZ_DTYPE_I64] = {"i64", "int64", "I64", 64, 64},
    [PZ_DTYPE_F16] = {"f16", "float16", "F16", 16, 16},
    [PZ_DTYPE_BF16] = {"bf16", "bfloat16", "BF16", 16, 16},
    [PZ_DTYPE_F32] = {"f32", "float32", "F32", 32, 32},
    [PZ_DTYPE_F64] = {"f64", "float64", "F64", 64, 64},
    [PZ_DTYPE_C64] = {"c64", "complex64", "C64", 64, 32},
    [PZ_DTYPE_C128] = {"c128", "complex128", "", 128, 64},
    [PZ_DTYPE_F8_E4M3] = {"f8_e4m3", "float8_e4m3fn", "F8_E4M3", 8, 8},
    [PZ_DTYPE_F8_E5M2] = {"f8_e5m2", "float8_e5m2", "F8_E5M2", 8, 8},
    [PZ_DTYPE_F8_E8M0] = {"f8_e8m0", "float8_e8m0fnu", "F8_E8M0", 8, 8},
    [PZ_DTYPE_F8_E4M3FNUZ] = {"f8_e4m3fnuz", "float8_e4m3fnuz", "F8_E4M3FNUZ", 8, 8},
    [PZ_DTYPE_F8_E5M2FNUZ] = {"f8_e5m2fnuz", "float8_e5m2fnuz", "F8_E5M2FNUZ", 8, 8},
    [PZ_DTYPE_F6_E2M3] = {"f6_e2m3", "float6_e2m3fn", "F6_E2M3", 6, 8},
    [PZ_DTYPE_F6_E3M2] = {"f6_e3m2", "float6_e3m2fn", "F6_E3M2", 6, 8},
    [PZ_DTYPE_F4] = {"f4", "float4_e2m1fn", "F4", 4, 8},
};

static const char *const profiles[PZ_PROFILES] = {"native", "paper"};

/* Tensors stay below 2^63 bytes. */
static const uint64_t limit = UINT64_C(1) << 63;

const char *pz_dtype_name(pz_dtype dtype)
{
    return (unsigned)dtype < PZ_DTYPES ? dtypes[dtype].name : NULL;
}

unsigned pz_dtype_bits(pz_dtype dtype)
{
    return (unsigned)dtype < PZ_DTYPES ? dtypes[dtype].bits : 0;
}

pz_status pz_dtype_named(const char *name, pz_dtype *dtype)
{
    if (name == NULL || dtype == NULL || name[0] == '\0')
        return PZ_ERR_ARGUMENT;
    for (unsigned i = 1; i < PZ_DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) == 0 || strcmp(name, dtypes[i].long_name) == 0 ||
            strcmp(name, dtypes[i].safetensors_name) == 0) {
            *dtype = (pz_dtype)i;
            return PZ_OK;
        }
    }
    return PZ_ERR_ARGUMENT;
}

pz_dtype pzi_dtype_of_safetensors(const char *name)
{
    for (unsigned i = 1; i < PZ_DTYPES; i++)
        if (dtypes[i].safetensors_name[0] != '\0' && strcmp(name, dtypes[i].safetensors_name) == 0)
            return (pz_dtype)i;
    return (pz_dtype)0;
}

pz_status pz_tensor_bytes(pz_dtype dtype, uint32_t rank, const uint64_t *shape, uint64_t *bytes)
{
    const uint64_t bits = pz_dtype_bits(dtype);
    uint64_t elements = 1;

    if (bits == 0 || bytes == NULL || (shape == NULL && rank != 0))
        return PZ_ERR_ARGUMENT;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] >= limit || (elements != 0 && shape[i] >= limit / elements + 1))
            return PZ_ERR_ARGUMENT;
        elements *= shape[i];
    }
    if (elements >= limit || elements / 8 >= limit / bits || elements % 8 * bits % 8 != 0)
        return PZ_ERR_ARGUMENT;
    *bytes = elements / 8 * bits + elements % 8 * bits / 8;
    return *bytes < limit ? PZ_OK : PZ_ERR_ARGUMENT;
}

pz_status pz_profile_named(const char *name, pz_profile *profile)
{
    if (name == NULL || profile == NULL)
        return PZ_ERR_ARGUMENT;
    for (unsigned i = 0; i < PZ_PROFILES; i++) {
        if (strcmp(name, profiles[i]) == 0) {
            *profile = (pz_profile)i;
            return PZ_OK;
        }
    }
    return PZ_ERR_ARGUMENT;
}

unsigned pz_profile_width(pz_profile profile, pz_dtype dtype)
{
    if (pz_dtype_bits(dtype) == 0)
        return 0;
    switch (profile) {
    case PZ_PROFILE_NATIVE:
        return dtypes[dtype].part_bits;
    case PZ_PROFILE_PAPER:
        return dtype == PZ_DTYPE_F16 || dtype == PZ_DTYPE_BF16 ? 16 : 32;
    default:
        return 0;
    }
}

unsigned pzi_exponent_bits(pz_dtype dtype)
{
    switch (dtype) {
    case PZ_DTYPE_F8_E4M3:
    case PZ_DTYPE_F8_E4M3FNUZ:
        return 4;
    case PZ_DTYPE_F8_E5M2:
    case PZ_DTYPE_F8_E5M2FNUZ:
    case PZ_DTYPE_F16:
        return 5;
    case PZ_DTYPE_BF16:
    case PZ_DTYPE_F32:
    case PZ_DTYPE_C64:
        return 8;
    case PZ_DTYPE_F64:
    case PZ_DTYPE_C128:
        return 11;
    default:
        return 0;
    }
}
