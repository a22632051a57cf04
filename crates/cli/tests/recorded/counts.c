/* Plain calls of known number, size and order. */
#include "recorded.h"

static void order(void) {
    int x = file("x");
    writes(x, 10, 100);
    MUST(lseek(x, 0, SEEK_SET) == 0);
    for (int call = 0; call < 10; call++)
        MUST(read(x, bytes, 100) == 100);
    MUST(read(x, bytes, 100) == 0);
    for (int offset = 900; offset >= 0; offset -= 100)
        MUST(pread(x, bytes, 100, offset) == 100);
    for (int offset = 0; offset < 1000; offset += 200)
        MUST(pread(x, bytes, 100, offset) == 100);
    MUST(pwrite(x, bytes, 4096, 8192) == 4096);
    MUST(close(x) == 0);
}

static void failures(void) {
    int x = open("x", O_WRONLY | O_CREAT, 0600), directory = open(".", O_RDONLY), ends[2];
    MUST(pipe(ends) == 0);
    for (int call = 0; call < 3; call++)
        FAILS(open("missing", O_RDONLY), ENOENT);
    FAILS(read(x, bytes, 10), EBADF);
    FAILS(read(directory, bytes, 10), EISDIR);
    FAILS(pwrite(x, bytes, 10, -7), EINVAL);
    FAILS(write(x, (void *)16, 10), EFAULT);
    FAILS(lseek(ends[0], 0, SEEK_SET), ESPIPE);
    FAILS(open("x/y", O_RDONLY), ENOTDIR);
    FAILS(open(".", O_WRONLY), EISDIR);
    FAILS(read(-1, bytes, 10), EBADF);
    FAILS(read(999, bytes, 10), EBADF);
    FAILS(write(1 << 30, bytes, 10), EBADF);
    FAILS(close(999), EBADF);
    /* Paths that are none. */
    FAILS(open((char *)1, O_RDONLY), EFAULT);
    FAILS(open((char *)-1, O_RDONLY), EFAULT);
    FAILS(open((char *)(1ul << 63), O_RDONLY), EFAULT);
    FAILS(open(NULL, O_RDONLY), EFAULT);
    FAILS(execve((char *)-1, NULL, NULL), EFAULT);
    FAILS(execve("/bin/true", NULL, (char **)-1), EFAULT);
    char *name = malloc(10000);
    memset(name, 'n', 9999);
    name[9999] = 0;
    FAILS(open(name, O_RDONLY), ENAMETOOLONG);
    /* What succeeds leaves errno alone. */
    errno = 77;
    writes(x, 1, 10);
    MUST(close(x) == 0);
    MUST(errno == 77);
}

/* A read of 2.5 s: the writer takes its time. */
static void slow(void) {
    int ends[2];
    MUST(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct timespec pause = {2, 500000000};
        while (nanosleep(&pause, &pause) != 0) {}
        writes(ends[1], 1, 1000);
        _exit(0);
    }
    MUST(read(ends[0], bytes, 1000) == 1000);
    MUST(waitpid(child, NULL, 0) == child);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    if (IS("order")) order();
    if (IS("failures")) failures();
    if (IS("slow")) slow();
    if (IS("hang")) {
        char byte;
        int fifo = open("fifo", O_RDWR);
        MUST(fifo >= 0);
        writes(file("ready"), 1, 1);
        MUST(read(fifo, &byte, 1) == 1);
    }
    return 0;
}
