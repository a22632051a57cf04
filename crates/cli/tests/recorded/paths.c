/* Writes to files by all that they can be called. The arguments are the names of spellings: the first writes one byte, the next two,
 * then four, so that the bytes of a rule say which of them it has matched. */
#include "recorded.h"
#include <libgen.h>
#include <linux/openat2.h>
#include <sys/mount.h>

static char text[8192];

static void wait_for(const char *name) {
    while (access(name, F_OK) != 0) usleep(1000);
}

static int opens(const char *name) {
    int descriptor = open(name, O_WRONLY | O_APPEND | O_CREAT, 0600);
    MUST(descriptor >= 0);
    return descriptor;
}

/* A name that begins with so many bytes that lead nowhere. */
static const char *padded(size_t length, const char *name) {
    size_t length_so_far = 0;
    for (; length_so_far + 2 <= length; length_so_far += 2) memcpy(text + length_so_far, "./", 2);
    strcpy(text + length_so_far, name);
    return text;
}

/* By a link of the kernel's to what is open already. */
static int through(const char *directory) {
    int first = opens("data/a");
    sprintf(text, "%s/%d", directory, first);
    int again = opens(text);
    MUST(close(first) == 0);
    return again;
}

static int open_below(const char *directory, const char *name) {
    int base = open(directory, O_RDONLY | O_DIRECTORY);
    int descriptor = openat(base, name, O_WRONLY | O_APPEND | O_CREAT, 0600);
    MUST(base >= 0 && descriptor >= 0 && close(base) == 0);
    return descriptor;
}

static int by_openat2(const char *name) {
    struct open_how how = {.flags = O_WRONLY | O_APPEND};
    int descriptor = syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how);
    MUST(descriptor >= 0);
    return descriptor;
}

static int from_directory(const char *directory, const char *name) {
    int here = open(".", O_RDONLY | O_DIRECTORY);
    MUST(chdir(directory) == 0);
    int descriptor = opens(name);
    MUST(fchdir(here) == 0 && close(here) == 0);
    return descriptor;
}

/* Opened by that name, which is another file's or nobody's when it is written to. */
static int then_renamed(const char *from, const char *to) {
    int descriptor = opens(from);
    MUST(rename(from, to) == 0);
    return descriptor;
}

static int then_removed(const char *name) {
    int descriptor = opens(name);
    MUST(unlink(name) == 0);
    return descriptor;
}

/* The same name leads to one file after another. */
static int linked_again(const char *to) {
    unlink("moving");
    MUST(symlink(to, "moving") == 0);
    return opens("moving/a");
}

