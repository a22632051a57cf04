/*
 * ioassay_storage.h: a storage API as a plug-in in C.
 *
 * A plug-in is a shared library with one function, ioassay_storage_api(). It gives a description with functions that
 * open, move, sync and close; the engine does the rest: which rank moves what and when, payload, verification, limits,
 * rates, timing, samples and doubts. `skeleton.c` beside this file is the worked example, `null.c` the smallest one.
 *
 *     ioassay api build ./mine.c             compiles it (also: cc -shared -fPIC -o mine.so mine.c)
 *     ioassay api list                       shows what it says of itself, and its options
 *     storage: {api: mine, options: {...}}   in a study uses it; `api: /path/to/mine.so` does too
 *
 * PROCESSES AND THREADS. A rank is a process. It loads the plug-in once and never unloads it, and all calls of a
 * connection come from one thread, one after the other. Several connections may live in one process at the same time,
 * on different threads: keep what you remember in the connection, not in globals. With local ranks the plug-in is
 * loaded before ranks are forked, so do nothing when you are loaded; begin in connect().
 *
 * WHAT IS TIMED. For each phase a rank calls connect(), waits for the others, and then the clock runs:
 *
 *     connect()                                  before the clock starts: log in, make communicators, read hints
 *       open()                                   timed, reported as open time; once for each file
 *         write_at() or read_at(), many times    timed, each a sample of the latency: no allocation, no lock, no clock
 *         check_linked()                         timed, about once a second
 *         sync()                                 timed, reported as fsync time; at the end, or after every n writes
 *       close()                                  timed, reported as close time
 *     disconnect()                               at the end of the rank's work: let only go what connect() made
 *
 * ERRORS. A function that can fail returns 0 or a count of bytes, or a negative errno such as -ENOSPC. For more than
 * that, write a sentence into setup->message first (ioassay_fail() does both); the engine adds rank, path, the errno's
 * name and what to try next. -EINTR of a transfer means: call again. After an error of a transfer, of check_linked() or
 * of sync() the run ends: neither close() nor disconnect() is called then, since others may wait in a collective call
 * for ever.
 *
 * MEMORY. What the engine hands over (setup and all in it, opening, data) is the engine's. `setup` and all that it
 * points to stay until disconnect() has returned, `opening` and `path` only through the call. What open() and connect()
 * make is yours; close() and disconnect() free it, also where they return an error. The description and its texts are
 * never freed and must stay as they are: make them static.
 *
 * MPI. With the capability IOASSAY_NEEDS_MPI every rank is an MPI process, in which MPI was initialised with
 * MPI_THREAD_MULTIPLE before the plug-in was loaded, and which is finalised after the last disconnect(). setup holds
 * the communicator of all ranks; ranks first_member to first_member + members - 1 connect for a job, the others do not.
 *
 * VERSIONS. abi_version, struct_bytes and name stand at the same place in every version, so that an engine can refuse
 * a plug-in of another version by name. Within one version structures only grow at their ends: each that the engine
 * hands over begins with its size in bytes, and the engine takes what lies beyond your struct_bytes for zero. Options
 * are a list: option_bytes says how large each of yours is, and what lies beyond is zero too. A value stays as it is.
 *
 * C99, and C++.
 */
#ifndef IOASSAY_STORAGE_H
#define IOASSAY_STORAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define IOASSAY_STORAGE_ABI 1u

/*
 * Capabilities. Say only what is true: plans that ask for more are refused, and the engine relies on them.
 */

/* Files are kept in the directory that is the target, each at the path that open() is given, and the engine can look at
 * them and remove them there by system calls. Without it nothing is kept: there is nothing to look at or to remove. */
#define IOASSAY_FILES (UINT64_C(1) << 0)
/* Several ranks may have one file open for writing. */
#define IOASSAY_SHARED_FILES (UINT64_C(1) << 1)
/* Takes writes at any offset in any order, again and again. Without it a file is written once, from its beginning to
 * its end. */
#define IOASSAY_REWRITES (UINT64_C(1) << 2)
/* sync() returns when what was written would survive a crash. */
#define IOASSAY_SYNC (UINT64_C(1) << 3)
/* open() heeds size_at_open. */
#define IOASSAY_SIZES (UINT64_C(1) << 4)
/* Has all of the functions on directory entries but rename(). */
#define IOASSAY_NAMES (UINT64_C(1) << 5)
/* Has rename(). */
#define IOASSAY_RENAME (UINT64_C(1) << 6)
/* Ranks must be MPI processes. */
#define IOASSAY_NEEDS_MPI (UINT64_C(1) << 7)
/* All who share a file must open, sync and close it together. Plans where ranks might do so a different number of times
 * are refused. */
