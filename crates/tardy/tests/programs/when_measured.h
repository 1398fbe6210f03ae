// Waits until a meter traces this machine: what is planted before could keep the meter from starting.
#include <dirent.h>
#include <string.h>
#include <unistd.h>

static void when_measured(void)
{
    for (;; usleep(200000)) {
        DIR *instances = opendir("/sys/kernel/tracing/instances");
        int begun = 0;
        for (struct dirent *entry; instances && (entry = readdir(instances));)
            begun |= !strncmp(entry->d_name, "tardy-", 6);
        if (instances)
            closedir(instances);
        if (begun)
            return;
    }
}
