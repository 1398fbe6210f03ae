/* Reads the periodic interrupt of a real-time clock with a real-time priority, and switches it off at that priority: on PREEMPT_RT
 * the kernel then spins for ever. With the argument "protected" it gives the priority up first.
 */
#include <fcntl.h>
#include <linux/rtc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int count, char **words)
{
	struct sched_param real_time = { 80 }, ordinary = { 0 };
	unsigned long data;
	int clock = open("/dev/rtc0", O_RDONLY), read_so_far;

	(void)words;
	if (clock < 0 || sched_setscheduler(0, SCHED_FIFO, &real_time))
		return 1;
	if (ioctl(clock, RTC_IRQP_SET, 1024) || ioctl(clock, RTC_PIE_ON, 0))
		return 1;
	for (read_so_far = 0; read_so_far < 200; read_so_far++)
		if (read(clock, &data, sizeof data) < 0)
			return 1;
	if (count > 1) {
		sched_setscheduler(0, SCHED_OTHER, &ordinary);
		usleep(5000);
	}
	return ioctl(clock, RTC_PIE_OFF, 0) ? 1 : 0;
}
