//! Reads the pages of an audit.

mod room;

use crate::activity::{Activity, Call, Fault, Signal, Source};
use crate::calls::{self, Moment};
use crate::decode::{Decoder, Event};
pub use crate::pages::CpuPages;
use crate::pages::{Item, Pages};
use crate::stacks::Stacks;
use archive::audit::AuditDescription;
use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::metadata::MetadataText;
use std::collections::BTreeMap;

/// Bytes of own calls that are in order of time. A drain of a storm brings more: its threads are then in order each, and not
/// together.
pub const OWN_CALLS_BYTES: usize = 1 << 20;

/// Everything that was recorded of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// By thread number.
    pub threads: BTreeMap<i32, Activity>,
    /// Stretches in which events were lost.
    pub gaps: u64,
    /// Threads that ended early, of which there were more than are kept.
    pub threads_left_out: u64,
    /// There were more events than are kept.
    pub cut_off: bool,
}

/// Reads all pages of a program, and the calls that it recorded itself, if it did: in pieces of [`OWN_CALLS_BYTES`].
pub fn read<'a>(
    description: &AuditDescription,
    cpus: impl IntoIterator<Item = CpuPages<'a>>,
    calls: impl Iterator<Item = Vec<u8>>,
) -> Recorded {
    let order = if description.recorded.big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let text = MetadataText {
        header_page: description.recorded.header_page.clone(),
        header_event: description.recorded.header_event.clone(),
        event_formats: description.recorded.event_formats.clone(),
        ..MetadataText::default()
    };
    let metadata = text.parse(order);
    let layout: PageLayout = metadata.layout.with_page_size(description.recorded.page_bytes as usize);
    let decoder = Decoder::new(&metadata.formats);
    let mut reading = Reading { stacks: description.stacks, ..Reading::default() };
    // A command is held back until the recording starts, and what holds it back makes calls as well.
    let is_recorded = |moment: &Moment| moment.at_ns >= description.started_ns;
    let mut moments = calls.flat_map(|piece| calls::moments(&piece, description)).filter(is_recorded).peekable();
    for (ts_ns, item) in Pages::new(cpus, &layout, &decoder) {
        match item {
            Item::Gap => reading.gap(),
            Item::Events(events) => {
                let at_ns = i64::try_from(ts_ns).unwrap_or(i64::MAX);
                if !reading.makes_room() {
                    break;
                }
                while let Some(moment) = moments.next_if(|moment| moment.at_ns <= at_ns) {
                    reading.take_own(moment);
                }
                for (tid, event) in events {
                    reading.take(tid, at_ns, event, Source::Trace);
                }
            }
        }
    }
    moments.for_each(|moment| reading.take_own(moment));
    let mut recorded = reading.recorded;
    // The idle task is no thread of the program.
    recorded.threads.remove(&0);
    recorded
}

#[derive(Debug, Default)]
struct Reading {
    /// Each event is followed by a stack.
    stacks: bool,
    kept_bytes: usize,
    recorded: Recorded,
    open: BTreeMap<i32, Open>,
    known_stacks: Stacks,
    /// Losses so far.
    losses: u64,
}

