//! Promises of the store, whatever database it uses.

use archive::manifest::RunState;
use archive::reader::Run;
use fixtures::postgres::Server;
use fixtures::s3::{PLACE, S3};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use store::{Address, Outcome, Outline, Standing, Store, StoreError};
use synthetic_run::SyntheticRun;

const DAY_NS: i64 = 86_400_000_000_000;
const ALWAYS: (i64, i64) = (i64::MIN, i64::MAX);

/// A directory of archives, one outside it, and the address of an empty index.
pub struct Lab {
    folder: tempfile::TempDir,
    outside: tempfile::TempDir,
    address: Address,
}

impl Lab {
    pub fn on_sqlite() -> Self {
        Self::with(Address::directory)
    }

    pub fn on_postgres(server: &Server) -> Self {
        Self::with(|archives| Address::parse(&server.database(), archives).unwrap())
    }

    fn with(address: impl FnOnce(&Path) -> Address) -> Self {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let address = address(folder.path());
        Self { folder, outside, address }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// From the next time that it is opened, the archives are in an object store.
    pub fn keep_in(&mut self, objects: &S3) {
        let address = store::ObjectsAddress::parse(PLACE, |name| objects.variable(name));
        self.address.objects = Some(address.unwrap());
    }

    /// Changes rows behind the store's back.
    pub async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(&self.pool().await).await.unwrap();
    }

    pub fn is_sqlite(&self) -> bool {
        self.url().starts_with("sqlite:")
    }

    fn url(&self) -> String {
        self.address.url(&fs::canonicalize(self.folder.path()).unwrap())
    }

    /// Replaces index and archives by empty ones.
    pub async fn renew(&mut self) {
        let url = self.url();
        self.folder = tempfile::tempdir().unwrap();
        self.address = match self.is_sqlite() {
            true => Address::directory(self.folder.path()),
            false => Address::parse(&new_database(&url).await, self.folder.path()).unwrap(),
        };
    }

    /// Backs up the index as docs/how-to/lab.md says, and restores it for the same archives under another address.
    pub async fn backup(&self) -> Address {
        let (file, url) = (self.outside("backup"), self.url());
        if self.is_sqlite() {
            let sql = sqlx::AssertSqlSafe(format!("VACUUM INTO '{}'", file.display()));
            sqlx::query(sql).execute(&self.pool().await).await.unwrap();
            let elsewhere = self.outside("restored");
            fs::create_dir(&elsewhere).unwrap();
            fs::rename(file, elsewhere.join("index.sqlite")).unwrap();
            return Address::directory(&elsewhere);
        }
        let programs = fixtures::postgres::programs().unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let done = std::process::Command::new(programs.join(program)).args(arguments).output().unwrap();
            assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
        };
        let elsewhere = new_database(&url).await;
        let file = file.to_str().unwrap();
        run("pg_dump", &["--format=custom", "--file", file, &url]);
        run("pg_restore", &["--exit-on-error", "--dbname", &elsewhere, file]);
        Address::parse(&elsewhere, self.folder.path()).unwrap()
    }

    /// The database itself.
    pub async fn pool(&self) -> sqlx::AnyPool {
        sqlx::any::install_default_drivers();
        sqlx::AnyPool::connect(&self.url()).await.unwrap()
    }

    /// Writes runs outside the directory of archives.
    pub fn write_outside(&self, count: usize) -> Vec<PathBuf> {
        let paths: Vec<PathBuf> = (0..count).map(|number| self.outside.path().join(format!("run{number}"))).collect();
        for (number, path) in paths.iter().enumerate() {
            SyntheticRun::of(["pi", "amd"][number % 2], "6.1.0", number as i64).write(path);
        }
        paths
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.address).await.unwrap()
    }

    pub fn inside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }

    /// Writes a run into the directory of archives and adds it.
    pub async fn add(&self, store: &Store, name: &str, run: &SyntheticRun) -> store::Ingested {
        run.write(&self.inside(name));
        store.ingest(&self.inside(name)).await.unwrap()
    }
}

/// Makes an empty database on the server of another one.
async fn new_database(url: &str) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("more{}", MADE.fetch_add(1, Ordering::Relaxed));
    let pool = sqlx::AnyPool::connect(url).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&pool).await.unwrap();
    let (before, options) = url.split_once('?').unwrap();
    format!("{}/{name}?{options}", before.rsplit_once('/').unwrap().0)
}

