/*
 * pnetcdf: PnetCDF. A file in the format CDF-5 holds one variable of bytes, "data", as long as the plan says; a
 * transfer is a range of it. The file is therefore a little longer than its data, which follows a header.
 */
#include "mpi_files.h"

#include <pnetcdf.h>

static const char VARIABLE[] = "data";

struct connection {
    struct ioassay_mpi mpi;
};

struct file {
    struct connection *connection;
    int file, variable;
    MPI_Offset bytes;
    char path[];
};

static const struct ioassay_option options[] = {
    IOASSAY_COLLECTIVE_OPTION,
    IOASSAY_HINTS_OPTION,
    IOASSAY_SHOW_HINTS_OPTION,
    {NULL, NULL, NULL, 0, 0},
};

static int configure(const struct ioassay_setup *setup, uint64_t *capabilities) {
    if (ioassay_number(setup, "collective")) {
        *capabilities |= IOASSAY_COLLECTIVE_TRANSFERS;
    }
    return 0;
}

static int fail(const struct connection *connection, int error, const char *call) {
    int code = EIO;
    switch (error) {
    case NC_ENOENT: code = ENOENT; break;
    case NC_EEXIST: code = EEXIST; break;
    case NC_EACCESS: code = EACCES; break;
    case NC_ENO_SPACE: code = ENOSPC; break;
    case NC_EQUOTA: code = EDQUOT; break;
    case NC_ENOMEM: code = ENOMEM; break;
    default: break;
    }
    return ioassay_fail(connection->mpi.setup, code, "%s: %s", call, ncmpi_strerror(error));
}

static int connect_pnetcdf(const struct ioassay_setup *setup, void **made) {
    return ioassay_mpi_connect(setup, sizeof(struct connection), made);
}

static int create(struct file *file, uint64_t bytes) {
    int dimension, error = ncmpi_def_dim(file->file, "bytes", (MPI_Offset)bytes, &dimension);
    if (error == NC_NOERR) {
        error = ncmpi_def_var(file->file, VARIABLE, NC_UBYTE, 1, &dimension, &file->variable);
    }
    return error == NC_NOERR ? ncmpi_enddef(file->file) : error;
}

static int find(struct file *file) {
    int dimension, dimensions, error = ncmpi_inq_varid(file->file, VARIABLE, &file->variable);
    if (error == NC_NOERR) {
        error = ncmpi_inq_varndims(file->file, file->variable, &dimensions);
    }
    if (error == NC_NOERR && dimensions != 1) {
        return NC_EINVAL;
    }
    if (error == NC_NOERR) {
        error = ncmpi_inq_vardimid(file->file, file->variable, &dimension);
    }
    return error == NC_NOERR ? ncmpi_inq_dimlen(file->file, dimension, &file->bytes) : error;
}

static int prepare(struct file *file, const struct ioassay_opening *opening, int fresh) {
    struct connection *connection = file->connection;
    MPI_Info effect = MPI_INFO_NULL;
    int error = fresh ? create(file, opening->bytes) : NC_NOERR;
    if (error == NC_NOERR) {
        error = find(file);
    }
    if (error != NC_NOERR) {
        return fail(connection, error, fresh ? "defining the variable" : "inspecting the variable");
    }
    if (opening->access != IOASSAY_READ && (uint64_t)file->bytes < opening->bytes) {
        return ioassay_fail(connection->mpi.setup, EEXIST, "the variable in the file has %lld bytes instead of %llu",
                            (long long)file->bytes, (unsigned long long)opening->bytes);
    }
    if (!connection->mpi.collective) {
        error = ncmpi_begin_indep_data(file->file);
        if (error != NC_NOERR) {
            return fail(connection, error, "ncmpi_begin_indep_data");
        }
    }
    if (!connection->mpi.hints_reported && ncmpi_inq_file_info(file->file, &effect) == NC_NOERR) {
        ioassay_mpi_report_hints(&connection->mpi, effect, "pnetcdf");
        connection->mpi.hints_reported = 1;
        MPI_Info_free(&effect);
    }
    return 0;
}

