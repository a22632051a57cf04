/* Threads that begin and end in every way. */
#include "recorded.h"

static int x, ends_of_pipe[2];

static pthread_t begin(void *(*run)(void *), void *with, size_t stack) {
    pthread_t thread;
    pthread_attr_t attributes;
    MUST(pthread_attr_init(&attributes) == 0);
    if (stack > 0) MUST(pthread_attr_setstacksize(&attributes, stack) == 0);
    MUST((errno = pthread_create(&thread, &attributes, run, with)) == 0);
    return thread;
}

static void *returns(void *unused) {
    writes(x, 3, 10);
    return unused;
}

static void *exits(void *unused) {
    writes(x, 4, 10);
    pthread_exit(unused);
}

static void cleans(void *unused) { use("cleanup", 2, 10); }

static void *is_cancelled(void *unused) {
    char byte;
    writes(x, 5, 10);
    pthread_cleanup_push(cleans, NULL);
    read(ends_of_pipe[0], &byte, 1);
    pthread_cleanup_pop(0);
    wrong("it is cancelled in read", __LINE__);
}

static pthread_key_t key;
static void destroys(void *unused) { use("destructor", 6, 10); }

static void *has_data(void *unused) {
    writes(x, 1, 10);
    MUST(pthread_setspecific(key, &key) == 0);
    return unused;
}

static void in_every_way(void) {
    void *result;
    MUST(pipe(ends_of_pipe) == 0);
    MUST(pthread_key_create(&key, destroys) == 0);
    pthread_t cancelled = begin(is_cancelled, NULL, 0), others[] = {
        begin(returns, &x, 0), begin(exits, &x, 0), begin(has_data, &x, 0)};
    for (int index = 0; index < 3; index++) MUST(pthread_join(others[index], &result) == 0 && result == &x);
    usleep(50000);
    MUST(pthread_cancel(cancelled) == 0);
    MUST(pthread_join(cancelled, &result) == 0 && result == PTHREAD_CANCELED);
}

static void many(int rounds) {
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[8];
        for (int index = 0; index < 8; index++) threads[index] = begin(returns, NULL, 1 << 16);
        for (int index = 0; index < 8; index++) MUST(pthread_join(threads[index], NULL) == 0);
    }
}

static pthread_barrier_t barrier;

static void *meets(void *unused) {
    writes(x, 2, 10);
    pthread_barrier_wait(&barrier);
    writes(x, 3, 10);
    return unused;
}

static void crowd(int count) {
    pthread_t *threads = calloc(count, sizeof *threads);
    MUST(pthread_barrier_init(&barrier, NULL, count) == 0);
    for (int index = 0; index < count; index++) threads[index] = begin(meets, NULL, 1 << 16);
    for (int index = 0; index < count; index++) MUST(pthread_join(threads[index], NULL) == 0);
}

/* All that needs most stack. */
static void *on_small_stack(void *program) {
    char name[16], *none[] = {NULL}, *list[] = {program, "nothing", NULL};
    use("small", 3, 10);
    for (int index = 0; index < 300; index++) {
        sprintf(name, "missing %d", index);
        FAILS(open(name, O_RDONLY), ENOENT);
    }
    FAILS(execve("/nowhere", list, none), ENOENT);
    pid_t child = fork();
    if (child == 0) {
        use("small", 2, 10);
        execve(program, list, none);
        _exit(9);
    }
    ends(child, 0);
    MUST(posix_spawn(&child, program, NULL, NULL, list, none) == 0);
    ends(child, 0);
    return NULL;
}

static void *meets_files(void *number) {
    char name[32];
    sprintf(name, "file %d", (int)(intptr_t)number);
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 100; round++) {
        use(name, 1, 10);
        reads(100 + (int)(intptr_t)number, 1, 10);
        use("shared", 1, 10);
    }
    return NULL;
}

/* Threads that begin at once, with descriptors that nobody has seen opened. */
static void files_at_once(int count) {
    pthread_t threads[64];
    MUST(pthread_barrier_init(&barrier, NULL, count) == 0);
    for (int index = 0; index < count; index++) threads[index] = begin(meets_files, (void *)(intptr_t)index, 1 << 16);
    for (int index = 0; index < count; index++) MUST(pthread_join(threads[index], NULL) == 0);
}

static void in_forked_child(void) {
    char name[32];
    many(20);
    for (int index = 0; index < 400; index++) {
        sprintf(name, "of parent %d", index);
        use(name, 1, 10);
    }
    for (int index = 0; index < 32; index++) {
        sprintf(name, "inherited %d", index);
        int descriptor = file(name);
        writes(descriptor, 1, 10);
        MUST(dup2(descriptor, 100 + index) == 100 + index);
        close(descriptor);
    }
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            files_at_once(32);
            exit(0);
        }
        ends(child, 0);
    }
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    if (IS("nothing")) return 0;
    x = file("x");
    if (IS("in every way")) in_every_way();
    if (IS("many")) many(250);
    if (IS("crowd")) crowd(1100);
    if (IS("small stack")) pthread_join(begin(on_small_stack, argv[0], 16384), NULL);
    if (IS("in a forked child")) in_forked_child();
    return 0;
}
