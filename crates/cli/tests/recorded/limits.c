/* Descriptors, memory, files and users at their limits. */
#include "recorded.h"
#include <dirent.h>
#include <grp.h>
#include <sys/un.h>

static void limit(int resource, rlim_t to) {
    struct rlimit limit = {to, to};
    MUST(setrlimit(resource, &limit) == 0);
}

/* Names enough that a table must grow. */
static void many_names(int count, const char *prefix) {
    char name[64];
    for (int index = 0; index < count; index++) {
        sprintf(name, "%s %d", prefix, index);
        FAILS(open(name, O_RDONLY), ENOENT);
    }
}

/* All open descriptors, and the lowest free one. */
static void list(const char *when) {
    char line[4096] = "";
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        if (fcntl(descriptor, F_GETFD) != -1) sprintf(line + strlen(line), " %d", descriptor);
    int lowest = dup(0);
    printf("%s:%s, then %d\n", when, line, lowest);
    MUST(close(lowest) == 0);
}

static void list_at_exit(void) { list("at exit"); }

static void lists(void) {
    atexit(list_at_exit);
    list("start");
    use("x", 3, 10);
    many_names(5000, "missing");
    list("grown");
    int x = file("x");
    list("opened");
    pid_t child = fork();
    if (child == 0) {
        fflush(stdout);
        use("x", 1, 10);
        list("child");
        exit(0);
    }
    ends(child, 0);
    close(x);
    list("end");
}

static void many(int count) {
    limit(RLIMIT_NOFILE, count + 100);
    int *descriptors = malloc(count * sizeof *descriptors);
    for (int index = 0; index < count; index++) {
        descriptors[index] = open("many", O_RDWR | O_CREAT | O_APPEND, 0600);
        MUST(descriptors[index] >= 0);
    }
    for (int index = count - 50; index < count; index++) writes(descriptors[index], 1, 10);
    int x = file("x");
    MUST(dup2(x, count / 2) == count / 2);
    writes(count / 2, 4, 10);
    for (int index = 0; index < count; index++) close(descriptors[index]);
    writes(x, 2, 10);
}

static void duplicates(void) {
    int x = file("x"), y = file("y");
    writes(x, 1, 100);
    int second = dup(x), third = dup2(second, 50);
    MUST(second > 0 && third == 50);
    writes(second, 1, 100);
    writes(third, 1, 100);
    MUST(close(x) == 0);
    writes(second, 1, 100);
    MUST(dup2(y, second) == second);
    writes(second, 1, 100);
    MUST(dup3(third, y, O_CLOEXEC) == y);
    writes(y, 1, 100);
    MUST(dup2(y, y) == y);
    FAILS(dup2(999, y), EBADF);
    writes(y, 1, 100);
    MUST(lseek(third, 0, SEEK_CUR) == 600);
}

