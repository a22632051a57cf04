/*
 * mpiio: MPI-IO. Each rank's own file is opened by it alone (MPI_COMM_SELF), a shared one by all who share it.
 *
 * Options choose independent or collective transfers, and whether a rank names its bytes by explicit offsets or sees
 * nothing but its own through a file view: that of the plan's blocks (`view`), or one in which each transfer lies in
 * pieces between those of the others (`interleave`), so that one call moves them all.
 */
#define _GNU_SOURCE /* fallocate */

#include "mpi_files.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define PIECE (UINT64_C(1) << 30) /* what an int can count safely */

/* How offsets of the plan become offsets of the file. */
enum view { NONE, BLOCKS, INTERLEAVED };

struct connection {
    struct ioassay_mpi mpi;
    enum view view;
    uint64_t interleave_bytes;
};

struct file {
    struct connection *connection;
    MPI_File handle;
    char path[];
};

static const struct ioassay_option options[] = {
    IOASSAY_COLLECTIVE_OPTION,
    {"view", "no", "Access each rank's own blocks through MPI_File_set_view (IOR's --mpiio.useFileView).",
     IOASSAY_FLAG, 0},
    {"interleave", "0",
     "Cut each transfer into pieces of this size, which lie in the file in turn with those of all who share it, and "
     "move them with one call by a strided datatype (IOR's --mpiio.useStridedDatatype). 0: no.",
     IOASSAY_BYTES, 0},
    IOASSAY_HINTS_OPTION,
    IOASSAY_SHOW_HINTS_OPTION,
    {NULL, NULL, NULL, 0, 0},
};

static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    if (ioassay_number(setup, "view") && ioassay_number(setup, "interleave")) {
        return ioassay_fail(setup, EINVAL, "view and interleave are mutually exclusive; use one of them");
    }
    if (ioassay_number(setup, "collective")) {
        *capabilities |= IOASSAY_COLLECTIVE_TRANSFERS;
    }
    return 0;
}

static int connect_mpiio(const struct ioassay_setup *setup, void **made) {
    uint64_t interleave_bytes = ioassay_number(setup, "interleave");
    struct connection *connection;
    int code;
    if (interleave_bytes && setup->transfer_bytes % interleave_bytes) {
        return ioassay_fail(setup, EINVAL, "interleave: a transfer of %llu bytes cannot be cut into pieces of %llu",
                            (unsigned long long)setup->transfer_bytes, (unsigned long long)interleave_bytes);
    }
    code = ioassay_mpi_connect(setup, sizeof *connection, made);
    if (code != 0) {
        return code;
    }
    connection = *made;
    connection->interleave_bytes = interleave_bytes;
    connection->view = interleave_bytes ? INTERLEAVED : ioassay_number(setup, "view") ? BLOCKS : NONE;
    return 0;
}

/* A datatype of that many bytes; counts of MPI are ints. */
static int of_bytes(uint64_t bytes, MPI_Datatype *type) {
    MPI_Datatype piece, pieces;
    int error;
    if (bytes <= INT_MAX) {
        return MPI_Type_contiguous((int)bytes, MPI_BYTE, type);
    }
    MPI_Type_contiguous((int)PIECE, MPI_BYTE, &piece);
    MPI_Type_contiguous((int)(bytes / PIECE), piece, &pieces);
    {
        int lengths[2] = {1, (int)(bytes % PIECE)};
        MPI_Aint places[2] = {0, (MPI_Aint)(bytes / PIECE * PIECE)};
        MPI_Datatype types[2] = {pieces, MPI_BYTE};
        error = MPI_Type_create_struct(2, lengths, places, types, type);
    }
    MPI_Type_free(&pieces);
    MPI_Type_free(&piece);
    return error;
}

/* Shows the rank nothing but its own bytes: `piece_bytes` of them, then those of the others up to `all_bytes`, and so
 * on. */
