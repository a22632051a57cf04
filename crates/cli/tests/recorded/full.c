/* More than a table has places for. */
#include "recorded.h"

static void *uses_files(void *number) {
    char name[32];
    for (int index = 0; index < 1500; index++) {
        sprintf(name, "file %d", index);
        int descriptor = open(name, O_RDWR | O_CREAT, 0600);
        MUST(descriptor >= 0);
        writes(descriptor, 2, 10);
        reads(descriptor, 1, 10);
        MUST(close(descriptor) == 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    char name[32];
    MUST(argc > 2);
    int count = atoi(argv[2]);
    if (IS("names")) {
        use("first", 3, 10);
        for (int index = 0; index < count; index++) {
            sprintf(name, "missing %d", index);
            FAILS(open(name, O_RDONLY), ENOENT);
        }
        use("first", 3, 10);
        use("last", 5, 10);
    }
    if (IS("files")) {
        pthread_t threads[64];
        for (int index = 0; index < count; index++)
            MUST(pthread_create(&threads[index], NULL, uses_files, (void *)(intptr_t)index) == 0);
        for (int index = 0; index < count; index++) MUST(pthread_join(threads[index], NULL) == 0);
    }
    if (IS("processes")) {
        /* So many at the same time. */
        int meet[2];
        MUST(pipe(meet) == 0);
        for (int index = 0; index < count; index++) {
            pid_t child = fork();
            MUST(child >= 0);
            if (child == 0) {
                char byte;
                close(meet[1]);
                use("x", 1, 10);
                read(meet[0], &byte, 1);
                use("x", 1, 10);
                exit(0);
            }
        }
        close(meet[1]);
        for (int index = 0; index < count; index++) {
            int status;
            MUST(wait(&status) > 0 && status == 0);
        }
    }
    return 0;
}
