/*
 * hdf5: parallel HDF5. A file holds one dataset of bytes, "data", as long as the plan says; a transfer is a hyperslab
 * of it. The file is therefore a little longer than its data, which lies where HDF5 puts it.
 */
#include "mpi_files.h"

#include <hdf5.h>

static const char DATASET[] = "data";

struct connection {
    struct ioassay_mpi mpi;
    hid_t transfer; /* property list */
    uint64_t chunk_bytes, alignment_bytes;
    int collective_metadata;
};

struct file {
    struct connection *connection;
    hid_t file, dataset, space, memory;
    hsize_t bytes, memory_bytes;
    char path[];
};

static const struct ioassay_option options[] = {
    IOASSAY_COLLECTIVE_OPTION,
    {"chunk", "0", "Store the dataset in chunks of this size. 0: contiguous.", IOASSAY_BYTES, 0},
    {"alignment", "1", "Align objects in the file to multiples of this size (H5Pset_alignment).", IOASSAY_BYTES, 0},
    {"collective_metadata", "no",
     "Read and write metadata collectively (H5Pset_all_coll_metadata_ops, H5Pset_coll_metadata_write).", IOASSAY_FLAG,
     0},
    IOASSAY_HINTS_OPTION,
    IOASSAY_SHOW_HINTS_OPTION,
    {NULL, NULL, NULL, 0, 0},
};

static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    if (ioassay_number(setup, "alignment") == 0) {
        return ioassay_fail(setup, EINVAL, "alignment 0 is not possible; use 1 for none");
    }
    if (ioassay_number(setup, "chunk") > UINT32_MAX) {
        return ioassay_fail(setup, EINVAL, "chunk: HDF5 needs chunks smaller than 4 GiB");
    }
    if (ioassay_number(setup, "collective")) {
        *capabilities |= IOASSAY_COLLECTIVE_TRANSFERS;
    }
    return 0;
}

/* The innermost of HDF5's complaints says most. */
static herr_t first(unsigned depth, const H5E_error2_t *error, void *text) {
    const char **description = text;
    if (depth == 0 && error->desc != NULL) {
        *description = error->desc;
    }
    return 0;
}

static int fail(const struct connection *connection, const char *call) {
    const char *text = "HDF5 gave no reason";
    int code;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
    code = ioassay_fail(connection->mpi.setup, EIO, "%s: %s", call, text);
    H5Eclear2(H5E_DEFAULT);
    return code;
}

static int connect_hdf5(const struct ioassay_setup *setup, void **made) {
    struct connection *connection;
    int code;
    /* At the exit of the process MPI is gone already. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    code = ioassay_mpi_connect(setup, sizeof *connection, made);
    if (code != 0) {
        return code;
    }
    connection = *made;
    connection->chunk_bytes = ioassay_number(setup, "chunk");
    connection->alignment_bytes = ioassay_number(setup, "alignment");
    connection->collective_metadata = (int)ioassay_number(setup, "collective_metadata");
    connection->transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(connection->transfer, connection->mpi.collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    return 0;
}

static void disconnect(void *made) {
    struct connection *connection = made;
    H5Pclose(connection->transfer);
    ioassay_mpi_disconnect(connection);
}

static hid_t access_list(const struct connection *connection) {
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(list, connection->mpi.sharers, connection->mpi.hints);
    H5Pset_alignment(list, 1, connection->alignment_bytes);
    if (connection->collective_metadata) {
        H5Pset_all_coll_metadata_ops(list, 1);
        H5Pset_coll_metadata_write(list, 1);
    }
    return list;
}

static hid_t create_dataset(const struct file *file, hsize_t bytes) {
    hsize_t chunk = file->connection->chunk_bytes < bytes ? file->connection->chunk_bytes : bytes;
    hid_t space = H5Screate_simple(1, &bytes, NULL), list = H5Pcreate(H5P_DATASET_CREATE), dataset;
    if (chunk != 0) {
        H5Pset_chunk(list, 1, &chunk);
    }
    /* All of it is written by the plan; filling it before would be measured too. */
    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER);
    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    dataset = H5Dcreate2(file->file, DATASET, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Pclose(list);
    H5Sclose(space);
    return dataset;
}

static void close_all(struct file *file) {
    if (file->memory >= 0) {
        H5Sclose(file->memory);
    }
    if (file->space >= 0) {
        H5Sclose(file->space);
    }
    if (file->dataset >= 0) {
        H5Dclose(file->dataset);
    }
}

static void report_hints(struct file *file) {
    MPI_File *handle = NULL;
    MPI_Info effect = MPI_INFO_NULL;
    if (file->connection->mpi.hints_reported || H5Fget_vfd_handle(file->file, H5P_DEFAULT, (void **)&handle) < 0) {
        return;
    }
    if (MPI_File_get_info(*handle, &effect) == MPI_SUCCESS) {
        ioassay_mpi_report_hints(&file->connection->mpi, effect, "hdf5");
        file->connection->mpi.hints_reported = 1;
        MPI_Info_free(&effect);
    }
}

