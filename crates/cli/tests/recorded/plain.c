/* A small program that can also be linked statically, for another C library, or run with privileges of its own. */
#include <fcntl.h>
#include <unistd.h>

int main(void) {
    int x = open("x", O_RDWR | O_CREAT, 0600);
    return x < 0 || write(x, "0123456789", 10) != 10 || close(x) != 0;
}
