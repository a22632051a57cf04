/* A program that lets only few system calls through from now on, as sandboxes do. */
#include "recorded.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

static void seal(int raw) {
    static const int allowed[] = {SYS_read, SYS_write, SYS_pread64, SYS_prctl, SYS_exit, SYS_exit_group, SYS_rt_sigreturn};
    struct sock_filter filter[32] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
    int length = 1;
    for (unsigned index = 0; index < sizeof allowed / sizeof *allowed; index++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[index], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {length, filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (raw)
        MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int argc, char **argv) {
    MUST(argc > 1);
    int x = file("x");
    int y = file("y");
    writes(x, 3, 10);
    if (IS("sealed, no counter")) {
        seal(0);
        MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
        writes(x, 4, 10);
        exit(0);
    }
    if (IS("strict") || IS("no counter")) {
        /* The processor's counter ends the process from now on, and in strict mode any call but the next three does. */
        MUST(prctl(IS("strict") ? PR_SET_SECCOMP : PR_SET_TSC, IS("strict") ? SECCOMP_MODE_STRICT : PR_TSC_SIGSEGV) == 0);
        writes(x, 4, 10);
        MUST(read(y, bytes, 10) == 0);
        syscall(SYS_exit, 0);
    }
    seal(IS("syscall"));
    writes(x, 4, 10);
    writes(y, 5, 10);
    reads(x, 6, 10);
    exit(0);
}
