//! Texts of both kinds, and arbitrary text.

use super::*;
use proptest::prelude::*;

/// Seven letters, as printed by kernels with the PREEMPT_RT patches.
const WAKEUP: &str = "\
# tracer: wakeup_rt
#
# wakeup_rt latency trace v1.1.5 on 6.1.0-56-rt-amd64
# --------------------------------------------------------------------
# latency: 26671 us, #6/349, CPU#0 | (M:preempt_rt VP:0, KP:0, SP:0 HP:0 #P:2)
#    -----------------
#    | task: tardy-cpu0-107 (uid:0 nice:-10 policy:1 rt_prio:80)
#    -----------------
#
#                    _--------=> CPU#
#                   / _-------=> irqs-off/BH-disabled
#                  | / _------=> need-resched
#  cmd     pid     |||||||| time  |   caller
#     \\   /        ||||||||  \\    |    /
tardy:tr-110       0dn.h4.. 6866us!:      110:110:R   + [000]     107: 19:R tardy-cpu0
tardy:tr-110       0dn.h4.. 6990us : <stack trace>
 => probe_wakeup
 => hrtimer_interrupt

tardy:tr-110       0dn.h3.. 7017us : task_woken_rt <-ttwu_do_wakeup
a-b-7 x-99         1.N....1  300us+: somewhere_else <-on_another_cpu
tardy:tr-110       0dn.h2.. 7022us@: _raw_spin_unlock_irqrestore <-try_to_wake_up
  <idle>-0         0d...5.. 33500us : __schedule <-schedule
";

/// Five letters, and a stretch between two functions.
const IRQSOFF: &str = "\
# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 6.12.117+deb12-amd64
# latency: 259 us, #4/4, CPU#3 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    | task: a (b) -1-ps-6143 (uid:1000 nice:0 policy:6 rt_prio:0)
#  => started at: __lock_task_sighand
#  => ended at:   _raw_spin_unlock_irqrestore
      ps-6143      3d....    0us!: trace_hardirqs_off <-__lock_task_sighand
      ps-6143      3d.s31  259us+: trace_hardirqs_on <-_raw_spin_unlock_irqrestore
      ps-6143      3DNZff  263us : time_hardirqs_on
      ps-6143      3d.s3 306: old <-kernel
";

#[test]
fn a_wakeup_is_read_with_its_seven_letters() {
    let trace = LatencyTrace::parse(WAKEUP);
    assert_eq!((trace.tracer.as_str(), trace.release.as_str()), ("wakeup_rt", "6.1.0-56-rt-amd64"));
    assert_eq!((trace.latency_us, trace.cpu, trace.cpu_count), (Some(26_671), Some(0), Some(2)));
    assert_eq!((trace.entries, trace.entries_written, trace.preemption.as_str()), (6, 349, "preempt_rt"));
    let task = Task { comm: "tardy-cpu0".into(), pid: 107, nice: -10, policy: 1, rt_priority: 80, ..Task::default() };
    assert_eq!(trace.task, Some(task));
    assert_eq!((&trace.started_at, trace.other_lines, trace.lines.len()), (&None, 2, 6));
    let first = &trace.lines[0];
    assert_eq!(
        (first.comm.as_str(), first.pid, first.cpu, first.at_us, first.gap),
        ("tardy:tr", 110, 0, 6866, Some('!'))
    );
    let flags = first.flags.unwrap();
    assert!(flags.interrupts_off() && !flags.preemptible());
    assert_eq!((flags.resched, flags.resched_lazy, flags.context), ('n', Some('.'), 'h'));
    assert_eq!((flags.preempt_depth, flags.preempt_lazy_depth, flags.migrate_depth), (4, Some(0), Some(0)));
    let other = &trace.lines[3];
    assert_eq!((other.comm.as_str(), other.pid, other.cpu), ("a-b-7 x", 99, 1));
    assert!(other.flags.unwrap().preemptible());
}

#[test]
fn the_longest_function_is_the_one_before_the_longest_silence_of_its_cpu() {
    let trace = LatencyTrace::parse(WAKEUP);
    let longest = trace.longest_function().unwrap();
    assert_eq!((longest.name, longest.caller), ("_raw_spin_unlock_irqrestore", "try_to_wake_up"));
    assert_eq!(longest.us, 33_500 - 7022);
    assert_eq!(LatencyTrace::parse("# tracer: nop").longest_function(), None);
}

#[test]
fn a_critical_section_is_read_with_its_ends_and_five_letters() {
    let trace = LatencyTrace::parse(IRQSOFF);
    assert_eq!(trace.started_at.as_deref(), Some("__lock_task_sighand"));
    assert_eq!(trace.ended_at.as_deref(), Some("_raw_spin_unlock_irqrestore"));
    let task = trace.task.as_ref().unwrap();
    assert_eq!((task.comm.as_str(), task.pid, task.uid, task.policy), ("a (b) -1-ps", 6143, 1000, 6));
    let flags = trace.lines[1].flags.unwrap();
    assert_eq!((flags.context, flags.preempt_depth, flags.migrate_depth, flags.resched_lazy), ('s', 3, Some(1), None));
    assert_eq!(trace.lines[2].flags.map(|flags| (flags.context, flags.preempt_depth)), Some(('Z', 15)));
    let old = &trace.lines[3];
    assert_eq!((old.at_us, old.gap, old.flags.unwrap().migrate_depth), (306, None, None));
    assert_eq!(old.function(), Some(("old", "kernel")));
    assert_eq!(trace.longest_function().unwrap().us, 259);
}

#[test]
fn letters_of_no_known_kernel_are_no_flags() {
    for letters in ["", "d", "d.s", "d.s3.1", "q....", "d.q..", "d...g", "d..........."] {
        assert_eq!(Flags::parse(letters), None, "{letters}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_latency_trace(text in "(?s).{0,400}") {
        LatencyTrace::parse(&text).longest_function();
    }

    /// Lines cut and joined anywhere: values of the head stay within their ranges.
    #[test]
    fn pieces_of_a_trace_are_read_as_far_as_they_go(from in 0usize..1500, length in 0usize..1500, extra in "[-0-9us:#| <\\n]{0,40}") {
        let source = format!("{WAKEUP}{IRQSOFF}");
        let piece = source.get(from..(from + length).min(source.len())).unwrap_or_default();
        let trace = LatencyTrace::parse(&format!("{piece}{extra}"));
        prop_assert!(trace.lines.len() + trace.other_lines <= piece.lines().count() + extra.lines().count());
    }

    #[test]
    fn a_line_comes_back_as_it_was_printed(comm in "[a-z/:<>-]{1,8}", pid in 0i32..99_999_999, cpu in 0u32..999, at in 0i64..9_999_999) {
        let line = format!("{comm:>8}-{pid:<7} {cpu:3}d.s31 {at:4}us+: f <-g");
        let read = Line::parse(&line).unwrap();
        prop_assert_eq!((read.comm.as_str(), read.pid, read.cpu, read.at_us), (comm.as_str(), pid, cpu, at));
        prop_assert_eq!(read.function(), Some(("f", "g")));
    }
}
