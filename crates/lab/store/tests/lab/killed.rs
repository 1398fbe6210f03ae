//! Processes and the database are killed at random while archives are added and jobs run. What was acknowledged is there once.

use crate::both::finish;
use crate::promises::Lab;
use crate::uploads::LIMITS;
use archive::reader::Run;
use fixtures::postgres::Server;
use prerequisites::require;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::queue::{Ended, JobRequest, JobState};
use store::{Address, PackedArchive, Store};

/// Set for a child of these tests: directory of archives, and directory of the runs to add.
const CHILD: &str = "STORE_TEST_CHILD";
const LEASE: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(300);

/// `LAB_KILLS=200` for as many; the default takes seconds.
fn kills() -> u64 {
    std::env::var("LAB_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(8)
}

/// Enough runs that kills do not outlast them.
fn runs() -> usize {
    60 + 3 * kills() as usize
}

/// A time from 0 to `below_ms`, the same sequence each time.
fn pause(state: &mut u64, below_ms: u64) -> Duration {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis((*state >> 33) % below_ms)
}

/// Each acknowledged archive is in the index once, with all its files, and the sums count each run once.
async fn audit(store: &Store, acknowledged: &BTreeSet<String>) {
    let listed: Vec<String> = store.runs(None, 1000).await.unwrap().into_iter().map(|run| run.digest).collect();
    let different: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(listed.len(), different.len());
    assert!(acknowledged.is_subset(&different), "an acknowledged archive is missing");
    for digest in &different {
        let archive = store.archive_of(digest).await.unwrap().unwrap();
        assert_eq!(Run::open(archive).unwrap().threads[&0].totals.cycles, 1000);
    }
    let covered: u64 = store.fleet().await.unwrap().rows.iter().map(|row| row.coverage.runs).sum();
    assert_eq!(covered, different.len() as u64);
}

/// Not a test of its own: adds every run of a directory and prints the address of each once it is acknowledged.
#[test]
fn child_adds_runs() {
    child(async |store, path| store.ingest(&path).await.unwrap().digest);
}

/// Not a test of its own: the same with runs that arrive as streams.
#[test]
fn child_receives_runs() {
    child(async |store, path| {
        let packed = PackedArchive::of(&path).unwrap();
        let mut stream = Vec::new();
        packed.write(&mut stream).unwrap();
        store.receive(&packed.digest(), Cursor::new(stream), LIMITS).await.unwrap().digest
    });
}

fn child(add: impl AsyncFn(&Store, PathBuf) -> String) {
    let Ok(directories) = std::env::var(CHILD) else { return };
    let (archives, runs) = directories.split_once(':').unwrap();
    finish(async {
        let store = Store::open(&Address::directory(Path::new(archives))).await.unwrap();
        let mut paths: Vec<PathBuf> = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            println!("\nacknowledged {}", add(&store, path).await);
        }
        println!("\ncomplete");
    });
}

#[test]
fn a_process_killed_at_any_time_loses_nothing_that_it_acknowledged() {
    kill_at_any_time("killed::child_adds_runs");
}

#[test]
fn a_process_killed_while_it_receives_leaves_whole_archives_only() {
    let lab = kill_at_any_time("killed::child_receives_runs");
    let folders = std::fs::read_dir(lab.inside("kept")).unwrap().map(|folder| folder.unwrap().path());
    let kept = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|archive| archive.unwrap());
    let mut count = 0;
    for archive in kept {
        let named = archive.file_name().into_string().unwrap();
        assert_eq!(PackedArchive::of(&archive.path()).unwrap().digest(), named);
        count += 1;
    }
    assert_eq!(count, runs());
}

