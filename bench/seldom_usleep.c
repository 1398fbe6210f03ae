/* Loaded into signaltest, which sleeps with usleep once in 16 rounds: lets it sleep once in 800, so that its mean is that of rounds
   that find their path in the caches, and it leaves the CPU before real-time throttling takes it away. */
#include <time.h>

int usleep(unsigned int us)
{
	static _Thread_local unsigned int calls;
	struct timespec time = {us / 1000000, us % 1000000 * 1000L};

	return calls++ % 50 ? 0 : nanosleep(&time, 0);
}
