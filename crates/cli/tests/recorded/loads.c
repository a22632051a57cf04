/* A program that loads libraries, with constructors and destructors that do I/O. */
#include "recorded.h"

__attribute__((constructor(101))) static void first(void) { use("first", 3, 10); }
__attribute__((destructor(101))) static void last(void) { use("last", 4, 10); }

static void load(const char *library, int flags) {
    for (int round = 0; round < 20; round++) {
        void *loaded = dlopen(library, RTLD_NOW | flags);
        if (loaded == NULL) dprintf(2, "%s\n", dlerror());
        MUST(loaded != NULL);
        int (*does_io)(void) = (int (*)(void))dlsym(loaded, "does_io");
        MUST(does_io() == 7);
        MUST(dlclose(loaded) == 0);
        use("between", 1, 10);
    }
}

static void *allocates(void *unused) {
    for (int round = 0; round < 2000; round++) {
        void *some = malloc(round * 10 + 1);
        MUST(some != NULL);
        if (round % 100 == 0) use("x", 1, 10);
        free(some);
    }
    return NULL;
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    if (IS("load")) load(argv[2], 0);
    if (IS("load alone")) load(argv[2], RTLD_DEEPBIND);
    if (IS("allocate")) {
        pthread_t threads[8];
        for (int index = 0; index < 8; index++) MUST(pthread_create(&threads[index], NULL, allocates, NULL) == 0);
        for (int index = 0; index < 8; index++) MUST(pthread_join(threads[index], NULL) == 0);
        pid_t child = fork();
        if (child == 0) {
            allocates(NULL);
            exit(0);
        }
        ends(child, 0);
        MUST(system("true") == 0);
    }
    if (IS("_exit")) {
        use("x", 2, 10);
        _exit(0);
    }
    return 0;
}
