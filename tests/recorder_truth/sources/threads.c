/* Threads that use many names for the first time, at once: the recorder's table grows under them. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 8, NAMES = 60 };

static void *names(void *first)
{
    static char bytes[1000];
    char name[64];
    struct stat about;
    for (int index = 0; index < NAMES; index++) {
        snprintf(name, sizeof name, "a name that is not short at all %ld", (long)first + index);
        int file = open(name, O_CREAT | O_RDWR, 0600);
        if (write(file, bytes, sizeof bytes) != sizeof bytes)
            _exit(1);
        close(file);
        stat(name, &about);
        unlink(name);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    if (chdir("."))
        return 1;
    for (long index = 0; index < THREADS; index++)
        pthread_create(&threads[index], NULL, names, (void *)(index * NAMES / 2));
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    return 0;
}
