/* A loop, of 2 ms unless said otherwise, that gets fresh memory in every cycle and touches it, so that each page is a page fault.
 * Usage: fault CYCLES [PERIOD_MS [KB]] */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MS 1000000L

int main(int count, char **words)
{
    long cycles = count > 1 ? atol(words[1]) : 500;
    long period_ns = (count > 2 ? atol(words[2]) : 2) * MS;
    long bytes = (count > 3 ? atol(words[3]) : 2048) << 10;
    struct sched_param parameters = { .sched_priority = 40 };
    struct timespec due, now;
    long overdue = 0;
    if (sched_setscheduler(0, SCHED_FIFO, &parameters))
        perror("fault: no real-time priority");
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long cycle = 0; cycle < cycles; cycle++) {
        due.tv_nsec += period_ns;
        if (due.tv_nsec >= 1000 * MS) {
            due.tv_sec++;
            due.tv_nsec -= 1000 * MS;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        overdue += now.tv_sec > due.tv_sec || (now.tv_sec == due.tv_sec && now.tv_nsec >= due.tv_nsec);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        char *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED)
            return 3;
        madvise(fresh, bytes, MADV_NOHUGEPAGE);
        for (long at = 0; at < bytes; at += 4096)
            fresh[at] = 1;
        munmap(fresh, bytes);
    }
    printf("fault: %ld cycles, %ld of them overdue\n", cycles, overdue);
    return 0;
}
