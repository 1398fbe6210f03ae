// SPDX-License-Identifier: MIT OR GPL-2.0
//
// Sections of known length in which the kernel does not let go of a CPU: the ground truth for what explains late
// wake-ups. For tests only; it makes any machine it is loaded on late.
//
// A thread of low real-time priority begins one section every period_us. The parameters are files below
// /sys/module/tardy_inject/parameters and take effect at the next period:
//
//   section    irq_off      interrupts are off
//              preempt_off  preemption is off, interrupts are served
//              spin_lock    a spin lock is held that no other task wants; with PREEMPT_RT that lock lets others run
//              timer        a timer's function, in the timer interrupt
//              call         a function that another CPU asks for, in its interrupt
//              irq_work     work that was put off to an interrupt of its own
//              softirq      a timer's function in a softirq, with preemption off
//              tasklet      a tasklet, with preemption off
//              work         an item of a work queue, with preemption off
//              rcu          a callback of RCU, with preemption off
//              nmi          the handler of a non-maskable interrupt (x86)
//              stop_machine what all CPUs are stopped for, with interrupts off
//              console      a slow console that a message is written to, with preemption off
//              line         twenty interrupts of a line in a row, of that length together: a device of USB that storms
//   cpu        the CPU that is to be late; -1, the value it is loaded with: whatever CPU the thread is on
//   length_us  how long; 0, the value it is loaded with, means that the thread sleeps
//   period_us  from the beginning of one section to that of the next
//   init_us    only when it is loaded: how long loading takes, with preemption off
//
// /proc/tardy_inject has a line for each section that is over: its start and its end on CLOCK_MONOTONIC, in ns.

#include <linux/console.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#endif

enum section { IRQ_OFF, PREEMPT_OFF, SPIN_LOCK, TIMER, CALL, IRQ_WORK, SOFTIRQ, TASKLET, WORK, RCU, NMI, STOP_MACHINE, CONSOLE, LINE };

static const char *const section_names[] = {
	[IRQ_OFF] = "irq_off",
	[PREEMPT_OFF] = "preempt_off",
	[SPIN_LOCK] = "spin_lock",
	[TIMER] = "timer",
	[CALL] = "call",
	[IRQ_WORK] = "irq_work",
	[SOFTIRQ] = "softirq",
	[TASKLET] = "tasklet",
	[WORK] = "work",
	[RCU] = "rcu",
	[NMI] = "nmi",
	[STOP_MACHINE] = "stop_machine",
	[CONSOLE] = "console",
	[LINE] = "line",
};

/* A mistyped length must not hang the machine: watchdogs bite after 10 s. */
#define LENGTH_US_MAX 1000000u
/* Leaves the rest of the machine some time. */
#define PERIOD_US_MIN 100u
#define LOG_MAX 4096

static unsigned int section = PREEMPT_OFF;
static int cpu = -1;
static unsigned int length_us;
static unsigned int period_us = 40000;
static unsigned int init_us;

static DECLARE_WAIT_QUEUE_HEAD(changed);
static DEFINE_SPINLOCK(held_lock);
static struct task_struct *thread;

/* One section runs at a time, so the end of one may write. */
static u64 log_begin_ns[LOG_MAX], log_end_ns[LOG_MAX];
static unsigned int log_count;

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
MODULE_PARM_DESC(section, "what kind of section");

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

static int set_cpu(const char *value, const struct kernel_param *parameter)
{
	int number, error = kstrtoint(value, 0, &number);

	if (error)
		return error;
	if (number < -1 || number >= (int)nr_cpu_ids || (number >= 0 && !cpu_online(number)))
		return -EINVAL;
	WRITE_ONCE(cpu, number);
	return 0;
}

static const struct kernel_param_ops cpu_ops = { .set = set_cpu, .get = param_get_int };
module_param_cb(cpu, &cpu_ops, &cpu, 0644);
MODULE_PARM_DESC(cpu, "the CPU that is to be late; -1: any");

module_param(init_us, uint, 0444);
MODULE_PARM_DESC(init_us, "how long loading takes");

/* The functions are kept apart, so that a trace or a profile can name the section that was run. */

static noinline void tardy_inject_spin_for(unsigned int us)
{
	u64 begin_ns = ktime_get_mono_fast_ns();
	u64 end_ns = begin_ns + (u64)min(us, LENGTH_US_MAX) * NSEC_PER_USEC;
	unsigned int at = READ_ONCE(log_count);

	while (ktime_get_mono_fast_ns() < end_ns)
		cpu_relax();
	if (at < LOG_MAX) {
		log_begin_ns[at] = begin_ns;
		log_end_ns[at] = ktime_get_mono_fast_ns();
		smp_store_release(&log_count, at + 1);
	}
}

static noinline void tardy_inject_spin(void)
{
	tardy_inject_spin_for(READ_ONCE(length_us));
}

