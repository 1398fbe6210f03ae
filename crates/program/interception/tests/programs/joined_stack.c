/* The stack of a thread is the lower half of a mapping whose upper half goes away while the thread runs; what the thread has in the
 * register of the frame pointer looks like an address there. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HALF (512 << 10)

static char *mapping;
static void *volatile kept;

static void *work(void *unused)
{
	register char *above __asm__("r12") = NULL;
	register mode_t (*function)(mode_t) __asm__("r13") = NULL;
	unsigned result = 022;

	(void)unused;
	umask(022);
	kept = malloc(77);
	if (munmap(mapping + HALF, HALF))
		return &mapping;
	above = mapping + HALF + HALF / 2;
	function = umask;
	/* umask(2) of the C library does not touch rbp. */
	__asm__ volatile("push %%rbp\n\t"
			 "mov %%rsp, %%rbx\n\t"
			 "and $-16, %%rsp\n\t"
			 "mov %1, %%rbp\n\t"
			 "call *%2\n\t"
			 "mov %%rbx, %%rsp\n\t"
			 "pop %%rbp"
			 : "+D"(result)
			 : "r"(above), "r"(function)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
	free(kept);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	void *failed = NULL;

	mapping = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED || pthread_attr_init(&attributes) || pthread_attr_setstack(&attributes, mapping, HALF))
		return 1;
	if (pthread_create(&thread, &attributes, work, NULL))
		return 2;
	pthread_join(thread, &failed);
	puts(failed ? "failed" : "done");
	return failed != NULL;
}
