/* Reads and writes through a ring of io_uring without liburing, by `syscall`. It says in its arguments how the ring is set up:
 * rings DIRECTORY FLAGS [raw]: with "raw", io_uring_enter is called past the C library.
 *
 * What it moves: 65536 bytes written to "written", 4096 + 3000 + 100 read from it (fixed file, vectors, a short read at the end),
 * 20 times 512 read from "many"; one read of "written" fails (EFAULT), and "written" is synced once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_SQARRAY (1U << 16)

static struct io_uring_params parameters;
static int ring, raw;
static unsigned *head, *tail, *array, *completion_head, *completion_tail;
static struct io_uring_cqe *completions;
static struct io_uring_sqe *requests;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long enter(unsigned submit, unsigned wait) {
    unsigned flags = wait ? IORING_ENTER_GETEVENTS : 0;
#ifdef __x86_64__
    if (raw) {
        long result = SYS_io_uring_enter;
        register long flags_register __asm__("r10") = flags;
        register long signals __asm__("r8") = 0;
        register long bytes __asm__("r9") = 0;
        __asm__ volatile("syscall"
                         : "+a"(result)
                         : "D"((long)ring), "S"((long)submit), "d"((long)wait), "r"(flags_register), "r"(signals), "r"(bytes)
                         : "rcx", "r11", "memory");
        return result;
    }
#endif
    return syscall(SYS_io_uring_enter, ring, submit, wait, flags, NULL, 0);
}

static void set_up(unsigned flags) {
    parameters.flags = flags;
    ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0)
        fail("io_uring_setup");
    size_t entry = flags & IORING_SETUP_CQE32 ? 32 : 16;
    size_t bytes = parameters.cq_off.cqes + parameters.cq_entries * entry;
    size_t of_requests = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    if (bytes < of_requests)
        bytes = of_requests;
    char *rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    requests = mmap(NULL, parameters.sq_entries * (flags & IORING_SETUP_SQE128 ? 128 : 64), PROT_READ | PROT_WRITE,
                    MAP_SHARED, ring, IORING_OFF_SQES);
    if (rings == MAP_FAILED || requests == MAP_FAILED)
        fail("mmap");
    head = (unsigned *)(rings + parameters.sq_off.head);
    tail = (unsigned *)(rings + parameters.sq_off.tail);
    array = flags & NO_SQARRAY ? NULL : (unsigned *)(rings + parameters.sq_off.array);
    completion_head = (unsigned *)(rings + parameters.cq_off.head);
    completion_tail = (unsigned *)(rings + parameters.cq_off.tail);
    completions = (struct io_uring_cqe *)(rings + parameters.cq_off.cqes);
}

static struct io_uring_sqe *request(int operation, int file, const void *address, unsigned length, uint64_t offset) {
    static uint64_t number;
    unsigned place = *tail & (parameters.sq_entries - 1);
    struct io_uring_sqe *made = (struct io_uring_sqe *)((char *)requests + place * (parameters.flags & IORING_SETUP_SQE128 ? 128 : 64));
    memset(made, 0, sizeof *made);
    made->opcode = (uint8_t)operation;
    made->fd = file;
    made->addr = (uint64_t)(uintptr_t)address;
    made->len = length;
    made->off = offset;
    made->user_data = ++number;
    if (array)
        array[place] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    return made;
}

/* Hands over so many requests, waits for all, and gives the result of the last completion. */
static int submit(unsigned count) {
    if (enter(count, count) != (long)count)
        fail("io_uring_enter");
    int result = 0;
    for (; *completion_head != __atomic_load_n(completion_tail, __ATOMIC_ACQUIRE); ++*completion_head) {
        unsigned place = *completion_head & (parameters.cq_entries - 1);
        result = completions[place * (parameters.flags & IORING_SETUP_CQE32 ? 2 : 1)].res;
    }
    return result;
}

int main(int count, char **arguments) {
    static char buffer[65536];
    if (count < 3 || chdir(arguments[1]) != 0)
        return 2;
    raw = count > 3;
    int written = open("written", O_RDWR | O_CREAT | O_TRUNC, 0600), many = open("many", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (written < 0 || many < 0 || ftruncate(many, 20 * 512) != 0)
        fail("open");
    set_up((unsigned)strtoul(arguments[2], NULL, 0));
    request(IORING_OP_WRITE, written, buffer, sizeof buffer, 0);
    if (submit(1) != sizeof buffer)
        fail("write");
    int files[3] = {-1, many, written};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, files, 3) != 0)
        fail("io_uring_register");
    close(many);
    request(IORING_OP_READ, 2, buffer, 4096, 0)->flags = IOSQE_FIXED_FILE;
    struct iovec vectors[2] = {{buffer, 1000}, {buffer + 1000, 2000}};
    request(IORING_OP_READV, written, vectors, 2, 8192)->flags = IOSQE_IO_LINK;
    request(IORING_OP_FSYNC, written, NULL, 0, 0);
    submit(3);
    request(IORING_OP_READ, written, buffer, 8192, sizeof buffer - 100);
    if (submit(1) != 100)
        fail("the end");
    request(IORING_OP_READ, written, (void *)8, 4096, 0);
    if (submit(1) != -EFAULT)
        fail("EFAULT");
    for (int number = 0; number < 20; ++number) {
        request(IORING_OP_READ, 1, buffer, 512, (uint64_t)number * 512)->flags = IOSQE_FIXED_FILE;
        if (number % 4 == 3 && submit(4) != 512)
            fail("many");
    }
    return 0;
}
