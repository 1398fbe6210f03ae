// Reads more memory than its control group has, over and over: memory_hog MB FILE. The kernel reclaims it in the program's name. FILE has no
// blocks, so that nothing waits for a disk and no interrupt of one is late instead; large pages, which are filled and freed as a whole,
// are what the kernel does not interrupt.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    size_t bytes = strtoul(words[1], NULL, 10) << 20;
    int file = open(words[2], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        return 1;
    volatile char *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return 1;
    // Without large pages it only takes longer.
    madvise((void *)memory, bytes, MADV_HUGEPAGE);
    for (;;)
        for (size_t at = 0; at < bytes; at += 4096)
            (void)memory[at];
}
