/* The version of the library that is linked, as a string. */
#include "planezip/planezip.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *pz_version(void)
{
    return TEXT(PZ_VERSION_MAJOR) "." TEXT(PZ_VERSION_MINOR) "." TEXT(PZ_VERSION_PATCH);
}
