/* Signal handlers that do I/O, fork, and jump. */
#include "recorded.h"
#include <sys/auxv.h>

static int x, log_file;
static volatile sig_atomic_t handled, jumps, forked;
static sigjmp_buf back;

static void every_ms(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void no_more(void) {
    struct itimerval timer = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* For a handler that may take longer than a millisecond: with `every_ms` nothing else would ever be done. */
static void in_a_ms(void) {
    struct itimerval timer = {{0, 0}, {0, 1000}};
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void logs(int signal) {
    int before = errno;
    MUST(write(log_file, "x", 1) == 1);
    handled++;
    errno = before;
}

static void storm(int flags) {
    long calls = 0;
    errno = 77;
    every_ms(logs, SA_RESTART | flags);
    while (handled < 300) {
        reads(x, 100, 10);
        calls += 100;
        MUST(errno == 77);
    }
    no_more();
    printf("handled %d\ncalls %ld\n", handled, calls);
}

static void jump(int signal) {
    jumps++;
    siglongjmp(back, 1);
}

/* A handler that leaves a read that blocks, and one that leaves whatever it interrupts. */
static void longjumps(void) {
    int pipe_ends[2];
    char byte;
    MUST(pipe(pipe_ends) == 0);
    every_ms(jump, 0);
    if (sigsetjmp(back, 1) < 1) {
        read(pipe_ends[0], &byte, 1);
        wrong("nothing comes from the pipe", __LINE__);
    }
    while (jumps < 500) {
        sigsetjmp(back, 1);
        while (jumps < 500) {
            reads(x, 1, 10);
            use("opened", 1, 10);
        }
    }
    no_more();
    use("after", 100, 10);
    printf("jumps %d\n", jumps);
}

static void forks(int signal) {
    int before = errno;
    /* The timer is the parent's alone. */
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        forked = 1;
        use("in handler", 1, 10);
    } else {
        ends(child, 0);
        handled++;
        in_a_ms();
    }
    errno = before;
}

static void fork_storm(void) {
    long calls = 0;
    char name[32];
    struct sigaction action = {.sa_handler = forks, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    in_a_ms();
    while (handled < 150) {
        int number = calls++;
        sprintf(name, "name %d", number);
        int descriptor = open(name, O_RDONLY);
        if (!forked) reads(x, 10, 10);
        if (forked) {
            use("after handler", 2, 10);
            exit(0);
        }
        MUST(descriptor == -1 && errno == ENOENT);
    }
    no_more();
    printf("handled %d\ncalls %ld\n", handled, calls);
}

static void opens(int signal) {
    int descriptor = open("in handler", O_RDONLY);
    MUST(descriptor >= 0 && read(descriptor, bytes, 10) == 10 && close(descriptor) == 0);
    handled++;
}

/* A handler with hardly any stack, and what is not to be touched beneath it. */
static void small_stack(size_t room) {
    size_t page = 4096, size = (getauxval(AT_MINSIGSTKSZ) + room + 15) / 16 * 16;
    size_t whole = (size + page - 1) / page * page;
    char *memory = mmap(NULL, page + whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = memory + page, .ss_size = size};
    MUST(sigaltstack(&stack, NULL) == 0);
    memset(stack.ss_sp, 0x5a, size);
    struct sigaction action = {.sa_handler = opens, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    use("in handler", 1, 10);
    for (int call = 0; call < 3; call++) MUST(raise(SIGUSR1) == 0);
    MUST(handled == 3);
    size_t untouched = 0;
    while (untouched < size && ((char *)stack.ss_sp)[untouched] == 0x5a) untouched++;
    printf("used %ld\n", (long)(size - untouched));
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    x = file("x");
    writes(x, 1, 10);
    log_file = file("log");
    if (IS("storm")) storm(0);
    if (IS("storm on a stack of its own")) {
        stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
        MUST(sigaltstack(&stack, NULL) == 0);
        storm(SA_ONSTACK);
    }
    if (IS("longjmp")) longjumps();
    if (IS("fork")) fork_storm();
    if (IS("small stack")) small_stack(atoi(argv[2]));
    return 0;
}
