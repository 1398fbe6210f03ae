//! Differences between two runs other than their latencies: machine, kernel, settings.

use archive::culprit::FairServer;
use archive::effective::{EffectiveSettings, EffectiveThread};
use archive::environment::Environment;
use archive::message::Severity;
use archive::settings::{LoadRequest, RunSettings};
use archive::summary::RunSummary;
use archive::watched::WatchSettings;
pub use claims::difference::Difference;
use claims::difference_kind::DifferenceKind;
use std::collections::BTreeSet;

/// A named property of a run.
type Property = (DifferenceKind, Option<String>);

/// Every difference. None is left out as harmless, because any of them may affect latency, but for clocks that resolve about
/// equally well.
pub fn differences(a: &RunSummary, b: &RunSummary) -> Vec<Difference> {
    let mut found = Vec::new();
    for ((what, a), (_, b)) in properties(a).into_iter().zip(properties(b)) {
        if a != b {
            found.push(Difference { what, a, b });
        }
    }
    found.extend(clock_resolution(a, b));
    for (what, lines) in LISTS {
        found.extend(only_in_one(what, &lines(a), &lines(b)));
    }
    found
}

/// Differences of the requested settings, without the seed and settings that do not affect the measurement.
pub(crate) fn of_settings(a: &RunSettings, b: &RunSettings) -> Vec<Difference> {
    const NOT_MEASURED: [DifferenceKind; 3] =
        [DifferenceKind::Seed, DifferenceKind::Limit, DifferenceKind::EverySample];
    let pairs = settings(Some(a)).into_iter().zip(settings(Some(b)));
    let differing = pairs.filter(|((what, a), (_, b))| a != b && !NOT_MEASURED.contains(what));
    let mut found: Vec<Difference> = differing.map(|((what, a), (_, b))| Difference { what, a, b }).collect();
    found.extend(only_in_one(DifferenceKind::Load, &loads(a), &loads(b)));
    found.extend(only_in_one(DifferenceKind::Setting, &changes(a), &changes(b)));
    found
}

/// Runtimes, and periods other than the default: older archives hold no periods.
fn fair_servers(summary: &RunSummary) -> Vec<String> {
    let usual = format!("={}", FairServer::PERIOD_NS);
    let mut lines = of_environment(summary, |environment| &environment.fair_server_runtime);
    let periods = of_environment(summary, |environment| &environment.fair_server_period);
    lines.extend(periods.into_iter().filter(|line| !line.ends_with(&usual)).map(|line| format!("period {line}")));
    lines
}

fn loads(settings: &RunSettings) -> Vec<String> {
    settings.loads.iter().map(load).collect()
}

fn changes(settings: &RunSettings) -> Vec<String> {
    settings.settings.iter().map(|change| format!("{}={}", change.path, change.value)).collect()
}

fn properties(summary: &RunSummary) -> Vec<Property> {
    let unknown = Environment::default();
    let environment = summary.environment.as_ref().unwrap_or(&unknown);
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let mut properties = vec![
        (DifferenceKind::Target, said(&summary.target)),
        (DifferenceKind::Machine, said(&environment.hostname)),
        (DifferenceKind::Architecture, said(&environment.architecture)),
        (DifferenceKind::Processor, environment.cpu_model.clone()),
        (DifferenceKind::Kernel, said(&environment.kernel_release)),
        (DifferenceKind::KernelBuild, said(&environment.kernel_version)),
        (DifferenceKind::Preemption, environment.preemption.clone()),
        (DifferenceKind::PreemptRt, environment.preempt_rt.map(|yes| yes.to_string())),
        (DifferenceKind::CpusOnline, environment.cpus_online.clone()),
        (DifferenceKind::CpusIsolated, environment.cpus_isolated.clone()),
        (DifferenceKind::CpusNohzFull, environment.cpus_nohz_full.clone()),
        (DifferenceKind::Smt, environment.smt.clone()),
        (DifferenceKind::Memory, environment.memory_total_kb.map(|kb| kb.to_string())),
        (DifferenceKind::ClockSource, environment.clocksource.clone()),
        (DifferenceKind::IdleDriver, environment.idle_driver.clone()),
        (DifferenceKind::IdleGovernor, environment.idle_governor.clone()),
        (DifferenceKind::RtRuntime, environment.rt_runtime_us.map(|us| us.to_string())),
        (DifferenceKind::RtPeriod, environment.rt_period_us.map(|us| us.to_string())),
        (DifferenceKind::Hypervisor, environment.virtualisation.clone()),
        (DifferenceKind::Container, environment.container.clone()),
        (DifferenceKind::PolicyGranted, summary.effective.as_ref().map(granted)),
        (DifferenceKind::Recording, summary.tracing.clone()),
        (DifferenceKind::ToolVersion, said(&summary.tool_version)),
        (DifferenceKind::MeterVersion, summary.meter_version.clone()),
    ];
    properties.extend(settings(summary.settings.as_ref()));
    properties
}

