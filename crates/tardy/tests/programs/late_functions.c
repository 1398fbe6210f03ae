// A cycle of 5 ms whose work is ordinarily `ordinary_work`, and every 50th time one of four slow functions, called at a chosen depth. For an
// emulated machine everything takes PERIOD times as long, and every 10th cycle is late.
// Usage: late_functions DEPTH COUNT FILE [PERIOD]
// Writes for each slow call the instant before it, on CLOCK_MONOTONIC in ns, and the name of the function.
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink = 1;

static int64_t ns_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Different constants, or the compiler makes one function of them.
#define WORK(name, factor) \
    NOINLINE void name(long count) { \
        for (long i = 0; i < count; i++) sink = sink * factor + i; \
    }
WORK(ordinary_work, 3)
WORK(slow_filter, 5)
WORK(slow_planner, 7)
WORK(slow_logger, 11)
WORK(slow_solver, 13)

typedef void (*work)(long);

#define LINK(number, next) \
    NOINLINE void link_##number(int depth, work slow, long count) { \
        if (depth <= 2) slow(count); else next(depth - 1, slow, count); \
        sink += number; \
    }
NOINLINE void link_1(int depth, work slow, long count) {
    (void)depth;
    slow(count);
    sink += 1;
}
LINK(2, link_1) LINK(3, link_2) LINK(4, link_3) LINK(5, link_4) LINK(6, link_5) LINK(7, link_6) LINK(8, link_7)
LINK(9, link_8) LINK(10, link_9) LINK(11, link_10) LINK(12, link_11) LINK(13, link_12) LINK(14, link_13) LINK(15, link_14)
LINK(16, link_15) LINK(17, link_16) LINK(18, link_17) LINK(19, link_18)

NOINLINE void cycle(int depth, work slow, long count, long ordinary) {
    ordinary_work(ordinary);
    if (slow && depth <= 1) slow(count);
    else if (slow) link_19(depth, slow, count);
    sink += 1;
}

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) return 2;
    long period = argc == 5 ? atol(argv[4]) : 1, every = period > 1 ? 10 : 50;
    int depth = atoi(argv[1]);
    long late = atol(argv[2]);
    FILE *truth = fopen(argv[3], "w");
    if (!truth) return 1;
    int64_t begun = ns_of(CLOCK_THREAD_CPUTIME_ID);
    ordinary_work(20000000);
    long per_ms = 20000000 * INT64_C(1000000) / (ns_of(CLOCK_THREAD_CPUTIME_ID) - begun + 1) + 1;
    const work slow[] = {slow_filter, slow_planner, slow_logger, slow_solver};
    const char *names[] = {"slow_filter", "slow_planner", "slow_logger", "slow_solver"};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long number = 1; number <= late * every; number++) {
        next.tv_nsec += period * 5000000;
        if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        int which = number / every % 4;
        int is_late = number % every == 0;
        int64_t before = ns_of(CLOCK_MONOTONIC);
        cycle(depth, is_late ? slow[which] : NULL, period * per_ms * 4, period * per_ms / 3);
        if (is_late) fprintf(truth, "%" PRId64 " %s\n", before, names[which]);
    }
    return fclose(truth) != 0;
}
