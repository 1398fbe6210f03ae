/* Takes eight locks of an array in turn, and then more locks than any thread remembers. */
#include <pthread.h>
#include <stdio.h>

#define MANY 4096

static struct {
	_Alignas(64) pthread_mutex_t mutex;
} locks[MANY];

static void take(int rounds, int count)
{
	for (int round = 0; round < rounds; round++)
		for (int at = 0; at < count; at++) {
			pthread_mutex_lock(&locks[at].mutex);
			pthread_mutex_unlock(&locks[at].mutex);
		}
}

int main(void)
{
	for (int at = 0; at < MANY; at++)
		pthread_mutex_init(&locks[at].mutex, NULL);
	take(10000, 8);
	take(20, MANY);
	printf("%p\n", (void *)&locks[0].mutex);
	return 0;
}