fn settings(settings: Option<&RunSettings>) -> Vec<Property> {
    let of = |value: &dyn Fn(&RunSettings) -> Option<String>| settings.and_then(value);
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    vec![
        (DifferenceKind::Watched, of(&|settings| settings.watch.as_ref().map(WatchSettings::whom))),
        (DifferenceKind::Method, of(&|settings| Some(settings.method_text()))),
        (DifferenceKind::Interval, of(&|settings| Some(settings.interval_ns.to_string()))),
        (DifferenceKind::Seed, of(&|settings| settings.dither_seed.map(|seed| seed.to_string()))),
        (DifferenceKind::Duration, of(&|settings| settings.duration_ns.map(|ns| ns.to_string()))),
        (DifferenceKind::Cycles, of(&|settings| settings.cycles.map(|cycles| cycles.to_string()))),
        (DifferenceKind::CpusMeasured, of(&|settings| settings.cpus.as_deref().map(list))),
        (DifferenceKind::Policy, of(&|settings| Some(format!("{:?}", settings.policy).to_uppercase()))),
        (DifferenceKind::Priority, of(&|settings| Some(settings.priority.to_string()))),
        (DifferenceKind::MemoryLocked, of(&|settings| Some(settings.lock_memory.to_string()))),
        (DifferenceKind::CpuDmaLatency, of(&|settings| settings.cpu_dma_latency_us.map(|us| us.to_string()))),
        (DifferenceKind::Limit, of(&|settings| settings.limit_ns.map(|ns| ns.to_string()))),
        (DifferenceKind::EverySample, of(&|settings| Some(settings.every_sample.to_string()))),
    ]
}

/// Lists in which each entry of only one run is a difference.
type Lines = fn(&RunSummary) -> Vec<String>;
const LISTS: [(DifferenceKind, Lines); 10] = [
    (DifferenceKind::Load, |summary| summary.settings.as_ref().map_or(Vec::new(), loads)),
    (DifferenceKind::Setting, |summary| summary.settings.as_ref().map_or(Vec::new(), changes)),
    (DifferenceKind::CommandLine, |summary| {
        let line = summary.environment.as_ref().and_then(|environment| environment.command_line.as_deref());
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }),
    (DifferenceKind::KernelOption, |summary| of_environment(summary, |environment| &environment.config)),
    (DifferenceKind::FrequencyGovernor, |summary| {
        of_environment(summary, |environment| &environment.frequency_governors)
    }),
    (DifferenceKind::FairServer, fair_servers),
    (DifferenceKind::Mitigation, |summary| of_environment(summary, |environment| &environment.mitigations)),
    (DifferenceKind::DebugOption, |summary| of_environment(summary, |environment| &environment.debug_options)),
    (DifferenceKind::Ingredient, |summary| {
        let shown = summary.ingredients.iter().filter(|(name, _)| !SHOWN_ELSEWHERE.contains(&name.as_str()));
        shown.map(|(name, value)| format!("{name}: {}", shortened(value))).collect()
    }),
    (DifferenceKind::Reduced, reductions),
];

