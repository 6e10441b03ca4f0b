/* The choice of the instruction set.  The first test must run first: it is about the first use. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>

#include "planezip/planezip.h"
#include "support/test.h"

TEST(unknown_name_in_the_environment_is_ignored)
{
    CHECK(setenv("PZ_ISA", "no-such-isa", 1) == 0);
    CHECK_STR(pz_isa_active(), pz_isa_name(pz_isa_count() - 1));
}

TEST(names)
{
    CHECK(pz_isa_count() >= 1);
    CHECK_STR(pz_isa_name(0), "scalar");
    CHECK_STR(pz_isa_name(pz_isa_count()), NULL);
    CHECK_STR(pz_isa_name(1000), NULL);
}

TEST(selection)
{
    const char *before = pz_isa_active();

    CHECK_EQ_U64(pz_isa_select("no-such-isa"), PZ_ERR_ARGUMENT);
    CHECK_EQ_U64(pz_isa_select(NULL), PZ_ERR_ARGUMENT);
    CHECK_STR(pz_isa_active(), before);
    for (unsigned i = 0; i < pz_isa_count(); i++) {
        CHECK_EQ_U64(pz_isa_select(pz_isa_name(i)), PZ_OK);
        CHECK_STR(pz_isa_active(), pz_isa_name(i));
    }
}
