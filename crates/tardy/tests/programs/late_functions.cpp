// As late_functions.c, in C++: members of a class, and levels that are one template.
// Usage: late_functions DEPTH COUNT FILE [PERIOD]
// Writes for each slow call the instant before it, on CLOCK_MONOTONIC in ns, and the name of the function.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink = 1;

static int64_t ns_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Different constants, or the compiler makes one function of them.
namespace robot {
class Controller {
  public:
    NOINLINE void ordinary_work(long count) { for (long i = 0; i < count; i++) sink = sink * 3 + i; }
    NOINLINE void slow_filter(long count) { for (long i = 0; i < count; i++) sink = sink * 5 + i; }
    NOINLINE void slow_planner(long count) { for (long i = 0; i < count; i++) sink = sink * 7 + i; }
    NOINLINE void slow_logger(long count) { for (long i = 0; i < count; i++) sink = sink * 11 + i; }
    NOINLINE void slow_solver(long count) { for (long i = 0; i < count; i++) sink = sink * 13 + i; }
};
}  // namespace robot
using robot::Controller;
typedef void (Controller::*work)(long);

template <int level> NOINLINE void link(Controller &controller, int depth, work slow, long count) {
    if constexpr (level == 1) (controller.*slow)(count);
    else if (depth <= 2) (controller.*slow)(count);
    else link<level - 1>(controller, depth - 1, slow, count);
    sink = sink + level;
}

NOINLINE void cycle(Controller &controller, int depth, work slow, long count, long ordinary) {
    controller.ordinary_work(ordinary);
    if (slow && depth <= 1) (controller.*slow)(count);
    else if (slow) link<19>(controller, depth, slow, count);
    sink = sink + 1;
}

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) return 2;
    long period = argc == 5 ? atol(argv[4]) : 1, every = period > 1 ? 10 : 50;
    int depth = atoi(argv[1]);
    long late = atol(argv[2]);
    FILE *truth = fopen(argv[3], "w");
    if (!truth) return 1;
    int64_t begun = ns_of(CLOCK_THREAD_CPUTIME_ID);
    Controller controller;
    controller.ordinary_work(20000000);
    long per_ms = 20000000 * INT64_C(1000000) / (ns_of(CLOCK_THREAD_CPUTIME_ID) - begun + 1) + 1;
    const work slow[] = {&Controller::slow_filter, &Controller::slow_planner, &Controller::slow_logger,
                         &Controller::slow_solver};
    const char *names[] = {"robot::Controller::slow_filter", "robot::Controller::slow_planner",
                           "robot::Controller::slow_logger", "robot::Controller::slow_solver"};
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long number = 1; number <= late * every; number++) {
        next.tv_nsec += period * 5000000;
        if (next.tv_nsec >= 1000000000) next.tv_nsec -= 1000000000, next.tv_sec++;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
        int which = number / every % 4;
        int is_late = number % every == 0;
        int64_t before = ns_of(CLOCK_MONOTONIC);
        cycle(controller, depth, is_late ? slow[which] : nullptr, period * per_ms * 4, period * per_ms / 3);
        if (is_late) fprintf(truth, "%" PRId64 " %s\n", before, names[which]);
    }
    return fclose(truth) != 0;
}
