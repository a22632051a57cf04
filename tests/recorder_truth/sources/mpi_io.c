/* Writes and reads a file that all ranks share, independently and collectively. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 20000 };

int main(int count, char **arguments)
{
    static char bytes[BYTES];
    int rank, size;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(bytes, 'a' + rank, BYTES);
    if (MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        return 1;
    MPI_File_write_at_all(file, (MPI_Offset)rank * BYTES, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    for (int part = 0; part < 4; part++)
        MPI_File_read_at(file, (MPI_Offset)(size - 1 - rank) * BYTES + part * 1000, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return bytes[0] != 'a' + size - 1 - rank;
}
