/* A program with an allocator of its own, as one that is linked with jemalloc. It frees nothing. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static char heap[256 << 20];
static size_t used;

void *malloc(size_t bytes)
{
	char *block = heap + used;

	used += (bytes + 63) & ~(size_t)63;
	return used > sizeof heap ? NULL : block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
	char *larger = malloc(bytes);

	/* The old size is not known; what follows the old block is older than the new one. */
	if (block != NULL && larger != NULL)
		memmove(larger, block, bytes);
	return larger;
}

int main(void)
{
	void *volatile block = malloc(10);

	free(block);
	return write(1, "own\n", 4) == 4 ? 0 : 1;
}
