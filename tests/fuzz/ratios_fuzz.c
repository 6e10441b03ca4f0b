/* Any bytes as a ratio table and as a platform: refused, or the same after writing and reading. */
#include <math.h>
#include <planezip/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

_Noreturn static void fail(const char *what, const pz_diag *diag)
{
    fprintf(stderr, "%s: %s: %s\n", what, diag->path, diag->text);
    abort();
}

static void check_predictor(pz_predictor *predictor)
{
    pz_predictor *again = NULL;
    pz_ratio_entry entry;
    pz_diag diag = {0};
    char *text = NULL, *second = NULL;

    for (size_t i = 0; pz_predictor_entry(predictor, i, &entry) == PZ_OK; i++) {
        const double ratio =
            pz_predictor_ratio(predictor, entry.op, entry.slot, "planezip", PZ_BF16);
        if (!isfinite(ratio) || ratio <= 0)
            fail("not a ratio", &diag);
    }
    if (pz_predictor_json(predictor, &text) != PZ_OK ||
        pz_predictor_parse(text, strlen(text), &again, &diag) != PZ_OK ||
        pz_predictor_json(again, &second) != PZ_OK || strcmp(text, second) != 0)
        fail("the table's file", &diag);
    pz_predictor_free(again);
    pz_text_free(text);
    pz_text_free(second);
}

static void check_platform(const pz_platform *platform)
{
    pz_platform again;
    pz_diag diag = {0};
    char *text = NULL;

    if (pz_platform_check(platform, &diag) != PZ_OK)
        fail("a platform that is read but not right", &diag);
    if (pz_platform_transfer_ns(platform, UINT64_C(1) << 32, 1.5, 1) < platform->transfer_ns)
        fail("a transfer that takes no time", &diag);
    if (pz_platform_json(platform, &text) != PZ_OK ||
        pz_platform_parse(text, strlen(text), &again, &diag) != PZ_OK)
        fail("the platform's file", &diag);
    pz_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct guard guard;
    const char *const text = (const char *)guard_copy(&guard, GUARD_BACK, data, size);
    pz_predictor *predictor = NULL;
    pz_platform platform;
    pz_diag diag = {0};

    if (pz_predictor_parse(text, size, &predictor, &diag) == PZ_OK)
        check_predictor(predictor);
    else if (diag.text[0] == '\0')
        fail("an error without a text", &diag);
    pz_predictor_free(predictor);
    if (pz_platform_parse(text, size, &platform, &diag) == PZ_OK)
        check_platform(&platform);
    return 0;
}