static void received(void) {
    int pair[2];
    char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    pid_t child = fork();
    if (child == 0) {
        int sent = file("sent");
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &sent, sizeof sent);
        MUST(sendmsg(pair[0], &message, 0) == 1);
        exit(0);
    }
    int other = file("other"), descriptor;
    writes(other, 1, 10);
    MUST(close(other) == 0);
    MUST(recvmsg(pair[1], &message, 0) == 1);
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
    MUST(descriptor == other);
    writes(descriptor, 7, 10);
    ends(child, 0);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    char *again[] = {argv[0], "grow", NULL}, *none[] = {NULL};
    if (IS("list")) lists();
    if (IS("many")) many(atoi(argv[2]));
    if (IS("duplicates")) duplicates();
    if (IS("received")) received();
    if (IS("grow")) {
        use("x", 3, 10);
        many_names(3000, "missing");
        use("x", 3, 10);
    }
    if (IS("memory")) {
        limit(RLIMIT_AS, 32 << 20);
        /* As much as there would be without the recorder, but for its own library. */
        execve(argv[0], (char *[]){argv[0], "of limited memory", NULL}, none);
        wrong("exec", __LINE__);
    }
    if (IS("of limited memory")) {
        size_t most = 0;
        while (most < 64 && malloc(1 << 20) != NULL) most++;
        printf("MiB %zu\n", most);
        fflush(stdout);
        use("x", 3, 10);
        many_names(3000, "missing");
        pid_t child = fork();
        if (child == 0) {
            use("x", 2, 10);
            exit(0);
        }
        ends(child, 0);
    }
    if (IS("file size")) {
        /* The default ends the process. */
        signal(SIGXFSZ, SIG_DFL);
        use("x", 3, 10);
        limit(RLIMIT_FSIZE, 70000);
        many_names(3000, "missing");
        use("x", 3, 10);
        pid_t child = fork();
        if (child == 0) {
            many_names(3000, "missing");
            use("x", 3, 10);
            exit(0);
        }
        ends(child, 0);
        limit(RLIMIT_FSIZE, 100);
        child = fork();
        if (child == 0) {
            use("x", 1, 10);
            execve(argv[0], again, none);
            _exit(9);
        }
        ends(child, 0);
    }
    if (IS("no descriptors")) {
        int last = -1, next;
        limit(RLIMIT_NOFILE, 64);
        use("x", 3, 10);
        while ((next = open("x", O_RDWR)) >= 0) last = next;
        MUST(errno == EMFILE && last == 63);
        for (int index = 0; index < 3000; index++) FAILS(open("x", O_RDWR), EMFILE);
        writes(last, 5, 10);
        pid_t child = fork();
        if (child == 0) {
            writes(last, 2, 10);
            exit(0);
        }
        ends(child, 0);
        MUST(close(last) == 0);
        MUST(open("x", O_RDWR) == 63);
    }
    if (IS("other user")) {
        use("x", 3, 10);
        MUST(chmod("x", 0666) == 0);
        MUST(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
        many_names(3000, "missing");
        use("x", 3, 10);
        limit(RLIMIT_NPROC, 0);
        FAILS(fork(), EAGAIN);
        FAILS(posix_spawn(NULL, argv[0], NULL, NULL, again, none) == EAGAIN ? (errno = EAGAIN, -1) : 0, EAGAIN);
        use("x", 3, 10);
    }
    if (IS("chroot")) {
        use("x", 3, 10);
        MUST(mkdir("root", 0700) == 0);
        MUST(chroot("root") == 0);
        MUST(chdir("/") == 0);
        many_names(3000, "missing");
        use("/inside", 4, 10);
        pid_t child = fork();
        if (child == 0) {
            use("/inside", 5, 10);
            exit(0);
        }
        ends(child, 0);
    }
    if (IS("no directory")) {
        MUST(mkdir("gone", 0700) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0);
        FAILS(open("x", O_RDWR | O_CREAT, 0600), ENOENT);
        use("../x", 3, 10);
        pid_t child = fork();
        if (child == 0) {
            use("../x", 3, 10);
            exit(0);
        }
        ends(child, 0);
    }
    if (IS("title")) {
        int length = argv[2] + strlen(argv[2]) - argv[0];
        memset(argv[0], 't', length);
        environ = NULL;
        use("x", 3, 10);
        pid_t child = fork();
        if (child == 0) {
            use("x", 3, 10);
            exit(0);
        }
        ends(child, 0);
    }
    if (IS("removed")) {
        char *tables = getenv("IOASSAY_RECORD"), command[4096];
        use("x", 3, 10);
        snprintf(command, sizeof command, "rm -rf '%s'", tables);
        MUST(system(command) == 0);
        many_names(5000, "missing");
        use("x", 3, 10);
        pid_t child = fork();
        if (child == 0) {
            use("x", 3, 10);
            execve(argv[0], again, none);
            _exit(9);
        }
        ends(child, 0);
    }
    return 0;
}
