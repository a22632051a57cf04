/* Reads and writes through a ring of io_uring without liburing, by `syscall`.
 *
 * rings DIRECTORY FLAGS [HOW]: FLAGS are those of `io_uring_setup`. Exits with 77, and says why, where the kernel lacks something.
 *
 * Without HOW, with "raw" (io_uring_enter is called past the C library), "thread" (another thread, which has ended, made the ring),
 * "resize" (the ring gets other sizes while it has registered files) or "clone" (fixed buffers are those of another ring) it moves:
 * 65536 bytes written to "written", 4096 + 3000 + 100 read from it (fixed file, vectors, a short read at the end), 20 times 512
 * read from "many"; one read of "written" fails (EFAULT), and "written" is synced once.
 *
 * "multishot" reads 5 times 1000 bytes from "pipe" with one request, into buffers of a ring that the kernel chooses from.
 * "links" writes "written" (4096 bytes), syncs it, and reads 4096 in a chain; in a second one a read fails (EBADF), and those behind
 * it are cancelled.
 * "hidden" writes 8 MiB to "written" through a ring that is also set up past the C library, as liburing does that is linked into
 * a program.
 * "silent" reads 40 times 512 bytes from "many" and enters the ring only to wake the kernel's thread, which needs SQPOLL.
 * "direct" opens "written" as a file of the ring only, in a place that the kernel chooses, writes 8192 bytes, and closes it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Newer than the headers of many systems. */
#define NO_MMAP (1U << 14)
#define REGISTERED_FD_ONLY (1U << 15)
#define NO_SQARRAY (1U << 16)
#define CQE_MIXED (1U << 18)
#define FLAG_SKIP (1U << 5)
#define FLAG_LONG (1U << 15)
#define NOP_LONG (1U << 5)
#define USE_REGISTERED_RING (1U << 31)
#define REGISTER_CLONE_BUFFERS 30
#define REGISTER_RESIZE_RINGS 33
#define READ_MULTISHOT 49

enum { LACKING = 77, MEMORY = 1 << 16 };

/* Of NO_MMAP: of the ring that is set up, and of the one with other sizes. */
static char memory_of_rings[2][MEMORY] __attribute__((aligned(4096)));
static char memory_of_requests[2][MEMORY] __attribute__((aligned(4096)));
static struct io_uring_params parameters;
static int ring, raw, hidden;
static unsigned *head, *tail, *request_flags, *array, *completion_head, *completion_tail;
static char *completions, *requests;
static uint64_t number;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void lacks(const char *what) {
    printf("this kernel has no %s: %s\n", what, strerror(errno));
    exit(LACKING);
}

/* A system call past the C library, where we know how. */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
#ifdef __x86_64__
    long result = number;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    return result;
#else
    return syscall(number, a, b, c, d, e, f);
#endif
}

static long enter(unsigned submit, unsigned wait) {
    unsigned flags = wait ? IORING_ENTER_GETEVENTS : 0;
    if (parameters.flags & IORING_SETUP_SQPOLL)
        flags |= IORING_ENTER_SQ_WAKEUP;
    if (parameters.flags & REGISTERED_FD_ONLY)
        flags |= IORING_ENTER_REGISTERED_RING;
    if (raw)
        return call_kernel(SYS_io_uring_enter, ring, submit, wait, flags, 0, 0);
    return syscall(SYS_io_uring_enter, ring, submit, wait, flags, NULL, 0);
}

static long configure(unsigned operation, void *argument, unsigned count) {
    if (parameters.flags & REGISTERED_FD_ONLY)
        operation |= USE_REGISTERED_RING;
    return syscall(SYS_io_uring_register, ring, operation, argument, count);
}

/* Says where its memory is to be: `user_addr`, the last number of both structures of offsets. */
static void provide_memory(struct io_uring_params *of, int place) {
    uint64_t of_requests = (uint64_t)(uintptr_t)memory_of_requests[place];
    uint64_t of_rings = (uint64_t)(uintptr_t)memory_of_rings[place];
    memcpy((char *)(&of->sq_off + 1) - 8, &of_requests, 8);
    memcpy((char *)(&of->cq_off + 1) - 8, &of_rings, 8);
}