pub async fn an_archive_is_there_once_however_often_it_is_added(lab: Lab) {
    let outside = lab.outside.path().join("run");
    SyntheticRun::of("pi", "6.1.0", 1).write(&outside);
    for _ in 0..2 {
        let store = lab.open().await;
        let first = store.ingest(&outside).await.unwrap();
        let second = store.ingest(&outside).await.unwrap();
        assert_eq!((second.outcome, &second.digest), (Outcome::Known, &first.digest));
        assert_eq!(store.runs(None, 10).await.unwrap().len(), 1);
        let kept = store.archive_of(&first.digest).await.unwrap().unwrap();
        assert!(kept.starts_with(fs::canonicalize(lab.folder.path()).unwrap()), "{}", kept.display());
        assert_eq!(Run::open(kept).unwrap().threads[&0].totals.cycles, 1000);
        let fleet = store.fleet().await.unwrap();
        assert_eq!(fleet.rows[0].coverage.runs, 1);
    }
    // A copy of it is the same archive, and explaining it again changes nothing.
    let copy = lab.outside.path().join("copy");
    let run = SyntheticRun { spikes: vec![(90_000, None)], ..SyntheticRun::of("pi", "6.1.0", 2) };
    let store = lab.open().await;
    run.write(&outside.with_file_name("other"));
    let first = store.ingest(&outside.with_file_name("other")).await.unwrap();
    run.write(&copy);
    Run::open(&copy).unwrap().save_explanations(&[]).unwrap();
    let second = store.ingest(&copy).await.unwrap();
    assert_eq!((second.outcome, second.digest), (Outcome::Known, first.digest));
    assert!(store.archive_of("no such run").await.unwrap().is_none());
}

