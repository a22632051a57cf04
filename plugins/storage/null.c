/*
 * null-plugin: keeps nothing, at once. What a phase costs with it beyond the engine's own `null` is what the way into a
 * plug-in costs.
 */
#include "ioassay_storage.h"

static int connect_null(const struct ioassay_setup *setup, void **connection) {
    (void)setup;
    *connection = NULL;
    return 0;
}

static void disconnect_null(void *connection) {
    (void)connection;
}

static int open_null(void *connection, const char *path, const struct ioassay_opening *opening, void **file) {
    (void)connection, (void)path, (void)opening;
    *file = NULL;
    return 0;
}

static int64_t write_null(void *file, const void *data, uint64_t bytes, uint64_t offset) {
    (void)file, (void)data, (void)offset;
    return (int64_t)bytes;
}

static int64_t read_null(void *file, void *data, uint64_t bytes, uint64_t offset) {
    (void)file, (void)data, (void)offset;
    return (int64_t)bytes;
}

static int done(void *file) {
    (void)file;
    return 0;
}

static int entry(void *connection, const char *path) {
    (void)connection, (void)path;
    return 0;
}

static int create_null(void *connection, const char *path, int shared, const void *data, uint64_t bytes, int sync) {
    (void)connection, (void)path, (void)shared, (void)data, (void)bytes, (void)sync;
    return 0;
}

static int write_file_null(void *connection, const char *path, const void *data, uint64_t bytes, int sync) {
    (void)connection, (void)path, (void)data, (void)bytes, (void)sync;
    return 0;
}

static int64_t read_file_null(void *connection, const char *path, void *data, uint64_t bytes) {
    (void)connection, (void)path, (void)data;
    return (int64_t)bytes;
}

static int rename_null(void *connection, const char *from, const char *to) {
    (void)connection, (void)from, (void)to;
    return 0;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "null-plugin",
    .about = "Discards all data: measures the cost of calling a plug-in.",
    .capabilities = IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_NAMES | IOASSAY_RENAME,
    .connect = connect_null,
    .disconnect = disconnect_null,
    .open = open_null,
    .write_at = write_null,
    .read_at = read_null,
    .sync = done,
    .check_linked = done,
    .close = done,
    .make_directory = entry,
    .remove_directory = entry,
    .create_file = create_null,
    .write_file = write_file_null,
    .read_file = read_file_null,
    .stat = entry,
    .remove_file = entry,
    .rename = rename_null,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
