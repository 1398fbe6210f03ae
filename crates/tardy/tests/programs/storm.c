/* A loop without a pause, or one that waits 1 ms after each round, that faults, maps or calls futex(2) at a rate.
   storm KIND PER_SECOND SECONDS FILE [waits]: writes how many it did after its first second, in how many seconds, and in all. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048, ROUND = 1000 };

static char *memory;
static int word = 1;

static double now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void faulting(long count) {
    static long at;
    for (; count > 0; count--, at = (at + 1) % PAGES) {
        if (at == 0) madvise(memory, PAGES * PAGE, MADV_DONTNEED);
        ((volatile char *)memory)[at * PAGE] = 1;
    }
}

__attribute__((noinline)) static void map_one(void) {
    munmap(mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

/* Wrappers of the C library have no frame pointer, so a stack lacks their direct caller: this is the next one. */
__attribute__((noinline)) static void mapping(long count) {
    for (; count > 0; count--) map_one();
}

__attribute__((noinline)) static void ask_one(void) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}

__attribute__((noinline)) static void asking(long count) {
    for (; count > 0; count--) ask_one();
}

int main(int count, char **words) {
    void (*storm)(long) = !strcmp(words[1], "fault") ? faulting : !strcmp(words[1], "mmap") ? mapping : asking;
    double per_second = atof(words[2]), seconds = atof(words[3]), begin = now(), at;
    memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
    long done = 0, settled = 0;
    while ((at = now() - begin) < seconds) {
        long due = at * per_second - done;
        if (due > ROUND) due = ROUND;
        if (due > 0) storm(due), done += due;
        if (at < 1) settled = done;
        if (count > 5) usleep(1000);
    }
    FILE *file = fopen(words[4], "w");
    if (!file) return 1;
    fprintf(file, "%ld %.3f %ld\n", done - settled, at - 1, done);
    return fclose(file);
}
