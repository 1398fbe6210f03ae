//! Pipelines of threads on this machine with delays planted in each stage: the account must find stage and cause.

mod delay;
mod disk;
mod disturber;
mod link;
mod pipeline;
mod recorder;

use archive::chain::{ChainAccount, ChainCause, ChainFinding, ChainInstance, ChainShare};
use archive::culprit::{AwaitedProgress, Culprit, Holder, WakeSource};
use chains::declaration::{Chain, End, Stage, Stimulus, ThreadId, TimeSpan};
use delay::Delay;
use link::LinkKind;
use pipeline::{Pipeline, Planted};
use recorder::Recorder;

/// Share of planted delays, in percent, whose stage and cause the account must name.
const RIGHT_MIN_PERCENT: usize = 95;

/// Delays of one pipeline and the ones that the account named.
#[derive(Debug, Default)]
struct Score {
    /// Not scored: by the stages' own clock something else delayed the cycle as well.
    disturbed: usize,
    planted: usize,
    right: usize,
    instances: usize,
    exact: usize,
    wrong: Vec<String>,
}

impl Score {
    fn add(&mut self, other: Self) {
        self.disturbed += other.disturbed;
        self.planted += other.planted;
        self.right += other.right;
        self.instances += other.instances;
        self.exact += other.exact;
        self.wrong.extend(other.wrong);
    }
}

/// Runs a pipeline with each delay in each stage, `times` times, and scores the account of its recording.
fn score(stages: usize, kind: LinkKind, times: usize) -> Score {
    let recorder = Recorder::start(&format!("{stages}_{}", kind.name()));
    let pipeline = Pipeline::run(stages, kind, times);
    let recorded = [recorder.recorded()];
    let chain = Chain {
        name: "pipeline".into(),
        deadline: Some(TimeSpan { ns: pipeline.ordinary_ns() + delay::PLANTED_NS / 2 }),
        period: Some(TimeSpan { ns: pipeline::PERIOD_NS }),
        stimulus: Stimulus::Timer,
        stages: pipeline.tids.iter().map(|tid| Stage::Thread(ThreadId { tid: *tid })).collect(),
        end: End::Sleep,
    };
    let account = chains::account(&recorded, &chain, usize::MAX);
    let mut score = Score { instances: account.instances.len(), ..Score::default() };
    score.exact = account.instances.iter().filter(|instance| is_exact(instance)).count();
    for planted in &pipeline.planted {
        if pipeline.was_disturbed(planted) {
            score.disturbed += 1;
            continue;
        }
        score.planted += 1;
        match judge(&account, &pipeline, planted) {
            Ok(()) => score.right += 1,
            Err(why) => score.wrong.push(format!("{stages} over {}: {planted:?}: {why}", kind.name())),
        }
    }
    score
}

fn is_exact(instance: &ChainInstance) -> bool {
    let mut at_ns = instance.stimulus_ns;
    let follow = instance.segments.iter().all(|segment| {
        let follows = segment.start_ns == at_ns && segment.end_ns > at_ns;
        at_ns = segment.end_ns;
        follows
    });
    follow && at_ns == instance.end_ns
}

/// Whether the account names the stage and the cause of a planted delay.
fn judge(account: &ChainAccount, pipeline: &Pipeline, planted: &Planted) -> Result<(), String> {
    let spans = |instance: &&ChainInstance| (instance.stimulus_ns..instance.end_ns).contains(&planted.at_ns);
    let instance = account.instances.iter().find(spans).ok_or("no instance")?;
    let found = account.findings.iter().find(|finding| finding.stimulus_ns == instance.stimulus_ns);
    let finding = found.ok_or_else(|| format!("no finding; it took {} ns", instance.latency_ns()))?;
    if finding.stage != planted.stage {
        return Err(format!("{finding:?}"));
    }
    is_cause(finding, pipeline, planted).then_some(()).ok_or_else(|| format!("{finding:?}"))
}

fn is_cause(finding: &ChainFinding, pipeline: &Pipeline, planted: &Planted) -> bool {
    let helpers = pipeline.helpers_of(planted.stage);
    match (planted.delay, &finding.cause) {
        (Delay::OwnWork, ChainCause::OwnWork) => finding.culprit == Some(Culprit::OwnWork),
        (Delay::Preempted, ChainCause::Preempted { holder: Some(Holder::Task { task, .. }), .. }) => {
            task.tid == helpers.hog && finding.culprit == Some(Culprit::OtherRtTask)
        }
        (Delay::Sleep, ChainCause::WaitedFor(WakeSource::Timer)) => finding.culprit == Some(Culprit::Waiting),
        (Delay::LockOfRunning, ChainCause::WaitedForThread { woke, progress: AwaitedProgress::Ran { .. }, .. }) => {
            woke.tid == helpers.locker && finding.culprit == Some(Culprit::Waiting)
        }
        (Delay::LockOfSleeping, ChainCause::WaitedForThread { woke, progress, .. }) => {
            woke.tid == helpers.locker && *progress == AwaitedProgress::Slept(WakeSource::Timer)
        }
        (Delay::LockOfPreempted, ChainCause::WaitedForThread { woke, progress, .. }) => {
            let AwaitedProgress::HeldUp { holder: Some(Holder::Task { task, .. }), .. } = progress else {
                return false;
            };
            (woke.tid, task.tid) == (helpers.locker, helpers.middle)
                && finding.culprit == Some(Culprit::PriorityInversion)
        }
        _ => false,
    }
}

