/* NAME WORK PERIOD [LONG]: works WORK µs, then sleeps; every tenth time LONG µs. `hog` sleeps PERIOD µs, any other name until the next
 * multiple of PERIOD µs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    int relative = !strcmp(words[1], "hog");
    long long work = atoll(words[2]) * 1000, period = atoll(words[3]) * 1000;
    long long lengthy = count > 4 ? atoll(words[4]) * 1000 : work, due = now();
    prctl(PR_SET_NAME, words[1]);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    for (int round = 1;; round++) {
        due = (relative ? now() : due) + period;
        struct timespec t = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        for (long long end = now() + (round % 10 ? work : lengthy); now() < end;) {
        }
    }
}
