//! Programs, interrupts and other causes, ranked by the delay that they caused over many late wake-ups.
//!
//! Each finding of an explanation claims a part of its ledger for one culprit; the parts do not overlap. The ranking adds them up, by
//! culprit and by the name of who had the CPU.

use archive::culprit::{Console, Culprit, Facts, Holder, InterruptStorm, OtherTimers, SilencedBy, TaskName};
use archive::explanation::{Explanation, ExplanationStatus, Finding};
use archive::trace_event::softirq;
use serde::Serialize;
use std::collections::BTreeMap;
use words::culprits::advice;
use words::holders;

/// Names that are distinguished; the delay of further ones counts as that of [`OTHERS`].
const DELAYERS_MAX: usize = 500;
const NAME_CHARACTERS_MAX: usize = 80;
const OTHERS: &str = "others";

/// Kind of a delayer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayerKind {
    Program,
    Interrupt,
    Softirq,
    Idle,
    /// A setting or a mechanism of the kernel or the firmware.
    Mechanism,
    /// The host of a virtual machine: nothing in the machine changes what it does.
    Host,
}

/// A program, an interrupt or a mechanism that delayed wake-ups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Delayer {
    pub kind: DelayerKind,
    /// Name of the program, interrupt or mechanism, as its machine calls it.
    pub name: String,
    pub culprit: Culprit,
    pub delay_ns: i64,
    /// Wake-ups that it delayed.
    pub times: u64,
    /// The longest delay of one wake-up, and its spike.
    pub worst_ns: i64,
    pub worst_spike: u32,
    /// The change that avoids it.
    pub fix: String,
}

/// The part of one delayer in the lateness of one wake-up.
struct Share<'f> {
    kind: DelayerKind,
    ns: i64,
    largest: &'f Finding,
}

/// Delays by who caused them.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    delayers: BTreeMap<(Culprit, String), Delayer>,
    spikes: u64,
    unexplained: u64,
    delay_ns: i64,
    explained_ns: i64,
}

impl Ranking {
    /// Adds the account of one late wake-up.
    pub fn add(&mut self, explanation: &Explanation) {
        self.spikes += 1;
        if explanation.status == ExplanationStatus::NoTrace || explanation.findings.is_empty() {
            self.unexplained += 1;
        }
        self.delay_ns = self.delay_ns.saturating_add(explanation.latency_ns.max(0));
        // Several findings of one delayer are one delay of this wake-up.
        let mut shares: BTreeMap<(Culprit, String), Share<'_>> = BTreeMap::new();
        for finding in &explanation.findings {
            self.explained_ns = self.explained_ns.saturating_add(finding.ns.max(0));
            let (kind, name) = delayer(finding);
            let share =
                shares.entry((finding.culprit.clone(), name)).or_insert(Share { kind, ns: 0, largest: finding });
            share.ns = share.ns.saturating_add(finding.ns.max(0));
            if finding.ns > share.largest.ns {
                share.largest = finding;
            }
        }
        for ((culprit, name), share) in shares {
            self.charge(culprit, name, &share, explanation.spike);
        }
    }

    fn charge(&mut self, culprit: Culprit, mut name: String, share: &Share<'_>, spike: u32) {
        if !self.delayers.contains_key(&(culprit.clone(), name.clone())) && self.delayers.len() >= DELAYERS_MAX {
            name = OTHERS.into();
        }
        let delayer = self.delayers.entry((culprit.clone(), name.clone())).or_insert_with(|| Delayer {
            kind: share.kind,
            name,
            culprit,
            delay_ns: 0,
            times: 0,
            worst_ns: 0,
            worst_spike: spike,
            fix: share.largest.fix.clone(),
        });
        delayer.times += 1;
        delayer.delay_ns = delayer.delay_ns.saturating_add(share.ns);
        if share.ns > delayer.worst_ns {
            (delayer.worst_ns, delayer.worst_spike) = (share.ns, spike);
            delayer.fix.clone_from(&share.largest.fix);
        }
    }

    /// The delayers of the machine itself with the most delay, largest first.
    pub fn first(&self, count: usize) -> Vec<Delayer> {
        self.sorted(|kind| kind != DelayerKind::Host).take(count).cloned().collect()
    }

    /// Delays by the host of a virtual machine, largest first.
    pub fn of_host(&self) -> Vec<Delayer> {
        self.sorted(|kind| kind == DelayerKind::Host).cloned().collect()
    }

