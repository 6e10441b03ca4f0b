/* Types, profiles, and the headers of .npy and .safetensors files: what is accepted and how what is
 * not is refused. */
#include <planezip/planezip.h>
#include <stdlib.h>

#include "support/test.h"

TEST(types)
{
    pz_dtype dtype;
    uint64_t bytes;

    for (unsigned i = 1; i < PZ_DTYPES; i++) {
        CHECK(pz_dtype_named(pz_dtype_name((pz_dtype)i), &dtype) == PZ_OK);
        CHECK_EQ_U64(dtype, i);
        for (unsigned profile = 0; profile < PZ_PROFILES; profile++) {
            pz_mode mode;
            const unsigned width = pz_profile_width((pz_profile)profile, dtype);

            CHECK(pz_mode_named("planezip", width, &mode) == PZ_OK);
        }
        CHECK(pz_tensor_bytes(dtype, 0, NULL, &bytes) ==
              (pz_dtype_bits(dtype) < 8 ? PZ_ERR_ARGUMENT : PZ_OK));
    }
    CHECK(pz_dtype_name((pz_dtype)0) == NULL);
    CHECK(pz_dtype_name(PZ_DTYPES) == NULL);
    CHECK_EQ_U64(pz_dtype_bits((pz_dtype)-1), 0);
    CHECK(pz_dtype_named("", &dtype) == PZ_ERR_ARGUMENT);
    CHECK(pz_dtype_named("float", &dtype) == PZ_ERR_ARGUMENT);
    CHECK(pz_dtype_named("bfloat16", &dtype) == PZ_OK);
    CHECK_EQ_U64(dtype, PZ_DTYPE_BF16);
    CHECK(pz_dtype_named("F8_E4M3", &dtype) == PZ_OK);
    CHECK_EQ_U64(dtype, PZ_DTYPE_F8_E4M3);
    CHECK_EQ_U64(pz_profile_width(PZ_PROFILE_PAPER, PZ_DTYPE_F16), 16);
    CHECK_EQ_U64(pz_profile_width(PZ_PROFILE_PAPER, PZ_DTYPE_BOOL), 32);
    CHECK_EQ_U64(pz_profile_width(PZ_PROFILE_NATIVE, PZ_DTYPE_BOOL), 8);
    CHECK_EQ_U64(pz_profile_width(PZ_PROFILE_NATIVE, PZ_DTYPE_C128), 64);
    CHECK_EQ_U64(pz_profile_width(PZ_PROFILE_NATIVE, (pz_dtype)0), 0);
}

TEST(sizes_of_tensors)
{
    const uint64_t huge = UINT64_C(1) << 62, odd[] = {3, 3}, even[] = {2, 3};
    const uint64_t overflow[] = {huge, 2}, none[] = {huge - 1, 0}, unknown[] = {PZ_UNKNOWN};
    const uint64_t largest[] = {INT64_MAX};
    uint64_t bytes;

    CHECK(pz_tensor_bytes(PZ_DTYPE_F4, 2, odd, &bytes) == PZ_ERR_ARGUMENT);
    CHECK(pz_tensor_bytes(PZ_DTYPE_F4, 2, even, &bytes) == PZ_OK);
    CHECK_EQ_U64(bytes, 3);
    CHECK(pz_tensor_bytes(PZ_DTYPE_U8, 2, overflow, &bytes) == PZ_ERR_ARGUMENT);
    CHECK(pz_tensor_bytes(PZ_DTYPE_U8, 2, none, &bytes) == PZ_OK);
    CHECK_EQ_U64(bytes, 0);
    CHECK(pz_tensor_bytes(PZ_DTYPE_U8, 1, unknown, &bytes) == PZ_ERR_ARGUMENT);
    CHECK(pz_tensor_bytes(PZ_DTYPE_U8, 1, largest, &bytes) == PZ_OK);
    CHECK_EQ_U64(bytes, INT64_MAX);
    CHECK(pz_tensor_bytes(PZ_DTYPE_U16, 1, largest, &bytes) == PZ_ERR_ARGUMENT);
    CHECK(pz_tensor_bytes(PZ_DTYPE_F4, 1, largest, &bytes) == PZ_ERR_ARGUMENT);
}

