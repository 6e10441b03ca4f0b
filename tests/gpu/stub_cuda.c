/* A driver of CUDA as toolkits bring it for linking: it loads, has every name, and no device. */
#define NAME(name)                                        \
    int name(void);                                       \
    __attribute__((visibility("default"))) int name(void) \
    {                                                     \
        return 34; /* CUDA_ERROR_STUB_LIBRARY */          \
    }

NAME(cuInit)
NAME(cuGetErrorString)
NAME(cuDeviceGetCount)
NAME(cuDeviceGet)
NAME(cuDeviceGetName)
NAME(cuDeviceGetAttribute)
NAME(cuDevicePrimaryCtxRetain)
NAME(cuDevicePrimaryCtxRelease_v2)
NAME(cuCtxGetCurrent)
NAME(cuCtxPushCurrent_v2)
NAME(cuCtxPopCurrent_v2)
NAME(cuModuleLoadData)
NAME(cuModuleUnload)
NAME(cuModuleGetFunction)
NAME(cuLaunchKernel)
NAME(cuMemAlloc_v2)
NAME(cuMemFree_v2)
NAME(cuMemHostAlloc)
NAME(cuMemFreeHost)
NAME(cuMemHostRegister_v2)
NAME(cuMemHostUnregister)
NAME(cuMemcpyAsync)
NAME(cuStreamCreate)
NAME(cuStreamDestroy_v2)
NAME(cuStreamSynchronize)
NAME(cuEventCreate)
NAME(cuEventRecord)
NAME(cuEventQuery)
NAME(cuEventSynchronize)
NAME(cuStreamWaitEvent)
NAME(cuEventElapsedTime)
NAME(cuEventDestroy_v2)
