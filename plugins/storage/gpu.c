/*
 * gpu: files read into and written from the memory of a GPU, by NVIDIA's cuFile (GPUDirect Storage) or AMD's hipFile.
 * Compiled on the site against its headers:
 *
 *     ioassay api build gpu -- -I$CUDA/include -L$CUDA/lib64 -Wl,-rpath,$CUDA/lib64 -lcufile -lcudart
 *     ioassay api build gpu -- -DIOASSAY_HIPFILE -D__HIP_PLATFORM_AMD__ -I$ROCM/include -L$ROCM/lib
 *         -Wl,-rpath,$ROCM/lib -lhipfile -lamdhip64
 *
 * The two libraries have the same functions under two prefixes, so one source serves both. No GPU has run it yet: it
 * was tested with the library of tests/gpu, which does what the documentation of both promises:
 * https://docs.nvidia.com/gpudirect-storage/api-reference-guide (functions, return values, compatibility mode) and
 * https://rocm.docs.amd.com/projects/hipFile (the same, and its environment variables).
 */
#define _GNU_SOURCE /* O_DIRECT */
#include "ioassay_storage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef IOASSAY_HIPFILE
#include <hip/hip_runtime_api.h>
#include <hipfile.h>
#define LIBRARY "hipFile"
#define VARIABLE(name) "HIPFILE_" name
#define GPU(name) hip##name
#define GPU_FILE(name) hipFile##name
#define OPAQUE_DESCRIPTOR hipFileHandleTypeOpaqueFD
#define NOT_SUPPORTED hipFileIONotSupported
#define STATUS_TEXT(status) HIPFILE_ERRSTR(status)
typedef hipError_t gpu_error;
typedef hipFileError_t gpu_file_error;
typedef hipFileDescr_t gpu_file_description;
typedef hipFileHandle_t gpu_file_handle;
#else
#include <cuda_runtime_api.h>
#include <cufile.h>
#define LIBRARY "cuFile"
#define VARIABLE(name) "CUFILE_" name
#define GPU(name) cuda##name
#define GPU_FILE(name) cuFile##name
#define OPAQUE_DESCRIPTOR CU_FILE_HANDLE_TYPE_OPAQUE_FD
#define NOT_SUPPORTED CU_FILE_IO_NOT_SUPPORTED
#define STATUS_TEXT(status) CUFILE_ERRSTR(status)
typedef cudaError_t gpu_error;
typedef CUfileError_t gpu_file_error;
typedef CUfileDescr_t gpu_file_description;
typedef CUfileHandle_t gpu_file_handle;
#endif

/* Of a read whose bytes stay on the GPU: data in host memory that must not pass a verification. */
static const char NOT_COPIED[] = "gpu: this read was not copied from the GPU (verify: none).";

struct connection {
    const struct ioassay_setup *setup;
    /* Bytes are copied to and from host memory, so that payload and verification are the engine's. */
    int copies;
    /* The library may move data through host memory (its compatibility mode). */
    int compatibility;
    /* Memory on the GPU, registered with the library. */
    void *buffer;
    uint64_t buffer_bytes;
    /* How much of it was filled with the engine's payload; for writes that are not copied. */
    uint64_t filled_bytes;
};

struct file {
    struct connection *connection;
    int descriptor;
    gpu_file_handle handle;
};

static const struct ioassay_option options[] = {
    {"device", "auto", "The GPU, by its number. auto: the rank's number modulo the number of GPUs.", IOASSAY_TEXT, 0},
    {"verify", "none",
     "copy: copy each transfer between GPU and host memory, so that payload and verification are the engine's. none: "
     "transfer GPU memory only; reads cannot be verified, and all writes of a rank have the same content.",
     IOASSAY_TEXT, 0},
    {"compatibility", "no",
     "Allow " LIBRARY " to move data through host memory where the direct path is missing. no: fail instead.",
     IOASSAY_FLAG, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* No call to the GPU here: ranks are forked after it, which neither library survives. */
static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    const char *device = ioassay_text(setup, "device"), *verify = ioassay_text(setup, "verify");
    (void)capabilities;
    size_t digits = strspn(device, "0123456789");
    if (strcmp(device, "auto") != 0 && (digits == 0 || digits > 4 || device[digits] != '\0')) {
        return ioassay_fail(setup, EINVAL, "device: \"%s\" is neither auto nor the number of a GPU", device);
    }
    if (strcmp(verify, "none") != 0 && strcmp(verify, "copy") != 0) {
        return ioassay_fail(setup, EINVAL, "verify: \"%s\" is neither none nor copy", verify);
    }
    return 0;
}

/* Prints one line for each node and `topic`: the first rank of a launch on the node binds an abstract socket, and keeps
 * it until its process ends. */
static void warn_once(const char *topic, const char *problem) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char host[256] = "";
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "ioassay-gpu-%ld-%s", (long)getppid(), topic);
    int key = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (key >= 0 && bind(key, (struct sockaddr *)&name,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0) {
        close(key);
        return;
    }
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "gpu on %s: %s: do not take these rates for those of direct transfers\n", host, problem);
}