/* ---- .npy ---- */

/* The header of a version with this dictionary; the caller frees it. */
static uint8_t *npy_header(unsigned version, const char *dictionary, size_t *bytes)
{
    const size_t text = strlen(dictionary), before = version == 1 ? 10 : 12;
    uint8_t *header = malloc(before + text);

    memcpy(header, "\x93NUMPY", 6);
    header[6] = (uint8_t)version;
    header[7] = 0;
    header[8] = (uint8_t)text;
    header[9] = (uint8_t)(text >> 8);
    if (version > 1)
        header[10] = header[11] = 0;
    memcpy(header + before, dictionary, text);
    *bytes = before + text;
    return header;
}

static pz_status npy_parse(unsigned version, const char *dictionary, pz_dtype as_dtype, pz_npy *npy,
                           pz_diag *diag)
{
    size_t bytes, told = 0;
    uint8_t *header = npy_header(version, dictionary, &bytes);
    pz_status status = pz_npy_header_bytes(header, bytes, &told, diag);

    if (status == PZ_OK) {
        CHECK_EQ_U64(told, bytes);
        status = pz_npy_parse(header, bytes, as_dtype, npy, diag);
    }
    free(header);
    return status;
}

TEST(npy_that_is_right)
{
    static const struct {
        const char *text;
        pz_dtype dtype;
        uint32_t rank;
        uint64_t bytes;
        bool fortran;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", PZ_DTYPE_F32, 2, 48, 0},
        {"{'descr': '|b1', 'fortran_order': True, 'shape': (7,), }\n", PZ_DTYPE_BOOL, 1, 7, 1},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", PZ_DTYPE_I64, 0, 8, 0},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (0, 5), }\n", PZ_DTYPE_C128, 2, 0, 0},
        {"{\"shape\": (2L, 3), \"descr\":\"<u2\",\"fortran_order\":False}", PZ_DTYPE_U16, 2, 12, 0},
        {"{'descr': '|i1', 'fortran_order': False, 'shape': (5), }", 0, 0, 0, 0},
    };

    for (unsigned version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            pz_npy npy = {0};
            pz_status status = npy_parse(version, cases[i].text, (pz_dtype)0, &npy, NULL);

            TEST_CONTEXT("version %u: %s", version, cases[i].text);
            CHECK(status == (cases[i].dtype != 0 ? PZ_OK : PZ_ERR_SYNTAX));
            if (status != PZ_OK)
                continue;
            CHECK_EQ_U64(npy.dtype, cases[i].dtype);
            CHECK_EQ_U64(npy.rank, cases[i].rank);
            CHECK_EQ_U64(npy.data_bytes, cases[i].bytes);
            CHECK_EQ_U64(npy.fortran_order, cases[i].fortran);
        }
}

TEST(npy_elements_without_a_name)
{
    static const char text[] = "{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }\n";
    static const char date[] = "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }\n";
    pz_diag diag;
    pz_npy npy;

    CHECK(npy_parse(1, text, (pz_dtype)0, &npy, &diag) == PZ_ERR_FORMAT);
    CHECK(strstr(diag.text, "--dtype") != NULL);
    CHECK(npy_parse(1, text, PZ_DTYPE_F32, &npy, &diag) == PZ_ERR_FORMAT);
    CHECK(npy_parse(1, text, PZ_DTYPE_BF16, &npy, NULL) == PZ_OK);
    CHECK_EQ_U64(npy.dtype, PZ_DTYPE_BF16);
    CHECK_EQ_U64(npy.data_bytes, 6);
    CHECK(npy_parse(1, date, PZ_DTYPE_I64, &npy, NULL) == PZ_OK);
    CHECK_EQ_U64(npy.dtype, PZ_DTYPE_I64);
}

