/* What the tests of recording by ptrace run: the first argument says what to do, the second where.
   It makes system calls itself where the C library would add some. */
#include "recorded.h"
#include <sys/uio.h>

static const char *work;

static void all(void) {
  MUST(chdir(work) == 0);
  int fd = open("a", O_RDWR | O_CREAT | O_TRUNC, 0644);
  MUST(fd >= 0);
  for (int i = 0; i < 10; i++) MUST(write(fd, bytes, 100) == 100);
  MUST(pwrite(fd, bytes, 50, 5000) == 50);
  struct iovec two[2] = {{bytes, 10}, {bytes + 10, 20}};
  MUST(writev(fd, two, 2) == 30);
  MUST(pwritev(fd, two, 2, 6000) == 30);
  MUST(lseek(fd, 0, SEEK_SET) == 0);
  for (int i = 0; i < 5; i++) MUST(read(fd, bytes, 200) == 200);
  MUST(preadv(fd, two, 2, 0) == 30);
  MUST(fsync(fd) == 0 && fdatasync(fd) == 0);
  MUST(ftruncate(fd, 4000) == 0);
  MUST(fcntl(fd, F_GETFL) >= 0);
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  MUST(fcntl(fd, F_SETLK, &lock) == 0);
  int second = dup(fd);
  MUST(second >= 0 && close(fd) == 0);
  MUST(lseek(second, 100, SEEK_SET) == 100 && read(second, bytes, 10) == 10);
  char *map = mmap(0, 4000, PROT_READ, MAP_SHARED, second, 0);
  MUST(map != MAP_FAILED && munmap(map, 4000) == 0);
  int copy = open("b", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  loff_t from = 1000;
  MUST(copy >= 0 && copy_file_range(second, &from, copy, 0, 300, 0) == 300);
  MUST(close(copy) == 0 && close(second) == 0);
  struct stat about;
  MUST(stat("b", &about) == 0 && about.st_size == 300);
  MUST(access("none", F_OK) == -1 && errno == ENOENT);
  MUST(open("none", O_RDONLY) == -1 && errno == ENOENT);
  MUST(mkdir("d", 0755) == 0);
  int directory = open("d", O_RDONLY | O_DIRECTORY);
  MUST(directory >= 0);
  int within = openat(directory, "c", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  MUST(within >= 0 && write(within, bytes, 1) == 1 && close(within) == 0);
  MUST(syscall(SYS_getdents64, directory, bytes, sizeof bytes) > 0);
  MUST(unlinkat(directory, "c", 0) == 0 && close(directory) == 0);
  MUST(rename("b", "e") == 0 && chmod("e", 0600) == 0 && unlink("e") == 0 && rmdir("d") == 0);
  MUST(read(900, bytes, 1) == -1 && errno == EBADF);
}

static void *in_thread(void *number) {
  char name[100];
  snprintf(name, sizeof name, "%s/t%ld", work, (long)number);
  int fd = open(name, O_RDWR | O_CREAT, 0644);
  MUST(fd >= 0);
  for (int i = 0; i < 200; i++) MUST(write(fd, bytes, 10) == 10 && pread(fd, bytes, 5, i) == 5);
  MUST(close(fd) == 0);
  if ((long)number == 7) for (;;) pause();
  return 0;
}

static void threads(void) {
  pthread_t all[8];
  for (long i = 0; i < 8; i++) MUST(pthread_create(&all[i], 0, in_thread, (void *)i) == 0);
  for (int i = 0; i < 7; i++) MUST(pthread_join(all[i], 0) == 0);
  char name[100];
  struct stat about;
  snprintf(name, sizeof name, "%s/t7", work);
  while (stat(name, &about) != 0 || about.st_size < 2000) usleep(1000);
  usleep(10000);
}

static void forks(void) {
  char name[100];
  snprintf(name, sizeof name, "%s/shared", work);
  int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  MUST(fd >= 0);
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
      pid_t grandchild = fork();
      MUST(write(fd, bytes, 7) == 7);
      if (grandchild > 0) waitpid(grandchild, 0, 0);
      _exit(0);
    }
    if (i % 10 == 9) while (waitpid(-1, 0, WNOHANG) > 0) {}
  }
  while (waitpid(-1, 0, 0) > 0) {}
}

static volatile sig_atomic_t handled;
static void handler(int signal) {
  char name[200];
  handled++;
  snprintf(name, sizeof name, "%s/handler", work);
  close(open(name, O_WRONLY | O_CREAT, 0644));
}