pub async fn an_archive_that_moved_is_found_at_its_new_place(lab: Lab) {
    let store = lab.open().await;
    let first = lab.add(&store, "here", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    fs::rename(lab.inside("here"), lab.inside("there")).unwrap();
    let second = store.ingest(&lab.inside("there")).await.unwrap();
    assert_eq!((second.outcome, &second.digest, second.location.as_str()), (Outcome::Replaced, &first.digest, "there"));
    assert!(Run::open(store.archive_of(&first.digest).await.unwrap().unwrap()).is_ok());
    assert_eq!((store.runs(None, 9).await.unwrap().len(), store.fleet().await.unwrap().rows[0].coverage.runs), (1, 1));
}

pub async fn added_at_once_by_many_it_is_there_once(lab: Lab) {
    let paths: Vec<PathBuf> = (0..6).map(|number| lab.outside.path().join(format!("run{number}"))).collect();
    for (number, path) in paths.iter().enumerate() {
        SyntheticRun::of("pi", "6.1.0", number as i64).write(path);
    }
    let (first, second) = (lab.open().await, lab.open().await);
    let mut tasks = Vec::new();
    for round in 0..4 {
        for path in &paths {
            let (store, path) = (if round % 2 == 0 { first.clone() } else { second.clone() }, path.clone());
            tasks.push(tokio::spawn(async move { store.ingest(&path).await.unwrap().outcome }));
        }
    }
    let mut added = 0;
    for task in tasks {
        added += usize::from(task.await.unwrap() == Outcome::Added);
    }
    assert_eq!((added, first.runs(None, 100).await.unwrap().len()), (6, 6));
    assert_eq!(first.fleet().await.unwrap().rows[0].coverage.samples, 6000);
}

pub async fn added_and_read_again_at_once_by_many_no_one_fails(lab: Lab) {
    let stores = [lab.open().await, lab.open().await];
    let mut all: Vec<PathBuf> = Vec::new();
    for round in 0..10 {
        let paths: Vec<PathBuf> = (0..6).map(|number| lab.inside(&format!("run{round}-{number}"))).collect();
        for (number, path) in paths.iter().enumerate() {
            // Two runs on each of three kernels of a board that is new in this round.
            let kernel = format!("6.{}.0", number % 3);
            SyntheticRun::of(&format!("board{round}"), &kernel, number as i64).write(path);
        }
        let mut tasks = Vec::new();
        for store in stores.iter().cycle().take(4) {
            for path in &paths {
                let (store, path) = (store.clone(), path.clone());
                tasks.push(tokio::spawn(async move { store.ingest(&path).await.map(drop) }));
            }
        }
        all.extend(paths);
        for store in &stores {
            assert_eq!(store.rebuild(all.clone(), &mut |_| ()).await.unwrap().runs, all.len() as u64);
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let rows = stores[0].fleet().await.unwrap().rows;
        let coverage: Vec<u64> = rows.iter().map(|row| row.coverage.runs).collect();
        assert_eq!(coverage, vec![2; round + 1], "runs on the newest kernel of each board");
    }
}

pub async fn the_fleet_shows_the_newest_run_and_its_coverage(lab: Lab) {
    let store = lab.open().await;
    assert_eq!(store.fleet().await.unwrap().rows, []);
    for number in 0..40 {
        let kernel = if number < 38 { "6.1.1" } else { "6.12.3-rt5" };
        let run = SyntheticRun::of("pi", kernel, number * DAY_NS);
        lab.add(&store, &format!("a{number}"), &run).await;
    }
    let loaded = SyntheticRun { load: Some("messaging".into()), ..SyntheticRun::of("pi", "6.1.1", 5) };
    lab.add(&store, "loaded", &loaded).await;
    let broken = SyntheticRun { state: RunState::Failed, ..SyntheticRun::of("amd", "6.1.1", 7) };
    lab.add(&store, "broken", &broken).await;
    let fleet = store.fleet().await.unwrap();
    let titles: Vec<(&str, &str)> =
        fleet.rows.iter().map(|row| (row.newest.board.as_str(), row.newest.load.as_str())).collect();
    assert_eq!(titles, [("amd", "none"), ("pi", "messaging"), ("pi", "none")]);
    assert_eq!((fleet.rows[0].coverage.runs, fleet.rows[0].newest.valid), (0, false), "an invalid run covers nothing");
    let row = &fleet.rows[2];
    assert_eq!((row.newest.kernel_line.as_str(), row.newest.preemption.as_str()), ("6.12-rt", "PREEMPT_RT"));
    assert_eq!(row.newest.started_unix_ns, 39 * DAY_NS);
    assert_eq!((row.coverage.runs, row.coverage.samples, row.coverage.latency_max_ns), (2, 2000, Some(4_999)));
    let starts: Vec<i64> = row.recent.iter().map(|run| run.started_unix_ns / DAY_NS).collect();
    assert_eq!(starts, (10..40).collect::<Vec<i64>>());
    assert_eq!(row.words, "pi, every 1.00 ms, FIFO 80, no load");
    // Figures are those that a reader of the archive has.
    let detail = store.run(&row.newest.digest).await.unwrap().unwrap();
    let run = Run::open(lab.inside("a39")).unwrap();
    let summary = archive::summary::RunSummary::of(&run, &[]);
    assert_eq!(detail.summary.all_cpus, summary.all_cpus);
    assert_eq!((detail.summary.environment, detail.summary.settings), (summary.environment, summary.settings));
    assert_eq!(detail.run.latency_ns.p99, summary.all_cpus.p99);
    assert!(store.run("no such run").await.unwrap().is_none());
}

pub async fn a_board_that_turned_bad_names_the_last_good_and_the_first_bad_run(lab: Lab) {
    let store = lab.open().await;
    let of = |kernel: &str, day: i64, bad: bool| SyntheticRun {
        limit_ns: Some(100_000),
        spikes: if bad { vec![(250_000, Some("blocking-task".into()))] } else { Vec::new() },
        ..SyntheticRun::of("pi", kernel, day * DAY_NS)
    };
    // Added in another order than measured.
    let runs = [("6.1.4", 4, true), ("6.1.1", 1, false), ("6.1.3", 3, true), ("6.1.2", 2, false), ("6.1.0", 0, true)];
    for (kernel, day, bad) in runs {
        lab.add(&store, kernel, &of(kernel, day, bad)).await;
    }
    let row = store.fleet().await.unwrap().rows.remove(0);
    let (good, bad) = (row.state.last_good.unwrap(), row.state.first_bad.unwrap());
    assert_eq!((good.kernel.as_str(), bad.kernel.as_str()), ("6.1.2", "6.1.3"));
    assert_eq!((bad.worst_cause.as_deref(), bad.latency_max_ns), (Some("blocking-task"), Some(250_000)));
    assert_eq!((row.newest.standing, row.newest.over_limit), (Standing::Bad, 1));
    lab.add(&store, "fixed", &of("6.1.5", 5, false)).await;
    let row = store.fleet().await.unwrap().rows.remove(0);
    assert_eq!((row.state.last_good.unwrap().kernel.as_str(), row.state.first_bad), ("6.1.5", None));
}

pub async fn a_state_and_its_figure_are_of_one_run_and_an_invalid_run_has_none(lab: Lab) {
    let store = lab.open().await;
    let of = |day: i64, spike_ns: Option<i64>| SyntheticRun {
        limit_ns: Some(100_000),
        spikes: spike_ns.map(|ns| (ns, None)).into_iter().collect(),
        ..SyntheticRun::of("pi", "6.1.0", day * DAY_NS)
    };
    lab.add(&store, "held", &of(0, None)).await;
    let row = store.fleet().await.unwrap().rows.remove(0);
    assert_eq!((row.standing, row.shown().digest), (Standing::Held, row.newest.digest.clone()));
    lab.add(&store, "bad", &of(1, Some(301_000))).await;
    lab.add(&store, "broken", &SyntheticRun { state: RunState::Failed, ..of(2, Some(627_000)) }).await;
    let row = store.fleet().await.unwrap().rows.remove(0);
    assert_eq!((row.newest.standing, row.newest.latency_max_ns), (Standing::Undecided, None));
    assert_eq!(row.newest.latency_ns, archive::summary::LatencyFigures::default());
    let shown = row.shown();
    assert_eq!((row.standing, shown.standing, shown.latency_max_ns), (Standing::Bad, Standing::Bad, Some(301_000)));
    let on_kernel = store.on_kernels().await.unwrap().remove(0);
    assert_eq!((on_kernel.standing, on_kernel.latency_max_ns), (Standing::Bad, Some(301_000)), "as for the load");
    assert_eq!(row.state.last_good.unwrap().standing, Standing::Held);
    // The news have the same runs.
    let fleet = store.fleet().await.unwrap();
    let news = store.news(&fleet, 0, 9 * DAY_NS).await.unwrap();
    assert_eq!((news.newly_bad.len(), news.newly_bad[0].last.digest.as_str()), (1, shown.digest.as_str()));
    assert_eq!(news.new_maxima.len(), 0, "{:?}", news.new_maxima);
}

pub async fn a_history_has_its_runs_in_order_and_its_parts_add_up(lab: Lab) {
    let store = lab.open().await;
    for day in [2, 0, 3, 1] {
        let latencies = (0..500).map(|number| 2_000 * (day + 1) + number).collect();
        let run = SyntheticRun { latencies, ..SyntheticRun::of("pi", "6.1.0", day * DAY_NS) };
        lab.add(&store, &format!("day{day}"), &run).await;
    }
    let scenarios = store.scenarios("pi").await.unwrap();
    assert_eq!((scenarios.len(), store.scenarios("none such").await.unwrap().len()), (1, 0));
    let key = scenarios[0].scenario.as_str();
    let history = store.history(key, ALWAYS.0, ALWAYS.1).await.unwrap().unwrap();
    assert_eq!((history.runs.len(), history.cut, &history.scenario), (4, false, &scenarios[0]));
    let days: Vec<i64> = history.runs.iter().map(|point| point.run.started_unix_ns / DAY_NS).collect();
    assert_eq!(days, [0, 1, 2, 3]);
    let two = store.history(key, DAY_NS, 3 * DAY_NS).await.unwrap().unwrap();
    assert_eq!(two.runs.len(), 2);
    assert!(store.history("none such", 0, 1).await.unwrap().is_none());
    let parts = store.history_parts(key, 0, 4 * DAY_NS, 2).await.unwrap();
    assert_eq!(parts.iter().map(|part| (part.runs, part.samples)).collect::<Vec<_>>(), [(2, 1000), (2, 1000)]);
    assert_eq!(parts[1].latency_max_ns, Some(8_499));
    // The merged histogram is that of all samples, with and without an archive.
    let merged = store.merged_histogram(key, ALWAYS.0, ALWAYS.1).await.unwrap();
    let mut read = archive::histogram::Histogram::default();
    for day in 0..4 {
        read.merge(&Run::open(lab.inside(&format!("day{day}"))).unwrap().threads[&0].histogram);
    }
    assert_eq!(merged, read);
    fs::remove_dir_all(lab.inside("day0")).unwrap();
    assert_eq!(store.merged_histogram(key, ALWAYS.0, ALWAYS.1).await.unwrap(), read);
    let all = store.history_parts(key, 0, 4 * DAY_NS, 1).await.unwrap();
    assert_eq!(all[0].outline, Outline::of(&read));
}

pub async fn the_index_is_made_again_from_the_archives(lab: Lab) {
    let store = lab.open().await;
    let mut paths = Vec::new();
    for day in 0..5 {
        let run = SyntheticRun { limit_ns: Some(4_000), ..SyntheticRun::of("pi", "6.1.0", day * DAY_NS) };
        lab.add(&store, &format!("day{day}"), &run).await;
        paths.push(lab.inside(&format!("day{day}")));
    }
    let before = store.fleet().await.unwrap();
    let rebuilt = store.rebuild(paths.clone(), &mut |_| {}).await.unwrap();
    assert_eq!((rebuilt.runs, rebuilt.removed, rebuilt.left_out.len()), (5, 0, 0));
    let mut after = store.fleet().await.unwrap();
    after.rows[0].newest.ingested_unix_ns = before.rows[0].newest.ingested_unix_ns;
    assert_eq!(after, before);
    // One is gone, and one is damaged beyond opening.
    fs::remove_dir_all(&paths[0]).unwrap();
    fs::remove_dir_all(&paths[1]).unwrap();
    fs::create_dir(&paths[1]).unwrap();
    let rebuilt = store.rebuild(paths, &mut |_| {}).await.unwrap();
    assert_eq!((rebuilt.runs, rebuilt.removed, rebuilt.left_out.len()), (3, 2, 2));
    assert_eq!(store.fleet().await.unwrap().rows[0].coverage.runs, 3);
    assert_eq!(store.runs(None, 100).await.unwrap().len(), 3);
}

pub async fn an_archive_that_changed_replaces_its_rows(lab: Lab) {
    let store = lab.open().await;
    let first = lab.add(&store, "run", &SyntheticRun::of("pi", "6.1.0", 1)).await;
    fs::remove_dir_all(lab.inside("run")).unwrap();
    let second = lab.add(&store, "run", &SyntheticRun::of("pi", "6.1.1", 2)).await;
    assert_eq!((first.outcome, second.outcome), (Outcome::Added, Outcome::Replaced));
    let runs = store.runs(None, 10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.kernel.as_str()).collect::<Vec<_>>(), ["6.1.1"]);
    assert!(store.run(&first.digest).await.unwrap().is_none());
    assert_eq!(store.fleet().await.unwrap().rows[0].coverage.runs, 1);
}

pub async fn a_run_that_goes_on_and_what_is_no_archive_are_refused(lab: Lab) {
    let store = lab.open().await;
    let path = lab.inside("run");
    SyntheticRun { state: RunState::Running, ..SyntheticRun::of("pi", "6.1.0", 1) }.write(&path);
    // The writer of an archive holds a lock on its stream.
    let stream = fs::File::open(path.join("stream.tardy")).unwrap();
    stream.lock().unwrap();
    assert!(matches!(store.ingest(&path).await, Err(StoreError::GoesOn(_))));
    drop(stream);
    let cut = store.ingest(&path).await.unwrap();
    assert_eq!(store.run(&cut.digest).await.unwrap().unwrap().run.state, RunState::Running);
    fs::create_dir(lab.inside("empty")).unwrap();
    for name in ["empty", "missing"] {
        assert!(matches!(store.ingest(&lab.inside(name)).await, Err(StoreError::Archive(_))));
    }
    // A link out of the archive is not followed.
    SyntheticRun::of("pi", "6.1.0", 2).write(&lab.inside("linked"));
    std::os::unix::fs::symlink("/etc", lab.inside("linked").join("samples")).unwrap();
    assert!(store.ingest(&lab.inside("linked")).await.is_err());
    assert_eq!(store.runs(None, 10).await.unwrap().len(), 1);
}

pub async fn names_of_a_target_stay_short_and_harmless(lab: Lab) {
    let store = lab.open().await;
    let names = [
        "x".repeat(10_000),
        format!("a{}", "\u{301}".repeat(10_000)),
        "\x1b[2J\u{202e}\0<b>'; DROP TABLE runs; --".into(),
    ];
    for (number, name) in names.iter().enumerate() {
        let run = SyntheticRun::of(name, name, number as i64);
        lab.add(&store, &format!("run{number}"), &run).await;
    }
    let fleet = store.fleet().await.unwrap();
    assert_eq!(fleet.rows.len(), 3);
    for row in &fleet.rows {
        for text in [&row.newest.board, &row.newest.kernel, &row.newest.kernel_line, &row.words] {
            assert!(text.chars().count() < 500 && !text.contains(['\x1b', '\0', '\u{202e}']), "{text:?}");
        }
        assert_eq!(store.scenarios(&row.newest.board).await.unwrap().len(), 1);
        assert!(store.run(&row.newest.digest).await.unwrap().is_some());
    }
}

pub async fn culprits_are_counted_by_board_and_time(lab: Lab) {
    let store = lab.open().await;
    for (name, board, day, culprits) in [
        ("a", "pi", 0, vec![Some("blocking-task"), Some("blocking-task"), None]),
        ("b", "pi", 3, vec![Some("blocking-task"), Some("timer-migration")]),
        ("c", "amd", 4, vec![Some("blocking-task")]),
    ] {
        let spikes = culprits.iter().zip(1..).map(|(name, at)| (100_000 * at, name.map(str::to_owned))).collect();
        let run = SyntheticRun { limit_ns: Some(50_000), spikes, ..SyntheticRun::of(board, "6.1.0", day * DAY_NS) };
        lab.add(&store, name, &run).await;
    }
    let rows = store.culprits(ALWAYS.0, ALWAYS.1).await.unwrap();
    let found: Vec<(&str, &str, u64, u64, i64)> = rows
        .iter()
        .map(|row| (row.culprit.as_str(), row.board.as_str(), row.runs, row.spikes, row.latency_max_ns))
        .collect();
    assert_eq!(found[0], ("blocking-task", "pi", 2, 3, 200_000));
    assert!(found.contains(&("blocking-task", "amd", 1, 1, 100_000)));
    assert!(found.contains(&("not explained", "pi", 1, 1, 300_000)));
    assert!(found.contains(&("timer-migration", "pi", 1, 1, 200_000)));
    assert_eq!((rows[0].first_unix_ns, rows[0].last_unix_ns), (0, 3 * DAY_NS));
    assert_eq!(store.culprits(4 * DAY_NS, 5 * DAY_NS).await.unwrap().len(), 1);
}

pub async fn series_are_listed_once(lab: Lab) {
    let store = lab.open().await;
    for (name, board, kernel, day) in
        [("a", "pi", "6.1.0", 0), ("b", "pi", "6.1.9", 1), ("c", "pi", "6.12.1-rt3", 2), ("d", "amd", "6.1.0", 3)]
    {
        lab.add(&store, name, &SyntheticRun::of(board, kernel, day)).await;
    }
    let of_pi = store.series(Some("pi")).await.unwrap();
    let p99: Vec<&str> = of_pi.iter().filter(|row| row.figure == "p99").map(|row| row.kernel_line.as_str()).collect();
    assert_eq!(p99, ["6.1", "6.12-rt"]);
    assert_eq!(store.series(None).await.unwrap().len(), of_pi.len() / 2 * 3);
}

pub async fn lists_of_runs_go_on_where_they_ended(lab: Lab) {
    let store = lab.open().await;
    for number in 0..7 {
        // Two of them start at the same instant.
        let run = SyntheticRun { priority: 10 + number, ..SyntheticRun::of("pi", "6.1.0", i64::from(number / 2)) };
        lab.add(&store, &format!("run{number}"), &run).await;
    }
    let mut listed: Vec<(i64, String)> = Vec::new();
    loop {
        let before = listed.last().map(|(started, digest)| (*started, digest.as_str()));
        let more = store.runs(before, 3).await.unwrap();
        if more.is_empty() {
            break;
        }
        listed.extend(more.into_iter().map(|run| (run.started_unix_ns, run.digest)));
    }
    assert_eq!(listed.len(), 7);
    assert!(listed.windows(2).all(|pair| pair[0] > pair[1]), "{listed:?}");
}
