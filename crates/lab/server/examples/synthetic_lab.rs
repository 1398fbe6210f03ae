//! Serves a year of made-up runs, for the browser test and for people who work on the pages:
//! `synthetic_lab DIRECTORY [DAYS_BETWEEN_RUNS [ADDRESS]]`. It prints its address.

use archive::explanation::Explanation;
use archive::reader::Run;
use fixtures::{growing, tried, year};
use server::access::{Role, Tokens};
use server::{Archives, ExperimentSeries, Lab, Listener, PlanError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

struct AsStored {
    /// Runs of each board and load; none in an empty lab.
    runs: usize,
}

impl Archives for AsStored {
    fn below(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("manifest.json").is_file()).collect()
    }

    fn experiments(&self, directory: &Path) -> Vec<ExperimentSeries> {
        if self.runs == 0 { Vec::new() } else { tried::all(directory, self.runs, now()) }
    }

    fn explain(&self, run: &Run, spike: u32) -> Option<Explanation> {
        run.explanations()?.into_iter().find(|explanation| explanation.spike == spike)
    }

    fn check_plan(&self, _: &str, text: &str) -> Result<(), PlanError> {
        if text.contains("mistake") { Err(PlanError("line 1: a mistake".into())) } else { Ok(()) }
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let directory = PathBuf::from(words.first().expect("a directory"));
    std::fs::create_dir_all(&directory).unwrap();
    let days = words.get(1).and_then(|days| days.parse().ok()).filter(|days| *days > 0.0);
    if let Some(days) = days {
        year::write(&directory, now(), days);
    }
    // A run in progress, which the browser test follows.
    if std::env::var_os("TARDY_LAB_LIVE").is_some() {
        let mut run = growing::Growing::start(&directory.join("live"), "bench-7", now());
        run.grow(40_000, Some(180_000));
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
                run.grow(10, None);
            }
        });
    }
    let address = words.get(2).map_or("127.0.0.1:0", String::as_str).parse().unwrap();
    let mut lab =
        Lab::of(directory.clone(), Arc::new(AsStored { runs: days.map_or(0, |days| (365.0 / days) as usize) }));
    // A third word of that kind starts a lab that asks for a token.
    if std::env::var_os("TARDY_LAB_TOKEN").is_some() {
        let file = directory.join("tokens");
        eprintln!("token {}", Tokens::add(&file, Role::Read, "browser").unwrap());
        lab.tokens = Tokens::read(&file).unwrap();
    }
    lab.limits.requests_per_s = 1000;
    lab.limits.requests_at_once = 10_000;
    let listener = Listener::bind(address, lab).unwrap();
    eprintln!("http://{}/", listener.address().unwrap());
    listener.serve(std::future::pending()).unwrap();
}
