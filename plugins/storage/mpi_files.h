/*
 * mpi_files.h: what the plug-ins over MPI-IO, HDF5 and PnetCDF have in common: who opens a file together, hints, and
 * what MPI's errors are called. Not for other plug-ins: include it by copying.
 */
#ifndef IOASSAY_MPI_FILES_H
#define IOASSAY_MPI_FILES_H

#include "ioassay_storage.h"

#include <errno.h>
#include <mpi.h>
#include <sys/stat.h>

/* The options that all of them have. */
#define IOASSAY_COLLECTIVE_OPTION                                                                                      \
    {"collective", "no", "Make each transfer of a shared file a collective call of its ranks (IOR's -c).",             \
     IOASSAY_FLAG, 0}
#define IOASSAY_HINTS_OPTION                                                                                           \
    {"hints", NULL, "MPI-IO hints (MPI_Info), such as `{cb_nodes: 4}`. Hints that take no effect are reported.",       \
     IOASSAY_MAP, 0}
#define IOASSAY_SHOW_HINTS_OPTION                                                                                      \
    {"show_hints", "no", "Print the hints in effect on standard error.", IOASSAY_FLAG, 0}

/* A job's way to its files: how the connection of each of these plug-ins begins. */
struct ioassay_mpi {
    const struct ioassay_setup *setup;
    /* Those who open a file together. */
    MPI_Comm sharers;
    int collective;
    MPI_Info hints;
    /* Not 0: hints were compared with those in effect. Once a connection is enough. */
    int hints_reported;
};

/* An errno for an error of MPI, with its text as message. */
static inline int ioassay_mpi_fail(const struct ioassay_setup *setup, int error, const char *call) {
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0, class = MPI_ERR_UNKNOWN, code = EIO;
    MPI_Error_string(error, text, &length);
    MPI_Error_class(error, &class);
    if (class == MPI_ERR_NO_SUCH_FILE) {
        code = ENOENT;
    } else if (class == MPI_ERR_NO_SPACE) {
        code = ENOSPC;
    } else if (class == MPI_ERR_QUOTA) {
        code = EDQUOT;
    } else if (class == MPI_ERR_ACCESS) {
        /* Of an open file it is no lack of permission: the call does not go with the mode in which the file is open. */
        code = strcmp(call, "MPI_File_open") == 0 ? EACCES : EBADF;
    } else if (class == MPI_ERR_READ_ONLY) {
        code = EROFS;
    } else if (class == MPI_ERR_FILE_EXISTS) {
        code = EEXIST;
    } else if (class == MPI_ERR_NO_MEM) {
        code = ENOMEM;
    }
    return ioassay_fail(setup, code, "%s: %s", call, text);
}

/* The communicator of those who share this rank's files. Collective over the job where files are shared. */
static inline int ioassay_mpi_sharers(const struct ioassay_setup *setup, MPI_Comm *sharers) {
    MPI_Comm all = MPI_Comm_f2c((MPI_Fint)setup->mpi_communicator), job;
    MPI_Group everyone, members;
    int range[1][3] = {{(int)setup->first_member, (int)(setup->first_member + setup->members - 1), 1}};
    int error;
    *sharers = MPI_COMM_SELF;
    if (setup->sharers <= 1) {
        return 0;
    }
    MPI_Comm_group(all, &everyone);
    MPI_Group_range_incl(everyone, 1, range, &members);
    /* Ranks that have another job, or none, are not waited for. */
    error = MPI_Comm_create_group(all, members, (int)(setup->first_member % 32768), &job);
    MPI_Group_free(&members);
    MPI_Group_free(&everyone);
    if (error == MPI_SUCCESS) {
        error = MPI_Comm_split(job, (int)setup->file_group, (int)setup->rank, sharers);
        MPI_Comm_free(&job);
    }
    if (error != MPI_SUCCESS) {
        return ioassay_mpi_fail(setup, error, "making a communicator of the job's ranks");
    }
    MPI_Comm_set_errhandler(*sharers, MPI_ERRORS_RETURN);
    return 0;
}

