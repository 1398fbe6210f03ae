// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Sections of known length in which the kernel does not let go of a CPU: the ground truth for whoever explains late
// wake-ups. For tests only; it makes any machine it is loaded on late.
//
// A thread of low real-time priority runs one section every period_us, on whatever CPU it is. The parameters are files
// below /sys/module/tardy_inject/parameters and take effect at the next period:
//
//   section    irq_off      interrupts are off
//              preempt_off  preemption is off, interrupts are served
//              spin_lock    a spin lock is held that nobody else wants; with PREEMPT_RT that lock lets others run
//   length_us  how long; 0, the value it is loaded with, means that the thread sleeps
//   period_us  from the beginning of one section to that of the next

#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>

enum section { IRQ_OFF, PREEMPT_OFF, SPIN_LOCK };

static const char *const section_names[] = {
	[IRQ_OFF] = "irq_off",
	[PREEMPT_OFF] = "preempt_off",
	[SPIN_LOCK] = "spin_lock",
};

/* A mistyped length must not hang the machine: watchdogs bite after 10 s. */
#define LENGTH_US_MAX 1000000u
/* Leaves the rest of the machine some time. */
#define PERIOD_US_MIN 100u

static unsigned int section = PREEMPT_OFF;
static unsigned int length_us;
static unsigned int period_us = 40000;

static DECLARE_WAIT_QUEUE_HEAD(changed);
static DEFINE_SPINLOCK(held_lock);
static struct task_struct *thread;

static int set_section(const char *value, const struct kernel_param *parameter)
{
	int found = sysfs_match_string(section_names, value);

	if (found < 0)
		return found;
	WRITE_ONCE(section, found);
	return 0;
}

static int get_section(char *buffer, const struct kernel_param *parameter)
{
	return sprintf(buffer, "%s\n", section_names[READ_ONCE(section)]);
}

static const struct kernel_param_ops section_ops = { .set = set_section, .get = get_section };
module_param_cb(section, &section_ops, NULL, 0644);
MODULE_PARM_DESC(section, "irq_off, preempt_off or spin_lock");

static int set_length(const char *value, const struct kernel_param *parameter)
{
	int error = param_set_uint_minmax(value, parameter, 0, LENGTH_US_MAX);

	if (!error)
		wake_up(&changed);
	return error;
}

static const struct kernel_param_ops length_ops = { .set = set_length, .get = param_get_uint };
module_param_cb(length_us, &length_ops, &length_us, 0644);
MODULE_PARM_DESC(length_us, "length of a section; 0: none");

static int set_period(const char *value, const struct kernel_param *parameter)
{
	return param_set_uint_minmax(value, parameter, PERIOD_US_MIN, UINT_MAX);
}

static const struct kernel_param_ops period_ops = { .set = set_period, .get = param_get_uint };
module_param_cb(period_us, &period_ops, &period_us, 0644);
MODULE_PARM_DESC(period_us, "from one section to the next");

/* The functions are kept apart, so that a trace or a profile can name the section that was run. */

static noinline void tardy_inject_spin(u64 length_ns)
{
	u64 end_ns = ktime_get_mono_fast_ns() + length_ns;

	while (ktime_get_mono_fast_ns() < end_ns)
		cpu_relax();
}

static noinline void tardy_inject_irq_off(u64 length_ns)
{
	unsigned long flags;

	local_irq_save(flags);
	tardy_inject_spin(length_ns);
	local_irq_restore(flags);
}

static noinline void tardy_inject_preempt_off(u64 length_ns)
{
	preempt_disable();
	tardy_inject_spin(length_ns);
	preempt_enable();
}

static noinline void tardy_inject_spin_lock(u64 length_ns)
{
	spin_lock(&held_lock);
	tardy_inject_spin(length_ns);
	spin_unlock(&held_lock);
}

static void run_section(u64 length_ns)
{
	switch (READ_ONCE(section)) {
	case IRQ_OFF:
		tardy_inject_irq_off(length_ns);
		break;
	case PREEMPT_OFF:
		tardy_inject_preempt_off(length_ns);
		break;
	case SPIN_LOCK:
		tardy_inject_spin_lock(length_ns);
		break;
	}
}

static int inject(void *unused)
{
	ktime_t next = 0;

	sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		wait_event_interruptible(changed, READ_ONCE(length_us) || kthread_should_stop());
		next = max(ktime_add_us(next, READ_ONCE(period_us)), ktime_get());
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
		if (!kthread_should_stop() && READ_ONCE(length_us))
			run_section((u64)READ_ONCE(length_us) * NSEC_PER_USEC);
	}
	return 0;
}

static int __init inject_init(void)
{
	thread = kthread_run(inject, NULL, "tardy-inject");
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit inject_exit(void)
{
	kthread_stop(thread);
}

module_init(inject_init);
module_exit(inject_exit);
MODULE_DESCRIPTION("Sections without preemption or interrupts, of known length, for tests");
MODULE_LICENSE("Dual MIT/GPL");
