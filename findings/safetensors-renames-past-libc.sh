#!/usr/bin/env bash
# safetensors 0.8.0 (PyPI, x86-64 wheel): save_file writes through the C library, but renames the finished file by a
# system call of its own. Its Rust crate tempfile uses rustix, which enters the kernel by inline assembly on Linux.
#
# So what is preloaded to follow an application (I/O profilers, burst-buffer and client libraries such as those that
# redirect a mount point by LD_PRELOAD) sees the temporary file being opened and written, and never the name under
# which it ends: the checkpoint seems to be missing, and a redirected one is renamed in the wrong place.
#
# Seen: the preloaded library counts 1 or more opens of ".tmp…" and 0 renames; strace shows 1 renameat.
# Needs: python3 with venv, gcc, strace.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6

cat > save.py << 'END'
import numpy
from safetensors.numpy import save_file
save_file({"weights": numpy.ones(1000, dtype="f4")}, "model.safetensors")
END

# Counts what goes through the C library: opens for writing, and renames in all their forms.
cat > count.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
static int opened, renamed;
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) { fprintf(file, "opened %d renamed %d\n", opened, renamed); fclose(file); }
}
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
        opened += (flags & O_ACCMODE) != O_RDONLY; \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
OPEN(open) OPEN(open64)
int rename(const char *a, const char *b) {
    renamed++;
    return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(a, b);
}
int renameat(int a, const char *b, int c, const char *d) {
    renamed++;
    return ((int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat"))(a, b, c, d);
}
int renameat2(int a, const char *b, int c, const char *d, unsigned e) {
    renamed++;
    return ((int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2"))(a, b, c, d, e);
}
END
gcc -shared -fPIC -o count.so count.c -ldl

COUNTS=$scratch/counts LD_PRELOAD=$scratch/count.so venv/bin/python -B save.py
counted=$(cat counts)
rm model.safetensors
strace -f -o trace -e trace=rename,renameat,renameat2 venv/bin/python -B save.py
kernel=$(grep -c '^[0-9]* *rename.*model\.safetensors.* = 0$' trace)

echo "through the C library: $counted; seen by the kernel: renamed $kernel"
grep -Eq '^opened [1-9][0-9]* renamed 0$' <<< "$counted"
test "$kernel" = 1
