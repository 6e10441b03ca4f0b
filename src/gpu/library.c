/* Opens a library of a driver at run time: see device.h. */
#include "gpu/device.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/diag.h"

void *pzi_gpu_library(const char *const *files, const struct pzi_symbol *symbols, size_t count,
                      pz_diag *diag)
{
    void *library = NULL;

    for (const char *const *file = files; library == NULL && *file != NULL; file++)
        library = dlopen(*file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *const reason = dlerror(); /* names what is missing, which may be another one */

        pzi_fail_at(diag, PZ_ERR_IO, *files, "the library cannot be opened: %s",
                    reason != NULL ? reason : "no reason is told");
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        /* POSIX lets a symbol be a function; C has no other way from an object pointer. */
        if ((*(void **)symbols[i].to = dlsym(library, symbols[i].name)) == NULL) {
            pzi_fail_at(diag, PZ_ERR_IO, *files, "the library has no %s", symbols[i].name);
            dlclose(library);
            return NULL;
        }
    return library;
}
