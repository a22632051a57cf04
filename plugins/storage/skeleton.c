/*
 * skeleton-plugin: the worked example. Copy this file, give it a name, and fill it in; `ioassay api build ./mine.c`
 * compiles it. It reads and writes files of a mounted file system by system calls, like the built-in `posix`, so that
 * every test of the engine can be run through it and this page stays true.
 *
 * The meaning of each function, and when it is called, stands in ioassay_storage.h.
 */
#define _GNU_SOURCE /* fallocate */
#include "ioassay_storage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* One for each rank and phase. What you remember belongs here and not into globals. */
struct connection {
    /* Stays until disconnect: for messages. */
    const struct ioassay_setup *setup;
    int noatime;
    uint64_t most_bytes;
};

/* One for each open file. */
struct file {
    const struct connection *connection;
    int descriptor;
};

/* What users may say below `storage.options`. The engine checks names and kinds, so that none of that is done here. */
static const struct ioassay_option options[] = {
    {"noatime", "no", "Do not update access times (O_NOATIME); only the files' owner can use this.",
     IOASSAY_FLAG, 0},
    {"most", "0", "Move at most this many bytes per call, as a store with a limit would. 0: no limit.",
     IOASSAY_BYTES, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* Optional: what contradicts itself is refused while the plan is read, long before anything is written. */
static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    (void)capabilities;
    uint64_t most = ioassay_number(setup, "most");
    if (most > INT64_MAX) {
        return ioassay_fail(setup, EINVAL, "most: %llu bytes are more than a call can move", (unsigned long long)most);
    }
    return 0;
}

/* Before the clock starts, in each rank: log in here, allocate what transfers need. */
static int connect_posix(const struct ioassay_setup *setup, void **made) {
    struct connection *connection = malloc(sizeof *connection);
    if (connection == NULL) {
        return -ENOMEM;
    }
    connection->setup = setup;
    connection->noatime = ioassay_number(setup, "noatime") ? O_NOATIME : 0;
    connection->most_bytes = ioassay_number(setup, "most");
    *made = connection;
    return 0;
}

static void disconnect(void *connection) {
    free(connection);
}

static int open_file(void *made, const char *path, const struct ioassay_opening *opening, void **opened) {
    struct connection *connection = made;
    int flags = O_CLOEXEC | O_NOFOLLOW | connection->noatime;
    switch (opening->access) {
    case IOASSAY_WRITE: flags |= O_WRONLY | O_CREAT; break;
    case IOASSAY_READ: flags |= O_RDONLY; break;
    default: flags |= O_RDWR | O_CREAT; break;
    }
    if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_EMPTY) {
        flags |= O_TRUNC;
    }
    struct file *file = malloc(sizeof *file);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->connection = connection;
    file->descriptor = open(path, flags, 0664);
    if (file->descriptor < 0) {
        int code = errno;
        free(file);
        return -code; /* The errno alone says it all. */
    }
    int code = 0;
    if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_FULL) {
        code = ftruncate(file->descriptor, (off_t)opening->bytes) ? errno : 0;
    } else if (opening->access != IOASSAY_READ && opening->size_at_open == IOASSAY_SIZE_PREALLOCATED) {
        code = posix_fallocate(file->descriptor, 0, (off_t)opening->bytes);
    }
    if (code != 0) {
        close(file->descriptor);
        free(file);
        return ioassay_fail(connection->setup, code, "the file's size cannot be set to %llu bytes: %s",
                            (unsigned long long)opening->bytes, strerror(code));
    }
    *opened = file;
    return 0;
}

/* The hot path: one call, nothing besides. */
static size_t at_most(const struct file *file, uint64_t bytes) {
    uint64_t most = file->connection->most_bytes;
    return (size_t)(most != 0 && bytes > most ? most : bytes);
}

static int64_t write_at(void *opened, const void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    ssize_t moved = pwrite(file->descriptor, data, at_most(file, bytes), (off_t)offset);
    return moved < 0 ? -errno : moved;
}

static int64_t read_at(void *opened, void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    ssize_t moved = pread(file->descriptor, data, at_most(file, bytes), (off_t)offset);
    return moved < 0 ? -errno : moved;
}

/* Must not return before the bytes are safe: a number with a failed sync behind it is no number. */
static int sync_file(void *opened) {
    struct file *file = opened;
    return fsync(file->descriptor) ? -errno : 0;
}

/* A file that another process removed can be written for hours without any other error. */
static int check_linked(void *opened) {
    struct file *file = opened;
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) {
        return -errno;
    }
    return status.st_nlink == 0 ? -ENOENT : 0;
}

/* Frees the file whatever happens, and says what close says. */
static int close_file(void *opened) {
    struct file *file = opened;
    int code = close(file->descriptor) ? errno : 0;
    free(file);
    return -code;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "skeleton-plugin",
    .about = "The worked example: files of a mounted file system by pread and pwrite.",
    /* Begin with none, and add what is true. */
    .capabilities = IOASSAY_FILES | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_SIZES,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .configure = configure,
    .connect = connect_posix,
    .disconnect = disconnect,
    .open = open_file,
    .write_at = write_at,
    .read_at = read_at,
    .sync = sync_file,
    .check_linked = check_linked,
    .close = close_file,
    /* Functions on directory entries belong to IOASSAY_NAMES; null.c shows their shape. */
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