/// Needs what [`Recorder`] and real-time priorities need.
macro_rules! pipelines {
    ($($name:ident $kind:ident;)*) => {
        $(#[test]
        fn $name() {
            prerequisites::require!(Root, Tracefs, Program("chrt"), Kernel("two CPUs", pipeline::has_two_cpus()));
            let _machine = prerequisites::Machine::alone();
            let mut all = Score::default();
            for stages in [1, 4, 8] {
                all.add(score(stages, LinkKind::$kind, 1));
            }
            assert_eq!(all.exact, all.instances, "every ledger sums to its latency");
            assert!(all.planted > 0, "something else delayed each of {} cycles", all.disturbed);
            assert!(all.right * 100 >= all.planted * RIGHT_MIN_PERCENT, "{} of {}: {:#?}", all.right, all.planted, all.wrong);
        })*
    };
}

pipelines! {
    delays_in_a_pipeline_over_pipes_are_found Pipe;
    delays_in_a_pipeline_over_futexes_are_found Futex;
    delays_in_a_pipeline_over_sockets_are_found Socket;
    delays_in_a_pipeline_over_event_descriptors_are_found EventFd;
    delays_in_a_pipeline_through_a_softirq_are_found Udp;
    delays_in_a_pipeline_through_a_work_queue_are_found Terminal;
}

#[test]
fn reads_of_a_disk_are_followed_from_its_interrupt() {
    const READS: usize = 40;
    prerequisites::require!(Root, Tracefs, Kernel("a virtio disk", disk::has_virtio_disk()));
    let _machine = prerequisites::Machine::alone();
    let recorder = Recorder::start("disk");
    let tid = disk::read(READS);
    let chain = Chain {
        name: "read".into(),
        deadline: None,
        period: None,
        stimulus: Stimulus::Interrupt("virtio*".into()),
        stages: vec![Stage::Thread(ThreadId { tid })],
        end: End::Sleep,
    };
    let account = chains::account(&[recorder.recorded()], &chain, usize::MAX);
    // A read may end while the thread still runs, and needs no wake-up.
    assert!((READS / 2..=READS).contains(&account.instances.len()), "{}", account.instances.len());
    assert!(account.instances.iter().all(is_exact));
    let in_handler =
        |instance: &&ChainInstance| instance.segments.first().is_some_and(|first| first.share() == ChainShare::Hardirq);
    assert_eq!(account.instances.iter().filter(in_handler).count(), account.instances.len());
}

#[test]
fn discovery_finds_the_pipeline() {
    prerequisites::require!(Root, Tracefs, Program("chrt"), Kernel("two CPUs", pipeline::has_two_cpus()));
    let _machine = prerequisites::Machine::alone();
    let recorder = Recorder::start("discovery");
    let pipeline = Pipeline::run(4, LinkKind::Pipe, 1);
    let proposed = chains::discover::discover(&[recorder.recorded()]);
    let tids = |chain: &archive::chain::ProposedChain| chain.threads.iter().map(|of| of.tid).collect::<Vec<i32>>();
    let found = proposed.iter().find(|chain| tids(chain) == pipeline.tids);
    let found = found.unwrap_or_else(|| panic!("{:?}: {proposed:#?}", pipeline.tids));
    let off_ns = (found.arrivals.period_ns - pipeline::PERIOD_NS).abs();
    assert!(off_ns < pipeline::PERIOD_NS, "{found:?}");
}

/// Prints a table: `cargo test -p chains --test pipelines -- --ignored --nocapture table`.
#[test]
#[ignore = "takes minutes; prints the share of right answers"]
fn table() {
    prerequisites::require!(Root, Tracefs, Program("chrt"), Kernel("two CPUs", pipeline::has_two_cpus()));
    let _machine = prerequisites::Machine::alone();
    println!(
        "{:10} {:>6} {:>9} {:>8} {:>6} {:>7} {:>10} {:>6}",
        "over", "stages", "disturbed", "planted", "right", "percent", "instances", "exact"
    );
    for kind in LinkKind::ALL {
        for stages in [1, 4, 8] {
            let times = 50_usize.div_ceil(stages * Delay::ALL.len());
            let score = score(stages, kind, times);
            let percent = score.right as f64 * 100.0 / score.planted.max(1) as f64;
            let Score { disturbed, planted, right, instances, exact, wrong } = score;
            println!(
                "{:10} {stages:>6} {disturbed:>9} {planted:>8} {right:>6} {percent:>7.1} {instances:>10} {exact:>6}",
                kind.name()
            );
            wrong.iter().for_each(|wrong| println!("    {wrong}"));
        }
    }
}
