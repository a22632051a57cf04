/*
 * fake_gpu.c: CUDA and cuFile, or HIP and hipFile, on a machine without a GPU, to test the plug-in gpu.
 *
 * "GPU memory" is host memory that only the calls of this file can access (PROT_NONE): a process that touches it
 * elsewhere dies of SIGSEGV. Misuse that the real libraries punish later, or never, ends the process at once
 * (misused()): unknown or foreign pointers, transfers beyond a buffer, unregistered buffers and handles, a
 * buffer that is freed while it is registered, use from a thread that selected another GPU, use after a fork.
 *
 * Variables of the environment:
 *     FAKE_GPU_DEVICES=N     GPUs of this node (2)
 *     FAKE_GPU_DIRECT=1      storage supports direct transfers; else only compatibility mode does
 *     FAKE_GPU_INSISTS=1     the library allows compatibility mode whatever its variable says, as by cufile.json
 *     FAKE_GPU_REFUSES_O_DIRECT=1  the file system refuses O_DIRECT (for a plug-in compiled with -Dopen=fake_open)
 *     FAKE_GPU_MOST=N        transfers move at most N bytes
 *     FAKE_GPU_FAIL=NAME:NTH:CODE  call NTH (from 1, in each process) of NAME, such as Write, fails by CODE: a status
 *                            such as 5030, an error of CUDA or HIP, or for Read and Write below 4096 an errno
 *     FAKE_GPU_LOG=FILE      a line for each call: NAME device=D bytes=N moved=N direct=0|1
 */
#define _GNU_SOURCE
#include "fake_gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef IOASSAY_HIPFILE
#define ALLOW_COMPAT_MODE "HIPFILE_ALLOW_COMPAT_MODE"
#else
#define ALLOW_COMPAT_MODE "CUFILE_ALLOW_COMPAT_MODE"
#endif
#define ENTRIES 256

struct memory {
    char *start;
    size_t bytes, mapped;
    int device, registered;
};

struct handle {
    int used, descriptor, direct;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory memories[ENTRIES];
static struct handle handles[ENTRIES];
static int compatibility, is_open;
/* The process that began to use the GPU: neither library survives a fork. */
static pid_t owner;
static _Thread_local int current;

static void misused(const char *what) {
    fprintf(stderr, "fake GPU: %s\n", what);
    abort();
}

static long number(const char *variable, long standard) {
    const char *value = getenv(variable);
    return value == NULL ? standard : atol(value);
}

static void begin(void) {
    pthread_mutex_lock(&lock);
    if (owner == 0) {
        owner = getpid();
    } else if (owner != getpid()) {
        misused("used after a fork");
    }
}

static void end(const char *name, size_t bytes, long moved, int direct) {
    const char *log = getenv("FAKE_GPU_LOG");
    int descriptor = log == NULL ? -1 : open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
        dprintf(descriptor, "%s device=%d bytes=%zu moved=%ld direct=%d\n", name, current, bytes, moved, direct);
        close(descriptor);
    }
    pthread_mutex_unlock(&lock);
}

/* The code by which this call of `name` is to fail; 0: it is not. */
static int injected(const char *name) {
    static long calls;
    const char *wanted = getenv("FAKE_GPU_FAIL");
    char given[32];
    long nth;
    int code;
    if (wanted == NULL || sscanf(wanted, "%31[^:]:%ld:%d", given, &nth, &code) != 3 || strcmp(given, name) != 0) {
        return 0;
    }
    return ++calls == nth ? code : 0;
}

static struct memory *find(const void *start) {
    for (int i = 0; i < ENTRIES; i++) {
        if (start != NULL && memories[i].start == start) {
            return &memories[i];
        }
    }
    misused("no such GPU memory");
    return NULL;
}

/* The memory of a transfer, accessible until conceal(). */
static struct memory *reveal(const void *start, size_t bytes) {
    struct memory *memory = find(start);
    if (memory->device != current) {
        misused("memory of another GPU");
    }
    if (bytes > memory->bytes) {
        misused("a transfer beyond the end of GPU memory");
    }
    if (mprotect(memory->start, memory->mapped, PROT_READ | PROT_WRITE) != 0) {
        misused("mprotect");
    }
    return memory;
}

