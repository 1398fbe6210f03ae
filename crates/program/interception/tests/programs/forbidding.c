/* Forbids itself to read the processor's counter, or every call but a few, and goes on. */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *words) {
    if (write(1, words, strlen(words)) < 0) _exit(9);
}

static void *child(void *none) {
    say("thread\n");
    return none;
}

int main(int count, char **words) {
    say("begin\n");
    if (count > 1 && !strcmp(words[1], "counter")) {
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) return 8;
        pthread_t thread;
        say("forbidden\n");
        if (pthread_create(&thread, 0, child, 0) || pthread_join(thread, 0)) return 7;
        return 0;
    }
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)) return 6;
    say("strict\n");
    syscall(SYS_exit, 0);
}