static int is_true(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && (strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0);
}

/* No EIO: it is no error of the storage. */
static int fail_gpu(const struct ioassay_setup *setup, gpu_error error, const char *call) {
    return ioassay_fail(setup, error == GPU(ErrorMemoryAllocation) ? ENOMEM : ENODEV, "%s: %s (%d)", call,
                        GPU(GetErrorString)(error), (int)error);
}

static int fail_file(const struct connection *connection, int status, const char *call) {
    int refused = !connection->compatibility && status == (int)NOT_SUPPORTED;
    return ioassay_fail(connection->setup, refused ? EOPNOTSUPP : EIO, LIBRARY "%s: %s (%d)%s", call,
                        STATUS_TEXT(status), status,
                        connection->compatibility ? "" : "; only direct transfers are allowed (compatibility: no)");
}

/* Not 0: the library may move data through host memory without an error. Sets *code to a negative errno where the
 * library's properties cannot be read. */
static int compatibility_is_allowed(const struct connection *connection, int *code) {
#ifdef IOASSAY_HIPFILE
    /* hipFileDriverGetProperties() is not implemented on AMD's GPUs: the documented variable decides. */
    const char *allowed = getenv(VARIABLE("ALLOW_COMPAT_MODE"));
    (void)connection;
    (void)code;
    return allowed == NULL || strcasecmp(allowed, "false") != 0;
#else
    CUfileDrvProps_t properties;
    memset(&properties, 0, sizeof properties);
    CUfileError_t error = cuFileDriverGetProperties(&properties);
    if (error.err != CU_FILE_SUCCESS) {
        *code = fail_file(connection, (int)error.err, "DriverGetProperties");
    }
    return (properties.nvfs.dcontrolflags >> CU_FILE_ALLOW_COMPAT_MODE) & 1;
#endif
}

/* Opens the library's driver once for the process; it is closed when the process ends, as both libraries document. */
static int open_driver(const struct connection *connection) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int is_open, opened_with_compatibility;
    const struct ioassay_setup *setup = connection->setup;
    int code = 0, forced = is_true(VARIABLE("FORCE_COMPAT_MODE")), allowed;
    if (forced && !connection->compatibility) {
        return ioassay_fail(setup, EINVAL, "compatibility: no contradicts the variable " VARIABLE("FORCE_COMPAT_MODE"));
    }
    pthread_mutex_lock(&lock);
    if (!is_open) {
        /* The library reads it when its driver is opened. */
        if (!connection->compatibility) {
            setenv(VARIABLE("ALLOW_COMPAT_MODE"), "false", 1);
        }
        gpu_file_error error = GPU_FILE(DriverOpen)();
        if (error.err != 0) {
            code = fail_file(connection, (int)error.err, "DriverOpen");
        } else {
            is_open = 1;
            opened_with_compatibility = connection->compatibility;
        }
    } else if (opened_with_compatibility != connection->compatibility) {
        code = ioassay_fail(setup, EINVAL, "compatibility: all phases of a run must have the same value");
    }
    allowed = code == 0 && compatibility_is_allowed(connection, &code);
    pthread_mutex_unlock(&lock);
    if (code == 0 && allowed && !connection->compatibility) {
        return ioassay_fail(setup, EINVAL, LIBRARY " still allows compatibility mode: set properties.allow_compat_mode "
                            "to false in cufile.json, or use compatibility: yes");
    }
    if (code == 0 && forced) {
        warn_once("mode", LIBRARY " moves all data through host memory (" VARIABLE("FORCE_COMPAT_MODE") ")");
    } else if (code == 0 && allowed) {
        warn_once("mode", LIBRARY " may move data through host memory (compatibility mode is allowed)");
    }
    return code;
}

