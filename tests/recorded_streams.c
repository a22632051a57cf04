/* Writes and reads a file by macros of the C library between its functions: the way is the first argument. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *stream;

/* 6,000 bytes. */
static void fill(void) {
    for (int i = 0; i < 1000; i++) {
        fputs("fputs", stream);
        putc_unlocked('p', stream);
    }
}

static void take(int bytes) {
    while (bytes-- > 0)
        getc_unlocked(stream);
}

static void put(int bytes) {
    while (bytes-- > 0)
        putc_unlocked('p', stream);
}

/* 5,000 times 105 bytes. */
static void *write_lines(void *unused) {
    char line[101];
    memset(line, 'l', 99);
    strcpy(line + 99, "\n");
    for (int i = 0; i < 5000; i++) {
        fputs(line, stream);
        fputs("fputs", stream);
    }
    return unused;
}

int main(int count, char **arguments) {
    static char buffer[512];
    const char *way = arguments[1], *path = arguments[2];
    int reads = !strncmp(way, "reads", 5);
    stream = fopen(path, reads ? "r" : strcmp(way, "updates") ? "w" : "r+");
    if (!strcmp(way, "closed")) {
        fill();
    } else if (!strcmp(way, "returns")) {
        fill();
        return 0;
    } else if (!strcmp(way, "exits")) {
        fill();
        exit(0);
    } else if (!strcmp(way, "flushes all")) {
        fill();
        fflush(NULL);
        _exit(0);
    } else if (!strcmp(way, "has a buffer")) {
        setvbuf(stream, buffer, _IOFBF, sizeof buffer);
        fill();
    } else if (!strcmp(way, "unbuffered")) {
        setvbuf(stream, NULL, _IONBF, 0);
        fill();
    } else if (!strcmp(way, "by line")) {
        setvbuf(stream, NULL, _IOLBF, 100);
        fill();
    } else if (!strcmp(way, "appends")) {
        stream = freopen(path, "a", stream);
        fill();
        fflush(stream);
        fill();
    } else if (!strcmp(way, "only macros")) {
        put(6000);
    } else if (!strcmp(way, "long texts")) {
        char text[201];
        memset(text, 't', 200);
        text[200] = 0;
        for (int i = 0; i < 20; i++) {
            fputs(text, stream);
            put(100);
        }
    } else if (!strcmp(way, "forks")) {
        fill();
        if (fork() == 0)
            _exit(0);
        wait(NULL);
    } else if (!strcmp(way, "reads")) {
        while (getc_unlocked(stream) != EOF)
            ;
    } else if (!strcmp(way, "reads by turns")) {
        char line[20];
        do
            take(37);
        while (fgets(line, sizeof line, stream) && fread(line, 1, 3, stream) == 3);
    } else if (!strcmp(way, "reads parts")) {
        take(600);
        fseek(stream, 5000, SEEK_SET);
        take(400);
        return 0;
    } else if (!strcmp(way, "updates")) {
        take(100);
        fseek(stream, 0, SEEK_CUR);
        put(50);
        fflush(stream);
        fseek(stream, 10, SEEK_SET);
        take(30);
    } else if (!strcmp(way, "threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, write_lines, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    } else {
        return 1;
    }
    return fclose(stream);
}
