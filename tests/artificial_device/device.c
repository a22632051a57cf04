/*
 * A storage device with a known optimum: 50 MB/s with transfers of 256 KiB, a half, a third … of it with each doubling or
 * halving of that, and a third of all where the file `setting` does not hold the number 8. It keeps nothing, and takes its
 * time by sleeping: milliseconds for each transfer, and differences so large that a busy machine does not hide them.
 */
#define _GNU_SOURCE
#include "ioassay_storage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BEST_BYTES (256 << 10)
#define BEST_SETTING 8
#define NS_PER_BYTE 20

static const struct ioassay_option options[] = {
    {"setting", "", "File with a number, of which 8 is best.", IOASSAY_TEXT, 0},
    {NULL, NULL, NULL, 0, 0},
};

/* How many times as long everything takes. */
static int connect_device(const struct ioassay_setup *setup, void **connection) {
    FILE *file = fopen(ioassay_text(setup, "setting"), "re");
    int number = 0;
    if (file == NULL || fscanf(file, "%d", &number) != 1) {
        return ioassay_fail(setup, EINVAL, "the setting cannot be read");
    }
    fclose(file);
    *connection = (void *)(intptr_t)(number == BEST_SETTING ? 1 : 3);
    return 0;
}

static void disconnect_device(void *connection) {
    (void)connection;
}

static int open_device(void *connection, const char *path, const struct ioassay_opening *opening, void **file) {
    (void)path, (void)opening;
    *file = connection;
    return 0;
}

static int64_t take_time(void *file, uint64_t bytes) {
    uint64_t smaller = bytes < BEST_BYTES ? bytes : BEST_BYTES, larger = bytes < BEST_BYTES ? BEST_BYTES : bytes;
    uint64_t steps = 0;
    for (; smaller < larger; smaller *= 2) {
        steps++;
    }
    uint64_t took_ns = bytes * NS_PER_BYTE * (uint64_t)(intptr_t)file * (1 + steps);
    struct timespec rest = {(time_t)(took_ns / 1000000000), (long)(took_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
    return (int64_t)bytes;
}

static int64_t write_device(void *file, const void *data, uint64_t bytes, uint64_t offset) {
    (void)data, (void)offset;
    return take_time(file, bytes);
}

static int64_t read_device(void *file, void *data, uint64_t bytes, uint64_t offset) {
    (void)data, (void)offset;
    return take_time(file, bytes);
}

static int done(void *file) {
    (void)file;
    return 0;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "artificial-device",
    .about = "A device with a known optimum, for tests of sweeps.",
    .capabilities = IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .connect = connect_device,
    .disconnect = disconnect_device,
    .open = open_device,
    .write_at = write_device,
    .read_at = read_device,
    .sync = done,
    .check_linked = done,
    .close = done,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
