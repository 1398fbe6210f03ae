/* A loop for 32-bit x86 that needs no library: 300 sleeps of 5 ms to an instant, a sched_yield in every third one. */
struct time {
	long seconds, ns;
};

static long call(long number, long first, long second, long third, long fourth)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third), "S"(fourth)
			 : "memory");
	return result;
}

void _start(void)
{
	enum { EXIT = 1, YIELD = 158, CLOCK_GETTIME = 265, CLOCK_NANOSLEEP = 267, MONOTONIC = 1, ABSOLUTE = 1 };
	struct time due;

	call(CLOCK_GETTIME, MONOTONIC, (long)&due, 0, 0);
	for (int cycle = 0; cycle < 300; cycle++) {
		due.ns += 5000000;
		if (due.ns >= 1000000000) {
			due.ns -= 1000000000;
			due.seconds++;
		}
		call(CLOCK_NANOSLEEP, MONOTONIC, ABSOLUTE, (long)&due, 0);
		if (cycle % 3 == 0)
			call(YIELD, 0, 0, 0, 0);
	}
	call(EXIT, 0, 0, 0, 0);
}