/* Finds everything in the memory of the ring. */
static void find_rings(int place) {
    char *rings = memory_of_rings[place];
    requests = memory_of_requests[place];
    if (!(parameters.flags & NO_MMAP)) {
        size_t bytes = parameters.cq_off.cqes + parameters.cq_entries * (parameters.flags & IORING_SETUP_CQE32 ? 32 : 16);
        size_t of_requests = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
        if (bytes < of_requests)
            bytes = of_requests;
        rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        requests = mmap(NULL, parameters.sq_entries * (parameters.flags & IORING_SETUP_SQE128 ? 128 : 64), PROT_READ | PROT_WRITE,
                        MAP_SHARED, ring, IORING_OFF_SQES);
        if (rings == MAP_FAILED || requests == MAP_FAILED)
            fail("mmap");
    }
    head = (unsigned *)(rings + parameters.sq_off.head);
    tail = (unsigned *)(rings + parameters.sq_off.tail);
    request_flags = (unsigned *)(rings + parameters.sq_off.flags);
    array = parameters.flags & NO_SQARRAY ? NULL : (unsigned *)(rings + parameters.sq_off.array);
    completion_head = (unsigned *)(rings + parameters.cq_off.head);
    completion_tail = (unsigned *)(rings + parameters.cq_off.tail);
    completions = rings + parameters.cq_off.cqes;
}

static void *set_up(void *flags) {
    parameters.flags = *(unsigned *)flags;
    parameters.sq_thread_idle = 60 * 1000;
    if (parameters.flags & NO_MMAP)
        provide_memory(&parameters, 0);
    if (hidden)
        ring = (int)call_kernel(SYS_io_uring_setup, 8, (long)&parameters, 0, 0, 0, 0);
    else
        ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0)
        lacks("ring with these flags");
    find_rings(0);
    return NULL;
}