/// The call or fault that a thread is in the middle of.
#[derive(Debug, Default)]
struct Open {
    call: Option<Call>,
    /// The last of its faults is still being handled.
    in_fault: bool,
    /// Since when it waits, and whether uninterruptibly.
    out: Option<(i64, bool)>,
    /// The record to which the next stack belongs.
    stack_of: StackOf,
    /// Losses before its last event in the trace.
    losses: u64,
    /// Instant of that event.
    traced_ns: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StackOf {
    #[default]
    Nothing,
    Call,
    Fault,
    /// Of an event whose origin does not matter.
    Other,
}

impl Open {
    /// Adds the wait that ends now to the fault or the call that it is part of.
    fn end_wait(&mut self, thread: &mut Activity, now_ns: i64) {
        let Some((since_ns, uninterruptible)) = self.out.take() else { return };
        let waited_ns = now_ns.saturating_sub(since_ns);
        if let Some(fault) = thread.faults.last_mut().filter(|_| self.in_fault) {
            fault.waited_ns = fault.waited_ns.saturating_add(waited_ns);
        } else if let Some(call) = &mut self.call {
            call.waited_ns = call.waited_ns.saturating_add(waited_ns);
            let more_ns = if uninterruptible { waited_ns } else { 0 };
            call.uninterruptible_ns = call.uninterruptible_ns.saturating_add(more_ns);
        }
    }
}

impl Reading {
    /// A call whose exit may have been lost is not a long call.
    fn gap(&mut self) {
        self.recorded.gaps += 1;
        self.losses += 1;
        for open in self.open.values_mut() {
            *open = Open { losses: open.losses, traced_ns: open.traced_ns, ..Open::default() };
        }
    }

    /// A call of which the program itself recorded when it began, or when it returned.
    fn take_own(&mut self, moment: Moment) {
        if !self.makes_room() {
            return;
        }
        let Moment { at_ns, tid, call: call_half } = moment;
        match call_half.event() {
            Some(event) => self.take(tid, at_ns, event, Source::Calls),
            None => self.take_function(tid, at_ns, &call_half),
        }
        if let Some(thread) = self.recorded.threads.get_mut(&tid) {
            thread.records_calls = true;
            if call_half.lost_before() > 0 {
                thread.lost_calls.add(at_ns, i64::try_from(call_half.lost_before()).unwrap_or(i64::MAX));
            }
        }
        if matches!(call_half, calls::Half::Library { .. }) {
            return;
        }
        if let (Some(stack), Some(open)) = (call_half.stack(), self.open.get_mut(&tid)) {
            open.stack_of = StackOf::Nothing;
            if let Some(call) = &mut open.call {
                let (stack, bytes) = self.known_stacks.one(stack);
                self.kept_bytes += bytes;
                call.injected = call_half.is_injected();
                call.stack = stack;
            }
        }
    }

    /// A call of a function, which is recorded as a whole: the thread may be in the middle of another one, and of a system call
    /// that a signal handler interrupted.
    fn take_function(&mut self, tid: i32, at_ns: i64, half: &calls::Half) {
        let calls::Half::Library { call, stack, .. } = half else { return };
        let (stack, bytes) = self.known_stacks.one(stack);
        self.kept_bytes += bytes + size_of::<Call>();
        let thread = self.recorded.threads.entry(tid).or_insert_with(|| {
            self.kept_bytes += size_of::<Activity>() + size_of::<Open>();
            Activity::new(tid, at_ns)
        });
        thread.last_ns = thread.last_ns.max(at_ns);
        thread.function_calls.push(Call { stack, ..(**call).clone() });
        if let Some(open) = self.open.get_mut(&tid) {
            open.end_wait(thread, at_ns);
        }
    }

