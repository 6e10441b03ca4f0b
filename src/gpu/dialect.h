/* The dialect of the device kernels: what C11, OpenCL C 1.2 and CUDA C++ share, and macros for what
 * they do not.  A warp of 32 lanes works on a chunk; its memory is a struct in local memory.
 *
 * - `for (PZ_EACH_LANE(lanes))` is the code of a lane; all else is the same in all lanes.  In C it
 *   is a loop, forwards or backwards; on a device each lane runs it once.
 * - PZ_LANE_VAR(type, x) has a value in each lane, x[PZ_SLOT] inside of EACH_LANE.
 * - PZ_SYNC, PZ_BALLOT, PZ_SHUFFLE and PZ_BROADCAST stand between such loops, never inside of one
 *   nor in a branch that not all lanes take.  What a lane has written others see behind a PZ_SYNC.
 * - A pzi_quad is 16 bytes that a lane moves at once, from and to multiples of 16.
 * - An `if (PZ_IS_FIRST(lanes))` around statements, outside of EACH_LANE, leaves them to one lane.
 * - A kernel has PZ_GROUP_ID, PZ_GROUP_COUNT and PZ_LOCAL_STRUCT, which in C are for those to
 * define who include kernels.  With PZI_LANES_APART lanes are as on a device in C too, and
 * PZ_THIS_LANE and PZ_SYNC_WARP are to be defined as well. */
#ifndef PZI_GPU_DIALECT_H
#define PZI_GPU_DIALECT_H

/* Where there are no headers: a compiler that runs with the program gets what
 * tools/gpu_source.cmake makes of these files, with the statuses of planezip.h. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC_RTC__)
#if defined(__OPENCL_VERSION__)
typedef ulong uint64_t;
#else
typedef unsigned long long uint64_t;
typedef uint64_t uintptr_t;
#endif
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#define UINT64_MAX (~(uint64_t)0)
#define PZ_BLOCK_BYTES 128
#define PZ_CHUNK_BLOCKS 32
#define PZ_CHUNK_BYTES 4096
#define PZI_BLOCK_BITS 1024
#define PZI_TAG_BITS 3
#define PZI_TAGS 5
enum { PZ_RAW = 0, PZ_ZVC = 1, PZ_BX = 2, PZ_DBX = 3, PZ_ZBX = 4, PZ_DIFFERENCES = 7 };
#define PZI_INLINE PZI_FN
#endif

#if defined(__OPENCL_VERSION__)

#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define PZI_FN static inline
typedef uint4 pzi_quad;
#define PZI_COUNT64(x) popcount(x)
#define PZI_COUNT32(x) popcount(x)
#define PZI_CTZ64(x) ((uint32_t)(63 - clz((x) & (0 - (x)))))
#define PZI_CLZ64(x) ((uint32_t)clz((uint64_t)(x)))
#define PZ_LOCAL __local
#define PZ_GLOBAL __global
#define PZ_KERNEL __kernel
#define PZ_LOCAL_STRUCT(type, name) __local type name
#define PZ_GROUP_ID ((uint32_t)get_group_id(0))
#define PZ_GROUP_COUNT ((uint32_t)get_num_groups(0))
#define PZ_THIS_LANE ((uint32_t)get_local_id(0))
#define PZ_SYNC_WARP() barrier(CLK_LOCAL_MEM_FENCE)
#define PZ_OR32(at, value) ((void)atomic_or(at, value))
#define PZ_ADD32(at, value) ((void)atomic_add(at, value))
#define PZ_MIN32(at, value) ((void)atomic_min(at, value))
#define PZ_MAX32(at, value) ((void)atomic_max(at, value))
#define PZ_MIN64(at, value) ((void)atom_min(at, value))

#elif defined(__CUDACC__)

#ifndef __CUDACC_RTC__
#include "codec/format.h"
#endif

#define PZI_FN static __device__ __forceinline__
typedef uint4 pzi_quad;
#define PZI_COUNT64(x) __popcll(x)
#define PZI_COUNT32(x) __popc(x)
#define PZI_CTZ64(x) ((uint32_t)__ffsll((long long)(x)) - 1)
#define PZI_CLZ64(x) ((uint32_t)__clzll((long long)(x)))
#define PZ_LOCAL
#define PZ_GLOBAL
#define PZ_KERNEL extern "C" __global__ __launch_bounds__(32)
#define PZ_LOCAL_STRUCT(type, name) __shared__ type name
#define PZ_GROUP_ID blockIdx.x
#define PZ_GROUP_COUNT gridDim.x
#define PZ_THIS_LANE threadIdx.x
#define PZ_SYNC_WARP() __syncwarp()
#define PZ_OR32(at, value) ((void)atomicOr(at, value))
#define PZ_ADD32(at, value) ((void)atomicAdd(at, value))
#define PZ_MIN32(at, value) ((void)atomicMin(at, value))
#define PZ_MAX32(at, value) ((void)atomicMax(at, value))
#define PZ_MIN64(at, value) \
    ((void)atomicMin((unsigned long long *)(at), (unsigned long long)(value)))

#else

#include "codec/format.h"
#include "codec/plane.h"

typedef struct pzi_quad {
    uint32_t x, y, z, w;
} pzi_quad;
#define PZ_LOCAL
#define PZ_GLOBAL
#define PZ_KERNEL static
#define PZ_OR32(at, value) ((void)(*(at) |= (value)))
#define PZ_ADD32(at, value) ((void)(*(at) += (value)))
#define PZ_MIN32(at, value) ((void)(*(at) = *(at) < (value) ? *(at) : (value)))
#define PZ_MAX32(at, value) ((void)(*(at) = *(at) > (value) ? *(at) : (value)))
#define PZ_MIN64(at, value) PZ_MIN32(at, value)

#endif

enum { PZ_LANES = 32 };

/* What the lanes need to work together, the first part of every warp's memory. */
struct pzi_lanes {
    uint32_t flip; /* C: 0 or 31, the lane that comes first; else not used */
    uint32_t vote;
    uint64_t exchange[PZ_LANES];
};

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__) || defined(PZI_LANES_APART)

