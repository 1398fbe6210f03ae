/* Prints what a function of the C library costs, in ns: the median of bursts of pairs, with pauses in which a reader of records
 * catches up. Words: heap or mutex; and fifo for a real-time policy. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BURSTS 25
#define PAIRS 5000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;

static int by_size(const void *one, const void *other)
{
	double first = *(const double *)one, second = *(const double *)other;

	return (first > second) - (first < second);
}

static void heap(void)
{
	kept = malloc(100);
	free(kept);
}

static void locks(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int count, char **words)
{
	struct timespec pause = { 0, 60000000 }, start, end;
	struct sched_param priority = { .sched_priority = 10 };
	double costs[BURSTS];
	void (*work)(void) = count > 1 && strcmp(words[1], "mutex") == 0 ? locks : heap;

	if (count > 2 && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
		return 1;
	for (int burst = 0; burst < BURSTS; burst++) {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (int pair = 0; pair < PAIRS; pair++)
			work();
		clock_gettime(CLOCK_MONOTONIC, &end);
		costs[burst] = ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / (2 * PAIRS);
	}
	qsort(costs, BURSTS, sizeof *costs, by_size);
	printf("%.1f %.1f\n", costs[BURSTS / 2], costs[0]);
	return 0;
}
