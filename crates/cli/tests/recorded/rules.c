/* Calls that rules match. Each waits for the file "go", which the agent makes when its rules are there. */
#include "recorded.h"
#include <glob.h>
#include <sys/un.h>
#include <wordexp.h>

static void wait_for(const char *name) {
    while (access(name, F_OK) != 0) usleep(1000);
}

/* In and beside a directory: sizes, seeks, failures, calls that move nothing. */
static void match(void) {
    struct stat about;
    MUST(mkdir("data", 0700) == 0 && mkdir("database", 0700) == 0);
    int descriptor = file("data/a");
    writes(descriptor, 10, 100);
    writes(descriptor, 5, 5000);
    MUST(pread(descriptor, bytes, 1000, 0) == 1000);
    MUST(pread(descriptor, bytes, 1000, 3000) == 1000);
    MUST(pread(descriptor, bytes, 1000, 500) == 1000);
    FAILS(pread(descriptor, bytes, 10, -1), EINVAL);
    MUST(close(descriptor) == 0);
    use("database/b", 7, 100);
    FAILS(stat("data/missing", &about), ENOENT);
}

static void *worker(void *name) {
    use(name, 100, 10);
    return NULL;
}

/* Two threads, and a forked child: each counts for itself. */
static void several(void) {
    pthread_t threads[2];
    char *names[] = {"data/first", "data/second"};
    MUST(mkdir("data", 0700) == 0);
    for (int number = 0; number < 2; number++)
        MUST(pthread_create(&threads[number], NULL, worker, names[number]) == 0);
    for (int number = 0; number < 2; number++) MUST(pthread_join(threads[number], NULL) == 0);
    pid_t child = fork();
    if (child == 0) {
        use("data/child", 50, 10);
        exit(0);
    }
    ends(child, 0);
}

/* The same calls under one set of rules and under another. */
static void change(void) {
    int descriptor = file("x");
    writes(descriptor, 10, 10);
    MUST(creat("done", 0600) >= 0);
    wait_for("go on");
    writes(descriptor, 20, 10);
}

/* A connection, and patterns. */
static void classes(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int listening = socket(AF_UNIX, SOCK_STREAM, 0), connected = socket(AF_UNIX, SOCK_STREAM, 0);
    FAILS(connect(connected, (struct sockaddr *)&address, sizeof address), ENOENT);
    MUST(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 1) == 0);
    MUST(connect(connected, (struct sockaddr *)&address, sizeof address) == 0);
    int accepted = accept(listening, NULL, NULL);
    MUST(accepted >= 0 && write(connected, "x", 1) == 1 && read(accepted, bytes, 1) == 1);
    glob_t matches;
    MUST(glob("sock*", 0, NULL, &matches) == 0 && matches.gl_pathc == 1);
    globfree(&matches);
    wordexp_t words;
    MUST(wordexp("go* sock*", &words, 0) == 0 && words.we_wordc == 2);
    wordfree(&words);
    MUST(wordexp("plain", &words, 0) == 0 && words.we_wordc == 1);
    wordfree(&words);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    wait_for("go");
    if (IS("match")) match();
    if (IS("several")) several();
    if (IS("change")) change();
    if (IS("classes")) classes();
    return 0;
}