#define PZ_SLOTS 1
#define PZ_SLOT 0
#define PZ_EACH_LANE(lanes)                 \
    uint32_t lane = PZ_THIS_LANE, once = 1; \
    once != 0;                              \
    once = 0, (void)lane, (void)(lanes)
#define PZ_IS_FIRST(lanes) ((void)(lanes), PZ_THIS_LANE == 0)
#define PZ_SYNC(lanes) ((void)(lanes), PZ_SYNC_WARP())

#else

#define PZ_SLOTS PZ_LANES
#define PZ_SLOT lane
#define PZ_EACH_LANE(lanes)                  \
    uint32_t turn = 0, lane = (lanes)->flip; \
    turn < PZ_LANES;                         \
    turn++, lane = turn ^ (lanes)->flip
#define PZ_IS_FIRST(lanes) ((lanes) != 0)
#define PZ_SYNC(lanes) ((void)(lanes))

#endif

#define PZ_LANE_VAR(type, name) type name[PZ_SLOTS]

/* PZ_BALLOT: bit i of result is set if x is not 0 in lane i.  PZ_SHUFFLE: `to` is x of lane
 * `source`, which may depend on lane; only the lowest 5 bits of it count.  PZ_BROADCAST: the same
 * to a value that all lanes have. */
#if defined(__CUDACC__)

#define PZ_BALLOT(lanes, result, x) ((result) = __ballot_sync(0xffffffffu, (x)[0] != 0))
#define PZ_SHUFFLE(lanes, to, x, source)                         \
    do {                                                         \
        const uint32_t lane = PZ_THIS_LANE;                      \
        (to)[0] = __shfl_sync(0xffffffffu, (x)[0], (source)&31); \
        (void)lane;                                              \
    } while (0)
#define PZ_BROADCAST(lanes, result, x, source) \
    ((result) = __shfl_sync(0xffffffffu, (x)[0], (source)&31))

#elif defined(__OPENCL_VERSION__) || defined(PZI_LANES_APART)

#define PZ_BALLOT(lanes, result, x)                      \
    do {                                                 \
        if (PZ_THIS_LANE == 0)                           \
            (lanes)->vote = 0;                           \
        PZ_SYNC_WARP();                                  \
        if ((x)[0] != 0)                                 \
            PZ_OR32(&(lanes)->vote, 1u << PZ_THIS_LANE); \
        PZ_SYNC_WARP();                                  \
        (result) = (lanes)->vote;                        \
        PZ_SYNC_WARP();                                  \
    } while (0)
#define PZ_SHUFFLE(lanes, to, x, source)          \
    do {                                          \
        const uint32_t lane = PZ_THIS_LANE;       \
        (lanes)->exchange[lane] = (x)[0];         \
        PZ_SYNC_WARP();                           \
        (to)[0] = (lanes)->exchange[(source)&31]; \
        PZ_SYNC_WARP();                           \
    } while (0)
#define PZ_BROADCAST(lanes, result, x, source)     \
    do {                                           \
        (lanes)->exchange[PZ_THIS_LANE] = (x)[0];  \
        PZ_SYNC_WARP();                            \
        (result) = (lanes)->exchange[(source)&31]; \
        PZ_SYNC_WARP();                            \
    } while (0)

#else

#define PZ_BALLOT(lanes, result, x)                         \
    do {                                                    \
        (result) = 0;                                       \
        for (PZ_EACH_LANE(lanes))                           \
            (result) |= (uint32_t)((x)[lane] != 0) << lane; \
    } while (0)
#define PZ_SHUFFLE(lanes, to, x, source)   \
    do {                                   \
        for (PZ_EACH_LANE(lanes))          \
            (to)[lane] = (x)[(source)&31]; \
    } while (0)
#define PZ_BROADCAST(lanes, result, x, source) ((result) = (x)[(source)&31])

#endif

#endif
