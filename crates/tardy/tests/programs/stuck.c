// A periodic real-time thread, stuck-arm, and one with a higher priority on its CPU, stuck-hog, that keeps the CPU for ever once a file exists:
// stuck CPU FILE.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 10000000L

static int cpu;
static const char *file;

static void become(const char *name, int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  struct sched_param parameter = {.sched_priority = priority};
  prctl(PR_SET_NAME, name);
  if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &parameter)) {
    perror("stuck");
    exit(1);
  }
}

static void *hog(void *unused) {
  become("stuck-hog", 80);
  struct timespec pause = {.tv_nsec = 100000000};
  while (access(file, F_OK))
    nanosleep(&pause, NULL);
  for (volatile long turns = 0;; turns++)
    ;
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  cpu = atoi(argv[1]);
  file = argv[2];
  pthread_t thread;
  if (pthread_create(&thread, NULL, hog, NULL))
    return 1;
  become("stuck-arm", 50);
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (;;) {
    next.tv_nsec += PERIOD_NS;
    if (next.tv_nsec >= 1000000000L)
      next.tv_sec++, next.tv_nsec -= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
}
