/* Threads, processes, signals and files at once; prints the same in every run. With an argument: for that number of seconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 6
#define ROUNDS 60

extern char **environ;
static volatile sig_atomic_t alarms;
static volatile int finished;

/* A handler makes calls, also while its thread is in one. */
static void on_alarm(int number)
{
	int kept = errno;

	(void)number;
	alarms++;
	getppid();
	errno = kept;
}

static uint64_t with_vectors(uint64_t seed)
{
	double values[8];
	uint64_t sum = 0;

	for (int at = 0; at < 8; at++)
		values[at] = (double)(seed + at) * 1.5;
	getppid(); /* vector registers are live over it */
	for (int at = 0; at < 8; at++)
		sum += (uint64_t)values[at];
	return sum;
}

static void *worker(void *argument)
{
	uint64_t number = (uintptr_t)argument, sum = 0;
	int pipes[2];

	if (pipe(pipes) != 0)
		abort();
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t word = number * 1000003 + round, back = 0;

		while (write(pipes[1], &word, sizeof word) != sizeof word)
			if (errno != EINTR)
				abort();
		while (read(pipes[0], &back, sizeof back) != sizeof back)
			if (errno != EINTR)
				abort();
		if (syscall(SYS_gettid) == getpid())
			abort();
		sum = sum * 31 + back + with_vectors(round);
		sched_yield();
	}
	close(pipes[0]);
	close(pipes[1]);
	return (void *)(uintptr_t)sum;
}

static int status_of(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) != child)
		if (errno != EINTR)
			abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int by_vfork(int code)
{
	pid_t child = vfork();

	if (child == 0) {
		if (getppid() == 0)
			_exit(99);
		_exit(code);
	}
	return status_of(child);
}

static int by_fork(int code)
{
	pid_t child = fork();

	if (child == 0) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, (void *)(uintptr_t)3) != 0)
			_exit(98);
		pthread_join(thread, NULL);
		_exit(code);
	}
	return status_of(child);
}

static int by_spawn(const char *name, const char *argument)
{
	char *words[] = { (char *)name, "-c", (char *)argument, NULL };
	pid_t child;

	return posix_spawnp(&child, name, NULL, NULL, words, environ) == 0 ? status_of(child) : -1000;
}

static void one_round(int print)
{
	pthread_t threads[THREADS];
	uint64_t sums = 0;

	for (uintptr_t at = 0; at < THREADS; at++)
		if (pthread_create(&threads[at], NULL, worker, (void *)at) != 0)
			abort();
	int codes[] = { by_vfork(7), by_fork(8), by_spawn("sh", "exit 9"), by_spawn("/nonexistent", "") };
	for (int at = 0; at < THREADS; at++) {
		void *sum;

		pthread_join(threads[at], &sum);
		sums = sums * 17 + (uintptr_t)sum;
	}
	if (print)
		printf("%d %d %d %d %llu\n", codes[0], codes[1], codes[2], codes[3], (unsigned long long)sums);
}

int main(int count, char **words)
{
	struct itimerval every = { { 0, 700 }, { 0, 700 } };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	time_t end = time(NULL) + (count > 1 ? atol(words[1]) : 0);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	do
		one_round(count == 1 || time(NULL) >= end);
	while (time(NULL) < end);
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, NULL);
	printf("%s\n", alarms > 0 ? "alarms" : "no alarm");
	return 0;
}
