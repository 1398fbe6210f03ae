// A sensor, a filter and an actuator, as in a robot: the sensor publishes every 2 ms, each subscriber waits for a message.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 2000000
#define DEADLINE_NS 1500000

static int topics[2][2];
static long cycles;

struct message {
    int64_t made_ns;
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void work(int64_t ns) {
    int64_t end = now_ns() + ns;
    while (now_ns() < end) {
    }
}

static void *sensor(void *unused) {
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long cycle = 0; cycle < cycles; cycle++) {
        due.tv_nsec += PERIOD_NS;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
        }
        // The age of a message counts from the instant at which it should have been made.
        struct message message = {due.tv_sec * 1000000000LL + due.tv_nsec};
        if (write(topics[0][1], &message, sizeof message) != sizeof message)
            break;
    }
    close(topics[0][1]);
    return unused;
}

static void *filter(void *unused) {
    struct message message;
    while (read(topics[0][0], &message, sizeof message) == sizeof message) {
        work(50000);
        if (write(topics[1][1], &message, sizeof message) != sizeof message)
            break;
    }
    close(topics[1][1]);
    return unused;
}

static void *actuator(void *unused) {
    struct message message;
    while (read(topics[1][0], &message, sizeof message) == sizeof message) {
        int64_t age_ns = now_ns() - message.made_ns;
        if (age_ns > DEADLINE_NS)
            printf("actuator: stale message, %lld us old\n", (long long)age_ns / 1000);
    }
    return unused;
}

static pthread_t start(void *(*body)(void *), const char *name, int priority) {
    pthread_attr_t attributes;
    pthread_t thread;
    struct sched_param scheduling = {.sched_priority = priority};
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &scheduling);
    if (pthread_create(&thread, &attributes, body, NULL)) {
        fprintf(stderr, "pipeline: real-time priority refused; run as root\n");
        exit(1);
    }
    pthread_setname_np(thread, name);
    return thread;
}

int main(int count, char **words) {
    cycles = count > 1 ? atol(words[1]) : 1000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, topics[0]) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, topics[1])) {
        perror("pipeline");
        return 1;
    }
    pthread_t threads[] = {start(actuator, "actuator", 40), start(filter, "filter", 50), start(sensor, "sensor", 60)};
    for (int at = 2; at >= 0; at--)
        pthread_join(threads[at], NULL);
    printf("pipeline: %ld messages\n", cycles);
    return 0;
}