/// Policies and priorities that the kernel granted, each once.
fn granted(effective: &EffectiveSettings) -> String {
    let of = |thread: &EffectiveThread| format!("{:?} {}", thread.policy, thread.priority).to_uppercase();
    let granted: BTreeSet<String> = effective.threads.iter().map(of).collect();
    granted.into_iter().collect::<Vec<_>>().join(", ")
}

/// Ways in which the run measured with less than was requested.
pub(crate) fn reductions(summary: &RunSummary) -> Vec<String> {
    let degraded = summary.problems.iter().filter(|problem| problem.severity == Severity::Degraded);
    degraded.map(|problem| problem.text.clone()).collect()
}

/// A clock that resolves this time resolves every latency that anyone asks about.
const FINE_CLOCK_NS: u64 = 1000;

/// The resolutions of both clocks, where both archives state it: older ones do not. It is measured, so two runs with the same
/// clock may state 9 and 10 ns.
fn clock_resolution(a: &RunSummary, b: &RunSummary) -> Option<Difference> {
    let of = |summary: &RunSummary| summary.effective.as_ref()?.clock_resolution_ns;
    let matters = |(a, b): &(u64, u64)| {
        let (finer, coarser) = (*a.min(b), *a.max(b));
        finer != coarser && (coarser > FINE_CLOCK_NS || coarser >= finer.saturating_mul(2))
    };
    let (a, b) = of(a).zip(of(b)).filter(matters)?;
    Some(Difference { what: DifferenceKind::ClockResolution, a: Some(a.to_string()), b: Some(b.to_string()) })
}

/// Ingredients of a machine in virtual time that its facts already include.
const SHOWN_ELSEWHERE: [&str; 3] = ["host name", "kernel arguments", "memory in MB"];

/// Checksums shortened to the digits that people compare.
fn shortened(value: &str) -> String {
    if value.starts_with("sha256:") { value.chars().take("sha256:".len() + 12).collect() } else { value.into() }
}

fn of_environment(summary: &RunSummary, list: fn(&Environment) -> &Vec<String>) -> Vec<String> {
    summary.environment.as_ref().map(list).cloned().unwrap_or_default()
}

pub(crate) fn load(request: &LoadRequest) -> String {
    match request {
        LoadRequest::Command { line, .. } => format!("command: {line}"),
        other => other.text(),
    }
}

