/* Every function of the C library that works on files, as programs call it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static char bytes[1 << 16];

static void names(void)
{
    struct stat about;
    struct statx more;
    struct statfs system;
    struct statvfs other;
    struct timespec now[2] = {{1, 0}, {2, 0}};
    struct timeval old[2] = {{1, 0}, {2, 0}};
    char template[] = "made-XXXXXX", directory[] = "dir-XXXXXX", file[] = "file-XXXXXX.txt";
    char *path;
    mkdir("d", 0755);
    mkdirat(AT_FDCWD, "d/e", 0755);
    mkdir("d", 0755); /* fails */
    mkfifo("d/fifo", 0600);
    symlink("d/e", "link");
    readlink("link", bytes, 100);
    readlinkat(AT_FDCWD, "link", bytes, 100);
    close(creat("d/created", 0644));
    link("d/created", "d/linked");
    rename("d/linked", "d/renamed");
    renameat(AT_FDCWD, "d/renamed", AT_FDCWD, "d/again");
    renameat2(AT_FDCWD, "d/again", AT_FDCWD, "d/created", RENAME_NOREPLACE); /* fails */
    truncate("d/again", 500);
    stat("d/again", &about);
    lstat("link", &about);
    fstatat(AT_FDCWD, "d/again", &about, 0);
    stat("nothing", &about);
    statx(AT_FDCWD, "d/again", 0, STATX_ALL, &more);
    access("d/again", R_OK);
    faccessat(AT_FDCWD, "nothing", R_OK, 0);
    statfs(".", &system);
    statvfs(".", &other);
    chmod("d/again", 0600);
    fchmodat(AT_FDCWD, "d/again", 0640, 0);
    chown("d/again", -1, -1);
    lchown("link", -1, -1);
    fchownat(AT_FDCWD, "d/again", -1, -1, 0);
    utime("d/again", NULL);
    utimes("d/again", old);
    utimensat(AT_FDCWD, "d/again", now, 0);
    setxattr("d/again", "user.a", "b", 1, 0);
    getxattr("d/again", "user.a", bytes, 10);
    listxattr("d/again", bytes, 100);
    removexattr("d/again", "user.a");
    unlink("d/again");
    unlink("nothing");
    unlinkat(AT_FDCWD, "d/created", 0);
    remove("d/fifo");
    rmdir("d/e");
    close(mkstemp(template));
    close(mkostemps(file, 4, O_APPEND));
    mkdtemp(directory);
    if ((path = realpath("link/..", NULL)))
        free(path);
    chdir("d");
    close(open("inside", O_CREAT | O_WRONLY, 0644));
    chdir("..");
    int base = open("d", O_RDONLY | O_DIRECTORY);
    fchdir(base);
    stat("inside", &about);
    chdir("..");
    fstatat(base, "inside", &about, 0);
    fstatat(base, "", &about, AT_EMPTY_PATH);
    unlinkat(base, "inside", 0);
    close(base);
    unlinkat(AT_FDCWD, "d", AT_REMOVEDIR);
}