    fn take(&mut self, tid: i32, at_ns: i64, event: Event, source: Source) {
        self.kept_bytes += bytes_of(&event);
        if let Event::Woke { tid: woken } = event {
            if let Some(thread) = self.recorded.threads.get_mut(&woken) {
                *thread.wakers.entry(tid).or_default() += 1;
            }
            return;
        }
        let thread = self.recorded.threads.entry(tid).or_insert_with(|| {
            self.kept_bytes += size_of::<Activity>() + size_of::<Open>();
            Activity::new(tid, at_ns)
        });
        let losses = self.losses;
        let open = self.open.entry(tid).or_insert_with(|| Open { losses, ..Open::default() });
        if source == Source::Trace {
            if open.losses != losses {
                open.losses = losses;
                thread.unseen_ns.add(at_ns, at_ns.saturating_sub(open.traced_ns.unwrap_or(thread.first_ns)));
            }
            open.traced_ns = Some(at_ns);
        }
        thread.last_ns = at_ns;
        if self.stacks && !matches!(event, Event::Stack(_) | Event::In { .. }) {
            open.stack_of = StackOf::Other;
        }
        // There are kernels that record no switch from their idle task: whatever a thread does, it has the CPU again.
        if !matches!(event, Event::Out { .. } | Event::Stack(_)) {
            open.end_wait(thread, at_ns);
        }
        match event {
            Event::Enter { number, arguments } => {
                // A call without an exit, as exit(2): the thread went on without returning from it.
                thread.calls.extend(open.call.take());
                open.in_fault = false;
                open.stack_of = if self.stacks { StackOf::Call } else { StackOf::Nothing };
                open.call = Some(Call { number, arguments, start_ns: at_ns, end_ns: at_ns, ..Call::default() });
            }
            Event::Exit { answer } => {
                open.in_fault = false;
                if let Some(call) = open.call.take() {
                    thread.calls.push(Call { answer: Some(answer), end_ns: at_ns, ..call });
                }
            }
            Event::Out { waits, uninterruptible } => open.out = waits.then_some((at_ns, uninterruptible)),
            Event::In { kernel_priority, name } => {
                let known = thread.kernel_priority_min.unwrap_or(i64::MAX);
                thread.kernel_priority_min = Some(known.min(kernel_priority));
                thread.name = Some(name);
            }
            Event::Fault { address, instruction, user } => {
                // In the kernel, the call waits. Its faults include those of reading the stack after each event.
                open.in_fault = user;
                open.stack_of = if self.stacks { StackOf::Fault } else { StackOf::Nothing };
                thread.faults.push(Fault { at_ns, address, instruction, user, ..Fault::default() });
            }
            Event::Signal { number } => {
                thread.signals.push(Signal { at_ns, number, joined: 0 });
            }
            Event::Stack(frames) => {
                let stack = match std::mem::take(&mut open.stack_of) {
                    StackOf::Call => open.call.as_mut().map(|call| &mut call.stack),
                    StackOf::Fault => thread.faults.last_mut().map(|fault| &mut fault.stack),
                    StackOf::Other | StackOf::Nothing => None,
                };
                if let Some(stack) = stack {
                    let (one, bytes) = self.known_stacks.one(&frames);
                    self.kept_bytes += bytes;
                    *stack = one;
                }
            }
            Event::Woke { .. } => {}
        }
    }
}

/// Bytes that are kept of an event, about.
fn bytes_of(event: &Event) -> usize {
    match event {
        Event::Enter { .. } => size_of::<Call>(),
        Event::Fault { .. } => size_of::<Fault>(),
        Event::Signal { .. } => size_of::<Signal>(),
        // An entry of a map.
        Event::Woke { .. } => 2 * size_of::<(i32, u64)>(),
        // Each is kept once.
        Event::Stack(_) => 0,
        Event::Exit { .. } | Event::Out { .. } | Event::In { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::room::{KEPT_BYTES_MAX, bytes_of_thread};
    use super::*;
    use crate::naming::NoNames;
    use crate::report::{Scope, judge};
    use archive::audit::{AuditedProcess, Mapping};
    use archive::recorded_pages::RecordedPages;
    use proptest::prelude::*;

    const TID: i32 = 7;

    fn enter(number: i64) -> Event {
        Event::Enter { number, arguments: [0; 6] }
    }

    fn back(name: &str) -> Event {
        Event::In { kernel_priority: 19, name: name.into() }
    }

    fn replay(events: &[(i64, Event)]) -> Activity {
        let mut reading = Reading { stacks: true, ..Reading::default() };
        for (at_ns, event) in events {
            reading.take(TID, *at_ns, event.clone(), Source::Trace);
        }
        reading.recorded.threads.remove(&TID).unwrap()
    }

    #[test]
    fn a_call_has_its_answer_its_wait_and_its_stack() {
        let out = Event::Out { waits: true, uninterruptible: true };
        let thread = replay(&[
            (10, enter(1)),
            (10, Event::Stack(vec![0xa, 0xb])),
            (12, out),
            (20, Event::In { kernel_priority: 19, name: "loop".into() }),
            (25, Event::Exit { answer: 5 }),
        ]);
        let call = &thread.calls[0];
        assert_eq!((call.number, call.answer, call.duration_ns()), (1, Some(5), 15));
        assert_eq!((call.waited_ns, call.uninterruptible_ns, &call.stack[..]), (8, 8, &[0xa, 0xb][..]));
        assert_eq!((thread.kernel_priority_min, thread.name.as_deref()), (Some(19), Some("loop")));
    }

    #[test]
    fn a_switch_back_that_was_not_recorded_ends_with_what_the_thread_does_next() {
        let out = Event::Out { waits: true, uninterruptible: false };
        let thread = replay(&[(10, enter(1)), (12, out), (25, Event::Exit { answer: 0 })]);
        assert_eq!((thread.calls[0].waited_ns, thread.calls[0].duration_ns()), (13, 15));
    }

    #[test]
    fn a_preempted_thread_does_not_wait() {
        let out = Event::Out { waits: false, uninterruptible: false };
        let thread = replay(&[(10, enter(1)), (12, out), (20, back("loop")), (25, Event::Exit { answer: 0 })]);
        assert_eq!(thread.calls[0].waited_ns, 0);
    }

    #[test]
    fn the_wait_of_a_fault_in_user_mode_belongs_to_the_fault() {
        let fault = |user| Event::Fault { address: 0x1000, instruction: 0x2000, user };
        let out = Event::Out { waits: true, uninterruptible: true };
        let events = |user| {
            [(1, enter(0)), (2, fault(user)), (3, out.clone()), (9, back("loop")), (10, Event::Exit { answer: 0 })]
        };
        let waits = |thread: &Activity| (thread.faults[0].waited_ns, thread.calls[0].waited_ns);
        assert_eq!((waits(&replay(&events(true))), waits(&replay(&events(false)))), ((6, 0), (0, 6)));
    }

    #[test]
    fn a_call_is_not_long_because_its_exit_was_lost() {
        let mut reading = Reading::default();
        reading.take(TID, 1, enter(1), Source::Trace);
        reading.gap();
        reading.take(TID, 900, Event::Exit { answer: 0 }, Source::Trace);
        let thread = &reading.recorded.threads[&TID];
        assert!(thread.calls.is_empty() && reading.recorded.gaps == 1);
    }

    /// More faults and calls than are kept, and a wait every thousand of them.
    #[test]
    fn a_storm_is_kept_to_its_end_with_every_site_and_the_worst() {
        let mut reading = Reading { stacks: true, ..Reading::default() };
        let out = Event::Out { waits: true, uninterruptible: false };
        let storms = 600_000;
        for at_ns in 0..storms {
            assert!(reading.makes_room());
            let site = at_ns as u64 % 3;
            reading.take(
                TID,
                at_ns * 10,
                Event::Fault { address: at_ns as u64 * 4096, instruction: site, user: true },
                Source::Trace,
            );
            reading.take(TID, at_ns * 10, Event::Stack(vec![site, 77]), Source::Trace);
            if at_ns % 1000 == 0 {
                for event in [enter(230), Event::Stack(vec![5]), out.clone(), back("loop"), Event::Exit { answer: 0 }] {
                    reading.take(
                        TID,
                        at_ns * 10 + i64::from(!matches!(event, Event::Enter { .. })),
                        event,
                        Source::Trace,
                    );
                }
            }
        }
        let kept: usize = reading.recorded.threads.values().map(bytes_of_thread).sum();
        assert!(kept < 2 * KEPT_BYTES_MAX && !reading.recorded.cut_off, "{kept}");
        let thread = &reading.recorded.threads[&TID];
        for site in 0..3 {
            let of_site = thread.faults.iter().filter(|fault| fault.instruction == site);
            assert_eq!(of_site.map(Fault::count).sum::<u64>(), storms as u64 / 3);
        }
        assert_eq!(thread.calls.iter().map(Call::count).sum::<u64>(), storms as u64 / 1000);
        assert!(thread.faults.last().is_some_and(|fault| fault.at_ns == (storms - 1) * 10));
    }

    #[test]
    fn of_too_many_threads_the_last_ones_stay() {
        let mut reading = Reading::default();
        let started = 200_000;
        for tid in 1..=started {
            assert!(reading.makes_room());
            reading.take(tid, i64::from(tid), enter(1), Source::Trace);
            reading.take(tid, i64::from(tid), Event::Exit { answer: 0 }, Source::Trace);
        }
        let recorded = &reading.recorded;
        assert!(recorded.threads.contains_key(&started) && recorded.threads.len() > 10_000);
        assert_eq!(recorded.threads.len() as u64 + recorded.threads_left_out, started as u64);
        assert!(reading.kept_bytes <= 2 * KEPT_BYTES_MAX && !recorded.cut_off);
    }

    #[test]
    fn signals_are_counted_however_many_they_are() {
        let mut reading = Reading::default();
        let storms = 3_000_000;
        for at_ns in 0..storms {
            assert!(reading.makes_room());
            reading.take(TID, at_ns, Event::Signal { number: 10 }, Source::Trace);
        }
        let signals = &reading.recorded.threads[&TID].signals;
        assert_eq!(signals.iter().map(Signal::count).sum::<u64>(), storms as u64);
        assert!(size_of_val(&signals[..]) <= KEPT_BYTES_MAX + 100);
    }

    /// Half of the time is lost, in stretches.
    #[test]
    fn the_time_of_losses_is_not_seen() {
        let mut reading = Reading::default();
        for second in 0..100 {
            for at in 0..100 {
                reading.take(TID, second * 1000 + at * 5, Event::Signal { number: 10 }, Source::Trace);
            }
            reading.gap();
        }
        let thread = &reading.recorded.threads[&TID];
        assert_eq!(thread.seen_ns(thread.first_ns, thread.last_ns), 100 * 495);
    }

    const FORMATS: [(&str, &str); 3] = [
        (
            "raw_syscalls",
            "name: sys_enter\nID: 1\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n",
        ),
        (
            "raw_syscalls",
            "name: sys_exit\nID: 2\nformat:\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n",
        ),
        ("signal", "name: signal_deliver\nID: 3\nformat:\n\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"),
    ];

    proptest! {
        /// Whatever a target sends as pages and as a description, it is read and judged.
        #[test]
        fn any_pages_are_read(
            words in proptest::collection::vec(prop_oneof![0_u32..64, any::<u32>()], 0..2048),
            start in any::<u64>(),
            end in any::<u64>(),
            page_bytes in any::<u64>(),
            stacks in any::<bool>(),
        ) {
            let pages: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mapping = Mapping { start, end, offset: end, rights: "rw-p".into(), name: "/x".into() };
            let process = AuditedProcess { mappings: vec![mapping], ..AuditedProcess::default() };
            let description = AuditDescription {
                machine: "x86_64".into(),
                stacks,
                recorded: RecordedPages {
                    page_bytes,
                    event_formats: FORMATS.map(|(system, text)| (system.to_owned(), text.to_owned())).to_vec(),
                    ..RecordedPages::default()
                },
                processes: vec![process],
                ..AuditDescription::default()
            };
            let own = stacks.then(|| pages.clone());
            let cpu = CpuPages { cpu: 0, pieces: Box::new(std::iter::once(pages.clone())) };
            let recorded = read(&description, [cpu], own.into_iter());
            let calls: usize = recorded.threads.values().map(|thread| thread.calls.len()).sum();
            prop_assert!(calls <= 2 * pages.len());
            judge(&description, &recorded, Scope::All, 0, &mut NoNames);
        }
    }
}
