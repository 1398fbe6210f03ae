// Starves an ordinary thread of a CPU by a busy one of SCHED_FIFO priority 50: starve CPU. The kernel lets the ordinary one run nevertheless.
#define _GNU_SOURCE
#include "when_measured.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    when_measured();
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) {
        perror("starve");
        return 1;
    }
    struct sched_param priority = {.sched_priority = 50};
    if (fork() && sched_setscheduler(0, SCHED_FIFO, &priority))
        perror("starve");
    for (volatile unsigned long turns = 0;; turns++)
        ;
}
