// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Idle states for tests, on a machine whose kernel has no driver of them, such as an emulated one: a shallow state, and a deep
// one that the CPU leaves late. The governor chooses the deep one for every sleep that is longer than it takes to leave it.
//
//   exit_us  how late; only when it is loaded
//
// The CPU halts with interrupts on and serves the interrupt that wakes it at once; then it spins before the kernel may go on to
// the thread that was woken. It needs x86.

#include <linux/cpuidle.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/processor.h>

/* Watchdogs bite after 10 s. */
#define EXIT_US_MAX 100000u

static unsigned int exit_us = 400;
module_param(exit_us, uint, 0444);
MODULE_PARM_DESC(exit_us, "how long it takes to leave the deep state");

static int halt_once(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

static int halt_deeply(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	u64 end_ns;

	halt_once(device, driver, index);
	end_ns = ktime_get_mono_fast_ns() + (u64)exit_us * NSEC_PER_USEC;
	while (ktime_get_mono_fast_ns() < end_ns)
		cpu_relax();
	return index;
}

static struct cpuidle_driver idle_driver = {
	.name = "tardy_idle",
	.owner = THIS_MODULE,
	.states = {
		{ .name = "halt", .desc = "halted", .exit_latency = 1, .target_residency = 1, .enter = halt_once },
		{ .name = "deep", .desc = "halted, and late to leave", .enter = halt_deeply },
	},
	.state_count = 2,
};

static int __init idle_init(void)
{
	exit_us = clamp(exit_us, 1u, EXIT_US_MAX);
	idle_driver.states[1].exit_latency = exit_us;
	idle_driver.states[1].target_residency = exit_us;
	return cpuidle_register(&idle_driver, NULL);
}

static void __exit idle_exit(void)
{
	cpuidle_unregister(&idle_driver);
}

module_init(idle_init);
module_exit(idle_exit);
MODULE_DESCRIPTION("A deep idle state that is left late, for tests");
MODULE_LICENSE("Dual MIT/GPL");
