//! `make bench-lab`: how fast runs are added and pages are answered, and how both grow with the number of runs.

// The tests use more of both.
#[allow(dead_code)]
#[path = "../tests/lab/postgres.rs"]
mod postgres;

use archive::reader::Run;
use judge::step::StepVerdict;
use sqlx::AnyPool;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use store::{Address, Assess, Assessment, Store};
use synthetic_run::SyntheticRun;

const BOARDS: usize = 20;
const DAY_NS: i64 = 86_400_000_000_000;
/// Numbers of runs at which pages are timed; the first is the number that is really added.
const SIZES: [usize; 3] = [1000, 10_000, 100_000];

fn assess() -> Arc<dyn Assess> {
    Arc::new(|run: &Run| Assessment {
        verdict: StepVerdict::Measured,
        explanations: run.explanations().unwrap_or_default(),
    })
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let outside = tempfile::tempdir().unwrap();
        let paths = write(outside.path());
        let folder = tempfile::tempdir().unwrap();
        measure("SQLite", &Address::directory(folder.path()), &paths).await;
        if postgres::programs().is_some() {
            let server = postgres::Server::start();
            let folder = tempfile::tempdir().unwrap();
            measure("PostgreSQL", &Address::parse(&server.database(), folder.path()).unwrap(), &paths).await;
        }
    });
}

fn write(directory: &Path) -> Vec<PathBuf> {
    let write = |number: usize| {
        let path = directory.join(format!("run{number}"));
        let day = (number / BOARDS) as i64;
        let spikes = (0..3).map(|spike| (90_000 + spike, Some(format!("culprit-{}", (number + spike as usize) % 7))));
        let run = SyntheticRun {
            limit_ns: Some(50_000 + (number % 2) as i64 * 100_000),
            spikes: spikes.collect(),
            ..SyntheticRun::of(&format!("board{}", number % BOARDS), &format!("6.1.{}", day / 20), day * DAY_NS)
        };
        run.write(&path);
        path
    };
    (0..SIZES[0]).map(write).collect()
}

async fn measure(name: &str, address: &Address, paths: &[PathBuf]) {
    let store = Store::open(address).await.unwrap();
    let rest = Arc::new(Mutex::new(paths.to_vec()));
    let start = Instant::now();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (store, rest) = (store.clone(), Arc::clone(&rest));
            tokio::spawn(async move {
                loop {
                    let Some(path) = rest.lock().unwrap().pop() else { break };
                    store.ingest(&path, assess()).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    println!("{name}: {:.0} archives added a second", paths.len() as f64 / start.elapsed().as_secs_f64());
    let pool = AnyPool::connect(&address.url(store.archives())).await.unwrap();
    let mut before: Option<Vec<(&str, f64)>> = None;
    for size in SIZES {
        multiply(&pool, size).await;
        let timed = pages(&store).await;
        for (at, (page, ms)) in timed.iter().enumerate() {
            let exponent = before.as_ref().map(|before| (ms / before[at].1).log10());
            let exponent = exponent.map_or(String::new(), |exponent| format!("   grows with exponent {exponent:.2}"));
            println!("{name}, {size:>6} runs: {page:<22} {ms:8.1} ms{exponent}");
        }
        before = Some(timed);
    }
}

/// Copies the rows, each copy some years earlier, until there are `size` of them.
async fn multiply(pool: &AnyPool, size: usize) {
    let (have,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM runs").fetch_one(pool).await.unwrap();
    let columns = "id, scenario, kernel, kernel_line, preemption, environment, settings, measured_ns, state, valid, degraded, \
                   emulated, virtual_time, verdict, standing, samples, latency_max_ns, limit_ns, over_limit, missed, spikes, \
                   worst_cause, histogram, outline, figures, summary, bytes, ingested_unix_ns";
    for copy in 1..(size as i64 / have) {
        let key = format!("-{size}-{copy}");
        let sql = format!(
            "INSERT INTO runs (digest, location, started_unix_ns, {columns}) SELECT digest || '{key}', location || '{key}', \
             started_unix_ns - {}, {columns} FROM runs WHERE digest NOT LIKE '%-{size}-%'",
            copy * 50 * DAY_NS
        );
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
        let sql = format!(
            "INSERT INTO causes (digest, culprit, spikes, latency_max_ns) SELECT digest || '{key}', culprit, spikes, \
             latency_max_ns FROM causes WHERE digest NOT LIKE '%-{size}-%'"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(pool).await.unwrap();
    }
    sqlx::query("ANALYZE").execute(pool).await.unwrap();
}

/// The median time of each page's queries, in ms.
async fn pages(store: &Store) -> Vec<(&'static str, f64)> {
    let scenario = store.scenarios("board3").await.unwrap().remove(0).scenario;
    let year = (-315 * DAY_NS, 50 * DAY_NS);
    let mut times: [Vec<f64>; 5] = Default::default();
    for _ in 0..5 {
        let mut start = Instant::now();
        let mut lap = |at: usize| {
            times[at].push(start.elapsed().as_secs_f64() * 1e3);
            start = Instant::now();
        };
        assert_eq!(store.fleet().await.unwrap().rows.len(), BOARDS);
        lap(0);
        store.history(&scenario, year.0, year.1).await.unwrap().unwrap();
        lap(1);
        store.history_parts(&scenario, year.0, year.1, 52).await.unwrap();
        lap(2);
        store.culprits(year.0, year.1).await.unwrap();
        lap(3);
        store.runs(None, 50).await.unwrap();
        lap(4);
    }
    let names = ["fleet", "history of a year", "ridges of a year", "culprits of a year", "newest 50 runs"];
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    names.into_iter().zip(times.iter_mut().map(median)).collect()
}