static void conceal(struct memory *memory) {
    if (mprotect(memory->start, memory->mapped, PROT_NONE) != 0) {
        misused("mprotect");
    }
}

int fake_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if ((flags & O_DIRECT) != 0 && number("FAKE_GPU_REFUSES_O_DIRECT", 0)) {
        errno = EINVAL;
        return -1;
    }
    return open(path, flags, mode);
}

fake_error FAKE(GetDeviceCount)(int *devices) {
    begin();
    int code = injected("GetDeviceCount");
    *devices = (int)number("FAKE_GPU_DEVICES", 2);
    end("GetDeviceCount", 0, *devices, 0);
    return (fake_error)code;
}

fake_error FAKE(SetDevice)(int device) {
    begin();
    int code = injected("SetDevice");
    if (device < 0 || device >= number("FAKE_GPU_DEVICES", 2)) {
        code = FAKE(ErrorInvalidDevice);
    }
    current = code == 0 ? device : current;
    end("SetDevice", 0, 0, 0);
    return (fake_error)code;
}

fake_error FAKE(Malloc)(void **start, size_t bytes) {
    begin();
    int code = injected("Malloc"), i = 0;
    while (i < ENTRIES && memories[i].start != NULL) {
        i++;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (bytes + page - 1) / page * page;
    if (code == 0 && (i == ENTRIES || mapped == 0)) {
        code = mapped == 0 ? FAKE(ErrorInvalidValue) : FAKE(ErrorMemoryAllocation);
    }
    if (code == 0) {
        void *place = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) {
            misused("mmap");
        }
        memories[i] = (struct memory){place, bytes, mapped, current, 0};
        *start = place;
    }
    end("Malloc", bytes, code, 0);
    return (fake_error)code;
}

fake_error FAKE(Free)(void *start) {
    begin();
    struct memory *memory = find(start);
    if (memory->registered) {
        misused("memory is freed while it is registered");
    }
    munmap(memory->start, memory->mapped);
    size_t bytes = memory->bytes;
    *memory = (struct memory){0};
    end("Free", bytes, 0, 0);
    return FAKE(Success);
}

fake_error FAKE(Memcpy)(void *to, const void *from, size_t bytes, FAKE(MemcpyKind) kind) {
    int in = kind == FAKE(MemcpyHostToDevice);
    begin();
    int code = injected("Memcpy");
    struct memory *memory = reveal(in ? to : from, bytes);
    if (code == 0) {
        memcpy(to, from, bytes);
    }
    conceal(memory);
    end(in ? "MemcpyIn" : "MemcpyOut", bytes, code, 0);
    return (fake_error)code;
}

const char *FAKE(GetErrorString)(fake_error error) {
    return (int)error == FAKE(ErrorMemoryAllocation) ? "out of memory" : "an error of the GPU";
}

#ifdef IOASSAY_HIPFILE
const char *hipFileGetOpErrorString(hipFileOpError_t status) {
#else
const char *cufileop_status_error(CUfileOpError status) {
#endif
    switch ((int)status) {
    case 5008: return "I/O not supported";
    case 5030: return "internal error";
    case 5036: return "GPU memory pinning failed";
    default: return "unknown status";
    }
}

static fake_file_error status(int code) {
    fake_file_error error;
    memset(&error, 0, sizeof error);
    error.err = (fake_status)code;
    return error;
}

fake_file_error FAKE_FILE(DriverOpen)(void) {
    begin();
    int code = injected("DriverOpen");
    const char *allowed = getenv(ALLOW_COMPAT_MODE);
    if (is_open) {
        misused("the driver is opened again");
    }
    is_open = code == 0;
    compatibility = allowed == NULL || strcasecmp(allowed, "false") != 0;
    end("DriverOpen", 0, code, 0);
    return status(code);
}

#ifndef IOASSAY_HIPFILE
CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *properties) {
    begin();
    int code = injected("DriverGetProperties");
    memset(properties, 0, sizeof *properties);
    /* A cufile.json that prevails over the variable. */
    int allowed = compatibility || number("FAKE_GPU_INSISTS", 0);
    properties->nvfs.dcontrolflags = allowed ? 1u << CU_FILE_ALLOW_COMPAT_MODE : 0;
    end("DriverGetProperties", 0, code, 0);
    return status(code);
}
#endif

