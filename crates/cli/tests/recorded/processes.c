/* Processes that fork, are replaced, and end. */
#include "recorded.h"

static char **arguments;

/* Ends as another image of this program. */
static char **self(const char *what) {
    static char *list[3];
    list[0] = arguments[0];
    list[1] = (char *)what;
    return list;
}

static pid_t raw_fork(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

static void forks(pid_t (*make)(void)) {
    int x = file("x");
    writes(x, 3, 10);
    pid_t child = make();
    MUST(child >= 0);
    if (child == 0) {
        writes(x, 5, 20);
        use("of child", 7, 30);
        printf("child %d\n", getpid());
        exit(0);
    }
    ends(child, 0);
    writes(x, 2, 40);
    MUST(lseek(x, 0, SEEK_END) == 3 * 10 + 5 * 20 + 2 * 40);
    printf("parent %d\n", getpid());
}

/* A grandchild, of a child that never did anything itself. */
static void fork_chain(int depth) {
    use("x", 1, 10);
    if (depth == 0) return;
    pid_t child = fork();
    if (child == 0) {
        fork_chain(depth - 1);
        exit(0);
    }
    ends(child, 0);
}

static void vforks(void) {
    int out = file("out");
    pid_t child = vfork();
    if (child == 0) {
        dup2(out, 1);
        close(out);
        execv(arguments[0], self("write to output"));
        _exit(98);
    }
    ends(child, 0);
    /* The parent's descriptors are as they were. */
    writes(out, 4, 10);
    MUST(close(out) == 0);
    child = vfork();
    if (child == 0) _exit(7);
    ends(child, 7);
    child = vfork();
    if (child == 0) {
        execv("/nowhere/to/be/found", self("none"));
        _exit(8);
    }
    ends(child, 8);
    use("after", 6, 10);
}

/* As vfork, but on a stack of its own. */
static int in_clone(void *out) {
    dup2(*(int *)out, 1);
    for (int descriptor = 3; descriptor < 20; descriptor++) close(descriptor);
    execv(arguments[0], self("write to output"));
    _exit(98);
}

static void clones(void) {
    static char stack[1 << 16] __attribute__((aligned(16)));
    int out = file("out"), other = file("other");
    pid_t child = clone(in_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &out);
    MUST(child > 0);
    ends(child, 0);
    writes(other, 3, 10);
    writes(out, 4, 10);
}

static void spawns(char **environment) {
    int out = file("out");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    pid_t child;
    MUST(posix_spawn(&child, arguments[0], &actions, NULL, self("write to output"), environment) == 0);
    ends(child, 0);
    MUST(posix_spawn(&child, "/nowhere", NULL, NULL, self("none"), environment) == ENOENT);
    MUST(posix_spawnp(NULL, "true", NULL, NULL, self("none"), environ) == 0);
    wait(NULL);
    writes(out, 2, 10);
}

/* A failed exec, between writes. */
static void exec_fails(void) {
    int x = file("x"), script = open("script", O_WRONLY | O_CREAT, 0700);
    MUST(write(script, "nothing that runs\n", 18) == 18);
    MUST(close(script) == 0);
    writes(x, 3, 10);
    FAILS(execv("/nowhere", self("none")), ENOENT);
    writes(x, 3, 10);
    FAILS(execv("script", self("none")), ENOEXEC);
    writes(x, 3, 10);
    FAILS(execv(".", self("none")), EACCES);
    char *much[2000];
    for (int index = 0; index < 1999; index++) much[index] = bytes;
    much[1999] = NULL;
    memset(bytes, 'x', 150000);
    FAILS(execve("/bin/true", much, environ), E2BIG);
    writes(x, 3, 10);
}

static void exec_by(const char *name) {
    char *none[] = {NULL}, **list = self("use");
    use("before", 2, 10);
    if (strcmp(name, "execve") == 0) execve(arguments[0], list, environ);
    if (strcmp(name, "execve with nothing") == 0) execve(arguments[0], list, none);
    if (strcmp(name, "execve without") == 0) execve(arguments[0], list, NULL);
    if (strcmp(name, "execv") == 0) execv(arguments[0], list);
    if (strcmp(name, "execvp") == 0) execvp(arguments[0], list);
    if (strcmp(name, "execvpe") == 0) execvpe(arguments[0], list, none);
    if (strcmp(name, "execl") == 0) execl(arguments[0], list[0], "use", NULL);
    if (strcmp(name, "execlp") == 0)
        execlp(arguments[0], list[0], "use", "1", "2", "3", "4", "5", "6", "7", "8", NULL);
    if (strcmp(name, "execle") == 0) execle(arguments[0], list[0], "use", "1", "2", "3", "4", "5", "6", NULL, none);
    if (strcmp(name, "fexecve") == 0) fexecve(open(arguments[0], O_RDONLY), list, none);
    if (strcmp(name, "execveat") == 0) execveat(AT_FDCWD, arguments[0], list, none, 0);
    wrong(name, __LINE__);
}

static void in_chain(char **argv) {
    int left = atoi(argv[2]);
    use("x", 1, 10);
    if (left == 0) return;
    char number[16];
    sprintf(number, "%d", left - 1);
    char *list[] = {argv[0], argv[1], number, NULL}, *none[] = {NULL};
    execve(argv[0], list, none);
    wrong("exec", __LINE__);
}

static void at_exit(void) { use("at exit", 4, 10); }

static void *exits(void *unused) { exit(5); }

/* All that daemons do. */
static void daemon_that_closes(const char *how) {
    int ends[2];
    MUST(pipe(ends) == 0);
    use("before", 2, 10);
    pid_t child = fork();
    if (child != 0) {
        char byte;
        close(ends[1]);
        MUST(read(ends[0], &byte, 1) == 0);
        waitpid(child, NULL, 0);
        /* The daemon has written its file. */
        while (access("daemon", F_OK) != 0) usleep(10000);
        return;
    }
    MUST(setsid() > 0);
    if (fork() != 0) _exit(0);
    char here[4096];
    MUST(getcwd(here, sizeof here) != NULL);
    MUST(chdir("/") == 0);
    umask(0);
    if (strcmp(how, "each") == 0)
        for (int descriptor = 0; descriptor < 1024; descriptor++) close(descriptor);
    if (strcmp(how, "closefrom") == 0) closefrom(0);
    if (strcmp(how, "close_range") == 0) MUST(close_range(0, ~0u, 0) == 0);
    MUST(open("/dev/null", O_RDWR) == 0);
    MUST(dup(0) == 1 && dup(0) == 2);
    MUST(chdir(here) == 0);
    use("by daemon", 9, 10);
    MUST(rename("by daemon", "daemon") == 0);
    exit(0);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    arguments = argv;
    if (IS("fork")) forks(fork);
    if (IS("raw fork")) forks(raw_fork);
    if (IS("fork chain")) fork_chain(20);
    if (IS("vfork")) vforks();
    if (IS("clone")) clones();
    if (IS("spawn")) spawns(environ);
    if (IS("spawn with nothing")) {
        char *none[] = {NULL};
        spawns(none);
    }
    if (IS("exec fails")) exec_fails();
    if (IS("exec fails, then killed")) {
        exec_fails();
        kill(getpid(), SIGKILL);
    }
    if (IS("exec")) exec_by(argv[2]);
    if (IS("exec chain")) in_chain(argv);
    if (IS("use")) use("by the new image", 3, 10);
    if (IS("write to output")) writes(1, 5, 100);
    if (IS("closes")) daemon_that_closes(argv[2]);
    if (IS("_exit")) {
        use("x", 3, 10);
        _exit(3);
    }
    if (IS("_Exit")) {
        use("x", 3, 10);
        _Exit(3);
    }
    if (IS("quick_exit")) {
        MUST(at_quick_exit(at_exit) == 0);
        use("x", 3, 10);
        quick_exit(3);
    }
    if (IS("abort")) {
        use("x", 3, 10);
        abort();
    }
    if (IS("kill")) {
        use("x", 3, 10);
        kill(getpid(), SIGKILL);
    }
    if (IS("exit from a thread")) {
        pthread_t thread;
        use("x", 3, 10);
        MUST(pthread_create(&thread, NULL, exits, NULL) == 0);
        pthread_join(thread, NULL);
    }
    if (IS("atexit")) {
        use("x", 3, 10);
        atexit(at_exit);
        exit(3);
    }
    if (IS("return")) use("x", 3, 10);
    if (IS("wait")) {
        use("x", 3, 10);
        use("ready", 1, 1);
        for (;;) pause();
    }
    if (IS("goes on")) {
        /* Until the test ends it, however long that takes. */
        use("x", 3, 10);
        use("ready", 1, 1);
        while (access("end", F_OK) != 0) usleep(10000);
        use("done", 4, 10);
    }
    if (IS("hears")) {
        int signal;
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        use("ready", 1, 1);
        MUST(sigwait(&all, &signal) == 0);
        printf("heard %d\n", signal);
    }
    if (IS("writes on")) {
        int x = file("x"), count = file("count");
        for (long call = 1;; call++) {
            writes(x, 1, 10);
            MUST(pwrite(count, &call, sizeof call, 0) == sizeof call);
        }
    }
    return IS("return") ? 3 : 0;
}
