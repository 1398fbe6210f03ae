/* A thousand allocations, frees and locks in a thread with an ordinary policy, and again once it has a real-time one: the first
 * thread in between, and another one that starts with it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;

static void *work(void *unused)
{
	(void)unused;
	for (int round = 0; round < 1000; round++) {
		kept = malloc(77);
		free(kept);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

/* Its policy comes while it runs. */
static void *becomes_urgent(void *unused)
{
	struct sched_param priority = { .sched_priority = 3 };

	for (int round = 0; round < 1000; round++) {
		kept = malloc(78);
		free(kept);
	}
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0)
		return unused;
	work(NULL);
	priority.sched_priority = 0;
	if (pthread_setschedparam(pthread_self(), SCHED_OTHER, &priority) != 0)
		return unused;
	for (int round = 0; round < 1000; round++) {
		kept = malloc(78);
		free(kept);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *failed = NULL;

	work(NULL);
	if (pthread_create(&thread, NULL, becomes_urgent, &mutex) != 0)
		return 1;
	pthread_join(thread, &failed);
	return failed != NULL;
}
