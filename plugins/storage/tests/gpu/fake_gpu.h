/*
 * fake_gpu.h: the few functions, types and numbers of CUDA and cuFile, or of HIP and hipFile (-DIOASSAY_HIPFILE), that
 * the plug-in gpu uses, in our words, for machines without a GPU. The headers beside it bear the libraries' names and
 * include this one. Names, numbers and return values are facts of
 *
 *     https://docs.nvidia.com/gpudirect-storage/api-reference-guide, manual pages cufile.h(3), CUfileOpError.h(3)
 *     https://docs.nvidia.com/cuda/cuda-runtime-api (cudaError_t, cudaMemcpyKind)
 *     https://rocm.docs.amd.com/projects/hipFile (reference: driver, file and buffer, synchronous I/O, errors)
 *     https://rocm.docs.amd.com/projects/HIP (hipError_t, hipMemcpyKind)
 */
#ifndef IOASSAY_FAKE_GPU_H
#define IOASSAY_FAKE_GPU_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

#ifdef IOASSAY_HIPFILE
#define FAKE(name) hip##name
#define FAKE_FILE(name) hipFile##name
#define HIPFILE_ERRSTR(status) hipFileGetOpErrorString((hipFileOpError_t)abs(status))
typedef enum {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorMemoryAllocation = 2,
    hipErrorInvalidDevice = 101
} hipError_t;
typedef enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 } hipMemcpyKind;
typedef enum { hipFileSuccess = 0, hipFileIONotSupported = 5008 } hipFileOpError_t;
typedef struct {
    hipFileOpError_t err;
    hipError_t hip_drv_err;
} hipFileError_t;
enum { hipFileHandleTypeOpaqueFD = 1 };
typedef void *hipFileHandle_t;
typedef struct {
    int type;
    union {
        int fd;
        void *hFile;
    } handle;
    const void *fs_ops;
} hipFileDescr_t;
typedef hipError_t fake_error;
typedef hipFileError_t fake_file_error;
typedef hipFileOpError_t fake_status;
typedef hipFileDescr_t fake_description;
const char *hipFileGetOpErrorString(hipFileOpError_t status);
#else
#define FAKE(name) cuda##name
#define FAKE_FILE(name) cuFile##name
#define CUFILE_ERRSTR(status) cufileop_status_error((CUfileOpError)abs(status))
typedef enum {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDevice = 101
} cudaError_t;
typedef enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 } cudaMemcpyKind;
typedef enum { CU_FILE_SUCCESS = 0, CU_FILE_IO_NOT_SUPPORTED = 5008 } CUfileOpError;
typedef struct {
    CUfileOpError err;
    int cu_err;
} CUfileError_t;
enum { CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1 };
enum { CU_FILE_USE_POLL_MODE = 0, CU_FILE_ALLOW_COMPAT_MODE = 1 }; /* bits of dcontrolflags */
typedef void *CUfileHandle_t;
typedef struct {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} CUfileDescr_t;
typedef struct {
    struct {
        unsigned major_version, minor_version;
        size_t poll_thresh_size, max_direct_io_size; /* KiB */
        unsigned dstatusflags, dcontrolflags;
    } nvfs;
    unsigned fflags, max_device_cache_size, per_buffer_cache_size, max_device_pinned_mem_size; /* KiB, but for fflags */
    unsigned max_batch_io_size, max_batch_io_timeout_msecs;
} CUfileDrvProps_t;
typedef cudaError_t fake_error;
typedef CUfileError_t fake_file_error;
typedef CUfileOpError fake_status;
typedef CUfileDescr_t fake_description;
const char *cufileop_status_error(CUfileOpError status);
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *properties);
#endif

int fake_open(const char *path, int flags, ...);

fake_error FAKE(GetDeviceCount)(int *devices);
fake_error FAKE(SetDevice)(int device);
fake_error FAKE(Malloc)(void **memory, size_t bytes);
fake_error FAKE(Free)(void *memory);
fake_error FAKE(Memcpy)(void *to, const void *from, size_t bytes, FAKE(MemcpyKind) kind);
const char *FAKE(GetErrorString)(fake_error error);

fake_file_error FAKE_FILE(DriverOpen)(void);
fake_file_error FAKE_FILE(HandleRegister)(void **handle, fake_description *description);
void FAKE_FILE(HandleDeregister)(void *handle);
fake_file_error FAKE_FILE(BufRegister)(const void *memory, size_t bytes, int flags);
fake_file_error FAKE_FILE(BufDeregister)(const void *memory);
ssize_t FAKE_FILE(Read)(void *handle, void *memory, size_t bytes, off_t offset, off_t memory_offset);
ssize_t FAKE_FILE(Write)(void *handle, const void *memory, size_t bytes, off_t offset, off_t memory_offset);

#endif
