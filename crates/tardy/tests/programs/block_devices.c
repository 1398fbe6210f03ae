// Makes block devices out of others, and starts programs beside a measurement:
//   block_devices loop BACKING                             -> /dev/loop0, with direct I/O
//   block_devices delay DEVICE READ_MS WRITE_MS FLUSH_MS   -> /dev/dm-0
//   block_devices beside PROGRAM [WORD...]                 goes on when this command has ended
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int opened(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    return file;
}

static void checked(int result, const char *action)
{
    if (result) {
        perror(action);
        exit(1);
    }
}

static void make_loop(const char *backing)
{
    struct loop_config config = {.fd = opened(backing), .block_size = 512};
    config.info.lo_flags = LO_FLAGS_DIRECT_IO;
    checked(ioctl(opened("/dev/loop0"), LOOP_CONFIGURE, &config), "LOOP_CONFIGURE");
}

struct table {
    struct dm_ioctl header;
    struct dm_target_spec target;
    char parameters[512];
};

static void request(struct table *table, unsigned long number, const char *name)
{
    // The kernel answers in the same place, and then finds no device by both name and number.
    memset(&table->header, 0, sizeof table->header);
    table->header.version[0] = DM_VERSION_MAJOR;
    table->header.data_size = sizeof *table;
    table->header.data_start = sizeof table->header;
    table->header.target_count = 1;
    strcpy(table->header.name, "delayed");
    struct table sent = *table;
    checked(ioctl(opened("/dev/mapper/control"), number, &sent), name);
}

static void make_delay(char **words)
{
    struct table table = {.target = {.target_type = "delay"}};
    unsigned long long bytes;
    checked(ioctl(opened(words[0]), BLKGETSIZE64, &bytes), "BLKGETSIZE64");
    table.target.length = bytes / 512;
    snprintf(table.parameters, sizeof table.parameters, "%s 0 %s %s 0 %s %s 0 %s", words[0], words[1], words[0], words[2],
             words[0], words[3]);
    request(&table, DM_DEV_CREATE, "DM_DEV_CREATE");
    request(&table, DM_TABLE_LOAD, "DM_TABLE_LOAD");
    request(&table, DM_DEV_SUSPEND, "DM_DEV_SUSPEND");
}

static void start_beside(char **words)
{
    if (fork())
        return;
    setsid();
    int nothing = opened("/dev/null");
    for (int file = 0; file < 3; file++)
        dup2(nothing, file);
    execv(words[0], words);
    _exit(1);
}

int main(int count, char **words)
{
    if (count == 3 && !strcmp(words[1], "loop"))
        make_loop(words[2]);
    else if (count == 6 && !strcmp(words[1], "delay"))
        make_delay(words + 2);
    else if (count > 2 && !strcmp(words[1], "beside"))
        start_beside(words + 2);
    else
        return 2;
    return 0;
}
