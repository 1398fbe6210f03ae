// Takes a CPU with SCHED_FIFO priority 95, repeatedly: hog CPU BUSY_US PERIOD_US. Hogs of one period begin at the same instants.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    long long busy_ns = atoll(words[2]) * 1000, period_ns = atoll(words[3]) * 1000;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    struct sched_param priority = {.sched_priority = 95};
    if (sched_setaffinity(0, sizeof cpus, &cpus) || sched_setscheduler(0, SCHED_FIFO, &priority)) {
        perror("hog");
        return 1;
    }
    for (;;) {
        long long next_ns = (now_ns() / period_ns + 1) * period_ns;
        struct timespec next = {next_ns / 1000000000, next_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        for (long long until = now_ns() + busy_ns; now_ns() < until;)
            ;
    }
}
