// A periodic loop with planted misses: planted CPU PAUSE_MS KIND... Each kind comes once, PAUSE_MS apart, or FROM-TO for random pauses;
// each is written to standard output with the instant before it, in ns of CLOCK_REALTIME. The last line has the loop's own figures:
// its wake-ups, and the median and the 99 % quantile of their lateness in ns. SIGUSR1 forgets those so far.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 2000000L
#define MISS_NS 6000000L
#define FAULT_BYTES (64UL << 20)

static int cpu;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long lateness_us[10000];
static sem_t hog_now, lock_now;
static volatile int locked, in_cycle, forgets;

static long ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void spin(long for_ns) {
  long until = ns(CLOCK_MONOTONIC) + for_ns;
  while (ns(CLOCK_MONOTONIC) < until)
    ;
}

static void become(const char *name, int policy, int priority) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  struct sched_param parameter = {.sched_priority = priority};
  prctl(PR_SET_NAME, name);
  if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, policy, &parameter)) {
    perror("planted");
    exit(1);
  }
}

static void *hog(void *unused) {
  become("plant-hog", SCHED_FIFO, 90);
  while (!sem_wait(&hog_now))
    spin(MISS_NS);
  return unused;
}

// Takes the lock with an ordinary priority and works while it holds it.
static void *holder(void *unused) {
  become("plant-holder", SCHED_OTHER, 0);
  while (!sem_wait(&lock_now)) {
    pthread_mutex_lock(&lock);
    locked = 1;
    spin(MISS_NS);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void plant(const char *kind) {
  if (!strcmp(kind, "hog"))
    sem_post(&hog_now);
  else if (!strcmp(kind, "work"))
    in_cycle = 1;
  else if (!strcmp(kind, "lock"))
    sem_post(&lock_now);
  else if (!strcmp(kind, "fault"))
    in_cycle = 2;
  else if (!strcmp(kind, "stop"))
    in_cycle = 3;
}

static void work(void) {
  int kind = in_cycle;
  in_cycle = 0;
  if (kind == 1)
    spin(MISS_NS);
  if (kind == 2) {
    char *memory = mmap(NULL, FAULT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long at = 0; memory != MAP_FAILED && at < FAULT_BYTES; at += 4096)
      memory[at] = 1;
    munmap(memory, FAULT_BYTES);
  }
  if (kind == 3) {
    pid_t self = getpid(), child = fork();
    if (child == 0) {
      kill(self, SIGSTOP);
      usleep(MISS_NS / 1000);
      kill(self, SIGCONT);
      _exit(0);
    }
    if (child > 0)
      waitpid(child, NULL, 0);
  }
  if (locked) {
    pthread_mutex_lock(&lock);
    locked = 0;
    pthread_mutex_unlock(&lock);
  }
}

static void forget(int number) {
  (void)number;
  forgets = 1;
}

static void book(long late_ns) {
  if (forgets) {
    memset(lateness_us, 0, sizeof lateness_us);
    forgets = 0;
  }
  long late_us = late_ns < 0 ? 0 : late_ns / 1000;
  lateness_us[late_us < 10000 ? late_us : 9999]++;
}

static long quantile_ns(double part) {
  long total = 0, below = 0, at = 0;
  for (long us = 0; us < 10000; us++)
    total += lateness_us[us];
  for (; at < 9999 && (below += lateness_us[at]) < part * total; at++)
    ;
  return at * 1000;
}

static void say_figures(void) {
  long total = 0;
  for (long us = 0; us < 10000; us++)
    total += lateness_us[us];
  printf("wakeups %ld p50 %ld p99 %ld\n", total, quantile_ns(0.5), quantile_ns(0.99));
  fflush(stdout);
}

struct plan {
  long pause_ms, pause_ms_max;
  int count;
  char **kinds;
};

static void *planter(void *argument) {
  struct plan *plan = argument;
  prctl(PR_SET_NAME, "plant-er");
  srand(ns(CLOCK_REALTIME));
  for (int at = 0; at < plan->count; at++) {
    usleep((plan->pause_ms + rand() % (plan->pause_ms_max - plan->pause_ms + 1)) * 1000);
    printf("%ld %s\n", ns(CLOCK_REALTIME), plan->kinds[at]);
    fflush(stdout);
    plant(plan->kinds[at]);
  }
  usleep(plan->pause_ms * 1000);
  say_figures();
  exit(0);
}

int main(int count, char **words) {
  if (count < 3)
    return 2;
  cpu = atoi(words[1]);
  char *to = strchr(words[2], '-');
  struct plan plan = {atol(words[2]), to ? atol(to + 1) : atol(words[2]), count - 3, words + 3};
  signal(SIGUSR1, forget);
  pthread_t thread;
  pthread_create(&thread, NULL, planter, &plan);
  pthread_create(&thread, NULL, hog, NULL);
  pthread_create(&thread, NULL, holder, NULL);
  become("planted", SCHED_FIFO, 50);
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (;;) {
    next.tv_nsec += PERIOD_NS;
    if (next.tv_nsec >= 1000000000L) {
      next.tv_nsec -= 1000000000L;
      next.tv_sec++;
    }
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
      ;
    book(ns(CLOCK_MONOTONIC) - (next.tv_sec * 1000000000L + next.tv_nsec));
    work();
  }
}
