/* A robot's loop with a deliberate priority inversion of 5 ms: three real-time threads on one CPU, a plain mutex between
 * the highest and the lowest, and one in the middle that computes while the lowest holds it. Usage: inversion CYCLES [SCALE]
 * An emulated machine keeps no time: there SCALE makes everything that many times longer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS 1000000L

static long scale = 1;

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static struct timespec begin;
static long cycles;

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void busy(long ns)
{
    long until = now_ns() + ns * scale;
    while (now_ns() < until)
        ;
}

static void sleep_until(long cycle, long offset_ns)
{
    long due = begin.tv_sec * 1000 * MS + begin.tv_nsec + (cycle * 25 * MS + offset_ns) * scale;
    struct timespec instant = { due / (1000 * MS), due % (1000 * MS) };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL);
}

static void *low(void *unused)
{
    for (long cycle = 1; cycle <= cycles; cycle++) {
        sleep_until(cycle, 0);
        pthread_mutex_lock(&shared);
        busy(MS);
        pthread_mutex_unlock(&shared);
    }
    return unused;
}

static void *middle(void *unused)
{
    for (long cycle = 1; cycle <= cycles; cycle++) {
        sleep_until(cycle, MS / 2);
        /* Most of the time it stays away, as such threads do. */
        if (cycle % 8 == 0)
            busy(5 * MS);
    }
    return unused;
}

static void *high(void *unused)
{
    for (long cycle = 1; cycle <= cycles; cycle++) {
        sleep_until(cycle, MS / 4);
        pthread_mutex_lock(&shared);
        busy(MS / 20);
        pthread_mutex_unlock(&shared);
    }
    return unused;
}

static pthread_t start(const char *name, void *(*run)(void *), int priority)
{
    pthread_attr_t attributes;
    struct sched_param parameters = { .sched_priority = priority };
    cpu_set_t cpus;
    pthread_t thread;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    int error = pthread_create(&thread, &attributes, run, NULL);
    if (error) {
        fprintf(stderr, "inversion: no thread %s: %s\n", name, strerror(error));
        exit(3);
    }
    pthread_setname_np(thread, name);
    return thread;
}

int main(int count, char **words)
{
    cycles = count > 1 ? atol(words[1]) : 100;
    scale = count > 2 ? atol(words[2]) : 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pthread_t threads[] = { start("arm-low", low, 10), start("arm-middle", middle, 20), start("arm-high", high, 30) };
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
    printf("inversion: %ld cycles\n", cycles);
    return 0;
}