TEST(npy_that_is_wrong)
{
    static const struct {
        const char *text;
        pz_status status;
    } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '=f4', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<f', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': '<f4 ', 'fortran_order': False, 'shape': (3,), }\n", PZ_ERR_FORMAT},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}\n", PZ_ERR_FORMAT},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3], }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, }\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}x\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4, 'fortran_order': False, 'shape': ()}\n", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (", PZ_ERR_SYNTAX},
        {"{'descr': '<f4", PZ_ERR_SYNTAX},
        {"  ", PZ_ERR_SYNTAX},
        {"{}", PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9)}",
         PZ_ERR_SYNTAX},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 9)}",
         PZ_ERR_MEANING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pz_diag diag = {0};
        pz_npy npy;

        TEST_CONTEXT("%s", cases[i].text);
        CHECK_STR(pz_status_name(npy_parse(1, cases[i].text, (pz_dtype)0, &npy, &diag)),
                  pz_status_name(cases[i].status));
        CHECK(diag.text[0] != '\0');
    }
}

TEST(npy_starts_that_are_wrong)
{
    uint8_t start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff};
    size_t bytes;

    CHECK(pz_npy_header_bytes(start, 12, &bytes, NULL) == PZ_ERR_FORMAT);
    CHECK(pz_npy_header_bytes(start, 11, &bytes, NULL) == PZ_ERR_TRUNCATED);
    CHECK(pz_npy_header_bytes(start, 5, &bytes, NULL) == PZ_ERR_FORMAT);
    CHECK(pz_npy_header_bytes(start, 0, &bytes, NULL) == PZ_ERR_FORMAT);
    start[6] = 1;
    CHECK(pz_npy_header_bytes(start, 12, &bytes, NULL) == PZ_OK);
    CHECK_EQ_U64(bytes, 65545);
    start[8] = start[9] = 0;
    CHECK(pz_npy_header_bytes(start, 12, &bytes, NULL) == PZ_ERR_SYNTAX);
    start[6] = 4;
    CHECK(pz_npy_header_bytes(start, 12, &bytes, NULL) == PZ_ERR_FORMAT);
}

/* ---- .safetensors ---- */

static pz_status safetensors_parse(const char *text, size_t text_bytes, pz_safetensors **file,
                                   pz_diag *diag)
{
    uint8_t *header = malloc(8 + text_bytes);
    size_t told = 0;
    pz_status status;

    for (int i = 0; i < 8; i++)
        header[i] = (uint8_t)((uint64_t)text_bytes >> 8 * i);
    memcpy(header + 8, text, text_bytes);
    status = pz_safetensors_header_bytes(header, 8, &told, diag);
    CHECK_EQ_U64(told, 8 + text_bytes);
    if (status == PZ_OK)
        status = pz_safetensors_parse(header, told, file, diag);
    free(header);
    return status;
}

