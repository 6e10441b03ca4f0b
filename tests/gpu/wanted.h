/* Which device a test of planezip/gpu.h runs on.  PZ_GPU_TEST is "mock", the driver of mock_cuda.c
 * that plays a GPU, by default; "mock_opencl", that of mock_opencl.c; "cuda" or "opencl", a real
 * one, with the driver PZ_GPU_DRIVER if that is set.  PZ_MOCK_CUDA and PZ_MOCK_OPENCL are the files
 * of those that play. */
#ifndef PZ_TEST_GPU_WANTED_H
#define PZ_TEST_GPU_WANTED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planezip/gpu.h"

static inline const char *wanted(void)
{
    const char *const text = getenv("PZ_GPU_TEST");

    return text != NULL ? text : "mock";
}

static inline bool is_mock(void)
{
    return strcmp(wanted(), "mock") == 0;
}

static inline bool is_opencl(void)
{
    return strstr(wanted(), "opencl") != NULL;
}

/* What plays the device that is wanted; NULL where that is real. */
static inline const char *player(void)
{
    return strncmp(wanted(), "mock", 4) != 0 ? NULL : is_opencl() ? PZ_MOCK_OPENCL : PZ_MOCK_CUDA;
}

static inline pz_gpu_options options_for(const char *driver)
{
    return (pz_gpu_options){.size = sizeof(pz_gpu_options),
                            .kind = is_opencl() ? PZ_GPU_OPENCL : PZ_GPU_CUDA,
                            .driver = driver,
                            .compiler = player()};
}

/* Ends the program with 77 where there is no such device. */
static inline pz_gpu *open_wanted(void)
{
    const char *const played = player();
    const pz_gpu_options options = options_for(played != NULL ? played : getenv("PZ_GPU_DRIVER"));
    pz_gpu *opened = NULL;
    pz_diag diag = {0};

    if (pz_gpu_open(&options, &opened, &diag) == PZ_OK)
        return opened;
    printf("skipped: no device: %s %s\n", diag.path, diag.text);
    exit(played != NULL ? 1 : 77);
}

/* Of the device: a test goes on only if it has it. */
static inline void *device_memory(pz_gpu *gpu, size_t bytes)
{
    void *memory = NULL;

    if (pz_gpu_alloc(gpu, PZ_GPU_DEVICE, bytes, &memory) == PZ_OK)
        return memory;
    printf("the device has no %zu bytes\n", bytes);
    exit(1);
}

#endif
