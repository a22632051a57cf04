/*
 * What the engine of ioassay asks of an MPI.
 *
 * The engine is not linked against any MPI. It loads a library that implements these functions, compiled on the site by the
 * site's own mpicc (`ioassay mpi build`), so that one engine serves every MPI. Nothing here waits for another process, except
 * begin and end: the waiting process can give up on a process that is gone. How ranks meet, and what they say, is the engine's.
 *
 * All functions are called from one thread, except that other libraries may use MPI from other threads where begin allows it.
 * Functions that return an int return 0 for success and an MPI error code otherwise, which ioassay_mpi_error_text explains.
 */
#ifndef IOASSAY_MPI_H
#define IOASSAY_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. The engine refuses a library that says another one. */
#define IOASSAY_MPI_VERSION 1

/* The version that the library was compiled with. May be called before begin. */
int ioassay_mpi_version(void);

/*
 * Begins: MPI_Init_thread, and a communicator of our own, so that nothing is mixed up with what others send.
 * threads: 1 if other threads of this process will use MPI too (MPI-IO, parallel HDF5), 0 if only this one does.
 * rank, size: this process among those that the launcher has started, as MPI knows them.
 * Fails with a negative number if the MPI cannot serve several threads and was asked to.
 */
int ioassay_mpi_begin(int threads, int *rank, int *size);

/* What the MPI calls itself, ended by a zero, cut off at `length` bytes. May be called before begin. */
int ioassay_mpi_library(char *text, size_t length);

/* What `error` means, ended by a zero, cut off at `length` bytes. */
void ioassay_mpi_error_text(int error, char *text, size_t length);

/*
 * Begins to send `length` bytes to process `to`; they stay where they are until ioassay_mpi_done says that it is done. Messages from
 * one process to another arrive in the order in which they were sent. `*transfer` stands for what is under way.
 */
int ioassay_mpi_send(int to, const void *bytes, size_t length, void **transfer);

/* Sets `*there` to 1 if a message has arrived that was not received yet, and says from whom and how long it is. */
int ioassay_mpi_look(int *there, int *from, size_t *length);

/* Begins to receive the message that ioassay_mpi_look has just reported. */
int ioassay_mpi_receive(int from, void *bytes, size_t length, void **transfer);

/* Sets `*done` to 1 if what is under way is done, and forgets it then. */
int ioassay_mpi_done(void **transfer, int *done);

/*
 * A communicator of all processes in the order of `place`, which each of them gives, as its Fortran handle (MPI_Comm_c2f): what
 * storage APIs on MPI work with. All processes call it, and wait for each other.
 */
int ioassay_mpi_communicator(int place, int32_t *handle);

/* Ends: MPI_Finalize. All processes call it, and wait for each other. */
int ioassay_mpi_end(void);

#ifdef __cplusplus
}
#endif

#endif