static int choose_device(const struct ioassay_setup *setup) {
    const char *device = ioassay_text(setup, "device");
    int devices = 0, number;
    gpu_error error = GPU(GetDeviceCount)(&devices);
    if (error != GPU(Success)) {
        return fail_gpu(setup, error, "counting GPUs");
    }
    if (devices < 1) {
        return ioassay_fail(setup, ENODEV, "this node has no GPU");
    }
    number = strcmp(device, "auto") == 0 ? (int)(setup->rank % (uint32_t)devices) : atoi(device);
    if (number >= devices) {
        return ioassay_fail(setup, EINVAL, "device: %d does not exist, this node has %d", number, devices);
    }
    error = GPU(SetDevice)(number);
    return error == GPU(Success) ? 0 : fail_gpu(setup, error, "selecting the GPU");
}

static void free_buffer(struct connection *connection) {
    if (connection->buffer != NULL) {
        (void)GPU_FILE(BufDeregister)(connection->buffer);
        (void)GPU(Free)(connection->buffer);
    }
    connection->buffer = NULL;
    connection->buffer_bytes = connection->filled_bytes = 0;
}

/* Makes the buffer at least this large. After connect() only for transfers larger than the planned ones. */
static int reserve(struct connection *connection, uint64_t bytes) {
    if (bytes <= connection->buffer_bytes) {
        return 0;
    }
    free_buffer(connection);
    gpu_error error = GPU(Malloc)(&connection->buffer, (size_t)bytes);
    if (error != GPU(Success)) {
        connection->buffer = NULL;
        return fail_gpu(connection->setup, error, "allocating GPU memory");
    }
    gpu_file_error status = GPU_FILE(BufRegister)(connection->buffer, (size_t)bytes, 0);
    if (status.err != 0) {
        (void)GPU(Free)(connection->buffer);
        connection->buffer = NULL;
        return fail_file(connection, (int)status.err, "BufRegister");
    }
    connection->buffer_bytes = bytes;
    return 0;
}

static int connect_gpu(const struct ioassay_setup *setup, void **made) {
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return -ENOMEM;
    }
    connection->setup = setup;
    connection->copies = strcmp(ioassay_text(setup, "verify"), "copy") == 0;
    connection->compatibility = ioassay_number(setup, "compatibility") != 0;
    int code = choose_device(setup);
    if (code == 0) {
        code = open_driver(connection);
    }
    if (code == 0) {
        code = reserve(connection, setup->transfer_bytes);
    }
    if (code != 0) {
        free(connection);
        return code;
    }
    *made = connection;
    return 0;
}

static void disconnect(void *made) {
    free_buffer(made);
    free(made);
}

/* O_DIRECT where the file system has it: without, no data goes directly to the GPU. */
static int open_descriptor(const struct connection *connection, const char *path, int flags, int *descriptor) {
    *descriptor = open(path, flags | O_DIRECT, 0664);
    if (*descriptor < 0 && errno == EINVAL && connection->compatibility) {
        *descriptor = open(path, flags, 0664);
        if (*descriptor >= 0) {
            warn_once("direct", "the file system refuses O_DIRECT, so " LIBRARY " moves data through host memory");
        }
    } else if (*descriptor < 0 && errno == EINVAL) {
        return ioassay_fail(connection->setup, EOPNOTSUPP,
                            "the file system refuses O_DIRECT, which direct transfers need; use compatibility: yes");
    }
    return *descriptor < 0 ? -errno : 0;
}

static int set_size(const struct ioassay_setup *setup, int descriptor, const struct ioassay_opening *opening) {
    int code = 0;
    if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_FULL) {
        code = ftruncate(descriptor, (off_t)opening->bytes) ? errno : 0;
    } else if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_PREALLOCATED) {
        code = posix_fallocate(descriptor, 0, (off_t)opening->bytes);
    }
    return code == 0 ? 0 : ioassay_fail(setup, code, "the file's size cannot be set to %llu bytes: %s",
                                        (unsigned long long)opening->bytes, strerror(code));
}

