/* Names and texts of pz_status, from the one list in the public header. */
#include "planezip/planezip.h"

static const struct {
    const char *name;
    const char *text;
} statuses[] = {
#define STATUS_ENTRY(name, text) {#name, text},
    PZ_STATUSES(STATUS_ENTRY)
#undef STATUS_ENTRY
};

static int is_known(pz_status status)
{
    return (unsigned)status < sizeof statuses / sizeof statuses[0];
}

const char *pz_status_name(pz_status status)
{
    return is_known(status) ? statuses[status].name : "PZ_?";
}

const char *pz_status_text(pz_status status)
{
    return is_known(status) ? statuses[status].text : "unknown status";
}
