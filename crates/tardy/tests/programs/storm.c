/* A loop of 1 ms that, in each cycle, faults, maps or wakes as often as its second argument says. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 2048 };

static char *memory;
static int word;

__attribute__((noinline)) static void faulting(long count) {
    for (long at = 0; at < count; at++) {
        if (at % PAGES == 0) madvise(memory, PAGES * PAGE, MADV_DONTNEED);
        ((volatile char *)memory)[at % PAGES * PAGE] = 1;
    }
}

__attribute__((noinline)) static void mapping(long count) {
    for (long at = 0; at < count; at++) munmap(mmap(0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

__attribute__((noinline)) static void waiting(long count) {
    struct timespec none = {0, 1};
    for (long at = 0; at < count; at++) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &none, 0, 0);
}

int main(int count, char **words) {
    void (*storm)(long) = !strcmp(words[1], "fault") ? faulting : !strcmp(words[1], "mmap") ? mapping : waiting;
    long each = count > 2 ? atol(words[2]) : 10;
    memory = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (;;) {
        storm(each);
        due.tv_nsec += 1000000;
        if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > due.tv_sec || (now.tv_sec == due.tv_sec && now.tv_nsec > due.tv_nsec)) due = now, due.tv_nsec += 50000;
        if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, 0);
    }
}