fake_file_error FAKE_FILE(HandleRegister)(void **handle, fake_description *description) {
    begin();
    int code = injected("HandleRegister"), i = 0, flags = fcntl(description->handle.fd, F_GETFL);
    if (!is_open || flags < 0 || description->type != 1 || description->fs_ops != NULL) {
        misused("a handle is registered without a driver or with a wrong description");
    }
    while (i < ENTRIES && handles[i].used) {
        i++;
    }
    int direct = (flags & O_DIRECT) != 0 && number("FAKE_GPU_DIRECT", 0);
    if (code == 0 && !direct && !compatibility) {
        code = 5008;
    }
    if (code == 0 && i < ENTRIES) {
        /* Without O_DIRECT, since neither library demands aligned transfers of its caller. */
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", description->handle.fd);
        handles[i].descriptor = open(path, (flags & O_ACCMODE) | O_CLOEXEC);
        if (handles[i].descriptor < 0) {
            misused("the file cannot be opened again");
        }
        handles[i].used = 1;
        handles[i].direct = direct;
        *handle = &handles[i];
    }
    end("HandleRegister", 0, code, direct);
    return status(code);
}

static struct handle *registered(void *handle) {
    for (int i = 0; i < ENTRIES; i++) {
        if (handle == &handles[i] && handles[i].used) {
            return handle;
        }
    }
    misused("no such handle");
    return NULL;
}

void FAKE_FILE(HandleDeregister)(void *given) {
    begin();
    struct handle *handle = registered(given);
    close(handle->descriptor);
    handle->used = 0;
    end("HandleDeregister", 0, 0, handle->direct);
}

fake_file_error FAKE_FILE(BufRegister)(const void *start, size_t bytes, int flags) {
    begin();
    int code = injected("BufRegister");
    struct memory *memory = find(start);
    if (!is_open || memory->registered || bytes > memory->bytes || flags != 0) {
        misused("a buffer is registered without a driver, twice or beyond its end");
    }
    memory->registered = code == 0;
    end("BufRegister", bytes, code, 0);
    return status(code);
}

fake_file_error FAKE_FILE(BufDeregister)(const void *start) {
    begin();
    struct memory *memory = find(start);
    if (!memory->registered) {
        misused("a buffer is deregistered that is not registered");
    }
    memory->registered = 0;
    end("BufDeregister", memory->bytes, 0, 0);
    return status(0);
}

static ssize_t transfer(const char *name, void *given, const void *start, size_t bytes, off_t offset, int write) {
    begin();
    struct handle *handle = registered(given);
    struct memory *memory = reveal(start, bytes);
    if (!memory->registered) {
        misused("a transfer with a buffer that is not registered");
    }
    size_t most = (size_t)number("FAKE_GPU_MOST", 0), asked = most != 0 && bytes > most ? most : bytes;
    int code = injected(name), error = 0;
    ssize_t moved;
    if (code != 0) {
        moved = code < 4096 ? -1 : -code;
        error = code < 4096 ? code : 0;
    } else {
        moved = write ? pwrite(handle->descriptor, memory->start, asked, offset)
                      : pread(handle->descriptor, memory->start, asked, offset);
        error = moved < 0 ? errno : 0;
    }
    conceal(memory);
    end(name, bytes, (long)moved, handle->direct);
    errno = error;
    return moved;
}

ssize_t FAKE_FILE(Read)(void *handle, void *memory, size_t bytes, off_t offset, off_t memory_offset) {
    (void)memory_offset;
    return transfer("Read", handle, memory, bytes, offset, 0);
}

ssize_t FAKE_FILE(Write)(void *handle, const void *memory, size_t bytes, off_t offset, off_t memory_offset) {
    (void)memory_offset;
    return transfer("Write", handle, memory, bytes, offset, 1);
}
