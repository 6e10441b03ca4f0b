/* What a test may ask of the driver that plays a GPU (mock_cuda.c); found by dlsym(). */
#ifndef PZ_TEST_MOCK_CUDA_H
#define PZ_TEST_MOCK_CUDA_H

/* How many of each are there now, or how many calls there have been. */
struct mock_cuda_counts {
    unsigned allocations, streams, events, modules, contexts;
    unsigned launches, waits, all_allocations, all_modules;
    unsigned pinned;  /* mappings */
    unsigned follows; /* of streams, for events */
    unsigned calls;   /* that may fail */
};

/* The next call of this kind fails, once. */
enum mock_cuda_failure {
    MOCK_CUDA_NONE,
    MOCK_CUDA_LAUNCH,
    MOCK_CUDA_MEMORY,
    MOCK_CUDA_COMPILE,
    MOCK_CUDA_PIN,
    MOCK_CUDA_CONTEXT, /* cuCtxPushCurrent */
    MOCK_CUDA_NEVER    /* calls that only mock_cuda_fail_at_call() makes fail */
};

typedef void mock_cuda_count(struct mock_cuda_counts *counts);
typedef void mock_cuda_fail(enum mock_cuda_failure failure);

/* After so many calls that may fail one does, and with `lasts` all that follow; 0: none. */
typedef void mock_cuda_fail_at(unsigned call, int lasts);

/* After so many calls by which a stream waits for an event, one does nothing; 0: none. */
typedef void mock_cuda_forget(unsigned follow);

#endif
