/* Filling in a pz_diag.  Knows no file format. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(pz_diag *diag, const char *path, const char *format, va_list args)
{
    if (!diag)
        return;
    *diag = (pz_diag){0};
    snprintf(diag->path, sizeof diag->path, "%s", path);
    vsnprintf(diag->text, sizeof diag->text, format, args);
}

pz_status pzi_fail(pz_diag *diag, pz_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(diag, "", format, args);
    va_end(args);
    return status;
}

pz_status pzi_fail_at(pz_diag *diag, pz_status status, const char *path, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(diag, path, format, args);
    va_end(args);
    return status;
}

pz_status pzi_no_memory(pz_diag *diag)
{
    return pzi_fail(diag, PZ_ERR_MEMORY, "out of memory");
}
