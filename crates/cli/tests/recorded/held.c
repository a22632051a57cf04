/* Calls that rules hold back. Each waits for the file "go", which the agent makes when its rules are there. What is written to
 * "held" has a rate of a byte per second: the first write goes at once, and what comes after it waits for ten minutes, or until
 * the test lets it go. */
#include "recorded.h"
#include <aio.h>
#include <poll.h>
#include <sys/uio.h>

static int held;
static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void wait_for(const char *name) {
    while (access(name, F_OK) != 0) usleep(1000);
}

/* From now on a write waits. */
static void owe(void) { writes(held, 1, 1000); }

static double now(void) {
    struct timespec time;
    MUST(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Writes, and how long they took together. */
static void paced(void) {
    int x = file("x");
    double begin = now();
    writes(x, 6, 100000);
    printf("ms %d\n", (int)((now() - begin) * 1e3));
}

/* One that is let go while it waits. */
static void single(void) {
    owe();
    writes(held, 1, 10);
}

/* Vectors and formatted texts are charged when it is known how long they were. */
static void unknown_sizes(void) {
    struct iovec vector = {bytes, 1000};
    MUST(writev(held, &vector, 1) == 1000);
    MUST(dprintf(held, "%s", "text") == 4);
}

static void handler(int signal) {
    writes(held, 1, 10);
    handled++;
}

static void jumping_handler(int signal) {
    writes(held, 1, 10);
    handled++;
    siglongjmp(back, 1);
}

static void on(int signal, void (*function)(int), int flags) {
    struct sigaction action = {.sa_handler = function, .sa_flags = flags};
    MUST(sigaction(signal, &action, NULL) == 0);
}

static void block(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    MUST(sigprocmask(how, &set, NULL) == 0);
}

static void blocking_handler(int signal) {
    sigset_t all, before;
    sigfillset(&all);
    MUST(sigprocmask(SIG_BLOCK, &all, &before) == 0);
    writes(held, 1, 10);
    MUST(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    writes(held, 1, 10);
    handled++;
}

/* Handlers of all kinds, none of which may wait; then the program itself does. */
static void handlers(void) {
    sigset_t none;
    sigemptyset(&none);
    owe();
    on(SIGUSR1, handler, 0);
    MUST(raise(SIGUSR1) == 0 && handled == 1);
    /* One that blocks signals itself, twice: what it did is forgotten when it ends. */
    on(SIGUSR2, blocking_handler, 0);
    MUST(raise(SIGUSR2) == 0 && raise(SIGUSR2) == 0 && handled == 3);
    /* Its signal is one that the program has blocked, but not while it waits. */
    block(SIG_BLOCK, SIGUSR1);
    MUST(raise(SIGUSR1) == 0 && handled == 3);
    FAILS(sigsuspend(&none), EINTR);
    MUST(handled == 4 && raise(SIGUSR1) == 0);
    FAILS(ppoll(NULL, 0, NULL, &none), EINTR);
    MUST(handled == 5 && raise(SIGUSR1) == 0);
    FAILS(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
    MUST(handled == 6 && raise(SIGUSR1) == 0);
    /* The same by a system call. */
    FAILS(syscall(SYS_rt_sigsuspend, &none, 8), EINTR);
    MUST(handled == 7);
    /* A jump unblocks it, past all functions that block. */
    block(SIG_UNBLOCK, SIGUSR1);
    if (sigsetjmp(back, 1) == 0) {
        block(SIG_BLOCK, SIGUSR1);
        siglongjmp(back, 1);
    }
    MUST(raise(SIGUSR1) == 0 && handled == 8);
    on(SIGUSR2, jumping_handler, 0);
    if (sigsetjmp(back, 1) == 0) raise(SIGUSR2);
    MUST(handled == 9);
    /* On a stack of its own, and its signal may come again. */
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    MUST(sigaltstack(&stack, NULL) == 0);
    on(SIGUSR1, handler, SA_ONSTACK | SA_NODEFER);
    MUST(raise(SIGUSR1) == 0 && handled == 10);
    /* Not a handler any more, and the program has blocked something itself. */
    block(SIG_BLOCK, SIGTERM);
    MUST(creat("handled", 0600) >= 0);
    writes(held, 1, 10);
}

static void *worker(void *argument) {
    writes(held, 1, 10);
    return NULL;
}

/* Signals that a thread has blocked from its beginning, and for which there is a handler. */
static void inherited(void) {
    pthread_t thread;
    owe();
    on(SIGUSR1, handler, 0);
    block(SIG_BLOCK, SIGUSR1);
    MUST(pthread_create(&thread, NULL, worker, NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

static void at_end(void) { writes(held, 3, 10); }

/* A child of vfork, and the end of the process. */
static void endings(void) {
    owe();
    pid_t child = vfork();
    if (child == 0) {
        write(held, "x", 1);
        _exit(7);
    }
    ends(child, 7);
    MUST(atexit(at_end) == 0);
    exit(0);
}

/* What moves bytes without a call: counted, not held back. */
static void submitted(void) {
    MUST(ftruncate(held, 1 << 16) == 0);
    for (int time = 0; time < 3; time++) {
        MUST(mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, held, 0) != MAP_FAILED);
        struct aiocb request = {.aio_fildes = held, .aio_buf = bytes, .aio_nbytes = 1000};
        const struct aiocb *list = &request;
        MUST(aio_write(&request) == 0);
        while (aio_error(&request) == EINPROGRESS) aio_suspend(&list, 1, NULL);
    }
}

/* Asks for a megabyte, and gets ten bytes. */
static void short_reads(void) {
    int x = file("x");
    writes(x, 1, 10);
    for (int call = 0; call < 20; call++) MUST(pread(x, bytes, 1 << 20, 0) == 10);
    for (int call = 0; call < 20; call++) FAILS(pread(x, bytes, 1 << 20, -1), EINVAL);
}

/* Opens, at a rate of calls. */
static void opens(void) {
    double begin = now();
    for (int call = 0; call < 6; call++) MUST(close(file("x")) == 0);
    printf("ms %d\n", (int)((now() - begin) * 1e3));
}

/* A signal while the call waits. */
static void interrupted(void) {
    owe();
    on(SIGALRM, handler, 0);
    struct itimerval timer = {{0, 0}, {0, 50000}};
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    writes(held, 1, 10);
    MUST(handled == 1);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    held = file("held");
    wait_for("go");
    if (IS("paced")) paced();
    if (IS("one")) single();
    if (IS("unknown sizes")) unknown_sizes();
    if (IS("handlers")) handlers();
    if (IS("inherited")) inherited();
    if (IS("endings")) endings();
    if (IS("submitted")) submitted();
    if (IS("short reads")) short_reads();
    if (IS("opens")) opens();
    if (IS("interrupted")) interrupted();
    return 0;
}
