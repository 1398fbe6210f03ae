// A chain of two threads: pipe-sensor wakes every 10 ms by its timer and writes, pipe-motor reads and works for 0.2 ms. In each 50th cycle
// it works for 7 ms, or with the argument `hog`, pipe-hog has its CPU meanwhile. They write to a pipe, or with `packet` to a UDP socket.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 10000000L
#define WORK_NS 200000L
#define LATE_NS 7000000L

static int ends[2], hogs;
static volatile int hog_now;

static void spin(long for_ns) {
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < for_ns);
}

static void become(const char *name, int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  struct sched_param parameter = {.sched_priority = priority};
  prctl(PR_SET_NAME, name);
  if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &parameter)) {
    perror("pipeline");
    exit(1);
  }
}

static void *motor(void *unused) {
  become("pipe-motor", 60);
  char byte;
  for (int cycle = 1; read(ends[0], &byte, 1) == 1; cycle++) {
    if (cycle % 50 == 0)
      hogs ? (void)(hog_now = 1) : spin(LATE_NS);
    spin(WORK_NS);
  }
  return unused;
}

static void *hog(void *unused) {
  become("pipe-hog", 80);
  struct timespec pause = {.tv_nsec = 100000};
  for (;; clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL))
    if (hog_now) {
      hog_now = 0;
      spin(LATE_NS);
    }
  return unused;
}

static int connect_by_packets(void) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof place;
  ends[0] = socket(AF_INET, SOCK_DGRAM, 0);
  ends[1] = socket(AF_INET, SOCK_DGRAM, 0);
  return bind(ends[0], (struct sockaddr *)&place, length) || getsockname(ends[0], (struct sockaddr *)&place, &length) ||
         connect(ends[1], (struct sockaddr *)&place, length);
}

int main(int count, char **words) {
  pthread_t thread;
  hogs = count > 1 && !strcmp(words[1], "hog");
  if (count > 2 && !strcmp(words[2], "packet") ? connect_by_packets() : pipe(ends))
    return 1;
  pthread_create(&thread, NULL, motor, NULL);
  if (hogs)
    pthread_create(&thread, NULL, hog, NULL);
  become("pipe-sensor", 70);
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (;;) {
    next.tv_nsec += PERIOD_NS;
    if (next.tv_nsec >= 1000000000L) {
      next.tv_nsec -= 1000000000L;
      next.tv_sec++;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    if (write(ends[1], "x", 1) != 1)
      return 1;
  }
}
