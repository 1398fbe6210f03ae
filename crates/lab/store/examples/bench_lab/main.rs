//! `make bench-lab`: how fast runs are added and pages are answered, and how both grow with the number of runs:
//! `bench_lab [DIRECTORY [RUNS_MAX]]`. The index of SQLite with 100 000 runs stays in the directory, for `bench/pages.mjs`.

mod growth;
mod rows;

use fixtures::postgres;
use growth::Growth;
use sqlx::AnyPool;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use store::{Address, Store};
use synthetic_run::SyntheticRun;

const BOARDS: usize = 20;
const DAY_NS: i64 = 86_400_000_000_000;
/// Numbers of runs at which pages are timed; the first is the number that is really added.
const SIZES: [usize; 4] = [1000, 10_000, 100_000, 1_000_000];
/// The number of runs in the index that stays.
const KEPT: usize = 100_000;
/// Archives that are added at each size.
const ADDED: usize = 200;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runs_max = words.get(1).map_or(SIZES[3], |runs| runs.parse().expect("a number of runs"));
    let sizes: Vec<usize> = SIZES.into_iter().filter(|size| *size <= runs_max).collect();
    let kept = words.first().map(|directory| Path::new(directory).join("index.sqlite"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let outside = tempfile::tempdir().unwrap();
        let paths = write(outside.path(), SIZES[0] + ADDED * sizes.len());
        let folder = tempfile::tempdir().unwrap();
        measure("SQLite", &Address::directory(folder.path()), &paths, &sizes, kept.as_deref()).await;
        // A million runs are gigabytes.
        drop(folder);
        if postgres::programs().is_some() {
            let server = postgres::Server::start();
            let folder = tempfile::tempdir().unwrap();
            let address = Address::parse(&server.database(), folder.path()).unwrap();
            measure("PostgreSQL", &address, &paths, &sizes, None).await;
        }
    });
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// Runs of the days before now, one a day on each board.
fn write(directory: &Path, count: usize) -> Vec<PathBuf> {
    let first_ns = now_ns() - (count / BOARDS) as i64 * DAY_NS;
    let write = |number: usize| {
        let path = directory.join(format!("run{number}"));
        let day = (number / BOARDS) as i64;
        let spikes = (0..3).map(|spike| (90_000 + spike, Some(format!("culprit-{}", (number + spike as usize) % 7))));
        let run = SyntheticRun {
            limit_ns: Some(50_000 + (number % 2) as i64 * 100_000),
            spikes: spikes.collect(),
            ..SyntheticRun::of(
                &format!("board{}", number % BOARDS),
                &format!("6.1.{}", day / 20),
                first_ns + day * DAY_NS,
            )
        };
        run.write(&path);
        path
    };
    (0..count).map(write).collect()
}

async fn measure(name: &str, address: &Address, paths: &[PathBuf], sizes: &[usize], kept: Option<&Path>) {
    let store = Store::open(address).await.unwrap();
    let (first, mut rest) = paths.split_at(SIZES[0]);
    println!("\n{name}: {:.0} archives added a second to an empty index", 1000.0 / add(&store, first).await);
    let pool = AnyPool::connect(&address.url(store.archives())).await.unwrap();
    let mut growth = Growth::default();
    for size in sizes {
        rows::multiply(&pool, *size).await;
        let (now, later) = rest.split_at(ADDED);
        rest = later;
        growth.note("an archive is added", *size, add(&store, now).await);
        for (page, ms) in pages(&store).await {
            growth.note(page, *size, ms);
        }
        if let Some(kept) = kept.filter(|_| *size == KEPT) {
            let sql = format!("VACUUM INTO '{}'", kept.display());
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.unwrap();
        }
    }
    print!("{growth}");
}

/// Adds archives, four at a time; milliseconds for each.
async fn add(store: &Store, paths: &[PathBuf]) -> f64 {
    let rest = Arc::new(Mutex::new(paths.to_vec()));
    let start = Instant::now();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let (store, rest) = (store.clone(), Arc::clone(&rest));
            tokio::spawn(async move {
                loop {
                    let Some(path) = rest.lock().unwrap().pop() else { break };
                    store.ingest(&path).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed().as_secs_f64() * 1e3 / paths.len() as f64
}

/// The median time of each page's queries, in ms.
async fn pages(store: &Store) -> Vec<(&'static str, f64)> {
    let scenario = store.scenarios("board3").await.unwrap().remove(0).scenario;
    let year = (now_ns() - 365 * DAY_NS, now_ns());
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