static noinline void tardy_inject_irq_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	tardy_inject_spin();
	local_irq_restore(flags);
}

static noinline void tardy_inject_preempt_off(void)
{
	preempt_disable();
	tardy_inject_spin();
	preempt_enable();
}

static noinline void tardy_inject_spin_lock(void)
{
	spin_lock(&held_lock);
	tardy_inject_spin();
	spin_unlock(&held_lock);
}

static enum hrtimer_restart tardy_inject_timer(struct hrtimer *unused)
{
	tardy_inject_spin();
	return HRTIMER_NORESTART;
}

static void tardy_inject_call(void *unused)
{
	tardy_inject_spin();
}

static void tardy_inject_irq_work(struct irq_work *unused)
{
	tardy_inject_spin();
}

static void tardy_inject_softirq(struct timer_list *unused)
{
	tardy_inject_preempt_off();
}

static void tardy_inject_tasklet(struct tasklet_struct *unused)
{
	tardy_inject_preempt_off();
}

static void tardy_inject_work(struct work_struct *unused)
{
	tardy_inject_preempt_off();
}

static void tardy_inject_rcu(struct rcu_head *unused);

static struct hrtimer hard_timer;
static struct irq_work hard_work;
static DEFINE_TIMER(soft_timer, tardy_inject_softirq);
static DECLARE_TASKLET(tasklet, tardy_inject_tasklet);
static DECLARE_WORK(work, tardy_inject_work);
static struct rcu_head callback;
/* The callback may not be given away again before it has run. */
static atomic_t callback_wanted = ATOMIC_INIT(0);

static void tardy_inject_rcu(struct rcu_head *unused)
{
	tardy_inject_preempt_off();
	atomic_set(&callback_wanted, 0);
}

#ifdef CONFIG_X86
static atomic_t nmi_wanted = ATOMIC_INIT(0);

static int tardy_inject_nmi(unsigned int type, struct pt_regs *registers)
{
	if (!atomic_cmpxchg(&nmi_wanted, 1, 0))
		return NMI_DONE;
	tardy_inject_spin();
	return NMI_HANDLED;
}

static void send_nmi(int to)
{
	atomic_set(&nmi_wanted, 1);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	__apic_send_IPI_mask(cpumask_of(to), NMI_VECTOR);
#else
	apic->send_IPI_mask(cpumask_of(to), NMI_VECTOR);
#endif
}

static int begin_nmi(void)
{
	return register_nmi_handler(NMI_LOCAL, tardy_inject_nmi, 0, "tardy_inject");
}

static void end_nmi(void)
{
	unregister_nmi_handler(NMI_LOCAL, "tardy_inject");
}
#else
static void send_nmi(int to) { }
static int begin_nmi(void) { return 0; }
static void end_nmi(void) { }
#endif

static int tardy_inject_stop(void *unused)
{
	tardy_inject_spin();
	return 0;
}

/* Whatever else is logged must not take long. */
static atomic_t console_wanted = ATOMIC_INIT(0);
/* Only the thread that injects looks at it until it has ended. */
static bool console_known;

static void tardy_inject_console_write(struct console *unused, const char *text, unsigned int count)
{
	if (atomic_cmpxchg(&console_wanted, 1, 0))
		tardy_inject_preempt_off();
}

static struct console slow_console = {
	.name = "tardyslow",
	.write = tardy_inject_console_write,
	.flags = CON_ENABLED,
	.index = -1,
};

/* No device has this line: a timer raises its interrupts. */
#define LINE_INTERRUPTS 20
static int line = -1;
static struct hrtimer line_timer;
static unsigned int line_left;

static irqreturn_t tardy_inject_line(int unused, void *unused_too)
{
	tardy_inject_spin_for(READ_ONCE(length_us) / LINE_INTERRUPTS);
	return IRQ_HANDLED;
}