/* Reads that wait are interrupted: once with a restart, once with EINTR, once by a stop. */
static void interrupted(void) {
  int ends[2], marks[2];
  MUST(pipe(ends) == 0 && pipe(marks) == 0);
  pid_t parent = getpid(), child = fork();
  MUST(child >= 0);
  if (child == 0) {
    char mark;
    MUST(read(marks[0], &mark, 1) == 1);
    usleep(100000);
    kill(parent, SIGUSR1);
    usleep(100000);
    MUST(write(ends[1], bytes, 3) == 3);
    MUST(read(marks[0], &mark, 1) == 1);
    usleep(100000);
    kill(parent, SIGRTMIN + 3);
    MUST(read(marks[0], &mark, 1) == 1);
    usleep(100000);
    kill(parent, SIGSTOP);
    usleep(100000);
    kill(parent, SIGCONT);
    usleep(100000);
    MUST(write(ends[1], bytes, 4) == 4);
    _exit(0);
  }
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  MUST(sigaction(SIGUSR1, &action, 0) == 0);
  action.sa_flags = 0;
  MUST(sigaction(SIGRTMIN + 3, &action, 0) == 0);
  MUST(write(marks[1], bytes, 1) == 1);
  MUST(read(ends[0], bytes, 3) == 3 && handled == 1);
  MUST(write(marks[1], bytes, 1) == 1);
  MUST(read(ends[0], bytes, 4) == -1 && errno == EINTR && handled == 2);
  MUST(write(marks[1], bytes, 1) == 1);
  MUST(read(ends[0], bytes, 4) == 4);
  int status;
  MUST(waitpid(child, &status, 0) == child && status == 0);
}

static char *executable;
static void *exec_again(void *nothing) {
  execl(executable, executable, "write", work, (char *)0);
  MUST(!"executed");
  return nothing;
}

static void *forever(void *nothing) {
  for (;;) pause();
  return nothing;
}

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
static struct { uint64_t flags, mode, resolve; } how = {.flags = O_RDONLY | O_CLOEXEC};

static void *open_other_end(void *name) {
  usleep(200000);
  how.flags = O_SYNC;
  MUST(close(open(name, O_WRONLY)) == 0);
  return 0;
}

/* Opens a pipe by flags that another thread changes meanwhile, which then opens the other end by another name. */
static void change_flags(void) {
  MUST(chdir(work) == 0);
  pthread_t other;
  MUST(pthread_create(&other, 0, open_other_end, "other") == 0);
  MUST(syscall(SYS_openat2, AT_FDCWD, "fifo", &how, sizeof how) >= 0);
  MUST(pthread_join(other, 0) == 0);
}

static void write_x(void) {
  char name[100];
  snprintf(name, sizeof name, "%s/x", work);
  int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  MUST(fd >= 0 && write(fd, bytes, 5) == 5 && close(fd) == 0);
}

int main(int count, char **arguments) {
  MUST(count >= 3);
  const char *what = arguments[1];
  executable = arguments[0];
  work = arguments[2];
  char name[200];
  if (!strcmp(what, "all")) all();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "forks")) forks();
  else if (!strcmp(what, "interrupted")) interrupted();
  else if (!strcmp(what, "write")) write_x();
  else if (!strcmp(what, "flags")) change_flags();
  else if (!strcmp(what, "exec")) {
    /* The descriptor goes on in the new program; a thread that is not the first executes it. */
    snprintf(name, sizeof name, "%s/before", work);
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    MUST(fd >= 0 && write(fd, bytes, 3) == 3);
    pthread_t first, second;
    MUST(pthread_create(&first, 0, forever, 0) == 0 && pthread_create(&second, 0, exec_again, 0) == 0);
    forever(0);
  } else if (!strcmp(what, "vfork")) {
    pid_t child = vfork();
    if (child == 0) {
      execl(executable, executable, "write", work, (char *)0);
      _exit(98);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
  } else if (!strcmp(what, "killed")) {
    pid_t child = fork();
    if (child == 0) {
      write_x();
      kill(getpid(), SIGKILL);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return 7;
  } else if (!strcmp(what, "signal")) {
    raise(SIGSEGV);
  } else if (!strcmp(what, "wait")) {
    /* Says that it is there, waits until it may go on, and writes. */
    snprintf(name, sizeof name, "%s/ready", work);
    int fd = open(name, O_WRONLY | O_CREAT, 0644);
    char number[20];
    MUST(fd >= 0 && write(fd, number, snprintf(number, sizeof number, "%d", getpid())) > 0 && close(fd) == 0);
    snprintf(name, sizeof name, "%s/fifo", work);
    fd = open(name, O_RDONLY);
    MUST(fd >= 0 && read(fd, bytes, 1) == 1);
    write_x();
    return 5;
  } else if (!strcmp(what, "daemon")) {
    if (fork() != 0) return 0;
    setsid();
    for (int fd = 0; fd < 3; fd++) close(fd);
    snprintf(name, sizeof name, "%s/fifo", work);
    int fd = open(name, O_RDONLY);
    MUST(fd >= 0 && read(fd, bytes, 1) == 1);
    write_x();
  } else if (!strcmp(what, "who")) {
    write_x();
    printf("%d %d\n", getuid(), geteuid());
  } else MUST(!"known");
  return 0;
}
