/* What the programs share that tests record: each does a known number of calls, and fails loudly where anything is not as
 * it would be without the recorder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Ends the process with what was wrong, past stdio and atexit. */
__attribute__((noreturn, unused)) static void wrong(const char *what, int line) {
    dprintf(2, "line %d: %s: errno %d (%s)\n", line, what, errno, strerror(errno));
    _exit(99);
}
#define MUST(it) ((it) ? (void)0 : wrong(#it, __LINE__))
/* It fails, and with this errno. */
#define FAILS(it, with) (errno = 0, (it) == -1 && errno == (with) ? (void)0 : wrong(#it " fails with " #with, __LINE__))

static char bytes[1 << 20] __attribute__((unused));

__attribute__((unused)) static int file(const char *name) {
    int descriptor = open(name, O_RDWR | O_CREAT, 0600);
    MUST(descriptor >= 0);
    return descriptor;
}

/* `calls` writes of `size` bytes. */
__attribute__((unused)) static void writes(int descriptor, int calls, size_t size) {
    for (int call = 0; call < calls; call++)
        MUST(write(descriptor, bytes, size) == (ssize_t)size);
}

/* `calls` reads of the same bytes. */
__attribute__((unused)) static void reads(int descriptor, int calls, size_t size) {
    for (int call = 0; call < calls; call++)
        MUST(pread(descriptor, bytes, size, 0) == (ssize_t)size);
}

/* A file that is opened, written to so often, and closed. */
__attribute__((unused)) static void use(const char *name, int calls, size_t size) {
    int descriptor = file(name);
    writes(descriptor, calls, size);
    MUST(close(descriptor) == 0);
}

/* Waits for a child, which must end with `code`. */
__attribute__((unused)) static void ends(pid_t child, int code) {
    int status;
    MUST(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code) {
        dprintf(2, "child %d ended with status %#x\n", child, status);
        wrong("a child ends as it should", __LINE__);
    }
}

#define IS(name) (strcmp(argv[1], name) == 0)
