// A loop of 1 ms with SCHED_FIFO priority 10 that prints XRun for each wake-up that missed its period: periods CPU CYCLES. A CPU
// below 0 leaves the choice to the kernel.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS 1000000LL

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (atoi(words[1]) >= 0)
        CPU_SET(atoi(words[1]), &cpus);
    struct sched_param priority = {.sched_priority = 10};
    int pinned = atoi(words[1]) >= 0;
    if ((pinned && sched_setaffinity(0, sizeof cpus, &cpus)) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("periods");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    long long due_ns = now_ns();
    for (long cycle = 0; cycle < atol(words[2]); cycle++) {
        due_ns += PERIOD_NS;
        struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        long long late_ns = now_ns() - due_ns;
        if (late_ns > PERIOD_NS) {
            printf("XRun of %lld us\n", late_ns / 1000);
            due_ns = now_ns();
        }
    }
    return 0;
}