static int open_file(void *made, const char *path, const struct ioassay_opening *opening, void **opened) {
    struct connection *connection = made;
    /* Both libraries read around writes that are not aligned to a block, so a file that is written is read as well. */
    int flags = O_CLOEXEC | O_NOFOLLOW | (opening->access == IOASSAY_READ ? O_RDONLY : O_RDWR | O_CREAT);
    if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_EMPTY) {
        flags |= O_TRUNC;
    }
    struct file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->connection = connection;
    int code = open_descriptor(connection, path, flags, &file->descriptor);
    if (code != 0) {
        free(file);
        return code;
    }
    code = set_size(connection->setup, file->descriptor, opening);
    if (code == 0) {
        gpu_file_description description;
        memset(&description, 0, sizeof description);
        description.type = OPAQUE_DESCRIPTOR;
        description.handle.fd = file->descriptor;
        gpu_file_error error = GPU_FILE(HandleRegister)(&file->handle, &description);
        code = error.err == 0 ? 0 : fail_file(connection, (int)error.err, "HandleRegister");
    }
    if (code != 0) {
        close(file->descriptor);
        free(file);
        return code;
    }
    *opened = file;
    return 0;
}

/* What a transfer returned: bytes, -1 with an errno, or a negative status of the library. */
static int64_t moved(const struct connection *connection, ssize_t result, const char *call) {
    if (result >= 0) {
        return result;
    }
    if (result == -1) {
        return errno != 0 ? -errno : -EIO;
    }
    return fail_file(connection, (int)-result, call);
}

static int64_t write_at(void *opened, const void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    struct connection *connection = file->connection;
    int code = reserve(connection, bytes);
    if (code != 0) {
        return code;
    }
    if (connection->copies || bytes > connection->filled_bytes) {
        gpu_error error = GPU(Memcpy)(connection->buffer, data, (size_t)bytes, GPU(MemcpyHostToDevice));
        if (error != GPU(Success)) {
            return fail_gpu(connection->setup, error, "copying to the GPU");
        }
        connection->filled_bytes = bytes;
    }
    errno = 0;
    return moved(connection, GPU_FILE(Write)(file->handle, connection->buffer, (size_t)bytes, (off_t)offset, 0),
                 "Write");
}

static int64_t read_at(void *opened, void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    struct connection *connection = file->connection;
    int code = reserve(connection, bytes);
    if (code != 0) {
        return code;
    }
    errno = 0;
    int64_t count =
        moved(connection, GPU_FILE(Read)(file->handle, connection->buffer, (size_t)bytes, (off_t)offset, 0), "Read");
    if (count > 0 && (uint64_t)count <= bytes && connection->copies) {
        gpu_error error = GPU(Memcpy)(data, connection->buffer, (size_t)count, GPU(MemcpyDeviceToHost));
        if (error != GPU(Success)) {
            return fail_gpu(connection->setup, error, "copying from the GPU");
        }
    } else if (count > 0 && (uint64_t)count <= bytes) {
        memcpy(data, NOT_COPIED, (size_t)count < sizeof NOT_COPIED ? (size_t)count : sizeof NOT_COPIED);
    }
    return count;
}

static int sync_file(void *opened) {
    struct file *file = opened;
    return fsync(file->descriptor) ? -errno : 0;
}

static int check_linked(void *opened) {
    struct file *file = opened;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) {
        return -errno;
    }
    return status.st_nlink == 0 ? -ENOENT : 0;
}

static int close_file(void *opened) {
    struct file *file = opened;
    GPU_FILE(HandleDeregister)(file->handle);
    int code = close(file->descriptor) ? errno : 0;
    free(file);
    return -code;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "gpu",
    .about = "Files read into and written from GPU memory by " LIBRARY ".",
    .capabilities = IOASSAY_FILES | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_SIZES,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .configure = configure,
    .connect = connect_gpu,
    .disconnect = disconnect,
    .open = open_file,
    .write_at = write_at,
    .read_at = read_at,
    .sync = sync_file,
    .check_linked = check_linked,
    .close = close_file,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