static void descriptors(void)
{
    struct stat about;
    struct iovec two[2] = {{bytes, 100}, {bytes + 100, 200}};
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    loff_t from = 0, to = 0;
    int file = open("data", O_CREAT | O_RDWR | O_TRUNC, 0644), copy = openat(AT_FDCWD, "copy", O_CREAT | O_RDWR, 0644);
    write(file, bytes, 5000);
    pwrite(file, bytes, 300, 10000);
    writev(file, two, 2);
    pwritev(file, two, 2, 20000);
    pwritev2(file, two, 2, -1, 0);
    lseek(file, 0, SEEK_SET);
    lseek(file, -1, SEEK_SET); /* fails */
    read(file, bytes, 5000);
    pread(file, bytes, 300, 10);
    readv(file, two, 2);
    preadv(file, two, 2, 30);
    preadv2(file, two, 2, 40, 0);
    syscall(SYS_pread64, file, bytes, 77, 0);
    syscall(SYS_write, copy, bytes, 33);
    read(-1, bytes, 1);
    copy_file_range(file, &from, copy, &to, 1000, 0);
    sendfile(copy, file, &from, 2000);
    int ends[2], ends_again[2];
    pipe(ends);
    pipe(ends_again); /* closed without use */
    close(ends_again[0]);
    close(ends_again[1]);
    from = 0;
    splice(file, &from, ends[1], NULL, 500, 0);
    read(ends[0], bytes, 500);
    close(ends[0]);
    close(ends[1]);
    fsync(file);
    fdatasync(copy);
    sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
    syncfs(file);
    fstat(file, &about);
    fchmod(file, 0600);
    fchown(file, -1, -1);
    futimens(file, NULL);
    fsetxattr(file, "user.a", "b", 1, 0);
    fgetxattr(file, "user.a", bytes, 10);
    ftruncate(file, 40000);
    fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 50000);
    posix_fallocate(copy, 0, 9000);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    readahead(file, 0, 4096);
    flock(file, LOCK_EX);
    flock(file, LOCK_UN);
    lockf(file, F_TLOCK, 0);
    fcntl(file, F_SETLK, &lock);
    fcntl(file, F_GETFL);
    char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    mapped[0] = 1;
    msync(mapped, 8192, MS_SYNC);
    munmap(mapped, 8192);
    mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, copy + 100, 0); /* fails */
    int second = dup(file), third = fcntl(file, F_DUPFD, 100), fourth = 200;
    dup2(copy, fourth);
    dup3(copy, 201, O_CLOEXEC);
    read(second, bytes, 10);
    read(third, bytes, 10);
    lseek(fourth, 0, SEEK_SET);
    read(fourth, bytes, 10);
    close(second);
    close(third);
    close(fourth);
    read(file, bytes, 10);
    close_range(201, 300, 0);
    unlink("data");
    write(file, bytes, 10);
    close(file);
    close(copy);
    int memory = memfd_create("memory", 0);
    write(memory, bytes, 10);
    close(memory);
    int nameless = open(".", O_TMPFILE | O_RDWR, 0600);
    if (nameless >= 0) {
        write(nameless, bytes, 10);
        close(nameless);
    }
}

static void streams(void)
{
    char line[100];
    size_t room = 0;
    char *text = NULL;
    FILE *file = fopen("stream", "w+");
    fprintf(file, "%d\n", 1);
    for (int index = 0; index < 2000; index++)
        fputs("a line of text\n", file);
    fwrite(bytes, 1, 50000, file);
    fflush(file);
    rewind(file);
    fgets(line, sizeof line, file);
    getline(&text, &room, file);
    fseek(file, 1000, SEEK_SET);
    fread(bytes, 100, 7, file);
    getc(file);
    fclose(file);
    fopen("nothing", "r");
    file = freopen("stream", "r", fopen("other", "w"));
    fscanf(file, "%d", &(int){0});
    fclose(file);
    file = fdopen(open("stream", O_RDONLY), "r");
    fread(bytes, 1, 10, file);
    fclose(file);
    file = tmpfile();
    fputc('x', file);
    fclose(file);
    dprintf(1, "%s\n", "text");
    file = popen("cat stream > /dev/null", "r");
    pclose(file);
    free(text);
}

static void directories(void)
{
    DIR *directory = opendir(".");
    struct dirent **entries;
    while (readdir(directory))
        ;
    closedir(directory);
    opendir("nothing");
    directory = fdopendir(open(".", O_RDONLY | O_DIRECTORY));
    readdir(directory);
    closedir(directory);
    int count = scandir(".", &entries, NULL, alphasort);
    while (count-- > 0)
        free(entries[count]);
    free(entries);
}

static void *thread(void *name)
{
    int file = open(name, O_RDONLY);
    while (read(file, bytes, 1000) > 0)
        ;
    close(file);
    return NULL;
}

static void processes(char **environment)
{
    pthread_t threads[3];
    pid_t process;
    char *arguments[] = {"cat", "stream", NULL};
    int file = open("stream", O_RDONLY);
    for (int index = 0; index < 3; index++)
        pthread_create(&threads[index], NULL, thread, "stream");
    for (int index = 0; index < 3; index++)
        pthread_join(threads[index], NULL);
    fflush(stdout);
    if (!fork()) {
        read(file, bytes, 10);
        close(file);
        thread("stream");
        _exit(0);
    }
    wait(NULL);
    if (!vfork()) {
        close(file);
        execve("/bin/true", (char *[]){"true", NULL}, environment);
        _exit(1);
    }
    wait(NULL);
    if (!fork()) {
        read(file, bytes, 10);
        execve("/nothing/true", (char *[]){"true", NULL}, environment); /* fails */
        read(file, bytes, 10);
        execve("/bin/true", (char *[]){"true", NULL}, environment);
    }
    wait(NULL);
    posix_spawnp(&process, "cat", NULL, NULL, arguments, environment);
    wait(NULL);
    close(file);
}

int main(int count, char **arguments, char **environment)
{
    (void)count;
    (void)arguments;
    names();
    descriptors();
    streams();
    directories();
    processes(environment);
    return 0;
}
