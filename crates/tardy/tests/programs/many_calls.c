/* 10^5 system calls of several kinds between two marks, with pauses in which a slow reader catches up. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	int file = open("/dev/null", O_RDWR), pipes[2];
	struct timespec moment = { 0, 20000000 };
	struct stat about;
	char byte = 1;

	if (pipe(pipes) != 0)
		return 1;
	umask(0123);
	for (int at = 0; at < 16666; at++) {
		if (write(file, &byte, at % 2) < 0)
			return 2;
		getppid();
		if (write(pipes[1], &byte, 1) != 1 || read(pipes[0], &byte, 1) != 1)
			return 3;
		lseek(file, at, SEEK_SET);
		fstat(at % 7, &about);
		if (at % 100 == 0)
			nanosleep(&moment, NULL);
	}
	umask(0321);
	return 0;
}
