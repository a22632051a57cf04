/* Random calls by several threads and processes, with a tally of its own in memory that all share. */
#include "recorded.h"

enum { FILES = 40, THREADS = 6 };

struct tally {
    unsigned long read_calls, read_bytes, write_calls, write_bytes, opens, closes, failed, handled, forks;
};
static struct tally *all;
static int stop_ms;
static struct timespec begun;

#define ADD(what, more) __atomic_fetch_add(&all->what, more, __ATOMIC_RELAXED)

static int over(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 > stop_ms;
}

static void one_call(unsigned *seed, int *open_files, int *count, char *buffer) {
    char name[32];
    int choice = rand_r(seed) % 100, size = rand_r(seed) % 9000;
    sprintf(name, "fuzz %d", rand_r(seed) % FILES);
    if (choice < 20 && *count < 20) {
        int descriptor = open(name, O_RDWR | O_CREAT, 0600);
        MUST(descriptor >= 0);
        ADD(opens, 1);
        open_files[(*count)++] = descriptor;
    } else if (choice < 25) {
        sprintf(name, "missing %d", rand_r(seed) % 500);
        FAILS(open(name, O_RDONLY), ENOENT);
        ADD(opens, 1), ADD(failed, 1);
    } else if (*count == 0) {
        return;
    } else if (choice < 40) {
        int which = rand_r(seed) % *count;
        MUST(close(open_files[which]) == 0);
        ADD(closes, 1);
        open_files[which] = open_files[--*count];
    } else if (choice < 45) {
        int which = rand_r(seed) % *count, copy = dup(open_files[which]);
        MUST(copy >= 0);
        MUST(write(copy, buffer, size) == size);
        ADD(write_calls, 1), ADD(write_bytes, size);
        MUST(close(copy) == 0);
        ADD(closes, 1);
    } else {
        int descriptor = open_files[rand_r(seed) % *count], offset = rand_r(seed) % 100000;
        ssize_t moved = 0;
        switch (choice % 4) {
        case 0: moved = read(descriptor, buffer, size); break;
        case 1: moved = pread(descriptor, buffer, size, offset); break;
        case 2: moved = write(descriptor, buffer, size); break;
        case 3: moved = pwrite(descriptor, buffer, size, offset); break;
        }
        MUST(moved >= 0);
        if (choice % 4 < 2)
            ADD(read_calls, 1), ADD(read_bytes, moved);
        else
            ADD(write_calls, 1), ADD(write_bytes, moved);
    }
}

static void calls(unsigned *seed, int most) {
    int open_files[20], count = 0;
    char *buffer = malloc(9000);
    MUST(buffer != NULL);
    for (int call = 0; call < most && !over(); call++) one_call(seed, open_files, &count, buffer);
    while (count > 0) {
        MUST(close(open_files[--count]) == 0);
        ADD(closes, 1);
    }
    free(buffer);
}

static void *runs(void *number) {
    unsigned seed = (unsigned)(intptr_t)number;
    while (!over()) {
        calls(&seed, 200 + rand_r(&seed) % 2000);
        if (rand_r(&seed) % 2) {
            ADD(forks, 1);
            pid_t child = fork();
            if (child == 0) {
                calls(&seed, rand_r(&seed) % 500);
                if (rand_r(&seed) % 2) _exit(0);
                /* Other threads of the parent may have held locks of stdio. */
                syscall(SYS_exit_group, 0);
            }
            MUST(child > 0);
            ends(child, 0);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    MUST(argc > 2);
    unsigned seed = atoi(argv[1]);
    stop_ms = atoi(argv[2]);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(all != MAP_FAILED);
    for (int index = 0; index < THREADS; index++)
        MUST(pthread_create(&threads[index], NULL, runs, (void *)(intptr_t)(seed * 100 + index)) == 0);
    for (int index = 0; index < THREADS; index++) MUST(pthread_join(threads[index], NULL) == 0);
    printf("read_calls %lu\nread_bytes %lu\nwrite_calls %lu\nwrite_bytes %lu\nopens %lu\ncloses %lu\nfailed %lu\n"
           "forks %lu\n",
           all->read_calls, all->read_bytes, all->write_calls, all->write_bytes, all->opens, all->closes, all->failed,
           all->forks);
    return 0;
}
