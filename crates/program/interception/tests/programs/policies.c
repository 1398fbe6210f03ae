/* A thread gets a real-time policy in ways that its own process does not show: from another process, or behind a filter that ends
 * the process when it asks for a policy. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static const struct sched_param priority = { .sched_priority = 3 };

static void allocate(size_t bytes)
{
	for (int round = 0; round < 100; round++) {
		kept = malloc(bytes);
		free(kept);
	}
}

static int filter(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getscheduler, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof steps / sizeof *steps, .filter = steps };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void *behind_a_filter(void *unused)
{
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority))
		return unused;
	allocate(77);
	return NULL;
}

static int from_another_process(void)
{
	pid_t parent = getpid();
	int status = -1;

	allocate(78);
	pid_t child = fork();
	if (child == 0)
		_exit(sched_setscheduler(parent, SCHED_FIFO, &priority) != 0);
	if (waitpid(child, &status, 0) != child || status != 0)
		return 2;
	usleep(100000);
	allocate(77);
	return 0;
}

int main(int count, char **words)
{
	pthread_t thread;
	void *failed = NULL;

	if (count > 1 && !strcmp(words[1], "process"))
		return from_another_process();
	if (filter() || pthread_create(&thread, NULL, behind_a_filter, &failed))
		return 1;
	pthread_join(thread, &failed);
	return failed != NULL;
}