static int open_dataset(struct file *file, const struct ioassay_opening *opening, int create) {
    file->dataset = create ? create_dataset(file, opening->bytes) : H5Dopen2(file->file, DATASET, H5P_DEFAULT);
    if (file->dataset < 0) {
        return fail(file->connection, create ? "H5Dcreate" : "H5Dopen");
    }
    file->space = H5Dget_space(file->dataset);
    if (H5Sget_simple_extent_ndims(file->space) != 1) {
        return ioassay_fail(file->connection->mpi.setup, EINVAL, "the dataset in the file is not a one-dimensional array "
                            "of bytes");
    }
    H5Sget_simple_extent_dims(file->space, &file->bytes, NULL);
    if (opening->access != IOASSAY_READ && file->bytes < opening->bytes) {
        return ioassay_fail(file->connection->mpi.setup, EEXIST, "the dataset in the file has %llu bytes instead of %llu",
                            (unsigned long long)file->bytes, (unsigned long long)opening->bytes);
    }
    return 0;
}

static int open_hdf5(void *made, const char *path, const struct ioassay_opening *opening, void **opened) {
    struct connection *connection = made;
    int code = ioassay_mpi_look(&connection->mpi, path), create = code == 0 && opening->access != IOASSAY_READ;
    struct file *file;
    hid_t list;
    if (code < 0) {
        return code;
    }
    file = malloc(sizeof *file + strlen(path) + 1);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->connection = connection;
    file->dataset = file->space = file->memory = -1;
    file->memory_bytes = 0;
    strcpy(file->path, path);
    list = access_list(connection);
    file->file = create ? H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, list)
                        : H5Fopen(path, opening->access == IOASSAY_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR, list);
    H5Pclose(list);
    if (file->file < 0) {
        free(file);
        return code == 0 && !create ? -ENOENT : fail(connection, create ? "H5Fcreate" : "H5Fopen");
    }
    code = open_dataset(file, opening, create);
    if (code != 0) {
        close_all(file);
        H5Fclose(file->file);
        free(file);
        return code;
    }
    report_hints(file);
    *opened = file;
    return 0;
}

/* Selects the bytes of a transfer, in the dataset and in memory. */
static int choose(struct file *file, uint64_t bytes, uint64_t offset) {
    hsize_t start = offset, count = bytes;
    if (file->memory < 0 || file->memory_bytes != bytes) {
        if (file->memory >= 0) {
            H5Sclose(file->memory);
        }
        file->memory = H5Screate_simple(1, &count, NULL);
        file->memory_bytes = bytes;
    }
    return H5Sselect_hyperslab(file->space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ? -1 : 0;
}

static int64_t write_at(void *opened, const void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    if (choose(file, bytes, offset) != 0 ||
        H5Dwrite(file->dataset, H5T_NATIVE_UCHAR, file->memory, file->space, file->connection->transfer, data) < 0) {
        return fail(file->connection, "H5Dwrite");
    }
    return (int64_t)bytes;
}

static int64_t read_at(void *opened, void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    if (offset >= file->bytes) {
        return 0;
    }
    if (bytes > file->bytes - offset) {
        bytes = file->bytes - offset;
    }
    if (choose(file, bytes, offset) != 0 ||
        H5Dread(file->dataset, H5T_NATIVE_UCHAR, file->memory, file->space, file->connection->transfer, data) < 0) {
        return fail(file->connection, "H5Dread");
    }
    return (int64_t)bytes;
}

static int sync_hdf5(void *opened) {
    struct file *file = opened;
    return H5Fflush(file->file, H5F_SCOPE_GLOBAL) < 0 ? fail(file->connection, "H5Fflush") : 0;
}

static int check_linked(void *opened) {
    return ioassay_mpi_check_linked(((struct file *)opened)->path);
}

static int close_hdf5(void *opened) {
    struct file *file = opened;
    int code = 0;
    close_all(file);
    if (H5Fclose(file->file) < 0) {
        code = fail(file->connection, "H5Fclose");
    }
    free(file);
    return code;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "hdf5",
    .about = "Parallel HDF5: a dataset of bytes in each file, contiguous or chunked.",
    .capabilities = IOASSAY_FILES | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_NEEDS_MPI |
                    IOASSAY_COLLECTIVE_FILES,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .configure = configure,
    .connect = connect_hdf5,
    .disconnect = disconnect,
    .open = open_hdf5,
    .write_at = write_at,
    .read_at = read_at,
    .sync = sync_hdf5,
    .check_linked = check_linked,
    .close = close_hdf5,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
