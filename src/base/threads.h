/* Runs a function on several threads at once: the workers of a pz_threads, which are its own or the
 * caller's, and the calling thread.  Knows nothing of what is run. */
#ifndef PZI_THREADS_H
#define PZI_THREADS_H

#include <stddef.h>

#include "planezip/planezip.h"

/* Calls task(arg, i) for every i of 0 .. count-1, in any order and possibly at once, and returns
 * when all calls have.  A task must not wait for one that has not begun: there may be a single
 * thread.  NULL for threads stands for the calling one. */
void pzi_run(pz_threads *threads, void (*task)(void *arg, size_t i), void *arg, size_t count);

#endif
