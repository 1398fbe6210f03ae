/* A loop of 1 ms with SCHED_FIFO priority 10 on CPU 0 that writes a line into a log for each cycle that began more than
 * 1 ms late: served LOG CYCLES. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS 1000000L

static long long ns(struct timespec at)
{
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int main(int count, char **words)
{
    FILE *log = count == 3 ? fopen(words[1], "a") : NULL;
    if (!log)
        return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    struct sched_param priority = {.sched_priority = 10};
    if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("served");
        return 1;
    }
    struct timespec due, now;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long cycle = atol(words[2]); cycle > 0; cycle--) {
        due.tv_nsec += MS;
        if (due.tv_nsec >= 1000 * MS) {
            due.tv_sec++;
            due.tv_nsec -= 1000 * MS;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (ns(now) - ns(due) > MS) {
            fprintf(log, "served: LATE by %lld us\n", (ns(now) - ns(due)) / 1000);
            fflush(log);
            due = now;
        }
    }
    return 0;
}
