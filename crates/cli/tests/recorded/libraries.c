/* Libraries that do I/O when they are loaded and unloaded, and other libraries that are preloaded. */
#include "recorded.h"

__attribute__((constructor)) static void begins(void) { use("constructor", 2, 10); }
__attribute__((destructor)) static void ends_too(void) { use("library's destructor", 4, 10); }

int does_io(void) {
    use("in library", 3, 10);
    return 7;
}

#ifdef PRELOADED
/* As other tools do it. */
ssize_t write(int descriptor, const void *from, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (real == NULL) abort();
    return real(descriptor, from, count);
}

void _exit(int code) {
    void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    use("other's exit", 1, 10);
    real(code);
    abort();
}
#endif