#define IOASSAY_COLLECTIVE_FILES (UINT64_C(1) << 8)
/* All who share a file must move each transfer together. Plans where ranks might do a different number of transfers are
 * refused, and a transfer that moves less than asked is an error. */
#define IOASSAY_COLLECTIVE_TRANSFERS (UINT64_C(1) << 9)

/* What a file is opened for. */
#define IOASSAY_WRITE 1u      /* create it if it is not there */
#define IOASSAY_READ 2u       /* it is there */
#define IOASSAY_READ_WRITE 3u /* both; create it if it is not there */

/* What happens to a file's size when it is opened for writing. */
#define IOASSAY_SIZE_AS_IT_IS 0u
#define IOASSAY_SIZE_EMPTY 1u        /* cut to nothing; only for files that are not shared */
#define IOASSAY_SIZE_FULL 2u         /* set to the planned size, without space */
#define IOASSAY_SIZE_PREALLOCATED 3u /* space for the planned size is allocated */

/* What an option takes, and in which form connect() gets it. */
#define IOASSAY_TEXT 1u  /* any text, as it is */
#define IOASSAY_FLAG 2u  /* yes or no: "1" or "0" */
#define IOASSAY_COUNT 3u /* a whole number: decimal digits */
#define IOASSAY_BYTES 4u /* a size such as 4k or 1MiB: decimal digits, in bytes */
#define IOASSAY_MAP 5u   /* any keys of the user's: `hints: {cb_nodes: 4}` is the value "4" of "hints.cb_nodes" */

/* An option. The engine refuses what is not described, and what does not fit its kind. */
struct ioassay_option {
    /* The key in `storage.options`: lower case, letters, digits and _. A list ends with a name of NULL. */
    const char *name;
    /* The value where none is given, spelled as a user would; NULL: "" for a text, no for a flag, 0 for a number. */
    const char *standard;
    /* What it does, in a sentence. */
    const char *meaning;
    /* IOASSAY_TEXT to IOASSAY_MAP. */
    uint32_t kind;
    uint32_t reserved;
};

/* An option with its value. Never grows: it is an element of a list that the engine hands over. */
struct ioassay_value {
    const char *key;
    const char *value;
};

/* What a connection is made from. */
struct ioassay_setup {
    uint32_t struct_bytes;
    /* Its number in value. */
    uint32_t values;
    /* The options: every one that is described has a value here, a map as many as were given. */
    const struct ioassay_value *value;
    /* The directory that is the target. */
    const char *target;
    /* Where a sentence about an error goes, and how long it may be with its zero byte. */
    char *message;
    uint64_t message_bytes;

    /* This rank, and how many there are in the run. */
    uint32_t rank;
    uint32_t ranks;
    /* The ranks that do this job. */
    uint32_t first_member;
    uint32_t members;
    /* MPI_Comm_f2c() makes it the communicator of all ranks of the run, in their order. Only with IOASSAY_NEEDS_MPI. */
    int32_t mpi_communicator;

    /* Where this rank's transfers lie in each of its files, as IOR says it: a file has `segments` segments; in each of
     * them `sharers` blocks of block_bytes follow each other, and this rank works on number `part` of them, in
     * transfers of transfer_bytes. The first segment begins at offset_bytes. All are 0 for directory entries. */
    uint32_t part;
    uint32_t sharers;
    /* Ranks of the job with the same number open the same files, those with different numbers others. */
    uint32_t file_group;
    /* 1 where a file is shared among ranks by plan, also if only one rank does the job. */
    uint32_t shared;
    uint32_t reserved;
    uint64_t transfer_bytes;
    uint64_t block_bytes;
    uint64_t segments;
    uint64_t offset_bytes;
};

/* How a file is opened. */
struct ioassay_opening {
    uint32_t struct_bytes;
    /* IOASSAY_WRITE, IOASSAY_READ or IOASSAY_READ_WRITE. */
    uint32_t access;
    /* The planned size of the file. */
    uint64_t bytes;
    /* IOASSAY_SIZE_AS_IT_IS to IOASSAY_SIZE_PREALLOCATED. */
    uint32_t size_at_open;
    uint32_t reserved;
};

/* A storage API. Functions that are not there are NULL. */
struct ioassay_storage {
    /* IOASSAY_STORAGE_ABI. */
    uint32_t abi_version;
    /* sizeof(struct ioassay_storage). */
    uint32_t struct_bytes;
    /* The word that plans, studies and reports use: lower case letters, digits and -; not that of another API. */
    const char *name;
    /* What it is, in a sentence. */
    const char *about;
    /* What it can do whatever its options say. */
    uint64_t capabilities;
    /* Its options, the last one with a name of NULL; NULL: none. Each is option_bytes large. */
    const struct ioassay_option *options;

