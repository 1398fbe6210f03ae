// Writes to more memory than its control group has, over and over, in a machine of its own: swap_hog CPU MB LIMIT_MB. The kernel moves it
// to the swap on /dev/nullb0, a disk in memory of the module null_blk, in the program's name.
#define _GNU_SOURCE
#include "when_measured.h"
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>

#define PAGE 4096
#define SWAP "/dev/nullb0"

static void or_end(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static void write_to(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    or_end(file < 0 || write(file, text, strlen(text)) < 0, path);
    close(file);
}

// The head of a swap area (include/linux/swap.h), as mkswap writes it.
static void make_swap(uint32_t pages)
{
    char head[PAGE] = {0};
    uint32_t facts[] = {1, pages - 1};
    memcpy(head + 1024, facts, sizeof facts);
    memcpy(head + PAGE - 10, "SWAPSPACE2", 10);
    int device = open(SWAP, O_WRONLY);
    or_end(device < 0 || write(device, head, PAGE) != PAGE || fsync(device), SWAP);
    close(device);
    or_end(swapon(SWAP, 0), "swapon");
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    when_measured();
    size_t mb = strtoul(words[2], NULL, 10);
    char text[32];
    make_swap(2 * mb * (1 << 20) / PAGE);
    mkdir("/groups", 0755);
    or_end(mount("cgroup2", "/groups", "cgroup2", 0, NULL), "cgroup2");
    write_to("/groups/cgroup.subtree_control", "+memory");
    or_end(mkdir("/groups/hog", 0755), "/groups/hog");
    snprintf(text, sizeof text, "%sM", words[3]);
    write_to("/groups/hog/memory.max", text);
    write_to("/groups/hog/cgroup.procs", "0");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    or_end(sched_setaffinity(0, sizeof cpus, &cpus), "sched_setaffinity");
    size_t bytes = mb << 20;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    or_end(memory == MAP_FAILED, "mmap");
    for (;;)
        for (size_t at = 0; at < bytes; at += PAGE)
            memory[at]++;
}
