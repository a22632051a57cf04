/* Maps files in every way, and says in a file what a recorder should have kept of each: path, access, maps, bytes,
   extent, calls of msync and their bytes, and whether one is still mapped. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64, BYTES = PAGE * PAGES };

static FILE *expected;

static void require(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static void expect(const char *path, const char *access, int maps, long bytes, long extent, int syncs, long synced,
                   int left) {
    fprintf(expected, "%s|%s|%d|%ld|%ld|%d|%ld|%d\n", path, access, maps, bytes, extent, syncs, synced, left);
}

static int file_of(const char *path, long bytes) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char page[PAGE] = "x";
    require(file >= 0, path);
    for (long done = 0; done < bytes; done += PAGE)
        require(write(file, page, bytes - done < PAGE ? bytes - done : PAGE) > 0, path);
    return file;
}

static volatile char seen;

static char *map(long bytes, int protection, int flags, int file, long offset) {
    char *address = mmap(NULL, bytes, protection, flags, file, offset);
    require(address != MAP_FAILED, "mmap");
    if (protection & PROT_READ)
        seen = *address;
    return address;
}

int main(void) {
    expected = fopen("expected", "w");
    require(expected != NULL, "expected");

    /* Twice the same, by another descriptor, which is closed before. */
    int file = file_of("read", BYTES);
    char *first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    int second = dup(file);
    close(file);
    char *again = map(BYTES / 2, PROT_READ, MAP_PRIVATE, second, BYTES / 4);
    close(second);
    munmap(first, BYTES);
    munmap(again, BYTES / 2);
    expect("read", "read", 2, BYTES + BYTES / 2, BYTES, 0, 0, 0);

    /* A file that is smaller than the map, and one that ends within a page. */
    file = file_of("small", PAGE + 100);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    munmap(first, BYTES);
    close(file);
    expect("small", "read", 1, PAGE + 100, PAGE + 100, 0, 0, 0);

    /* Written to, and written out in parts, one of which fails. */
    file = file_of("written", BYTES);
    first = map(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    memset(first, 'y', BYTES);
    require(msync(first, PAGE * 2, MS_SYNC) == 0, "msync");
    require(msync(first + PAGE * 8, PAGE, MS_ASYNC) == 0, "msync");
    require(msync(first + 1, PAGE, MS_SYNC) != 0, "msync of no page");
    require(syscall(SYS_msync, first, (size_t)PAGE, MS_SYNC) == 0, "msync by number");
    munmap(first, BYTES);
    close(file);
    expect("written", "write", 1, BYTES, BYTES, 3, PAGE * 4, 0);

    /* Copied on write. */
    file = file_of("copied", BYTES);
    first = map(BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    memset(first, 'z', BYTES);
    munmap(first, BYTES);
    expect("copied", "private write", 1, BYTES, BYTES, 0, 0, 0);

    /* Unmapped in parts: the middle, the beginning, the end. */
    file = file_of("parts", BYTES);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    munmap(first + PAGE * 16, PAGE * 16);
    munmap(first, PAGE * 16);
    munmap(first + PAGE * 32, PAGE * 32);
    expect("parts", "read", 1, BYTES, BYTES, 0, 0, 0);

    /* One part stays. */
    file = file_of("part stays", BYTES);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    munmap(first, PAGE * 16);
    expect("part stays", "read", 1, BYTES, BYTES, 0, 0, 1);

    /* Replaced, by a file and by memory without one. */
    file = file_of("replaced", BYTES);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    file = file_of("replaces", BYTES);
    require(mmap(first, BYTES / 2, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == first, "mmap over a map");
    close(file);
    require(mmap(first, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == first, "mmap of nothing");
    expect("replaced", "read", 1, BYTES, BYTES, 0, 0, 0);
    expect("replaces", "read", 1, BYTES / 2, BYTES / 2, 0, 0, 0);

    /* Grown with its file, moved, made smaller. */
    file = file_of("moved", BYTES);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    require(ftruncate(file, BYTES * 2) == 0, "ftruncate");
    first = mremap(first, BYTES, BYTES * 2, MREMAP_MAYMOVE);
    require(first != MAP_FAILED, "mremap");
    close(file);
    char *place = mmap(NULL, BYTES * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    first = mremap(first, BYTES * 2, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    require(first == place, "mremap to a place");
    munmap(first, BYTES);
    expect("moved", "read", 1, BYTES * 2, BYTES * 2, 0, 0, 0);

    /* What is no map of a file on storage: memory, a map that the kernel refuses. */
    file = memfd_create("memory", 0);
    require(ftruncate(file, BYTES) == 0, "ftruncate");
    map(BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    close(file_of("refused", BYTES));
    file = open("refused", O_RDONLY);
    require(mmap(NULL, BYTES, PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED, "mmap to write what is open to read");
    close(file);

    /* Unmapped by a number, and never unmapped. */
    file = file_of("by number", BYTES);
    first = (char *)syscall(SYS_mmap, NULL, (size_t)BYTES, PROT_READ, MAP_SHARED, file, (off_t)PAGE);
    close(file);
    require(syscall(SYS_munmap, first, (size_t)BYTES) == 0, "munmap by number");
    expect("by number", "read", 1, BYTES - PAGE, BYTES - PAGE, 0, 0, 0);
    file = file_of("stays", BYTES);
    first = map(BYTES, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    expect("stays", "read", 1, BYTES, BYTES, 0, 0, 1);

    fclose(expected);
    return 0;
}