/* Sent from this process to itself. */
static int passed(const char *name) {
    int ends[2], sent = opens(name), received;
    char byte = 0, control[CMSG_SPACE(sizeof sent)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS, rights->cmsg_len = CMSG_LEN(sizeof sent);
    memcpy(CMSG_DATA(rights), &sent, sizeof sent);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    MUST(sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1);
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    MUST(close(sent) == 0 && close(ends[0]) == 0 && close(ends[1]) == 0);
    return received;
}

static int duplicated(int descriptor) {
    int other = dup(descriptor);
    MUST(close(descriptor) == 0);
    return other;
}

static int in_chroot(const char *name) {
    int here = open(".", O_RDONLY | O_DIRECTORY), root = open("/", O_RDONLY | O_DIRECTORY);
    MUST(here >= 0 && root >= 0 && chroot(".") == 0);
    int descriptor = opens(name);
    MUST(fchdir(root) == 0 && chroot(".") == 0 && fchdir(here) == 0 && close(here) == 0 && close(root) == 0);
    return descriptor;
}

/* Mounts that this process alone sees. */
static void own_mounts(void) {
    MUST(unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

/* Makes a directory beneath this one, and all above it. What it is called. */
static const char *beneath(const char *path) {
    static char name[4096];
    snprintf(name, sizeof name, ".%s", path);
    for (char *slash = name + 2; *slash; slash++)
        if (*slash == '/') *slash = 0, mkdir(name, 0700), *slash = '/';
    mkdir(name, 0700);
    return name;
}

/* A program that is started in another root directory, where all that it needs has the path that it has outside. It writes to that
 * file, or to a descriptor that was opened outside. */
static void in_other_root(const char *root, const char *name, size_t size) {
    char program[4096], directory[4096], library[4096], number[16], count[16];
    char *const environment[] = {"HOME=/", NULL};
    sprintf(count, "%zu", size);
    strcpy(library, getenv("LD_PRELOAD"));
    MUST(realpath("/proc/self/exe", program) && strcpy(directory, program));
    pid_t child = fork();
    if (child == 0) {
        own_mounts();
        sprintf(number, "%d", opens("link"));
        mkdir(root, 0700);
        MUST(chdir(root) == 0);
        const char *paths[] = {"/usr", "/lib", "/lib64", "/proc", dirname(library), getenv("IOASSAY_RECORD"), dirname(directory)};
        for (size_t path = 0; path < sizeof paths / sizeof *paths; path++)
            if (access(paths[path], F_OK) == 0) MUST(mount(paths[path], beneath(paths[path]), NULL, MS_BIND | MS_REC, NULL) == 0);
        MUST(chroot(".") == 0 && chdir("/") == 0);
        if (name) execle(program, "paths", "name", name, count, (char *)NULL, environment);
        else execle(program, "paths", "descriptor", number, count, (char *)NULL, environment);
        wrong("exec", __LINE__);
    }
    ends(child, 0);
}

/* A file in a root directory whose path there is that of another one outside. */
static void of_same_name_in_other_root(size_t size) {
    char here[4096], path[8192];
    MUST(getcwd(here, sizeof here) && mkdir("jail", 0700) == 0 && chdir("jail") == 0);
    sprintf(path, "%s/data", here), beneath(path);
    MUST(chdir("..") == 0);
    in_other_root("jail", strcat(path, "/a"), size);
}

static void writes_stream(const char *name, const char *again, size_t size) {
    FILE *stream = fopen(name, "a");
    if (again) stream = freopen(again, "a", stream);
    MUST(stream && fwrite(bytes, 1, size, stream) == size && fclose(stream) == 0);
}

/* What a child does with what it has from its parent. */
static void in_child(size_t size, int execs) {
    int descriptor = opens("link");
    char number[16], count[16];
    pid_t child = fork();
    if (child == 0 && execs) {
        sprintf(number, "%d", descriptor), sprintf(count, "%zu", size);
        execl("/proc/self/exe", "paths", "descriptor", number, count, (char *)NULL);
        wrong("exec", __LINE__);
    }
    if (child == 0) {
        writes(descriptor, 1, size);
        exit(0);
    }
    ends(child, 0);
    MUST(close(descriptor) == 0);
}

static int kept_open;

static void spelled(const char *how, size_t size) {
    int descriptor = -1;
    if (!strcmp(how, "plain")) descriptor = opens("data/a");
    else if (!strcmp(how, "two slashes")) descriptor = opens("data//a");
    else if (!strcmp(how, "dot")) descriptor = opens("data/./a");
    else if (!strcmp(how, "parent")) descriptor = opens("other/../data/a");
    else if (!strcmp(how, "parent of a link")) descriptor = opens("elsewhere/../a");
    else if (!strcmp(how, "600 bytes")) descriptor = opens(padded(600, "data/a"));
    else if (!strcmp(how, "4000 bytes")) descriptor = opens(padded(4000, "data/a"));
    else if (!strcmp(how, "link")) descriptor = opens("link");
    else if (!strcmp(how, "link to a directory")) descriptor = opens("directory/a");
    else if (!strcmp(how, "hard link")) descriptor = opens("other/hard");
    else if (!strcmp(how, "/proc/self/fd")) descriptor = through("/proc/self/fd");
    else if (!strcmp(how, "/dev/fd")) descriptor = through("/dev/fd");
    else if (!strcmp(how, "openat")) descriptor = open_below("data", "a");
    else if (!strcmp(how, "openat of a link")) descriptor = open_below("directory", "../data/a");
    else if (!strcmp(how, "openat2")) descriptor = by_openat2("directory/a");
    else if (!strcmp(how, "chdir")) descriptor = from_directory("data", "a");
    else if (!strcmp(how, "chdir to a link")) descriptor = from_directory("directory", "./a");
    else if (!strcmp(how, "dup")) descriptor = duplicated(opens("link"));
    else if (!strcmp(how, "passed")) descriptor = passed("link");
    else if (!strcmp(how, "renamed")) descriptor = then_renamed("data/renamed", "other/renamed");
    else if (!strcmp(how, "removed")) descriptor = then_removed("directory/removed");
    else if (!strcmp(how, "replaced link")) close(linked_again("other")), descriptor = linked_again("data");
    else if (!strcmp(how, "kept open")) descriptor = kept_open;
    else if (!strcmp(how, "beside")) descriptor = opens("database/a");
    else if (!strcmp(how, "out by a parent")) descriptor = opens("data/../other/a");
    else if (!strcmp(how, "out by a link")) descriptor = opens("data/out/a");
    else if (!strcmp(how, "out by a replaced link")) close(linked_again("data")), descriptor = linked_again("other");
    else if (!strcmp(how, "moved in")) descriptor = then_renamed("other/moved", "data/moved");
    else if (!strcmp(how, "bind mount")) descriptor = opens("bound/a");
    else if (!strcmp(how, "bind mount of a part")) descriptor = opens("part/b");
    else if (!strcmp(how, "overlay")) descriptor = opens("merged/other/../data/a");
    else if (!strcmp(how, "beside in a bind mount")) descriptor = opens("whole/database/a");
    else if (!strcmp(how, "chroot")) descriptor = in_chroot("/data/a");
    else if (!strcmp(how, "link in a chroot")) descriptor = in_chroot("/directory/a");
    else if (!strcmp(how, "exec in a chroot")) return in_other_root(".", "/data/a", size);
    else if (!strcmp(how, "exec with a link in a chroot")) return in_other_root(".", "/other/../directory/a", size);
    else if (!strcmp(how, "descriptor from outside")) return in_other_root("jail", NULL, size);
    else if (!strcmp(how, "same name in a chroot")) return of_same_name_in_other_root(size);
    else if (!strcmp(how, "fopen")) return writes_stream("link", NULL, size);
    else if (!strcmp(how, "freopen")) return writes_stream("other/a", "directory/a", size);
    else if (!strcmp(how, "forked")) return in_child(size, 0);
    else if (!strcmp(how, "exec")) return in_child(size, 1);
    MUST(descriptor >= 0);
    writes(descriptor, 1, size);
    MUST(close(descriptor) == 0);
}

/* What the kernel says of processes, where it will be in the new root directory. */
static void processes(void) {
    own_mounts();
    MUST(mkdir("proc", 0700) == 0 && mount("none", "proc", "proc", 0, NULL) == 0);
}

static void mounts(void) {
    own_mounts();
    MUST(mkdir("bound", 0700) == 0 && mkdir("part", 0700) == 0 && mkdir("whole", 0700) == 0);
    MUST(mkdir("merged", 0700) == 0 && mkdir("upper", 0700) == 0);
    MUST(mount("data", "bound", NULL, MS_BIND, NULL) == 0 && mount("data/part", "part", NULL, MS_BIND, NULL) == 0);
    MUST(mount(".", "whole", NULL, MS_BIND, NULL) == 0);
    /* The upper directory must be on what knows extended attributes. */
    MUST(mount("none", "upper", "tmpfs", 0, NULL) == 0 && mkdir("upper/upper", 0700) == 0 && mkdir("upper/work", 0700) == 0);
    MUST(mount("none", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper/upper,workdir=upper/work") == 0);
}

/* Calls that open nothing: one by the first name, two by the second, and so on. */
static void named(void) {
    struct stat about;
    MUST(stat("data//a", &about) == 0);
    for (int call = 0; call < 2; call++) MUST(stat("directory/a", &about) == 0);
    for (int call = 0; call < 4; call++) FAILS(stat("directory/./missing", &about), ENOENT);
    for (int call = 0; call < 8; call++) MUST(lstat("link", &about) == 0);
    for (int call = 0; call < 16; call++) MUST(stat("data/../other/a", &about) == 0);
    for (int call = 0; call < 32; call++) FAILS(stat("other/nowhere/../../data/a", &about), ENOENT);
    MUST(mkdir("directory/new", 0700) == 0 && rename("directory/new", "directory/newer") == 0);
    MUST(rmdir("directory/../data//newer") == 0 && unlink("directory/out") == 0);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    if (IS("descriptor") || IS("name")) {
        writes(IS("name") ? opens(argv[2]) : atoi(argv[2]), 1, atoi(argv[3]));
        return 0;
    }
    const char *directories[] = {"data", "data/part", "database", "other", "lower", "lower/data", "lower/other"};
    for (int number = 0; number < 7; number++) MUST(mkdir(directories[number], 0700) == 0);
    const char *files[] = {"data/a", "other/a", "database/a", "lower/data/a", "other/moved", "data/renamed"};
    for (int number = 0; number < 6; number++) MUST(close(file(files[number])) == 0);
    MUST(symlink("data/a", "link") == 0 && symlink("data", "directory") == 0 && symlink("../other", "data/out") == 0);
    MUST(symlink("data/part", "elsewhere") == 0 && link("data/a", "other/hard") == 0);
    kept_open = opens("directory/../data//a");
    if (argc > 2 && !strcmp(argv[2], "bind mount")) mounts();
    if (argc > 2 && !strcmp(argv[2], "link in a chroot")) processes();
    MUST(creat("ready", 0600) >= 0);
    wait_for("go");
    if (IS("named")) named();
    if (IS("spelled"))
        for (int number = 2; number < argc; number++) spelled(argv[number], (size_t)1 << (number - 2));
    return 0;
}
