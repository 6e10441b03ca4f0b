/* Status names, version, CPU features. */
#include "base/cpu.h"
#include "planezip/planezip.h"
#include "support/test.h"

TEST(status_names_and_texts)
{
    CHECK_STR(pz_status_name(PZ_OK), "PZ_OK");
    CHECK_STR(pz_status_text(PZ_OK), "success");
    CHECK_STR(pz_status_name(PZ_ERR_DATAFLOW), "PZ_ERR_DATAFLOW");
    CHECK_STR(pz_status_text(PZ_ERR_TAG), "a block has a reserved tag");
    CHECK_STR(pz_status_name((pz_status)(PZ_ERR_CANCELLED + 1)), "PZ_?");
    CHECK_STR(pz_status_text((pz_status)-1), "unknown status");
}

TEST(version_of_library_and_header)
{
    char header[32];

    snprintf(header, sizeof header, "%d.%d.%d", PZ_VERSION_MAJOR, PZ_VERSION_MINOR,
             PZ_VERSION_PATCH);
    CHECK_STR(pz_version(), header);
}

TEST(cpu_features)
{
    const uint32_t features = pzi_cpu_features();

    CHECK_EQ_U64(pzi_cpu_features(), features);
    if (features & (PZI_CPU_AVX512_VBMI | PZI_CPU_AVX512_VBMI2))
        CHECK((features & PZI_CPU_AVX512) != 0);
}