/// Entries in only one list; two that set the same name to different values form one difference.
fn only_in_one(what: DifferenceKind, a: &[String], b: &[String]) -> Vec<Difference> {
    let (set_a, set_b): (BTreeSet<&String>, BTreeSet<&String>) = (a.iter().collect(), b.iter().collect());
    let name = |line: &str| line.split(['=', ':']).next().unwrap_or_default().to_owned();
    let mut rest_b: Vec<&String> = set_b.difference(&set_a).copied().collect();
    let mut found = Vec::new();
    for line in set_a.difference(&set_b) {
        let partner = rest_b.iter().position(|other| name(other) == name(line)).map(|at| rest_b.remove(at));
        found.push(Difference { what, a: Some((*line).clone()), b: partner.cloned() });
    }
    found.extend(rest_b.into_iter().map(|line| Difference { what, a: None, b: Some(line.clone()) }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::message::Problem;
    use archive::policy::Policy;
    use archive::reader::Run;

    fn summary(environment: Environment, settings: Option<RunSettings>) -> RunSummary {
        RunSummary { environment: Some(environment), settings, ..RunSummary::of(&Run::default(), &[]) }
    }

    #[test]
    fn alike_runs_do_not_differ() {
        let environment = Environment { config: vec!["CONFIG_HZ=250".into()], ..Environment::default() };
        let one = summary(environment, Some(RunSettings::default()));
        assert_eq!(differences(&one, &one), []);
    }

    #[test]
    fn options_of_the_same_name_stand_beside_each_other() {
        let kernel = |hz: &str, line: &str| {
            let config = vec![format!("CONFIG_HZ={hz}"), "CONFIG_SMP=y".into()];
            summary(Environment { config, command_line: Some(line.into()), ..Environment::default() }, None)
        };
        let found = differences(&kernel("250", "quiet isolcpus=1"), &kernel("1000", "quiet threadirqs"));
        let sides: Vec<_> = found.iter().map(|found| (found.a.as_deref(), found.b.as_deref())).collect();
        assert_eq!(
            sides,
            [(Some("isolcpus=1"), None), (None, Some("threadirqs")), (Some("CONFIG_HZ=250"), Some("CONFIG_HZ=1000")),]
        );
        assert!(found[0].what == found[1].what && found[1].what != found[2].what, "{found:?}");
    }

    #[test]
    fn a_refused_policy_a_reduced_run_and_another_clock_are_differences() {
        let of = |policy: Policy, resolution_ns: u64, reduced: &str| {
            let thread = EffectiveThread { thread: 0, tid: 7, cpus: vec![0], policy, priority: 80, timer_slack_ns: 1 };
            let mut effective: EffectiveSettings = serde_json::from_value(serde_json::json!({
                "threads": [], "memory_locked_kb": 0, "cpu_dma_latency_us": null, "snapshot_mode": "off", "events": [],
                "events_absent": [], "trace_clock": null, "trace_buffer_kb_per_cpu": 0, "clock_step_ns": 21
            }))
            .unwrap();
            (effective.threads, effective.clock_resolution_ns) = (vec![thread], Some(resolution_ns));
            let problem = Problem {
                code: Default::default(),
                severity: Severity::Degraded,
                text: reduced.into(),
                fix: String::new(),
            };
            let problems = if reduced.is_empty() { Vec::new() } else { vec![problem] };
            RunSummary { effective: Some(effective), problems, ..summary(Environment::default(), None) }
        };
        let (a, b) = (of(Policy::Fifo, 1, ""), of(Policy::Other, 4_000_000, "SCHED_FIFO was not permitted"));
        let found: Vec<_> = differences(&a, &b).into_iter().map(|found| (found.what, found.b.unwrap())).collect();
        let expected = [
            (DifferenceKind::PolicyGranted, "OTHER 80"),
            (DifferenceKind::ClockResolution, "4000000"),
            (DifferenceKind::Reduced, "SCHED_FIFO was not permitted"),
        ];
        assert_eq!(found, expected.map(|(what, value)| (what, value.to_owned())));
        let resolution = |a: u64, b: u64| {
            let found = differences(&of(Policy::Fifo, a, ""), &of(Policy::Fifo, b, ""));
            found.iter().any(|found| found.what == DifferenceKind::ClockResolution)
        };
        assert_eq!([resolution(9, 10), resolution(1, 10), resolution(1500, 1600)], [false, true, true]);
        let mut older = a.clone();
        older.effective.as_mut().unwrap().clock_resolution_ns = None;
        assert_eq!(differences(&older, &a), [], "an older archive does not state it");
    }

    #[test]
    fn settings_and_loads_are_reported() {
        let loads = vec![LoadRequest::Builtin { name: "cpu".into(), workers: 2 }];
        let b = RunSettings { priority: 90, loads, ..RunSettings::default() };
        let found = differences(
            &summary(Environment::default(), Some(RunSettings::default())),
            &summary(Environment::default(), Some(b)),
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].what, found[0].b.as_deref()), (DifferenceKind::Priority, Some("90")));
        assert_eq!((found[1].what, found[1].b.as_deref()), (DifferenceKind::Load, Some("cpu:2")));
    }
}
