/* Calls of the C library that make no system call, a known number of each from a known function, in a real-time thread; and the
 * same calls in an ordinary one. With -DGOOD the real-time thread makes none of them. With -DRTSAN each cycle is a real-time
 * context of RealtimeSanitizer; link its runtime. Built by the tests with the C compiler of the machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CYCLES 300
#define PERIOD_NS 2000000L
#define START_NS 300000000L

#ifdef RTSAN
void __rtsan_realtime_enter(void);
void __rtsan_realtime_exit(void);
#else
static void __rtsan_realtime_enter(void) {}
static void __rtsan_realtime_exit(void) {}
#endif

#define PLACE __attribute__((noinline, noclone))

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER, inheriting;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinning;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static volatile int finished;
/* Whether the ordinary thread may take the shared lock. The real-time thread sleeps meanwhile: it must never wait for the lock,
 * which would be a system call. */
static volatile int invited;
static void *volatile kept;

static void add(struct timespec *at, long ns)
{
	at->tv_nsec += ns;
	while (at->tv_nsec >= 1000000000L) {
		at->tv_nsec -= 1000000000L;
		at->tv_sec++;
	}
}

static void sleep_until(const struct timespec *due)
{
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL) == EINTR)
		;
}

static PLACE void allocates(void)
{
	kept = malloc(40);
	__asm__ volatile("" ::: "memory");
}

static PLACE void frees(void)
{
	free(kept);
	kept = NULL;
	__asm__ volatile("" ::: "memory");
}

static PLACE void clears(void)
{
	void *volatile block = calloc(3, 20);

	block = realloc(block, 200);
	free(block);
	__asm__ volatile("" ::: "memory");
}

static PLACE void aligns(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, 100) != 0)
		abort();
	free(block);
	__asm__ volatile("" ::: "memory");
}

static PLACE void locks_shared(void)
{
	pthread_mutex_lock(&shared);
	pthread_mutex_unlock(&shared);
	__asm__ volatile("" ::: "memory");
}

static PLACE void locks_own(void)
{
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	__asm__ volatile("" ::: "memory");
}

static PLACE void locks_inheriting(void)
{
	pthread_mutex_lock(&inheriting);
	pthread_mutex_unlock(&inheriting);
	__asm__ volatile("" ::: "memory");
}

static PLACE void reads_and_writes(void)
{
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	__asm__ volatile("" ::: "memory");
}

static PLACE void spins(void)
{
	pthread_spin_lock(&spinning);
	pthread_spin_unlock(&spinning);
	__asm__ volatile("" ::: "memory");
}

static PLACE void signals(void)
{
	pthread_cond_signal(&news);
	__asm__ volatile("" ::: "memory");
}

/* From the C library, which calls malloc itself. */
static PLACE void copies(void)
{
	kept = strdup("a text");
	frees();
	__asm__ volatile("" ::: "memory");
}

static PLACE void all_calls(int cycle)
{
	allocates();
	frees();
	if (cycle % 3 == 0)
		clears();
	if (cycle % 5 == 0)
		aligns();
	locks_shared();
	locks_own();
	locks_inheriting();
	if (cycle % 2 == 0)
		reads_and_writes();
	spins();
	signals();
	copies();
}

static void *loop(void *unused)
{
	struct timespec due;

	(void)unused;
	pthread_setname_np(pthread_self(), "urgent");
	/* The thread's arena and its cache, long before the loop. */
	kept = malloc(40);
	free(kept);
	clock_gettime(CLOCK_MONOTONIC, &due);
	add(&due, START_NS);
	/* All calls are between two waits. The waits before and after them are long: a wait for an instant that has passed bounds no
	 * loop, and a machine may delay this thread by many periods. */
	for (int cycle = -2; cycle <= CYCLES; cycle++) {
		do {
			add(&due, cycle < 0 || cycle == CYCLES ? START_NS : PERIOD_NS);
			sleep_until(&due);
		} while (invited);
		if (cycle < 0 || cycle == CYCLES)
			continue;
		__rtsan_realtime_enter();
#ifndef GOOD
		all_calls(cycle);
#endif
		__rtsan_realtime_exit();
		if (cycle % 100 == 50)
			invited = 1;
	}
	finished = 1;
	return NULL;
}

static void *neighbour(void *unused)
{
	struct timespec moment = { 0, 3000000 };

	(void)unused;
	pthread_setname_np(pthread_self(), "neighbour");
	while (!finished) {
		void *volatile block = malloc(100);

		free(block);
		if (invited) {
			pthread_mutex_lock(&shared);
			pthread_mutex_unlock(&shared);
			invited = 0;
		}
		nanosleep(&moment, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attributes;
	pthread_attr_t real_time;
	struct sched_param priority = { .sched_priority = 40 };
	pthread_t urgent, other;

	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_MMAP_MAX, 0);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return 2;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &attributes);
	pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE);
	pthread_attr_init(&real_time);
	pthread_attr_setinheritsched(&real_time, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&real_time, SCHED_FIFO);
	pthread_attr_setschedparam(&real_time, &priority);
	if (pthread_create(&urgent, &real_time, loop, NULL) != 0)
		return 3;
	pthread_create(&other, NULL, neighbour, NULL);
	pthread_join(urgent, NULL);
	pthread_join(other, NULL);
	return 0;
}