static inline int ioassay_mpi_begin(const struct ioassay_setup *setup, struct ioassay_mpi *mpi) {
    uint32_t i;
    mpi->setup = setup;
    mpi->collective = (int)ioassay_number(setup, "collective");
    mpi->hints = MPI_INFO_NULL;
    for (i = 0; i < setup->values; i++) {
        if (strncmp(setup->value[i].key, "hints.", 6) == 0) {
            const char *key = setup->value[i].key + 6, *value = setup->value[i].value;
            /* What is too long would be an error of MPI's that ends the process. */
            if (strlen(key) > MPI_MAX_INFO_KEY || strlen(value) >= MPI_MAX_INFO_VAL || *value == '\0') {
                return ioassay_fail(setup, EINVAL, "the hint %.80s is empty or longer than this MPI allows", key);
            }
            if (mpi->hints == MPI_INFO_NULL) {
                MPI_Info_create(&mpi->hints);
            }
            MPI_Info_set(mpi->hints, key, value);
        }
    }
    return ioassay_mpi_sharers(setup, &mpi->sharers);
}

/* Makes a connection of that size, zeroed, which begins with a struct ioassay_mpi. */
static inline int ioassay_mpi_connect(const struct ioassay_setup *setup, size_t bytes, void **made) {
    void *connection = calloc(1, bytes);
    int code = connection == NULL ? -ENOMEM : ioassay_mpi_begin(setup, connection);
    if (code != 0) {
        free(connection);
        return code;
    }
    *made = connection;
    return 0;
}

/* Lets go of what ioassay_mpi_connect made. */
static inline void ioassay_mpi_disconnect(void *made) {
    struct ioassay_mpi *mpi = made;
    if (mpi->hints != MPI_INFO_NULL) {
        MPI_Info_free(&mpi->hints);
    }
    if (mpi->sharers != MPI_COMM_SELF) {
        MPI_Comm_free(&mpi->sharers);
    }
    free(made);
}

/* Prints the hints in effect where the options ask for it, and in any case the wanted ones that are not. */
static inline void ioassay_mpi_report_hints(struct ioassay_mpi *mpi, MPI_Info effect, const char *api) {
    const struct ioassay_setup *setup = mpi->setup;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int count, has_key, i;
    uint32_t wanted;
    if (mpi->hints_reported || effect == MPI_INFO_NULL || setup->rank != setup->first_member) {
        return;
    }
    mpi->hints_reported = 1;
    if (ioassay_number(setup, "show_hints")) {
        MPI_Info_get_nkeys(effect, &count);
        for (i = 0; i < count; i++) {
            MPI_Info_get_nthkey(effect, i, key);
            MPI_Info_get(effect, key, MPI_MAX_INFO_VAL, value, &has_key);
            fprintf(stderr, "%s: hint in effect: %s = %s\n", api, key, has_key ? value : "");
        }
    }
    for (wanted = 0; wanted < setup->values; wanted++) {
        if (strncmp(setup->value[wanted].key, "hints.", 6) == 0) {
            MPI_Info_get(effect, setup->value[wanted].key + 6, MPI_MAX_INFO_VAL, value, &has_key);
            if (!has_key || strcmp(value, setup->value[wanted].value) != 0) {
                fprintf(stderr, "%s: hint not taken: %s = %s (in effect: %s)\n", api, setup->value[wanted].key + 6,
                        setup->value[wanted].value, has_key ? value : "none");
            }
        }
    }
}

/* What is at the path, seen by one for all: 1 a file, 0 nothing, or a negative errno. A symbolic link would lead the
 * writes elsewhere, and MPI-IO would follow it. */
static inline int ioassay_mpi_look(const struct ioassay_mpi *mpi, const char *path) {
    int rank, seen = 1;
    struct stat status;
    MPI_Comm_rank(mpi->sharers, &rank);
    if (rank == 0) {
        if (lstat(path, &status) != 0) {
            seen = errno == ENOENT ? 0 : -errno;
        } else if (S_ISLNK(status.st_mode)) {
            seen = -ELOOP;
        }
    }
    if (mpi->sharers != MPI_COMM_SELF) {
        MPI_Bcast(&seen, 1, MPI_INT, 0, mpi->sharers);
    }
    return seen;
}

/* -ENOENT if the name is gone. */
static inline int ioassay_mpi_check_linked(const char *path) {
    struct stat status;
    return lstat(path, &status) != 0 ? -errno : 0;
}

#endif
