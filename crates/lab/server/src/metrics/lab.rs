//! Figures of the index: the newest run of each scenario, the queue, the workers, the changes.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;
use store::changes::Triage;
use store::queries::counts::Counts;
use store::queries::fleet::FleetRow;
use store::queue::{JobState, WorkerRow};
use store::{Standing, Store, StoreError};

type Number = Gauge<f64, AtomicU64>;

const NS_A_SECOND: f64 = 1e9;

/// A load and way to measure on a board.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfScenario {
    board: String,
    load: String,
    method: String,
    /// Its key: settings that are no labels of their own may differ too.
    scenario: String,
}

/// The newest run of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRun {
    board: String,
    load: String,
    method: String,
    scenario: String,
    run: String,
    kernel: String,
    preemption: String,
    worst_cause: String,
}

/// A state of a load on a board.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStanding {
    state: &'static str,
    board: String,
    scenario: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTriage {
    triage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfWorker {
    worker: String,
}

/// All figures, as they are now.
///
/// # Errors
/// Errors of the database.
pub async fn registry(store: &Store) -> Result<Registry, StoreError> {
    let (fleet, counts, workers) = (store.fleet().await?, store.counts().await?, store.workers().await?);
    let mut registry = Registry::with_prefix("tardy");
    registry.register("build", "The server", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
    of_scenarios(&mut registry, &fleet.rows);
    of_counts(&mut registry, &counts);
    of_workers(&mut registry, &workers);
    Ok(registry)
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / NS_A_SECOND
}

fn of_scenarios(registry: &mut Registry, rows: &[FleetRow]) {
    let newest: Family<OfRun, Number> = Family::default();
    let states: Family<OfStanding, Number> = Family::default();
    let [started, latency_max, limit, over_limit, valid, covered_max, bad] =
        std::array::from_fn(|_| Family::<OfScenario, Number>::default());
    let [samples, covered_runs] = std::array::from_fn(|_| Family::<OfScenario, Number>::default());
    for row in rows {
        let run = &row.newest;
        let of = OfScenario {
            board: run.board.clone(),
            load: run.load.clone(),
            method: run.method.clone(),
            scenario: run.scenario.clone(),
        };
        let set = |figure: &Family<OfScenario, Number>, value: f64| {
            figure.get_or_create(&of).set(value);
        };
        let OfScenario { board, load, method, scenario } = of.clone();
        let (kernel, preemption) = (run.kernel.clone(), run.preemption.clone());
        let worst_cause = run.worst_cause.clone().unwrap_or_default();
        let of_run = OfRun { board, load, method, scenario, run: run.digest.clone(), kernel, preemption, worst_cause };
        newest.get_or_create(&of_run).set(1.0);
        set(&started, seconds(run.started_unix_ns));
        set(&valid, f64::from(u8::from(run.valid)));
        // An invalid run has no figure.
        if run.valid {
            set(&over_limit, run.over_limit as f64);
        }
        set(&covered_runs, row.coverage.runs as f64);
        set(&samples, row.coverage.samples as f64);
        set(&bad, f64::from(u8::from(row.standing == Standing::Bad)));
        for standing in Standing::ALL {
            let of_standing =
                OfStanding { state: standing.word(), board: run.board.clone(), scenario: run.scenario.clone() };
            states.get_or_create(&of_standing).set(f64::from(u8::from(row.standing == standing)));
        }
        // What is unknown has no sample: a zero would be read as "never late".
        let known =
            [(&latency_max, run.latency_max_ns), (&limit, run.limit_ns), (&covered_max, row.coverage.latency_max_ns)];
        for (figure, ns) in known {
            ns.into_iter().for_each(|ns| set(figure, seconds(ns)));
        }
    }
    registry.register("newest_run", "1; the labels describe the newest run", newest);
    let mut of_seconds =
        |name: &str, help: &str, figure| registry.register_with_unit(name, help, Unit::Seconds, figure);
    of_seconds("newest_run_start_timestamp", "Start of the newest run, since 1970", started);
    of_seconds(
        "newest_run_latency_max",
        "Largest latency of the newest run; absent without samples and of an invalid run",
        latency_max,
    );
    of_seconds("newest_run_limit", "Latency over which the newest run counted samples; absent without a limit", limit);
    of_seconds(
        "covered_latency_max",
        "Largest latency of all valid runs on the kernel of the newest run; absent without samples",
        covered_max,
    );
    registry.register(
        "newest_run_over_limit",
        "Samples of the newest run over its limit; absent of an invalid run",
        over_limit,
    );
    registry.register("newest_run_valid", "1 if the newest run is valid, 0 if not", valid);
    registry.register("covered_runs", "Valid runs on the kernel of the newest run", covered_runs);
    registry.register("covered_samples", "Samples of all valid runs on the kernel of the newest run", samples);
    registry.register("load_state", "1 for the state of the load on the board, 0 for the others", states);
    registry.register("board_bad", "1 if a run after the last good or held one was bad, 0 if not", bad);
}

fn of_counts(registry: &mut Registry, counts: &Counts) {
    let runs = Number::default();
    runs.set(counts.runs as f64);
    registry.register("runs", "Runs in the index", runs);
    let jobs: Family<OfState, Number> = Family::default();
    for (state, word) in [
        (JobState::Queued, "queued"),
        (JobState::Running, "running"),
        (JobState::Done, "done"),
        (JobState::Failed, "failed"),
        (JobState::Cancelled, "cancelled"),
    ] {
        let number = counts.jobs.iter().find(|(of, _)| *of == state).map_or(0, |(_, number)| *number);
        jobs.get_or_create(&OfState { state: word }).set(number as f64);
    }
    registry.register("jobs", "Jobs by state", jobs);
    if let Some(queued_ns) = counts.oldest_queued_unix_ns {
        let oldest = Number::default();
        oldest.set(seconds(queued_ns));
        let help = "When the job that waits longest was queued, since 1970; absent if none waits";
        registry.register_with_unit("oldest_queued_job_timestamp", help, Unit::Seconds, oldest);
    }
    let changes: Family<OfTriage, Number> = Family::default();
    for triage in Triage::ALL {
        let number = counts.changes.iter().find(|(of, _)| *of == triage).map_or(0, |(_, number)| *number);
        changes.get_or_create(&OfTriage { triage: triage.word() }).set(number as f64);
    }
    registry.register("changes", "Changes of figures by what people decided about them", changes);
}

fn of_workers(registry: &mut Registry, workers: &[WorkerRow]) {
    let reported: Family<OfWorker, Number> = Family::default();
    for worker in workers {
        reported.get_or_create(&OfWorker { worker: worker.worker.clone() }).set(seconds(worker.heartbeat_unix_ns));
    }
    let help = "Last report of a worker, since 1970";
    registry.register_with_unit("worker_report_timestamp", help, Unit::Seconds, reported);
}