    /* Optional. Called while a plan is read, in any process and before MPI is there: refuse options that contradict
     * each other with a message, and change *capabilities to what they are with these options. Of setup only value,
     * target and message are there. */
    int (*configure)(const struct ioassay_setup *setup, uint64_t *capabilities);

    /* Required. One rank's connection for one job of one phase. Collective over the members of the job where you want
     * it to be. Nothing may be written to the target. */
    int (*connect)(const struct ioassay_setup *setup, void **connection);
    /* Required. All files of the connection are closed. */
    void (*disconnect)(void *connection);

    /* Required. A file that is created must not be cut where it is there already, unless size_at_open says so (those
     * who share it come at different times), and a symbolic link in its place must not be followed. */
    int (*open)(void *connection, const char *path, const struct ioassay_opening *opening, void **file);
    /* Required. Writes from data and returns how many bytes it wrote. Fewer than asked is no error: the engine writes
     * the rest and counts it. */
    int64_t (*write_at)(void *file, const void *data, uint64_t bytes, uint64_t offset);
    /* Required. Reads into data and returns how many bytes it read; 0 is the end of the file. */
    int64_t (*read_at)(void *file, void *data, uint64_t bytes, uint64_t offset);
    /* Required with IOASSAY_SYNC. */
    int (*sync)(void *file);
    /* Optional. -ENOENT if the file's name is gone, which nothing else might show. Cheap, and never collective. */
    int (*check_linked)(void *file);
    /* Required. Says what only close tells, and frees the file. */
    int (*close)(void *file);

    /* Directory entries, with IOASSAY_NAMES. None of them follows a symbolic link in the place of the entry. */

    int (*make_directory)(void *connection, const char *path);
    int (*remove_directory)(void *connection, const char *path);
    /* Creates a file with `bytes` bytes of data in it, syncs it where `sync` is not 0, and closes it. -EEXIST if it is
     * there, but where `shared` is not 0: then others create it at the same time, and all but the first open it. */
    int (*create_file)(void *connection, const char *path, int shared, const void *data, uint64_t bytes, int sync);
    /* Opens a file that is there, writes, syncs where asked, closes. */
    int (*write_file)(void *connection, const char *path, const void *data, uint64_t bytes, int sync);
    /* Opens a file, reads from its beginning, closes; returns how many bytes it read. */
    int64_t (*read_file)(void *connection, const char *path, void *data, uint64_t bytes);
    /* Looks at the attributes of a file or directory. */
    int (*stat)(void *connection, const char *path);
    int (*remove_file)(void *connection, const char *path);
    /* With IOASSAY_RENAME. */
    int (*rename)(void *connection, const char *from, const char *to);

    /* Required with options: sizeof(struct ioassay_option). Where a description ends before this, as those of the first
     * headers did, options end with `reserved`. */
    uint64_t option_bytes;
};

#if defined(__GNUC__)
#define IOASSAY_EXPORT __attribute__((visibility("default")))
#define IOASSAY_FORMAT __attribute__((format(printf, 3, 4)))
#else
#define IOASSAY_EXPORT
#define IOASSAY_FORMAT
#endif

/* What a plug-in must have. Called once, when it is loaded. */
IOASSAY_EXPORT const struct ioassay_storage *ioassay_storage_api(void);

/*
 * For plug-ins, to keep them short.
 */

/* Leaves a message and returns -code. */
static inline int ioassay_fail(const struct ioassay_setup *setup, int code, const char *format, ...) IOASSAY_FORMAT;

static inline int ioassay_fail(const struct ioassay_setup *setup, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(setup->message, (size_t)setup->message_bytes, format, arguments);
    va_end(arguments);
    return -code;
}

/* The value of an option; "" if it has none. */
static inline const char *ioassay_text(const struct ioassay_setup *setup, const char *key) {
    uint32_t i;
    for (i = 0; i < setup->values; i++) {
        if (strcmp(setup->value[i].key, key) == 0) {
            return setup->value[i].value;
        }
    }
    return "";
}

/* The value of a flag, a count or a size. */
static inline uint64_t ioassay_number(const struct ioassay_setup *setup, const char *key) {
    return (uint64_t)strtoull(ioassay_text(setup, key), NULL, 10);
}

#ifdef __cplusplus
}
#endif

#endif
