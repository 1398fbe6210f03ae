// A real-time thread that a device wakes for each byte: it works for 0.2 ms, and for 20 ms where the byte is an `L`. The argument is a
// terminal, or the name of a port of a virtio console.
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS 200000L
#define LATE_NS 20000000L

static void spin(long for_ns) {
  struct timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < for_ns);
}

static int open_port(const char *wanted) {
  glob_t names;
  if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &names))
    return -1;
  for (size_t index = 0; index < names.gl_pathc; index++) {
    char name[64] = "", device[64] = "", path[80];
    FILE *file = fopen(names.gl_pathv[index], "r");
    if (file && fscanf(file, "%63s", name) == 1 && !strcmp(name, wanted)) {
      sscanf(names.gl_pathv[index], "/sys/class/virtio-ports/%63[^/]", device);
      snprintf(path, sizeof path, "/dev/%s", device);
      return open(path, O_RDWR);
    }
    if (file)
      fclose(file);
  }
  return -1;
}

int main(int count, char **words) {
  struct sched_param parameter = {.sched_priority = 60};
  struct termios modes;
  char byte;
  int input = -1;
  // The driver may come later.
  while (count > 1 && (input = words[1][0] == '/' ? open(words[1], O_RDWR | O_NOCTTY) : open_port(words[1])) < 0)
    usleep(100000);
  if (!tcgetattr(input, &modes)) {
    cfmakeraw(&modes);
    cfsetspeed(&modes, B115200);
    tcsetattr(input, TCSANOW, &modes);
  }
  prctl(PR_SET_NAME, "byte-reader");
  if (sched_setscheduler(0, SCHED_FIFO, &parameter)) {
    perror("byte_reader");
    return 1;
  }
  for (;;)
    if (read(input, &byte, 1) == 1)
      spin(byte == 'L' ? LATE_NS : WORK_NS);
    else
      usleep(10000);
}