static struct io_uring_sqe *request(int operation, int file, const void *address, unsigned length, uint64_t offset) {
    unsigned place = *tail & (parameters.sq_entries - 1);
    struct io_uring_sqe *made =
        (struct io_uring_sqe *)(requests + place * (parameters.flags & IORING_SETUP_SQE128 ? 128 : 64));
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

/* Takes the next completion, if there is one. */
static int completed(struct io_uring_cqe *into) {
    while (*completion_head != __atomic_load_n(completion_tail, __ATOMIC_ACQUIRE)) {
        unsigned place = *completion_head & (parameters.cq_entries - 1);
        memcpy(into, completions + place * (parameters.flags & IORING_SETUP_CQE32 ? 32 : 16), sizeof *into);
        *completion_head += (parameters.flags & CQE_MIXED) && (into->flags & FLAG_LONG) ? 2 : 1;
        if (!(parameters.flags & CQE_MIXED) || !(into->flags & FLAG_SKIP))
            return 1;
    }
    return 0;
}

/* Hands over so many requests, waits for all, and gives the result of the last one. */
static int submit(unsigned count) {
    if (enter(count, count) != (long)count)
        fail("io_uring_enter");
    struct io_uring_cqe completion;
    int result = 0;
    for (unsigned seen = 0; seen < count;) {
        if (!completed(&completion)) {
            enter(0, 1);
            continue;
        }
        ++seen;
        if (completion.user_data == number)
            result = completion.res;
    }
    return result;
}

static void multishot(void) {
    enum { BUFFERS = 8, BYTES = 4096, TIMES = 5, AT_ONCE = 1000 };
    static char memory[BUFFERS][BYTES], bytes[AT_ONCE];
    struct io_uring_buf_ring *buffers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct io_uring_buf_reg registration = {.ring_addr = (uint64_t)(uintptr_t)buffers, .ring_entries = BUFFERS, .bgid = 3};
    if (configure(IORING_REGISTER_PBUF_RING, &registration, 1) != 0)
        lacks("rings of buffers");
    for (int place = 0; place < BUFFERS; ++place)
        buffers->bufs[place] =
            (struct io_uring_buf){.addr = (uint64_t)(uintptr_t)memory[place], .len = BYTES, .bid = (uint16_t)place};
    __atomic_store_n(&buffers->tail, BUFFERS, __ATOMIC_RELEASE);
    if (mkfifo("pipe", 0600) != 0)
        fail("mkfifo");
    int reader = open("pipe", O_RDWR);
    struct io_uring_sqe *made = request(READ_MULTISHOT, reader, NULL, 0, (uint64_t)-1);
    made->flags = IOSQE_BUFFER_SELECT;
    made->buf_group = 3;
    if (enter(1, 0) != 1)
        fail("io_uring_enter");
    for (int time = 0; time < TIMES; ++time) {
        struct io_uring_cqe completion;
        if (write(reader, bytes, sizeof bytes) != sizeof bytes)
            fail("write");
        while (!completed(&completion))
            enter(0, 1);
        if (completion.res == -EINVAL && time == 0) {
            errno = EINVAL;
            lacks("multishot reads");
        }
        if (completion.res != AT_ONCE)
            fail("multishot");
    }
    close(reader);
}

static void links(void) {
    static char buffer[4096];
    int written = open("written", O_RDWR | O_CREAT | O_TRUNC, 0600);
    request(IORING_OP_WRITE, written, buffer, sizeof buffer, 0)->flags = IOSQE_IO_LINK;
    request(IORING_OP_FSYNC, written, NULL, 0, 0)->flags = IOSQE_IO_LINK;
    request(IORING_OP_READ, written, buffer, sizeof buffer, 0);
    if (submit(3) != sizeof buffer)
        fail("chain");
    int writable = open("written", O_WRONLY);
    request(IORING_OP_READ, writable, buffer, sizeof buffer, 0)->flags = IOSQE_IO_LINK;
    request(IORING_OP_WRITE, written, buffer, sizeof buffer, 0)->flags = IOSQE_IO_LINK;
    request(IORING_OP_READ, written, buffer, sizeof buffer, 0);
    if (submit(3) != -ECANCELED)
        fail("broken chain");
}

static void direct(void) {
    static char buffer[8192];
    int none[4] = {-1, -1, -1, -1};
    if (configure(IORING_REGISTER_FILES, none, 4) != 0)
        fail("io_uring_register");
    struct io_uring_sqe *made = request(IORING_OP_OPENAT, AT_FDCWD, "written", 0600, 0);
    made->open_flags = O_RDWR | O_CREAT | O_TRUNC;
    made->file_index = IORING_FILE_INDEX_ALLOC;
    int place = submit(1);
    if (place < 0)
        fail("open");
    request(IORING_OP_WRITE, place, buffer, sizeof buffer, 0)->flags = IOSQE_FIXED_FILE;
    if (submit(1) != sizeof buffer)
        fail("write");
    request(IORING_OP_CLOSE, 0, NULL, 0, 0)->file_index = (unsigned)place + 1;
    if (submit(1) != 0)
        fail("close");
}

static void hide(void) {
    enum { BYTES = 1 << 20 };
    static char buffer[BYTES];
    int written = open("written", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int times = 0; times < 8; ++times) {
        request(IORING_OP_WRITE, written, buffer, BYTES, (uint64_t)times * BYTES);
        if (submit(1) != BYTES)
            fail("write");
    }
}

static void silent(void) {
    static char buffer[512];
    int many = open("many", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (many < 0 || ftruncate(many, 40 * 512) != 0)
        fail("open");
    for (int times = 0; times < 40; ++times) {
        struct io_uring_cqe completion;
        request(IORING_OP_READ, many, buffer, sizeof buffer, (uint64_t)times * 512);
        /* The thread of the kernel sleeps until it is woken for the first time. */
        while (!completed(&completion))
            if (__atomic_load_n(request_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
                enter(0, 0);
        if (completion.res != sizeof buffer)
            fail("read");
    }
}

/* Fixed buffers of this ring are those of another one. */
static void clone_buffers(void *buffer, size_t bytes) {
    struct iovec vector = {buffer, bytes};
    struct io_uring_params of_other = {0};
    int other = (int)syscall(SYS_io_uring_setup, 8, &of_other);
    struct {
        uint32_t source, flags, first_source, first, count, reserved[3];
    } copy = {.source = (uint32_t)other};
    if (syscall(SYS_io_uring_register, other, IORING_REGISTER_BUFFERS, &vector, 1) != 0)
        fail("io_uring_register");
    if (configure(REGISTER_CLONE_BUFFERS, &copy, 1) != 0)
        lacks("cloned buffers");
    close(other);
}

static void resize(void) {
    struct io_uring_params wanted = {.sq_entries = 32, .cq_entries = 128, .flags = IORING_SETUP_CQSIZE};
    unsigned flags = parameters.flags;
    if (flags & NO_MMAP)
        provide_memory(&wanted, 1);
    if (configure(REGISTER_RESIZE_RINGS, &wanted, 1) != 0)
        lacks("rings that can be resized");
    parameters = wanted;
    parameters.flags = flags;
    /* Linux 6.18 does not say where the array is: behind the completions, in a cache line of its own. */
    if (parameters.sq_off.array == 0)
        parameters.sq_off.array =
            (parameters.cq_off.cqes + parameters.cq_entries * (flags & IORING_SETUP_CQE32 ? 32 : 16) + 63) / 64 * 64;
    find_rings(1);
}

int main(int count, char **arguments) {
    static char buffer[65536];
    if (count < 3 || chdir(arguments[1]) != 0)
        return 2;
    const char *how = count > 3 ? arguments[3] : "";
    hidden = strcmp(how, "hidden") == 0;
    raw = hidden || strcmp(how, "raw") == 0;
    unsigned flags = (unsigned)strtoul(arguments[2], NULL, 0);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, set_up, &flags) != 0 || pthread_join(thread, NULL) != 0)
            fail("thread");
    } else {
        set_up(&flags);
    }
    if (strcmp(how, "multishot") == 0)
        return multishot(), 0;
    if (strcmp(how, "links") == 0)
        return links(), 0;
    if (hidden)
        return hide(), 0;
    if (strcmp(how, "silent") == 0)
        return silent(), 0;
    if (strcmp(how, "direct") == 0)
        return direct(), 0;
    int written = open("written", O_RDWR | O_CREAT | O_TRUNC, 0600), many = open("many", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (written < 0 || many < 0 || ftruncate(many, 20 * 512) != 0)
        fail("open");
    int is_fixed = strcmp(how, "clone") == 0;
    if (is_fixed)
        clone_buffers(buffer, sizeof buffer);
    request(is_fixed ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE, written, buffer, sizeof buffer, 0);
    if (submit(1) != sizeof buffer)
        fail("write");
    int files[3] = {-1, many, written};
    if (configure(IORING_REGISTER_FILES, files, 3) != 0)
        fail("io_uring_register");
    close(many);
    if (strcmp(how, "resize") == 0)
        resize();
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
    for (int times = 0; times < 20; ++times) {
        if (flags & CQE_MIXED) {
            /* Its completion is twice as long as those of the others, so that the end of the ring is reached in its midst. */
            request(IORING_OP_NOP, -1, NULL, 0, 0)->rw_flags = NOP_LONG;
            if (submit(1) != 0)
                fail("nop");
        }
        request(IORING_OP_READ, 1, buffer, 512, (uint64_t)times * 512)->flags = IOSQE_FIXED_FILE;
        if ((times % 4 == 3 || flags & CQE_MIXED) && submit(flags & CQE_MIXED ? 1 : 4) != 512)
            fail("many");
    }
    return 0;
}
