/* The functions of ioassay_mpi.h over any MPI 3. What they do stands there. */
#include "ioassay_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define TAG 1

static MPI_Comm ours = MPI_COMM_NULL;
static MPI_Comm ordered = MPI_COMM_NULL;

int ioassay_mpi_version(void) { return IOASSAY_MPI_VERSION; }

static void copy_text(char *to, size_t length, const char *from) {
    if (length > 0) {
        strncpy(to, from, length - 1);
        to[length - 1] = '\0';
    }
}

int ioassay_mpi_library(char *text, size_t length) {
    char whole[MPI_MAX_LIBRARY_VERSION_STRING];
    int used = 0;
    int error = MPI_Get_library_version(whole, &used);
    copy_text(text, length, error == MPI_SUCCESS ? whole : "");
    return error;
}

void ioassay_mpi_error_text(int error, char *text, size_t length) {
    char whole[MPI_MAX_ERROR_STRING];
    int used = 0;
    if (error < 0) {
        copy_text(text, length, "this MPI does not serve several threads (MPI_THREAD_MULTIPLE)");
    } else if (MPI_Error_string(error, whole, &used) == MPI_SUCCESS) {
        copy_text(text, length, whole);
    } else {
        copy_text(text, length, "unknown error");
    }
}

/* Open MPI 5 over TCP ends a process whose peer is gone, whatever its communicators say, and its launcher then names the
   node of that process. Where it waits first, the launcher notices the loss itself and names the node that was lost. */
static void let_launcher_notice_first(void) { setenv("OMPI_MCA_mpi_abort_delay", "2", 0); }

int ioassay_mpi_begin(int threads, int *rank, int *size) {
    let_launcher_notice_first();
    int wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int got = MPI_THREAD_SINGLE;
    int error = MPI_Init_thread(NULL, NULL, wanted, &got);
    if (error != MPI_SUCCESS) return error;
    if (got < wanted) return -1;
    /* An error of a broken communicator is returned, and does not end the process. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((error = MPI_Comm_dup(MPI_COMM_WORLD, &ours)) != MPI_SUCCESS) return error;
    MPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
    if ((error = MPI_Comm_rank(ours, rank)) != MPI_SUCCESS) return error;
    return MPI_Comm_size(ours, size);
}

int ioassay_mpi_send(int to, const void *bytes, size_t length, void **transfer) {
    if (length > INT_MAX) return MPI_ERR_COUNT;
    MPI_Request *request = malloc(sizeof *request);
    if (!request) return MPI_ERR_NO_MEM;
    int error = MPI_Isend(bytes, (int)length, MPI_BYTE, to, TAG, ours, request);
    if (error != MPI_SUCCESS) {
        free(request);
        return error;
    }
    *transfer = request;
    return MPI_SUCCESS;
}

int ioassay_mpi_look(int *there, int *from, size_t *length) {
    MPI_Status status;
    int count = 0;
    int error = MPI_Iprobe(MPI_ANY_SOURCE, TAG, ours, there, &status);
    if (error != MPI_SUCCESS || !*there) return error;
    *from = status.MPI_SOURCE;
    error = MPI_Get_count(&status, MPI_BYTE, &count);
    *length = (size_t)count;
    return error;
}

int ioassay_mpi_receive(int from, void *bytes, size_t length, void **transfer) {
    MPI_Request *request = malloc(sizeof *request);
    if (!request) return MPI_ERR_NO_MEM;
    int error = MPI_Irecv(bytes, (int)length, MPI_BYTE, from, TAG, ours, request);
    if (error != MPI_SUCCESS) {
        free(request);
        return error;
    }
    *transfer = request;
    return MPI_SUCCESS;
}

int ioassay_mpi_done(void **transfer, int *done) {
    MPI_Request *request = *transfer;
    int error = MPI_Test(request, done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || *done) {
        free(request);
        *transfer = NULL;
    }
    return error;
}

int ioassay_mpi_communicator(int place, int32_t *handle) {
    int error = MPI_Comm_split(MPI_COMM_WORLD, 0, place, &ordered);
    if (error == MPI_SUCCESS) *handle = (int32_t)MPI_Comm_c2f(ordered);
    return error;
}

int ioassay_mpi_end(void) {
    if (ordered != MPI_COMM_NULL) MPI_Comm_free(&ordered);
    MPI_Comm_free(&ours);
    return MPI_Finalize();
}