/// Kills a child at random times until it has added every run.
fn kill_at_any_time(child: &str) -> Lab {
    let lab = Lab::on_sqlite();
    let paths = lab.write_outside(runs());
    let directories = format!("{}:{}", lab.address().archives.display(), paths[0].parent().unwrap().display());
    let (mut acknowledged, mut state) = (BTreeSet::new(), 7);
    for number in 0..=kills() {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", child, "--nocapture"])
            .env(CHILD, &directories)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.filter(|line| line.starts_with("acknowledged ") || line == "complete").collect::<Vec<String>>()
        });
        // The last one is left alone.
        if number < kills() {
            std::thread::sleep(pause(&mut state, 150));
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        let lines = reader.join().unwrap();
        assert!(number < kills() || (status.success() && lines.last().is_some_and(|line| line == "complete")));
        acknowledged.extend(lines.iter().filter_map(|line| line.strip_prefix("acknowledged ")).map(str::to_owned));
    }
    finish(async {
        assert_eq!(acknowledged.len(), runs());
        audit(&lab.open().await, &acknowledged).await;
    });
    lab
}

fn job(number: usize) -> JobRequest {
    JobRequest {
        board: ["a", "b", "c"][number % 3].into(),
        plan_name: "nightly".into(),
        plan: String::new(),
        kernel: None,
        because: "test".into(),
        priority: 0,
        attempts_max: 1000,
    }
}

/// Adds runs from a shared list until it is empty; each until it is acknowledged.
async fn adds(store: Store, rest: Arc<Mutex<Vec<PathBuf>>>, acknowledged: Arc<Mutex<BTreeSet<String>>>) {
    loop {
        let Some(path) = rest.lock().unwrap().pop() else { return };
        loop {
            if let Ok(ingested) = store.ingest(&path).await {
                acknowledged.lock().unwrap().insert(ingested.digest);
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

/// Runs jobs until all are done. Every fifth claim it forgets, as if it had died.
async fn works(store: Store, name: String, jobs: usize) {
    let boards = ["a", "b", "c"].map(str::to_owned);
    let start = Instant::now();
    let mut claims = 0;
    loop {
        assert!(start.elapsed() < WAIT_MAX, "the jobs do not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
        if store.jobs(1000).await.is_ok_and(|all| all.iter().filter(|job| job.state == JobState::Done).count() == jobs)
        {
            return;
        }
        let Ok(now) = store.now_unix_ns().await else { continue };
        let Ok(Some(claim)) = store.claim(&name, &boards, LEASE, now).await else { continue };
        claims += 1;
        if claims % 5 == 0 {
            continue;
        }
        let ended = Ended::Done { runs: vec![name.clone()], message: "done".into() };
        // Its lease may have run out meanwhile: another worker has it then.
        while store.end(&claim, &ended, now).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[test]
fn a_database_killed_at_any_time_loses_no_archive_and_no_job() {
    const JOBS: usize = 30;
    require!(Prepared("PostgreSQL's initdb (Debian: postgresql)", fixtures::postgres::programs().is_some()));
    let server = Arc::new(Server::start());
    let lab = Lab::on_postgres(&server);
    let rest = Arc::new(Mutex::new(lab.write_outside(runs())));
    let acknowledged: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    finish(async {
        let store = lab.open().await;
        for number in 0..JOBS {
            store.queue(&job(number), number as i64).await.unwrap();
        }
        let mut tasks = Vec::new();
        for number in 0..3 {
            tasks.push(tokio::spawn(adds(lab.open().await, Arc::clone(&rest), Arc::clone(&acknowledged))));
            tasks.push(tokio::spawn(works(lab.open().await, format!("worker {number}"), JOBS)));
        }
        let crashing = tokio::task::spawn_blocking({
            let server = Arc::clone(&server);
            move || {
                let mut state = 11;
                for _ in 0..kills() {
                    std::thread::sleep(pause(&mut state, 400));
                    server.crash();
                }
            }
        });
        crashing.await.unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        let acknowledged = acknowledged.lock().unwrap().clone();
        assert_eq!(acknowledged.len(), runs());
        audit(&store, &acknowledged).await;
        let jobs = store.jobs(1000).await.unwrap();
        assert_eq!(jobs.len(), JOBS);
        assert!(jobs.iter().all(|job| job.state == JobState::Done && job.lease_until_unix_ns.is_none()));
        for job in jobs {
            let runs = store.job(&job.job).await.unwrap().unwrap().runs;
            assert_eq!(runs.len(), 1, "two workers ended {}", job.job);
        }
    });
}
