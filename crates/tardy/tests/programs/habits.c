/* Two programs in one source: with -DBAD a loop with every habit that `tardy audit` knows, without it the same loop
 * without any. Built by the tests with the C compiler of the machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CYCLES 400
#define PERIOD_NS 5000000L
#define PAGE 4096

static pthread_mutex_t mutex;
static volatile int finished;
static pthread_t urgent;

static void add(struct timespec *at, long ns)
{
	at->tv_nsec += ns;
	while (at->tv_nsec >= 1000000000L) {
		at->tv_nsec -= 1000000000L;
		at->tv_sec++;
	}
}

/* Computes without a system call. */
static void work(long ns)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	add(&end, ns);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void sleep_until(clockid_t clock, struct timespec *at)
{
	while (clock_nanosleep(clock, TIMER_ABSTIME, at, NULL) == EINTR)
		;
}

static __attribute__((noinline)) void deep(int bytes)
{
	volatile char frame[bytes];

	for (int at = 0; at < bytes; at += PAGE)
		frame[at] = 1;
}

#ifdef BAD
static void nothing(int number)
{
	(void)number;
}

static __attribute__((noinline)) void bad_things(int cycle, int file)
{
	struct timespec moment = { 0, 100000 }, at;
	char *volatile block;

	if (cycle == 100) /* a page fault of the heap or of malloc, and an allocation */
		for (int round = 0; round < 4; round++) {
			block = malloc(1 << 20);
			memset(block, 1, 1 << 20);
			free(block);
		}
	if (cycle == 120) /* a fault on the stack */
		deep(40 * PAGE);
	if (cycle % 50 == 10 && write(file, "cycle\n", 6) != 6)
		abort();
	if (cycle % 50 == 20)
		sched_yield();
	if (cycle % 50 == 30)
		nanosleep(&moment, NULL);
	if (cycle % 50 == 40) {
		clock_gettime(CLOCK_REALTIME, &at);
		add(&at, 200000);
		sleep_until(CLOCK_REALTIME, &at);
	}
	if (cycle == 150)
		pthread_kill(pthread_self(), SIGUSR1);
}
#endif

static void *loop(void *unused)
{
	struct timespec due;
	int file = open("/var/tmp/tardy-habits", O_CREAT | O_WRONLY | O_TRUNC, 0600);

	(void)unused;
	pthread_setname_np(pthread_self(), "urgent");
#ifndef BAD
	deep(64 * PAGE);
#endif
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (int cycle = 0; cycle < CYCLES; cycle++) {
		add(&due, PERIOD_NS);
		sleep_until(CLOCK_MONOTONIC, &due);
		pthread_mutex_lock(&mutex);
		work(50000);
		pthread_mutex_unlock(&mutex);
#ifdef BAD
		bad_things(cycle, file);
#endif
	}
	finished = 1;
	close(file);
	return NULL;
}

/* A less urgent thread that takes the lock as well: for long, so that the other one waits. */
static void *neighbour(void *unused)
{
	struct timespec moment = { 0, 3000000 };

	(void)unused;
	(void)moment;
	pthread_setname_np(pthread_self(), "neighbour");
	while (!finished) {
		pthread_mutex_lock(&mutex);
		work(2000000);
		pthread_mutex_unlock(&mutex);
#ifdef BAD
		nanosleep(&moment, NULL);
#else
		clock_gettime(CLOCK_MONOTONIC, &moment);
		add(&moment, 3000000);
		sleep_until(CLOCK_MONOTONIC, &moment);
#endif
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attributes;
	pthread_attr_t real_time;
	struct sched_param priority = { .sched_priority = 40 };
	pthread_t other;

	pthread_mutexattr_init(&attributes);
#ifdef BAD
	signal(SIGUSR1, nothing);
#else
	mallopt(M_TRIM_THRESHOLD, -1);
	mallopt(M_MMAP_MAX, 0);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		return 2;
#endif
	pthread_mutex_init(&mutex, &attributes);
	pthread_attr_init(&real_time);
	pthread_attr_setinheritsched(&real_time, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&real_time, SCHED_FIFO);
	pthread_attr_setschedparam(&real_time, &priority);
	/* That of musl is smaller than the deepest frame here. */
	pthread_attr_setstacksize(&real_time, 1 << 20);
	if (pthread_create(&urgent, &real_time, loop, NULL) != 0)
		return 3;
	priority.sched_priority = 10;
	pthread_attr_setschedparam(&real_time, &priority);
#ifdef BAD
	pthread_create(&other, NULL, neighbour, NULL);
#else
	if (pthread_create(&other, &real_time, neighbour, NULL) != 0)
		return 4;
#endif
	pthread_join(urgent, NULL);
	pthread_join(other, NULL);
	unlink("/var/tmp/tardy-habits");
	return 0;
}
