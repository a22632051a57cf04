/* The files of the recorder are cut while a program uses them, and the program's own use of SIGBUS is as without the recorder. */
#include "recorded.h"
#include <dirent.h>
#include <ucontext.h>

/* Does that to each file of the recorder with that ending. */
static void each(const char *ending, int (*change)(const char *path)) {
    DIR *directory = opendir(getenv("IOASSAY_RECORD"));
    char path[4096];
    MUST(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length < strlen(ending) || strcmp(entry->d_name + length - strlen(ending), ending)) continue;
        snprintf(path, sizeof path, "%s/%s", getenv("IOASSAY_RECORD"), entry->d_name);
        MUST(change(path) == 0);
    }
    closedir(directory);
}

static int to_nothing(const char *path) { return truncate(path, 0); }
static int to_half(const char *path) {
    struct stat about;
    return stat(path, &about) || truncate(path, about.st_size / 2);
}
static int to_zeros(const char *path) {
    struct stat about;
    return stat(path, &about) || truncate(path, 0) || truncate(path, about.st_size);
}
static int to_a_page(const char *path) { return truncate(path, 4096); }
static int replaces(const char *path) { return unlink(path) || close(creat(path, 0600)); }

/* Files of their own, so that the table has something to say of them. */
static void works(const char *name) {
    char path[64];
    for (int number = 0; number < 200; number++) {
        sprintf(path, "%s-%d", name, number);
        int descriptor = file(path);
        writes(descriptor, 3, 100);
        reads(descriptor, 2, 100);
        MUST(lseek(descriptor, 0, SEEK_END) == 300 && close(descriptor) == 0 && unlink(path) == 0);
    }
}

static volatile int go_on;

static void *worker(void *name) {
    works(name);
    while (!go_on) works(name);
    works(name);
    return NULL;
}