TEST(safetensors_that_is_right)
{
    static const char text[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[4,16]},"
        "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4],\"more\":1},"
        "\"none\":{\"dtype\":\"F8_E5M2FNUZ\",\"shape\":[0,5],\"data_offsets\":[4,4]},"
        "\"f4\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[16,19]}}   ";
    const pz_safetensors_entry *entry;
    pz_safetensors *file;

    if (!CHECK(safetensors_parse(text, sizeof text - 1, &file, NULL) == PZ_OK))
        return;
    CHECK_EQ_U64(pz_safetensors_count(file), 4);
    CHECK_EQ_U64(pz_safetensors_data_bytes(file), 19);
    CHECK_STR(pz_safetensors_tensor(file, 0)->name, "a");
    CHECK_EQ_U64(pz_safetensors_tensor(file, 0)->rank, 0);
    CHECK_STR(pz_safetensors_tensor(file, 1)->name, "none");
    entry = pz_safetensors_tensor(file, 2);
    CHECK_STR(entry->name, "b");
    CHECK_EQ_U64(entry->dtype, PZ_DTYPE_BF16);
    CHECK_EQ_U64(entry->rank, 2);
    CHECK_EQ_U64(entry->shape[1], 3);
    CHECK_EQ_U64(entry->begin_bytes, 4);
    CHECK_EQ_U64(entry->bytes, 12);
    CHECK_STR(pz_safetensors_tensor(file, 3)->name, "f4");
    CHECK(pz_safetensors_tensor(file, 4) == NULL);
    pz_safetensors_free(file);
    CHECK(safetensors_parse("{}", 2, &file, NULL) == PZ_OK);
    CHECK_EQ_U64(pz_safetensors_count(file), 0);
    CHECK_EQ_U64(pz_safetensors_data_bytes(file), 0);
    pz_safetensors_free(file);
    pz_safetensors_free(NULL);
}

#define ONE(dtype, shape, offsets) \
    "{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

TEST(safetensors_that_is_wrong)
{
    static const struct {
        const char *text;
        pz_status status;
    } cases[] = {
        {"", PZ_ERR_FORMAT},
        {"[]", PZ_ERR_FORMAT},
        {" {}", PZ_ERR_FORMAT},
        {"{", PZ_ERR_SYNTAX},
        {"{}{}", PZ_ERR_SYNTAX},
        {"{\"x\":{},\"x\":{}}", PZ_ERR_SYNTAX},
        {"{\"\xff\":{}}", PZ_ERR_SYNTAX},
        {"{\"x\":3}", PZ_ERR_MEANING},
        {"{\"__metadata__\":[]}", PZ_ERR_MEANING},
        {"{\"__metadata__\":{\"a\":1}}", PZ_ERR_MEANING},
        {ONE("\"F33\"", "[1]", "[0,4]"), PZ_ERR_FORMAT},
        {ONE("\"f32\"", "[1]", "[0,4]"), PZ_ERR_FORMAT},
        {ONE("4", "[1]", "[0,4]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "1", "[0,4]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[-1]", "[0,4]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1.0]", "[0,4]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1]", "[0,4,8]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1]", "[4,0]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1]", "[0,5]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1]", "[4,8]"), PZ_ERR_MEANING},
        {ONE("\"F4\"", "[1]", "[0,1]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[4611686018427387904,4]", "[0,4]"), PZ_ERR_MEANING},
        {ONE("\"F32\"", "[1]", "[0,99999999999999999999]"), PZ_ERR_SYNTAX},
        {"{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
         PZ_ERR_MEANING},
        {"{\"x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
         "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
         PZ_ERR_MEANING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pz_safetensors *file = NULL;
        pz_diag diag = {0};

        TEST_CONTEXT("%s", cases[i].text);
        CHECK_STR(
            pz_status_name(safetensors_parse(cases[i].text, strlen(cases[i].text), &file, &diag)),
            pz_status_name(cases[i].status));
        CHECK(diag.text[0] != '\0');
    }
}

TEST(safetensors_starts_that_are_wrong)
{
    static const uint8_t zeros[8] = {0}, two[8] = {2};
    uint8_t start[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    pz_safetensors *file;
    size_t bytes;

    CHECK(pz_safetensors_header_bytes(start, 7, &bytes, NULL) == PZ_ERR_TRUNCATED);
    CHECK(pz_safetensors_header_bytes(start, 8, &bytes, NULL) == PZ_ERR_FORMAT);
    CHECK(pz_safetensors_parse(start, 8, &file, NULL) == PZ_ERR_FORMAT);
    CHECK(pz_safetensors_parse(zeros, 8, &file, NULL) == PZ_ERR_FORMAT);
    CHECK(pz_safetensors_parse(two, 8, &file, NULL) == PZ_ERR_TRUNCATED);
}
