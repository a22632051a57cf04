/* A program, or with -DLIBRARY its library, that does its I/O last: when the process ends. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void library(void);

static void late(const char *name)
{
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    if (write(file, "late", 4) != 4)
        abort();
    close(file);
}

#ifdef LIBRARY
static void at_exit(void) { late("exit of the library"); }
__attribute__((constructor)) static void begin(void) { late("begin of the library"), atexit(at_exit); }
__attribute__((destructor)) static void end(void) { late("end of the library"); }
void library(void) {}
#else
static void at_exit(void) { late("exit"); }
__attribute__((destructor)) static void end(void) { late("end"); }
int main(void)
{
    library();
    return atexit(at_exit);
}
#endif