static int set_view(const struct file *file) {
    const struct connection *connection = file->connection;
    const struct ioassay_setup *setup = connection->mpi.setup;
    uint64_t piece_bytes = connection->view == BLOCKS ? setup->block_bytes : connection->interleave_bytes;
    uint64_t all_bytes = piece_bytes * setup->sharers;
    MPI_Offset begin = (MPI_Offset)(setup->offset_bytes + piece_bytes * setup->part);
    MPI_Datatype block, type;
    int error;
    if (setup->sharers <= 1 || (connection->view == BLOCKS && setup->segments == 1)) {
        /* One piece: contiguous. */
        return MPI_File_set_view(file->handle, begin, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    }
    error = of_bytes(piece_bytes, &block);
    if (error == MPI_SUCCESS) {
        error = MPI_Type_create_resized(block, 0, (MPI_Aint)all_bytes, &type);
        MPI_Type_free(&block);
    }
    if (error == MPI_SUCCESS) {
        MPI_Type_commit(&type);
        error = MPI_File_set_view(file->handle, begin, MPI_BYTE, type, "native", MPI_INFO_NULL);
        MPI_Type_free(&type);
    }
    return error;
}

/*
 * Gives the file its space. Over data, OMPIO (Open MPI 4.1.4, 5.0.11) moves blocks and doubles them, and ROMIO reads and
 * writes all of it; so a file that holds something gets the rest of its space from the file system, by one rank for all.
 */
static int preallocate(const struct file *file, uint64_t bytes) {
    const struct ioassay_mpi *mpi = &file->connection->mpi;
    MPI_Offset held = 0;
    int rank, code = 0, error = MPI_File_get_size(file->handle, &held);
    if (error != MPI_SUCCESS) {
        return ioassay_mpi_fail(mpi->setup, error, "MPI_File_get_size");
    }
    /* Those who share the file decide alike, whatever each of them sees. */
    if (mpi->sharers != MPI_COMM_SELF) {
        MPI_Bcast(&held, 1, MPI_OFFSET, 0, mpi->sharers);
    }
    if (held == 0) {
        error = MPI_File_preallocate(file->handle, (MPI_Offset)bytes);
        return error == MPI_SUCCESS ? 0 : ioassay_mpi_fail(mpi->setup, error, "MPI_File_preallocate");
    }
    MPI_Comm_rank(mpi->sharers, &rank);
    if (rank == 0) {
        int descriptor = open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        code = descriptor < 0 || fallocate(descriptor, 0, 0, (off_t)bytes) != 0 ? errno : 0;
        if (descriptor >= 0) {
            close(descriptor);
        }
    }
    if (mpi->sharers != MPI_COMM_SELF) {
        MPI_Bcast(&code, 1, MPI_INT, 0, mpi->sharers);
    }
    return code == 0 ? 0
                     : ioassay_fail(mpi->setup, code,
                                    "the file holds data already, over which MPI_File_preallocate of some libraries "
                                    "destroys it, and fallocate failed: %s",
                                    strerror(code));
}

static int prepare(struct file *file, const struct ioassay_opening *opening) {
    const struct ioassay_setup *setup = file->connection->mpi.setup;
    MPI_Info effect = MPI_INFO_NULL;
    int error = MPI_SUCCESS;
    const char *call = "MPI_File_set_size";
    if (opening->access != IOASSAY_READ) {
        switch (opening->size_at_open) {
        case IOASSAY_SIZE_EMPTY: error = MPI_File_set_size(file->handle, 0); break;
        case IOASSAY_SIZE_FULL: error = MPI_File_set_size(file->handle, (MPI_Offset)opening->bytes); break;
        case IOASSAY_SIZE_PREALLOCATED: {
            int code = preallocate(file, opening->bytes);
            if (code != 0) {
                return code;
            }
            break;
        }
        default: break;
        }
    }
    if (error == MPI_SUCCESS && file->connection->view != NONE) {
        call = "MPI_File_set_view";
        error = set_view(file);
    }
    if (error != MPI_SUCCESS) {
        return ioassay_mpi_fail(setup, error, call);
    }
    if (!file->connection->mpi.hints_reported && MPI_File_get_info(file->handle, &effect) == MPI_SUCCESS) {
        ioassay_mpi_report_hints(&file->connection->mpi, effect, "mpiio");
        file->connection->mpi.hints_reported = 1;
        if (effect != MPI_INFO_NULL) {
            MPI_Info_free(&effect);
        }
    }
    return 0;
}

static int open_mpiio(void *made, const char *path, const struct ioassay_opening *opening, void **opened) {
    struct connection *connection = made;
    int code = ioassay_mpi_look(&connection->mpi, path);
    /* To preallocate, the file must be readable: both MPI-IO libraries refuse it where it is open for writing alone. */
    int only_writes = opening->access == IOASSAY_WRITE && opening->size_at_open != IOASSAY_SIZE_PREALLOCATED;
    int mode = opening->access == IOASSAY_READ ? MPI_MODE_RDONLY
               : only_writes                   ? MPI_MODE_WRONLY | MPI_MODE_CREATE
                                               : MPI_MODE_RDWR | MPI_MODE_CREATE;
    struct file *file;
    if (code < 0) {
        return code;
    }
    file = malloc(sizeof *file + strlen(path) + 1);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->connection = connection;
    strcpy(file->path, path);
    code = MPI_File_open(connection->mpi.sharers, path, mode, connection->mpi.hints, &file->handle);
    if (code != MPI_SUCCESS) {
        free(file);
        return ioassay_mpi_fail(connection->mpi.setup, code, "MPI_File_open");
    }
    code = prepare(file, opening);
    if (code != 0) {
        MPI_File_close(&file->handle);
        free(file);
        return code;
    }
    *opened = file;
    return 0;
}

/* Where a transfer is as MPI counts: in the file, or in what the view shows of it. -1 where it does not show it. */
static MPI_Offset place(const struct file *file, uint64_t offset) {
    const struct ioassay_setup *setup = file->connection->mpi.setup;
    uint64_t segment_bytes = setup->block_bytes * setup->sharers, begin = setup->block_bytes * setup->part, within;
    if (file->connection->view == NONE) {
        return (MPI_Offset)offset;
    }
    offset -= setup->offset_bytes;
    within = offset % segment_bytes;
    if (within < begin || within - begin >= setup->block_bytes) {
        return -1;
    }
    return (MPI_Offset)(offset / segment_bytes * setup->block_bytes + within - begin);
}

static int64_t moved(const struct file *file, int error, MPI_Status *status, const char *call) {
    int count = 0;
    if (error != MPI_SUCCESS) {
        return ioassay_mpi_fail(file->connection->mpi.setup, error, call);
    }
    MPI_Get_count(status, MPI_BYTE, &count);
    return count == MPI_UNDEFINED ? -EIO : count;
}

static int elsewhere(const struct file *file) {
    return ioassay_fail(file->connection->mpi.setup, EINVAL,
                        "the transfer is in another rank's blocks, which the view hides");
}

static int64_t write_at(void *opened, const void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    MPI_Offset position = place(file, offset);
    MPI_Status status;
    if (position < 0) {
        return elsewhere(file);
    }
    if (file->connection->mpi.collective) {
        int error = MPI_File_write_at_all(file->handle, position, data, (int)bytes, MPI_BYTE, &status);
        return moved(file, error, &status, "MPI_File_write_at_all");
    }
    return moved(file, MPI_File_write_at(file->handle, position, data, (int)bytes, MPI_BYTE, &status), &status,
                 "MPI_File_write_at");
}

static int64_t read_at(void *opened, void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    MPI_Offset position = place(file, offset);
    MPI_Status status;
    if (position < 0) {
        return elsewhere(file);
    }
    if (file->connection->mpi.collective) {
        int error = MPI_File_read_at_all(file->handle, position, data, (int)bytes, MPI_BYTE, &status);
        return moved(file, error, &status, "MPI_File_read_at_all");
    }
    return moved(file, MPI_File_read_at(file->handle, position, data, (int)bytes, MPI_BYTE, &status), &status,
                 "MPI_File_read_at");
}

static int sync_mpiio(void *opened) {
    struct file *file = opened;
    int error = MPI_File_sync(file->handle);
    return error == MPI_SUCCESS ? 0 : ioassay_mpi_fail(file->connection->mpi.setup, error, "MPI_File_sync");
}

static int check_linked(void *opened) {
    return ioassay_mpi_check_linked(((struct file *)opened)->path);
}

static int close_mpiio(void *opened) {
    struct file *file = opened;
    int error = MPI_File_close(&file->handle);
    int code = error == MPI_SUCCESS ? 0 : ioassay_mpi_fail(file->connection->mpi.setup, error, "MPI_File_close");
    free(file);
    return code;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "mpiio",
    .about = "MPI-IO: independent or collective transfers, hints, file views, strided datatypes.",
    .capabilities = IOASSAY_FILES | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_SIZES |
                    IOASSAY_NEEDS_MPI | IOASSAY_COLLECTIVE_FILES,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .configure = configure,
    .connect = connect_mpiio,
    .disconnect = ioassay_mpi_disconnect,
    .open = open_mpiio,
    .write_at = write_at,
    .read_at = read_at,
    .sync = sync_mpiio,
    .check_linked = check_linked,
    .close = close_mpiio,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