static enum hrtimer_restart raise_line(struct hrtimer *timer)
{
	generic_handle_irq(line);
	if (!--line_left)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static int begin_line(void)
{
	int error;

	line = irq_alloc_desc(NUMA_NO_NODE);
	if (line < 0)
		return line;
	irq_set_chip_and_handler(line, &dummy_irq_chip, handle_simple_irq);
	/* With PREEMPT_RT the handler would have a thread of its own. */
	error = request_irq(line, tardy_inject_line, IRQF_NO_THREAD, "xhci_hcd:tardy_inject", &line_timer);
	if (error)
		irq_free_desc(line);
	return error;
}

static void end_line(void)
{
	hrtimer_cancel(&line_timer);
	free_irq(line, &line_timer);
	irq_free_desc(line);
}

/* Only after the one before, which every period leaves time for, is a section of another context started again. */
static void run_section(int to)
{
	switch (READ_ONCE(section)) {
	case IRQ_OFF:
		tardy_inject_irq_off();
		break;
	case PREEMPT_OFF:
		tardy_inject_preempt_off();
		break;
	case SPIN_LOCK:
		tardy_inject_spin_lock();
		break;
	case TIMER:
		hrtimer_start(&hard_timer, ktime_set(0, NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
		break;
	case CALL:
		smp_call_function_single(to, tardy_inject_call, NULL, 1);
		break;
	case IRQ_WORK:
		irq_work_queue(&hard_work);
		break;
	case SOFTIRQ:
		if (!timer_pending(&soft_timer)) {
			soft_timer.expires = jiffies + 1;
			add_timer_on(&soft_timer, to);
		}
		break;
	case TASKLET:
		tasklet_schedule(&tasklet);
		break;
	case WORK:
		queue_work_on(to, system_wq, &work);
		break;
	case RCU:
		if (!atomic_cmpxchg(&callback_wanted, 0, 1))
			call_rcu(&callback, tardy_inject_rcu);
		break;
	case NMI:
		send_nmi(to);
		break;
	case STOP_MACHINE:
		stop_machine(tardy_inject_stop, NULL, cpumask_of(to));
		break;
	case CONSOLE:
		if (!console_known)
			register_console(&slow_console);
		console_known = true;
		atomic_set(&console_wanted, 1);
		printk(KERN_EMERG "tardy_inject: a slow console\n");
		break;
	case LINE:
		if (!hrtimer_active(&line_timer)) {
			line_left = LINE_INTERRUPTS;
			hrtimer_start(&line_timer, ktime_set(0, NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
		}
		break;
	}
}

/* Whether another CPU has to ask for it: a CPU serves itself without an interrupt. */
static bool is_asked_for(void)
{
	unsigned int kind = READ_ONCE(section);

	return kind == CALL || kind == NMI;
}

static void choose_cpu(int to)
{
	unsigned int other;

	if (to < 0) {
		set_cpus_allowed_ptr(current, cpu_possible_mask);
		return;
	}
	if (!is_asked_for()) {
		set_cpus_allowed_ptr(current, cpumask_of(to));
		return;
	}
	for_each_online_cpu(other)
		if (other != to) {
			set_cpus_allowed_ptr(current, cpumask_of(other));
			return;
		}
}

static int inject(void *unused)
{
	ktime_t next = 0;
	int chosen = -1, to;

	sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		wait_event_interruptible(changed, READ_ONCE(length_us) || kthread_should_stop());
		next = max(ktime_add_us(next, READ_ONCE(period_us)), ktime_get());
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
		if (kthread_should_stop() || !READ_ONCE(length_us))
			continue;
		to = READ_ONCE(cpu);
		if (to != chosen) {
			choose_cpu(to);
			chosen = to;
		}
		run_section(to < 0 ? (int)raw_smp_processor_id() : to);
	}
	return 0;
}

static int show_log(struct seq_file *file, void *unused)
{
	unsigned int at, count = smp_load_acquire(&log_count);

	for (at = 0; at < count; at++)
		seq_printf(file, "%llu %llu\n", log_begin_ns[at], log_end_ns[at]);
	return 0;
}

static void __init set_up_timer(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = function;
#endif
}

static int __init inject_init(void)
{
	int error = begin_nmi();

	if (error)
		return error;
	set_up_timer(&hard_timer, tardy_inject_timer);
	set_up_timer(&line_timer, raise_line);
	error = begin_line();
	if (error) {
		end_nmi();
		return error;
	}
	hard_work = IRQ_WORK_INIT_HARD(tardy_inject_irq_work);
	if (!proc_create_single("tardy_inject", 0444, NULL, show_log)) {
		end_line();
		end_nmi();
		return -ENOMEM;
	}
	if (init_us) {
		preempt_disable();
		tardy_inject_spin_for(init_us);
		preempt_enable();
	}
	thread = kthread_run(inject, NULL, "tardy-inject");
	if (IS_ERR(thread)) {
		remove_proc_entry("tardy_inject", NULL);
		end_line();
		end_nmi();
	}
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit inject_exit(void)
{
	kthread_stop(thread);
	if (console_known)
		unregister_console(&slow_console);
	hrtimer_cancel(&hard_timer);
	irq_work_sync(&hard_work);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	timer_delete_sync(&soft_timer);
#else
	del_timer_sync(&soft_timer);
#endif
	tasklet_kill(&tasklet);
	cancel_work_sync(&work);
	rcu_barrier();
	end_line();
	end_nmi();
	remove_proc_entry("tardy_inject", NULL);
}

module_init(inject_init);
module_exit(inject_exit);
MODULE_DESCRIPTION("Sections of known length in which the kernel does not let go of a CPU, for tests");
MODULE_LICENSE("Dual MIT/GPL");
