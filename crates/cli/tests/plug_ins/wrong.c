/*
 * A plug-in that breaks the contract in one way, chosen when it is compiled (-DWRONG=NUMBER, -DNAME="..."), and is
 * right otherwise: it keeps nothing.
 */
#include "ioassay_storage.h"

#include <errno.h>

#define LARGE_OPTIONS 13

enum {
    VERSION = 1, NO_READ, NO_SYNC, NO_NAME, BAD_NAME, KIND, DEFAULT, UNKNOWN_CAPABILITY, NO_DESCRIPTION, OLD_AND_SHORT,
    NO_OPTION_BYTES, SMALL_OPTIONS,
    MORE_WRITTEN = 20, MORE_READ, ENDLESS, NO_ERRNO, POSITIVE, GREEDY, FAILS, FAILS_SILENTLY, REFUSES, SHORT_FILE
};

/* As a later header may have it, if it has grown. */
struct option {
    struct ioassay_option known;
#if WRONG == LARGE_OPTIONS
    uint64_t later[3];
#endif
};

static const struct option options[] = {
    {.known = {"chunk", WRONG == DEFAULT ? "many" : "1m", "What it does.", WRONG == KIND ? 77 : IOASSAY_BYTES, 0}},
    {.known = {"hints", NULL, "Hints.", IOASSAY_MAP, 0}},
    {.known = {"together", "no", "Collective transfers.", IOASSAY_FLAG, 0}},
    {.known = {NULL, NULL, NULL, 0, 0}},
};

static const struct ioassay_setup *kept;

static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    if (WRONG == GREEDY) {
        *capabilities |= IOASSAY_NAMES;
    }
    if (ioassay_number(setup, "together")) {
        *capabilities |= IOASSAY_COLLECTIVE_TRANSFERS;
    }
    if (WRONG == REFUSES) {
        return ioassay_fail(setup, EINVAL, "chunk %s contradicts everything", ioassay_text(setup, "chunk"));
    }
    return 0;
}

static int connect(const struct ioassay_setup *setup, void **connection) {
    kept = setup;
    *connection = NULL;
    return 0;
}

static void disconnect(void *connection) {
    (void)connection;
}

static int open_it(void *connection, const char *path, const struct ioassay_opening *opening, void **file) {
    (void)connection, (void)path, (void)opening;
    *file = NULL;
    return 0;
}

static int64_t write_at(void *file, const void *data, uint64_t bytes, uint64_t offset) {
    (void)file, (void)data;
    switch (WRONG) {
    case MORE_WRITTEN: return (int64_t)bytes + 1;
    case ENDLESS: return INT64_MAX;
    case NO_ERRNO: return INT64_MIN;
    case FAILS:
        return ioassay_fail(kept, ENOSPC, "no room for byte %llu, and numbers that are too long: %0900d %0900d",
                            (unsigned long long)offset, 7, 7);
    case FAILS_SILENTLY: return -EDQUOT;
    case SHORT_FILE: return (int64_t)bytes - 1;
    default: return (int64_t)bytes;
    }
}

static int64_t read_at(void *file, void *data, uint64_t bytes, uint64_t offset) {
    (void)file, (void)data, (void)offset;
    return WRONG == MORE_READ ? (int64_t)bytes * 2 : (int64_t)bytes;
}

static int done(void *file) {
    (void)file;
    return WRONG == POSITIVE ? 5 : 0;
}

static const struct ioassay_storage api = {
    .abi_version = WRONG == VERSION ? 99 : IOASSAY_STORAGE_ABI,
    /* One of an older version 1 would end before the functions on directory entries. */
    .struct_bytes =
        WRONG == OLD_AND_SHORT ? offsetof(struct ioassay_storage, make_directory) : sizeof(struct ioassay_storage),
    .name = WRONG == NO_NAME ? NULL : WRONG == BAD_NAME ? "My API" : NAME,
    .about = NULL,
    .capabilities = IOASSAY_SYNC | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_COLLECTIVE_FILES |
                    (WRONG == UNKNOWN_CAPABILITY ? UINT64_C(1) << 60 : 0),
    .options = &options[0].known,
    .option_bytes = WRONG == NO_OPTION_BYTES ? 0 : WRONG == SMALL_OPTIONS ? 24 : sizeof(struct option),
    .configure = configure,
    .connect = connect,
    .disconnect = disconnect,
    .open = open_it,
    .write_at = write_at,
    .read_at = WRONG == NO_READ ? NULL : read_at,
    .sync = WRONG == NO_SYNC ? NULL : done,
    .close = done,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return WRONG == NO_DESCRIPTION ? NULL : &api;
}