static int open_pnetcdf(void *made, const char *path, const struct ioassay_opening *opening, void **opened) {
    struct connection *connection = made;
    int code = ioassay_mpi_look(&connection->mpi, path), fresh = code == 0 && opening->access != IOASSAY_READ, error;
    struct file *file;
    if (code < 0) {
        return code;
    }
    file = malloc(sizeof *file + strlen(path) + 1);
    if (file == NULL) {
        return -ENOMEM;
    }
    file->connection = connection;
    file->bytes = 0;
    strcpy(file->path, path);
    error = fresh ? ncmpi_create(connection->mpi.sharers, path, NC_NOCLOBBER | NC_64BIT_DATA, connection->mpi.hints,
                                 &file->file)
                  : ncmpi_open(connection->mpi.sharers, path, opening->access == IOASSAY_READ ? NC_NOWRITE : NC_WRITE,
                               connection->mpi.hints, &file->file);
    if (error != NC_NOERR) {
        free(file);
        return fail(connection, error, fresh ? "ncmpi_create" : "ncmpi_open");
    }
    code = prepare(file, opening, fresh);
    if (code != 0) {
        ncmpi_close(file->file);
        free(file);
        return code;
    }
    *opened = file;
    return 0;
}

static int64_t write_at(void *opened, const void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    MPI_Offset start = (MPI_Offset)offset, count = (MPI_Offset)bytes;
    int error = file->connection->mpi.collective
                    ? ncmpi_put_vara_uchar_all(file->file, file->variable, &start, &count, data)
                    : ncmpi_put_vara_uchar(file->file, file->variable, &start, &count, data);
    return error == NC_NOERR ? (int64_t)bytes : fail(file->connection, error, "ncmpi_put_vara");
}

static int64_t read_at(void *opened, void *data, uint64_t bytes, uint64_t offset) {
    struct file *file = opened;
    MPI_Offset start = (MPI_Offset)offset, count = (MPI_Offset)bytes;
    int error;
    if (start >= file->bytes) {
        return 0;
    }
    if (count > file->bytes - start) {
        count = file->bytes - start;
    }
    error = file->connection->mpi.collective
                ? ncmpi_get_vara_uchar_all(file->file, file->variable, &start, &count, data)
                : ncmpi_get_vara_uchar(file->file, file->variable, &start, &count, data);
    return error == NC_NOERR ? (int64_t)count : fail(file->connection, error, "ncmpi_get_vara");
}

/* Collective, so independent transfers pause for it. */
static int sync_pnetcdf(void *opened) {
    struct file *file = opened;
    int error = NC_NOERR;
    if (!file->connection->mpi.collective) {
        error = ncmpi_end_indep_data(file->file);
    }
    if (error == NC_NOERR) {
        error = ncmpi_sync(file->file);
    }
    if (error == NC_NOERR && !file->connection->mpi.collective) {
        error = ncmpi_begin_indep_data(file->file);
    }
    return error == NC_NOERR ? 0 : fail(file->connection, error, "ncmpi_sync");
}

static int check_linked(void *opened) {
    return ioassay_mpi_check_linked(((struct file *)opened)->path);
}

static int close_pnetcdf(void *opened) {
    struct file *file = opened;
    int error = ncmpi_close(file->file);
    int code = error == NC_NOERR ? 0 : fail(file->connection, error, "ncmpi_close");
    free(file);
    return code;
}

static const struct ioassay_storage api = {
    .abi_version = IOASSAY_STORAGE_ABI,
    .struct_bytes = sizeof(struct ioassay_storage),
    .name = "pnetcdf",
    .about = "PnetCDF: a variable of bytes in each file, in the format CDF-5.",
    .capabilities = IOASSAY_FILES | IOASSAY_SHARED_FILES | IOASSAY_REWRITES | IOASSAY_SYNC | IOASSAY_NEEDS_MPI |
                    IOASSAY_COLLECTIVE_FILES,
    .options = options,
    .option_bytes = sizeof(struct ioassay_option),
    .configure = configure,
    .connect = connect_pnetcdf,
    .disconnect = ioassay_mpi_disconnect,
    .open = open_pnetcdf,
    .write_at = write_at,
    .read_at = read_at,
    .sync = sync_pnetcdf,
    .check_linked = check_linked,
    .close = close_pnetcdf,
};

const struct ioassay_storage *ioassay_storage_api(void) {
    return &api;
}