static void *blocks_all(void *name) {
    sigset_t all;
    MUST(sigfillset(&all) == 0 && pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    return worker(name);
}

static void in_threads(void *(*run)(void *), int (*change)(const char *path)) {
    pthread_t threads[4];
    char names[4][16];
    for (int number = 0; number < 4; number++) {
        sprintf(names[number], "thread-%d", number);
        MUST(pthread_create(&threads[number], NULL, run, names[number]) == 0);
    }
    works("main");
    each(".table", change);
    go_on = 1;
    for (int number = 0; number < 4; number++) MUST(pthread_join(threads[number], NULL) == 0);
    works("main");
}

/* In a handler during which all signals are blocked. */
static volatile int handled;
static void handler(int signal) {
    (void)signal;
    works("handler");
    handled++;
}

static void in_handler(void) {
    struct sigaction action = {.sa_handler = handler}, current;
    MUST(sigfillset(&action.sa_mask) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(sigaction(SIGUSR1, NULL, &current) == 0 && sigismember(&current.sa_mask, SIGBUS) == 1);
    works("before");
    each(".table", to_nothing);
    MUST(raise(SIGUSR1) == 0 && handled == 1);
}

static sigjmp_buf after;
static void *volatile faulted_at;
static void jumps(int signal, siginfo_t *information, void *context) {
    MUST(signal == SIGBUS && information->si_code == BUS_ADRERR && context);
    faulted_at = information->si_addr;
    siglongjmp(after, 1);
}

/* Memory of a file that has no bytes. */
static char *missing(void) {
    int descriptor = file("empty");
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    MUST(memory != MAP_FAILED && close(descriptor) == 0);
    return memory;
}

static void own_handler(void) {
    struct sigaction action = {.sa_sigaction = jumps, .sa_flags = SA_SIGINFO}, current;
    MUST(sigaction(SIGBUS, NULL, &current) == 0 && current.sa_handler == SIG_DFL && current.sa_flags == 0);
    MUST(sigaddset(&action.sa_mask, SIGUSR1) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
    MUST(sigaction(SIGBUS, NULL, &current) == 0 && current.sa_sigaction == jumps && (current.sa_flags & SA_SIGINFO));
    MUST(sigismember(&current.sa_mask, SIGUSR1) == 1 && sigismember(&current.sa_mask, SIGUSR2) == 0);
    char *memory = missing();
    for (int round = 0; round < 3; round++) {
        faulted_at = NULL;
        if (sigsetjmp(after, 1) == 0) wrong(memory[5] ? "read" : "read nothing", __LINE__);
        MUST(faulted_at == memory + 5);
        works("own");
        if (round == 1) each(".table", to_nothing);
    }
    MUST(signal(SIGBUS, SIG_IGN) == (void (*)(int))(void *)jumps && raise(SIGBUS) == 0);
    MUST(signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

/* Once: the function is forgotten when it is called. */
static void once(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND}, current;
    MUST(sigaction(SIGBUS, &action, NULL) == 0 && raise(SIGBUS) == 0 && handled == 1);
    MUST(sigaction(SIGBUS, NULL, &current) == 0 && current.sa_handler == SIG_DFL);
}

/* One that is sent while it is blocked waits. */
static void blocked(void) {
    sigset_t bus, previous, none;
    siginfo_t information;
    MUST(sigemptyset(&none) == 0 && sigemptyset(&bus) == 0 && sigaddset(&bus, SIGBUS) == 0);
    MUST(signal(SIGBUS, handler) == SIG_DFL && sigprocmask(SIG_BLOCK, &bus, &previous) == 0 && !sigismember(&previous, SIGBUS));
    MUST(sigprocmask(SIG_BLOCK, NULL, &previous) == 0 && sigismember(&previous, SIGBUS) == 1);
    works("before");
    each(".table", to_half);
    works("after");
    MUST(raise(SIGBUS) == 0 && handled == 0 && sigpending(&previous) == 0 && sigismember(&previous, SIGBUS) == 1);
    MUST(sigwaitinfo(&bus, &information) == SIGBUS && information.si_pid == getpid());
    MUST(raise(SIGBUS) == 0 && handled == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0 && handled == 1);
    MUST(sigprocmask(SIG_SETMASK, NULL, &previous) == 0 && sigismember(&previous, SIGBUS) == 0);
    MUST(raise(SIGBUS) == 0 && handled == 2);
}

/* What a program that is started gets of it: what it says is what its parent wants. */
static void inherits(void) {
    sigset_t bus;
    MUST(sigemptyset(&bus) == 0 && sigaddset(&bus, SIGBUS) == 0);
    MUST(signal(SIGBUS, SIG_IGN) == SIG_DFL && sigprocmask(SIG_BLOCK, &bus, NULL) == 0);
    char *words[] = {"cut", "inherited", NULL};
    pid_t child = fork();
    if (child == 0) {
        execv("/proc/self/exe", words);
        wrong("exec", __LINE__);
    }
    ends(child, 5);
    MUST(posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ) == 0);
    ends(child, 5);
    MUST(signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

static void inherited(void) {
    struct sigaction current;
    sigset_t mask;
    MUST(sigaction(SIGBUS, NULL, &current) == 0 && current.sa_handler == SIG_IGN);
    MUST(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigismember(&mask, SIGBUS) == 1);
}

/* Goes on until the test, which sets the rules, stops it. */
static void until_stopped(void) {
    MUST(close(file("ready")) == 0);
    while (access("stop", F_OK) != 0) works("later");
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    works("first");
    if (IS("nothing")) each(".table", to_nothing);
    if (IS("half")) each(".table", to_half);
    if (IS("zeros")) each(".table", to_zeros);
    if (IS("page")) each(".table", to_a_page);
    if (IS("removed")) each(".table", unlink);
    if (IS("replaced")) each(".table", replaces);
    if (IS("rules")) each("rules", to_nothing);
    if (IS("rules restored")) each("rules", to_nothing), until_stopped();
    if (IS("rules restored for another program")) {
        each("rules", to_a_page);
        execl("/proc/self/exe", "cut", "until stopped", (char *)NULL);
    }
    if (IS("until stopped")) until_stopped();
    if (IS("trace")) each(".trace", to_nothing);
    if (IS("finished")) each(".tables", to_nothing);
    if (IS("threads")) in_threads(worker, to_nothing);
    if (IS("threads half")) in_threads(worker, to_half);
    if (IS("threads zeros")) in_threads(worker, to_zeros);
    if (IS("threads blocked")) in_threads(blocks_all, to_nothing);
    if (IS("handler")) in_handler();
    if (IS("own handler")) own_handler();
    if (IS("once")) once();
    if (IS("blocked")) blocked();
    if (IS("inherits")) inherits();
    if (IS("inherited")) inherited();
    if (IS("own fault")) return missing()[0];
    if (IS("sent")) kill(getpid(), SIGBUS);
    if (IS("at the end")) {
        each(".table", to_half);
        exit(5);
    }
    if (IS("forked")) {
        pid_t child = fork();
        if (child == 0) {
            each(".table", to_nothing);
            works("child");
            exit(3);
        }
        ends(child, 3);
    }
    works("last");
    printf("done\n");
    return 5;
}
