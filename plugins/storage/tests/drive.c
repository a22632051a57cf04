/*
 * Drives a plug-in over MPI as the engine's ranks would, without the engine: each rank writes its blocks, syncs and
 * closes, then reads the blocks of the next rank and compares them.
 *
 *     mpirun -n 4 drive PLUGIN.so DIRECTORY own|shared|groups [KEY=VALUE...]
 *
 * KEY=VALUE: options of the plug-in, in the form in which it gets them; and of the driver's own transfer=, block=,
 * segments=, offset=, size= (size_at_open), files=, extra=1 (the last rank has another job: it does nothing), end=1
 * (reads past the end too, which must be reported as short), link=1 (file.0 is a symbolic link to an empty file, mine),
 * again=1 (each file is opened for writing and preallocated once more, to twice its size, before it is read).
 * Prints "right" on rank 0, or what is wrong, and exits with 1.
 */
#include "ioassay_storage.h"

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <unistd.h>

static int rank;
static char message[1024];

static void die(const char *what, long long code) {
    fprintf(stderr, "rank %d: %s: %lld %s\n", rank, what, code, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Options of every description, with defaults; what the engine's validation makes of a plan. */
static struct ioassay_value values[64];
static uint32_t count;
static char texts[64][128];

static void put(const char *key, const char *value) {
    uint32_t i;
    for (i = 0; i < count && strcmp(values[i].key, key) != 0; i++) {
    }
    if (i == count) {
        snprintf(texts[count], sizeof texts[count], "%s", key);
        values[count++].key = texts[i];
    }
    values[i].value = value;
}

static uint64_t own_option(int argc, char **argv, const char *key, uint64_t standard) {
    size_t length = strlen(key);
    int i;
    for (i = 4; i < argc; i++) {
        if (strncmp(argv[i], key, length) == 0 && argv[i][length] == '=') {
            return strtoull(argv[i] + length + 1, NULL, 10);
        }
    }
    return standard;
}

/* The byte at `position` of the data of file `file`. */
static unsigned char byte(uint64_t file, uint64_t position) {
    return (unsigned char)((position * 31 + position / 251 * 7 + file * 101 + 1) & 0xff);
}

int main(int argc, char **argv) {
    static const char *drivers[] = {"transfer", "block", "segments", "offset", "size",
                                    "files",    "extra", "end",      "link",   "again", NULL};
    struct ioassay_setup setup;
    int provided, ranks, i, shared = strcmp(argv[3], "own") != 0, step;
    uint64_t groups, transfer, per_block, nth, files, capabilities;
    unsigned char *buffer;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        die(dlerror(), 0);
    }
    const struct ioassay_storage *(*entry)(void);
    *(void **)&entry = dlsym(library, "ioassay_storage_api");
    const struct ioassay_storage *api = entry();
    for (const struct ioassay_option *option = api->options; option && option->name; option++) {
        if (option->kind == IOASSAY_FLAG) {
            put(option->name, strcmp(option->standard, "yes") == 0 ? "1" : "0");
        } else if (option->kind != IOASSAY_MAP) {
            put(option->name, option->standard ? option->standard : "");
        }
    }
    for (i = 4; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        const char **driver = drivers;
        while (*driver && !(strncmp(*driver, argv[i], strlen(*driver)) == 0 && argv[i] + strlen(*driver) == equals)) {
            driver++;
        }
        if (*driver == NULL && equals) {
            char key[128];
            snprintf(key, sizeof key, "%.*s", (int)(equals - argv[i]), argv[i]);
            put(key, equals + 1);
        }
    }
    memset(&setup, 0, sizeof setup);
    setup.struct_bytes = sizeof setup;
    setup.value = values;
    setup.values = count;
    setup.target = argv[2];
    setup.message = message;
    setup.message_bytes = sizeof message;
    capabilities = api->capabilities;
    if (api->configure && api->configure(&setup, &capabilities) != 0) {
        die("configure", 0);
    }
    int members = ranks - (int)own_option(argc, argv, "extra", 0);
    setup.rank = (uint32_t)rank;
    setup.ranks = (uint32_t)ranks;
    setup.members = (uint32_t)members;
    setup.mpi_communicator = MPI_Comm_c2f(MPI_COMM_WORLD);
    groups = strcmp(argv[3], "own") == 0 ? (uint64_t)members : strcmp(argv[3], "groups") == 0 ? 2 : 1;
    setup.sharers = (uint32_t)((uint64_t)members / groups);
    setup.shared = (uint32_t)shared;
    transfer = setup.transfer_bytes = own_option(argc, argv, "transfer", 4096);
    setup.block_bytes = own_option(argc, argv, "block", 3 * transfer);
    setup.segments = own_option(argc, argv, "segments", 5);
    setup.offset_bytes = own_option(argc, argv, "offset", 0);
    files = own_option(argc, argv, "files", 1);
    per_block = setup.block_bytes / transfer;
    buffer = malloc(transfer);
    if (rank == 0 && own_option(argc, argv, "link", 0)) {
        char mine[4096], link[4096];
        snprintf(mine, sizeof mine, "%s/mine", argv[2]);
        snprintf(link, sizeof link, "%s/file.0", argv[2]);
        fclose(fopen(mine, "w"));
        if (symlink(mine, link) != 0) {
            die("symlink", errno);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* First all write their own part, then each reads that of the next. */
    for (step = 0; step < 2; MPI_Barrier(MPI_COMM_WORLD), step++) {
        uint32_t whose = (uint32_t)((rank + step) % members);
        void *connection, *file;
        int code;
        if (rank >= members) {
            continue;
        }
        setup.part = whose % setup.sharers;
        setup.file_group = whose / setup.sharers;
        code = api->connect(&setup, &connection);
        if (code != 0) {
            die("connect", code);
        }
        for (nth = 0; nth < files; nth++) {
            uint64_t number = setup.file_group * files + nth, index, k;
            struct ioassay_opening opening = {sizeof opening, step == 0 ? IOASSAY_WRITE : IOASSAY_READ, 0, 0, 0};
            char path[4096];
            snprintf(path, sizeof path, "%s/file.%llu", argv[2], (unsigned long long)number);
            opening.bytes = setup.offset_bytes + setup.block_bytes * setup.segments * setup.sharers;
            opening.size_at_open = step == 0 ? (uint32_t)own_option(argc, argv, "size", 0) : 0;
            if (step == 1 && own_option(argc, argv, "again", 0)) {
                struct ioassay_opening again = {sizeof again, IOASSAY_WRITE, 2 * opening.bytes,
                                                IOASSAY_SIZE_PREALLOCATED, 0};
                if ((code = api->open(connection, path, &again, &file)) != 0 || (code = api->close(file)) != 0) {
                    die("open again", code);
                }
            }
            code = api->open(connection, path, &opening, &file);
            if (code != 0) {
                die("open", code);
            }
            for (index = 0; index < per_block * setup.segments; index++) {
                uint64_t segment = index / per_block, within = index % per_block;
                uint64_t block = segment * setup.sharers + setup.part;
                uint64_t position = setup.offset_bytes + block * setup.block_bytes + within * transfer;
                int64_t moved;
                for (k = 0; k < transfer && step == 0; k++) {
                    buffer[k] = byte(number, position + k);
                }
                if (step == 1) {
                    memset(buffer, 0, transfer);
                }
                moved = step == 0 ? api->write_at(file, buffer, transfer, position)
                                  : api->read_at(file, buffer, transfer, position);
                if (moved != (int64_t)transfer) {
                    die(step == 0 ? "write_at" : "read_at", moved);
                }
                for (k = 0; k < transfer && step == 1; k++) {
                    if (buffer[k] != byte(number, position + k)) {
                        die("wrong byte at", (long long)(position + k));
                    }
                }
            }
            if (step == 0 && (code = api->sync(file)) != 0) {
                die("sync", code);
            }
            if ((code = api->check_linked(file)) != 0) {
                die("check_linked", code);
            }
            if (step == 1 && own_option(argc, argv, "end", 0)) {
                int64_t moved = api->read_at(file, buffer, transfer, opening.bytes - transfer / 2);
                if (moved != (int64_t)transfer / 2) {
                    die("a read past the end moved", moved);
                }
                moved = api->read_at(file, buffer, transfer, opening.bytes + 10 * transfer);
                if (moved != 0) {
                    die("a read beyond the end moved", moved);
                }
            }
            if ((code = api->close(file)) != 0) {
                die("close", code);
            }
        }
        api->disconnect(connection);
    }
    if (rank == 0) {
        printf("right\n");
    }
    MPI_Finalize();
    return 0;
}