    fn sorted(&self, counts: impl Fn(DelayerKind) -> bool) -> impl Iterator<Item = &Delayer> {
        let mut sorted: Vec<&Delayer> = self.delayers.values().filter(|delayer| counts(delayer.kind)).collect();
        sorted.sort_by_key(|delayer| std::cmp::Reverse((delayer.delay_ns, delayer.worst_ns)));
        sorted.into_iter()
    }

    /// Late wake-ups with an account.
    pub fn spikes(&self) -> u64 {
        self.spikes
    }

    /// Accounts without a cause.
    pub fn unexplained(&self) -> u64 {
        self.unexplained
    }

    /// The lateness of all accounts.
    pub fn delay_ns(&self) -> i64 {
        self.delay_ns
    }

    /// The part of it that has a cause.
    pub fn explained_ns(&self) -> i64 {
        self.explained_ns
    }
}

/// Who had the CPU, or the mechanism if the culprit is not the work of a thread or an interrupt.
fn delayer(finding: &Finding) -> (DelayerKind, String) {
    if is_of_host(finding) {
        return (DelayerKind::Host, mechanism(&finding.culprit));
    }
    if let Some(Facts::Timers(OtherTimers { function: Some(function), .. })) = &finding.facts {
        return (DelayerKind::Interrupt, shortened(&format!("timer {}", function.0)));
    }
    let (kind, name) = match finding.facts.as_ref().and_then(holder_of) {
        Some(Holder::Task { task, function }) => {
            let name = program(task);
            let function = function.as_ref().filter(|_| name == "kworker");
            (DelayerKind::Program, function.map_or_else(|| name.clone(), |function| format!("{name} ({})", function.0)))
        }
        // The thread in which it ran is a bystander.
        Some(Holder::Softirq { softirq: number, function, .. }) => {
            let function = function.as_ref().map(|function| format!(" ({})", function.0)).unwrap_or_default();
            (DelayerKind::Softirq, format!("{}{function}", softirq(*number)))
        }
        Some(holder @ (Holder::Irq { .. } | Holder::Vector { .. } | Holder::Nmi { .. })) => {
            (DelayerKind::Interrupt, holders::holder(holder))
        }
        Some(holder @ Holder::Idle { .. }) => (DelayerKind::Idle, holders::holder(holder)),
        Some(Holder::Untraced) | None => (DelayerKind::Mechanism, mechanism(&finding.culprit)),
    };
    (kind, shortened(&name))
}

fn is_of_host(finding: &Finding) -> bool {
    match &finding.facts {
        // On bare metal it is the firmware, whose settings are the user's.
        Some(Facts::Silence(silence)) => {
            matches!(silence.by, SilencedBy::HostOrFirmware { .. } | SilencedBy::Stolen { .. })
        }
        _ => finding.culprit == Culprit::Steal,
    }
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_CHARACTERS_MAX).collect()
}

fn mechanism(culprit: &Culprit) -> String {
    advice(culprit).map_or_else(|| culprit.id().to_owned(), |advice| advice.title.to_owned())
}

/// A program by its name alone: all its threads count together, as do the threads that the kernel has on each CPU.
fn program(task: &TaskName) -> String {
    if task.comm.is_empty() {
        return holders::task(task);
    }
    match task.comm.split_once('/') {
        Some((name, cpu)) if cpu.starts_with(|first: char| first.is_ascii_digit() || first == 'u') => name.to_owned(),
        _ => task.comm.clone(),
    }
}

