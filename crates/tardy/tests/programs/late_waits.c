// A cycle of 5 ms that ordinarily works for 0.2 ms, and every 50th time sleeps about 6 ms in one of four ways, each in a function of its own.
// Usage: late_waits COUNT FILE
// Writes for each long sleep the instant before it, on CLOCK_MONOTONIC in ns, and the name of the function.
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define LONG_US 6000

static volatile uint64_t sink = 1;
static pthread_mutex_t map = PTHREAD_MUTEX_INITIALIZER;
static sem_t goal;
static int data[2], orders[2];

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Holds the lock, sends data late or posts late, on order.
static void *other(void *unused) {
    char order;
    while (read(orders[0], &order, 1) == 1) {
        if (order == 'l') pthread_mutex_lock(&map);
        // The order to lock comes a cycle earlier.
        usleep(order == 'l' ? 2 * LONG_US : LONG_US);
        if (order == 'l') pthread_mutex_unlock(&map);
        else if (order == 's') sem_post(&goal);
        else if (write(data[1], "x", 1) != 1) return NULL;
    }
    return unused;
}

static void send_order(char order) {
    if (write(orders[1], &order, 1) != 1) exit(1);
}

NOINLINE void update_map(void) {
    pthread_mutex_lock(&map);
    sink += 1;
    pthread_mutex_unlock(&map);
}
NOINLINE void read_sensor(void) {
    char byte;
    if (read(data[0], &byte, 1) == 1) sink += byte;
}
NOINLINE void poll_bus(void) {
    struct pollfd bus = {.fd = data[0], .events = POLLIN};
    char byte;
    sink += poll(&bus, 1, -1);
    sink += read(data[0], &byte, 1);
}
NOINLINE void take_goal(void) {
    sem_wait(&goal);
    sink += 1;
}

NOINLINE void cycle(void (*late)(void)) {
    for (int64_t until = now_ns() + 200000; now_ns() < until;) sink += 1;
    if (late) late();
    sink += 1;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    FILE *truth = fopen(argv[2], "w");
    pthread_t holder;
    if (!truth || sem_init(&goal, 0, 0) || pipe(data) || pipe(orders) || pthread_create(&holder, NULL, other, NULL)) return 1;
    // Without real-time priority a busy machine hides the long sleeps behind others.
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 50});
    void (*const late[])(void) = {update_map, read_sensor, poll_bus, take_goal};
    const char *names[] = {"update_map", "read_sensor", "poll_bus", "take_goal"};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long number = 1; number <= atol(argv[1]) * 50; number++) {
        next.tv_nsec += 5000000;
        if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        int which = number / 50 % 4, is_late = number % 50 == 0;
        // The other thread has the lock before the cycle begins.
        if (is_late && which == 0) send_order('l');
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        if (is_late && which > 0) send_order(which == 3 ? 's' : 'd');
        int64_t before = now_ns();
        cycle(is_late ? late[which] : NULL);
        if (is_late) fprintf(truth, "%" PRId64 " %s\n", before, names[which]);
    }
    return fclose(truth) != 0;
}
