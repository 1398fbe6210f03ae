// An allocation fails with an exception, near the start of the stack; what follows it is further down. The exception is kept, so
// that nothing is freed beside the allocation.
#include <cstdlib>
#include <exception>
#include <new>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t huge = ~size_t(0) / 4;
static void *volatile kept;

__attribute__((noinline)) static int work(int depth)
{
	volatile char room[256];

	room[0] = char(depth);
	if (depth > 0)
		return work(depth - 1) + room[0];
	for (int round = 0; round < 100; round++) {
		kept = malloc(77);
		free(kept);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return 0;
}

int main()
{
	std::exception_ptr caught;

	try {
		kept = new char[huge];
	} catch (const std::bad_alloc &) {
		caught = std::current_exception();
	}
	work(20);
	return caught ? 0 : 1;
}