fn holder_of(facts: &Facts) -> Option<&Holder> {
    let holders = match facts {
        Facts::IrqStorm(InterruptStorm::Line { who, .. }) => return Some(who),
        Facts::Workqueue(facts) => &facts.named.who,
        Facts::Printk(Console::Named(named)) => &named.who,
        Facts::Printk(Console::AtOnce { who, .. }) => who,
        Facts::Nmi(facts) => &facts.who,
        Facts::PreviousIrq(facts) => &facts.who,
        Facts::Softirq(facts) => &facts.who,
        Facts::StopMachine(facts) => &facts.who,
        Facts::ThreadedIrq(facts) | Facts::OtherRtTask(facts) => &facts.who,
        Facts::BoostedTask(facts) => &facts.who,
        Facts::BlockingTask(facts) => &facts.who,
        Facts::IrqsOff(facts) => &facts.who,
        Facts::AnotherRun(facts)
        | Facts::TlbShootdown(facts)
        | Facts::TextPatching(facts)
        | Facts::CacheFlush(facts)
        | Facts::Membarrier(facts)
        | Facts::Rcu(facts)
        | Facts::IrqWork(facts)
        | Facts::RescheduleIpi(facts)
        | Facts::Thermal(facts)
        | Facts::Network(facts)
        | Facts::Usb(facts)
        | Facts::Storage(facts)
        | Facts::SlowBus(facts)
        | Facts::Graphics(facts)
        | Facts::Acpi(facts)
        | Facts::EfiRuntime(facts)
        | Facts::FirmwareCall(facts)
        | Facts::ClocksourceWatchdog(facts)
        | Facts::CpuFrequency(facts)
        | Facts::SlabShrink(facts)
        | Facts::Reclaim(facts)
        | Facts::Compaction(facts)
        | Facts::Ksm(facts)
        | Facts::NumaBalancing(facts)
        | Facts::Vmstat(facts)
        | Facts::MemcgDrain(facts)
        | Facts::ModuleLoad(facts)
        | Facts::CpuHotplug(facts) => &facts.who,
        _ => return None,
    };
    Some(&holders.largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::culprit::{Holders, MoreUrgent, NamedHolders, Silence, SilentPlace};
    use archive::explanation::Confidence;
    use archive::sample::Sample;
    use archive::spike::{Spike, SpikeReason};
    use explain::explain_without_trace;

    fn task(comm: &str, tid: i32) -> Holders {
        Holders { largest: Holder::Task { task: TaskName { tid, comm: comm.into() }, function: None }, others: 0 }
    }

    fn urgent(comm: &str, tid: i32, ns: i64) -> Finding {
        let facts = MoreUrgent { who: task(comm, tid), tid, priority: None, thread_priority: None };
        finding(Culprit::OtherRtTask, ns, Some(Facts::OtherRtTask(facts)))
    }

    fn finding(culprit: Culprit, ns: i64, facts: Option<Facts>) -> Finding {
        Finding { facts, ..Finding::new(culprit, Confidence::Certain, ns) }
    }

    fn explanation(number: u32, latency_ns: i64, findings: Vec<Finding>) -> Explanation {
        let sample = Sample { cpu: 0, cycle: 0, due_ns: 0, latency_ns };
        let unexplained = explain_without_trace(&Spike::new(number, 0, 1, sample, SpikeReason::OverLimit), 0);
        Explanation { findings, status: ExplanationStatus::Explained, ..unexplained }
    }

    #[test]
    fn threads_of_a_program_add_up_and_the_largest_sum_comes_first() {
        let mut ranking = Ranking::default();
        ranking.add(&explanation(1, 900, vec![urgent("once", 9, 900)]));
        ranking.add(&explanation(2, 600, vec![urgent("hog", 1, 500), finding(Culprit::FairServer, 50, None)]));
        ranking.add(&explanation(3, 700, vec![urgent("hog", 2, 600)]));
        let first = ranking.first(10);
        let named: Vec<(&str, i64, u64, u32)> = first
            .iter()
            .map(|delayer| (delayer.name.as_str(), delayer.delay_ns, delayer.times, delayer.worst_spike))
            .collect();
        assert_eq!(named[..2], [("hog", 1100, 2, 3), ("once", 900, 1, 1)]);
        assert_eq!((first[2].kind, first[2].culprit.clone()), (DelayerKind::Mechanism, Culprit::FairServer));
        assert_eq!((ranking.delay_ns(), ranking.explained_ns(), ranking.spikes()), (2200, 2050, 3));
    }

    #[test]
    fn the_host_of_a_virtual_machine_has_its_own_place_and_firmware_does_not() {
        let silence = |by: SilencedBy| {
            let facts = Silence {
                place: SilentPlace::AllCpus,
                by,
                overdue: None,
                requests: Vec::new(),
                still_elsewhere_ns: 0,
                came_in: None,
            };
            finding(Culprit::Silence, 100, Some(Facts::Silence(facts)))
        };
        let mut ranking = Ranking::default();
        ranking.add(&explanation(1, 900, vec![finding(Culprit::Steal, 800, None), urgent("hog", 1, 50)]));
        ranking.add(&explanation(2, 900, vec![silence(SilencedBy::HostOrFirmware { host: "kvm".into() })]));
        let names = |delayers: Vec<Delayer>| delayers.into_iter().map(|one| one.culprit).collect::<Vec<_>>();
        assert_eq!(names(ranking.first(9)), [Culprit::OtherRtTask]);
        assert_eq!(names(ranking.of_host()), [Culprit::Steal, Culprit::Silence]);
        let mut of_metal = Ranking::default();
        of_metal.add(&explanation(1, 900, vec![silence(SilencedBy::FirmwareOrHardware)]));
        assert_eq!((names(of_metal.first(9)), of_metal.of_host()), (vec![Culprit::Silence], Vec::new()));
    }

    #[test]
    fn stretches_of_one_delayer_in_one_wake_up_are_one_delay() {
        let mut ranking = Ranking::default();
        ranking.add(&explanation(1, 900, vec![urgent("hog", 1, 300), urgent("once", 3, 100), urgent("hog", 2, 400)]));
        ranking.add(&explanation(2, 600, vec![urgent("hog", 1, 500)]));
        let first = &ranking.first(2)[0];
        assert_eq!((first.name.as_str(), first.delay_ns, first.times), ("hog", 1200, 2));
        assert_eq!((first.worst_ns, first.worst_spike), (700, 1));
        assert_eq!(ranking.explained_ns(), 1300);
    }

    /// The causes that a user of a desk may meet: a storm of an interrupt, a driver, a program of real time, short memory, sleep
    /// states, the share of ordinary programs.
    #[test]
    fn each_planted_cause_of_the_corpus_comes_first() {
        let ranked = |case: &str| {
            let place = fixtures::repository::repository_path("corpus/explain").join(case);
            let text = std::fs::read_to_string(place.join("spike.json")).unwrap();
            let (_, explanation) =
                crate::explain_case(&text, &std::fs::read(place.join("trace.dat")).unwrap()).unwrap();
            let mut ranking = Ranking::default();
            ranking.add(&explanation);
            ranking.first(1).remove(0)
        };
        for (case, culprit, kind, name) in [
            ("irq-storm", Culprit::IrqStorm, DelayerKind::Interrupt, "irq 30 xhci_hcd"),
            ("usb", Culprit::Usb, DelayerKind::Interrupt, "irq 30 xhci_hcd"),
            ("other-rt-task", Culprit::OtherRtTask, DelayerKind::Program, "multipathd"),
            ("reclaim", Culprit::Reclaim, DelayerKind::Program, "kswapd0"),
            ("idle-exit", Culprit::IdleExit, DelayerKind::Mechanism, "leaving an idle state"),
            ("fair-server", Culprit::FairServer, DelayerKind::Mechanism, "the fair server"),
        ] {
            let first = ranked(case);
            assert_eq!((first.culprit, first.kind, first.name.as_str()), (culprit, kind, name), "{case}");
        }
    }

    #[test]
    fn a_thread_of_each_cpu_is_one_program_and_a_path_in_a_name_stays() {
        let named = |comm: &str| program(&TaskName { tid: 7, comm: comm.into() });
        assert_eq!(
            [named("ksoftirqd/1"), named("kworker/u8:2"), named("a/b"), named("")],
            ["ksoftirqd", "kworker", "a/b", "thread-7"]
        );
    }

    #[test]
    fn names_without_end_do_not_take_memory_without_end() {
        let mut ranking = Ranking::default();
        for tid in 0..2000 {
            let who = task(&format!("{tid}-{}", "x".repeat(500)), tid);
            let facts = NamedHolders { who, is_thread: true, asked_with_preemption_off: false };
            let storage = finding(Culprit::Storage, 10, Some(Facts::Storage(facts)));
            ranking.add(&explanation(tid.unsigned_abs(), 10, vec![storage]));
        }
        let all = ranking.first(usize::MAX);
        assert!(all.len() <= DELAYERS_MAX + 1 && all[0].name == OTHERS, "{} names", all.len());
        assert!(all.iter().all(|delayer| delayer.name.chars().count() <= NAME_CHARACTERS_MAX));
    }

    #[test]
    fn an_account_without_a_cause_is_counted() {
        let mut ranking = Ranking::default();
        ranking.add(&explanation(1, 100, Vec::new()));
        assert_eq!((ranking.unexplained(), ranking.explained_ns(), ranking.first(9)), (1, 0, Vec::new()));
    }
}
