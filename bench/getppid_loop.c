/* Prints what a cheap system call costs, in ns: the median of bursts, with pauses in which a reader of records catches up. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 25
#define CALLS 10000

static int by_size(const void *one, const void *other)
{
	double first = *(const double *)one, second = *(const double *)other;

	return (first > second) - (first < second);
}

int main(void)
{
	struct timespec pause = { 0, 60000000 }, start, end;
	double costs[BURSTS];

	for (int burst = 0; burst < BURSTS; burst++) {
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (int call = 0; call < CALLS; call++)
			getppid();
		clock_gettime(CLOCK_MONOTONIC, &end);
		costs[burst] = ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / CALLS;
	}
	qsort(costs, BURSTS, sizeof *costs, by_size);
	printf("%.1f %.1f\n", costs[BURSTS / 2], costs[0]);
	return 0;
}
