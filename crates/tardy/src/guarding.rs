//! A guard: watches threads for months, and accounts for each late wake-up within a second.
//!
//! A guard is a series of watches, its sessions, each with an archive of a bounded size ([`session`]). [`known`] keeps what
//! explains a late wake-up, [`accounts`] explains it and writes it to the log in the [`ring`], as an [`entry`], and to the
//! [`outputs`], and by [`delivery`] to other machines. [`http`] answers programs. [`boot_state`] is for the guard after a reset of the machine, which finds the events in [`last_boot`] and the miss in [`reset`].
//! [`cost`] measures what all that takes, in units that [`price`] measured, and [`shedding`] decides what to record. [`beside`] keeps
//! the guard off the CPUs of the watched threads, and [`memory_returned`] gives back the memory that explaining a miss took.

mod accounts;
mod beside;
mod boot_state;
mod chains;
mod command;
pub mod config;
mod cost;
#[cfg(feature = "lab")]
mod delivery;
mod entry;
mod figures;
#[cfg(feature = "lab")]
mod http;
pub mod known;
mod last_boot;
pub mod memory_returned;
mod outputs;
mod price;
mod rate;
mod recovery;
#[cfg(feature = "lab")]
mod remote;
mod reset;
mod ring;
pub mod save;
pub mod session;
mod shedding;
mod signals;
mod state;
pub mod weighing;

use crate::exit::Exit;
use crate::nothing_measured::NothingMeasured;
use account::brief::short::Short;
use accounts::{Accounts, Shared, monotonic_ns};
use anyhow::Context;
use archive::manifest::RunState;
use archive::reader::Run;
use beside::BesideMeter;
use boot_state::BootWriter;
use chains::GuardedChains;
use command::GuardedCommand;
use config::GuardConfig;
use entry::{Fact, Started, Stopped, StoppedChains};
use figures::Figures;
use last_boot::LastBoot;
use machines::meter_places::MeterPlaces;
use outputs::Outputs;
use rate::Rate;
use recovery::{Ended, Killed};
use ring::DiskRing;
use session::Guard;
use signals::GuardSignals;
use state::GuardState;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use weighing::Weighing;
use words::figures::latency;
use words::guarding::ended;

/// Pause after a session that failed, at first and at most.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks for a process that does not run.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Guards until a signal ends it, or the command or the process that it guards has ended. Relative paths of the configuration start in `folder`.
///
/// # Errors
/// If it could not begin.
pub fn guard(config: GuardConfig, folder: &Path, words: &[String], typed: Vec<String>) -> anyhow::Result<Exit> {
    config.check(!words.is_empty())?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = GuardSignals::watch()?;
    let ring = DiskRing::open(&config.ring.directory, config.ring.size_mb)?;
    let directory = ring.directory().to_owned();
    let chains = GuardedChains::read(&config, folder)?;
    let declared = chains.as_ref().map(|chains| chains.file.clone());
    let shared = Shared {
        ring: Arc::new(Mutex::new(ring)),
        figures: Arc::new(Mutex::new(Figures::default())),
        rotate: Arc::default(),
        saved: Arc::default(),
    };
    let outputs = Outputs::open(&config, folder, &shared.figures)?;
    #[cfg(feature = "lab")]
    let http = serve(&config, folder, &shared, &signals)?;
    GuardState::own().write(&directory)?;
    let rate = Rate::of(config.accounts.per_minute, config.accounts.burst, monotonic_ns());
    let accounts = Accounts::start(shared.clone(), outputs, (rate, chains)).context("failed to start a thread")?;
    let mut command = GuardedCommand::start(&meter, words)?;
    // Both use up what the last boot left, so a start that failed must not have come this far.
    let before = Before::of(&shared.ring(), &config);
    let boot = BootWriter::begin(&directory, &config.ring.kept_instance)?;
    if let Some(Before { killed, run, ended }) = before {
        recovery::report(killed, run, ended, &config, &accounts);
    }
    announce(&config, &directory, words);
    accounts.fact(started(&config, words), None);
    let mut guard = Guard {
        weighing: Weighing::of(config.cost.budget_percent),
        config,
        chains: declared,
        typed,
        meter,
        signals,
        shared,
        accounts,
        ended: None,
        complained: BTreeSet::new(),
        boot,
        beside: BesideMeter::of_this_process(),
    };
    let followed = follow(&mut guard, &mut command);
    let exit = command.map(GuardedCommand::end);
    #[cfg(feature = "lab")]
    http.into_iter().for_each(http::Http::end);
    stop(guard, &directory);
    followed?;
    Ok(exit.unwrap_or(Exit::Measured))
}

/// A guard before this one that did not end by itself.
struct Before {
    killed: Killed,
    /// Its last archive.
    run: Option<Run>,
    ended: Ended,
}

impl Before {
    /// Takes what it left, and what the memory keeps of the last boot, before this boot is recorded there.
    fn of(ring: &DiskRing, config: &GuardConfig) -> Option<Self> {
        let killed = recovery::killed(ring)?;
        let run = killed.run();
        let Some(mut last) = LastBoot::take(ring.directory()) else {
            return Some(Self { killed, run, ended: Ended::Killed });
        };
        let of_boot = run.as_ref().filter(|run| run.boot_id.as_deref() == Some(last.state.boot_id.as_str()));
        let known_until_ns = Killed::known_until_ns(of_boot, config);
        let ended = match reset::stored(&mut last, ring, config, known_until_ns) {
            Some(interrupted) => Ended::Reset(Box::new(interrupted)),
            None => Ended::Restarted,
        };
        Some(Self { killed, run, ended })
    }
}

#[cfg(feature = "lab")]
fn serve(
    config: &GuardConfig,
    folder: &Path,
    shared: &Shared,
    signals: &GuardSignals,
) -> anyhow::Result<Option<http::Http>> {
    let Some(settings) = &config.http else { return Ok(None) };
    let served = http::Served {
        ring: config.ring.directory.clone(),
        figures: Arc::clone(&shared.figures),
        requests: signals.requests.clone(),
        saved: Arc::clone(&shared.saved),
    };
    http::Http::start(settings, folder, served).map(Some)
}

/// Session after session.
fn follow(guard: &mut Guard, command: &mut Option<GuardedCommand>) -> anyhow::Result<()> {
    let mut pause = PAUSE_FIRST;
    let mut first = true;
    while !guard.signals.is_over() && command.as_mut().is_none_or(GuardedCommand::runs) {
        let pid = match command.as_ref().map(GuardedCommand::pid) {
            Some(pid) => Some(pid),
            None => match process_to_watch(guard) {
                Some(pid) => pid,
                None => return Ok(()),
            },
        };
        let outcome = guard.session(pid, &mut || command.iter().for_each(GuardedCommand::release))?;
        tidy(guard, &outcome.directory);
        match outcome.problem.filter(|_| outcome.state == RunState::Failed) {
            Some(problem) if first => {
                return Err(NothingMeasured { problem, kept: String::new(), command: None }.into());
            }
            Some(_) => {
                wait(guard, pause);
                pause = (pause * 2).min(PAUSE_MAX);
            }
            // A process that is named by its number does not come again.
            None if guard.config.watch.pid.is_some_and(|pid| !runs(pid)) => return Ok(()),
            None => pause = PAUSE_FIRST,
        }
        first = false;
    }
    Ok(())
}

/// The process of the pid file, which it waits for, if there is one; `None` if the guard was asked to end.
#[expect(clippy::option_option, reason = "no process to wait for, or an end")]
fn process_to_watch(guard: &Guard) -> Option<Option<i32>> {
    let Some(path) = &guard.config.watch.pid_file else { return Some(None) };
    let mut waits = false;
    while !guard.signals.is_over() {
        let pid = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<i32>().ok());
        if let Some(pid) = pid.filter(|pid| runs(*pid)) {
            return Some(Some(pid));
        }
        if !std::mem::replace(&mut waits, true) {
            complain!("tardy guard: waiting for the process whose number is in {}", path.display());
        }
        thread::sleep(LOOK_EVERY);
    }
    None
}

fn runs(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn wait(guard: &Guard, pause: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < pause && !guard.signals.is_over() {
        thread::sleep(LOOK_EVERY);
    }
}

/// An archive without a spike has nothing to keep: the log has its figures.
fn tidy(guard: &Guard, directory: &Path) {
    let spikes = Run::open_without_seconds(directory).map(|run| run.spikes.len() as u64);
    match spikes {
        Ok(0) => {
            let _ = fs::remove_dir_all(directory);
        }
        Ok(spikes) => guard.accounts.fact(Fact::Archived { session: session::name_of(directory), spikes }, None),
        Err(_) => {}
    }
    guard.shared.ring().make_room(None);
}

fn started(config: &GuardConfig, words: &[String]) -> Fact {
    let watch = &config.watch;
    Fact::Started(Started {
        watched: Short::name(&whom(config, words)),
        limit_ns: watch.limit.map(|limit| limit.ns()),
        cycle_limit_ns: watch.cycle_limit.map(|limit| limit.ns()),
        budget_percent: config.cost.budget_percent,
    })
}

fn whom(config: &GuardConfig, words: &[String]) -> String {
    match &config.watch.pid_file {
        Some(path) => format!("the process of {}", path.display()),
        None => archive::watched::WatchSettings { command: words.to_vec(), ..config.watch.request(None) }.whom(),
    }
}

fn announce(config: &GuardConfig, directory: &Path, words: &[String]) {
    let limits = [("wake-ups", config.watch.limit), ("cycles", config.watch.cycle_limit)];
    let limits = limits.into_iter().filter_map(|(what, limit)| Some(format!("{what} over {}", latency(limit?.ns()))));
    let chains = config.watch.chains.as_ref().map(|path| format!("missed deadlines of {}", path.display()));
    let limits: Vec<String> = limits.chain(chains).collect();
    complain!(
        "tardy guard: guards {}: accounts for {}, in {} ({} MB); budget {} % of a CPU",
        whom(config, words),
        limits.join(" and "),
        directory.display(),
        config.ring.size_mb,
        config.cost.budget_percent
    );
}

/// Writes the last entry and its line.
fn stop(guard: Guard, directory: &Path) {
    let figures = guard.shared.figures().clone();
    let stopped =
        Stopped {
            samples: figures.samples(),
            misses: figures.misses(),
            accounts: figures.accounts(),
            suppressed: figures.suppressed(),
            chains: guard.config.watch.chains.as_ref().map(|_| StoppedChains {
                chain_misses: figures.chain_misses(),
                chain_accounts: figures.chain_accounts,
            }),
            cost_percent: figures.cost_percent,
            memory_kb: figures.memory_kb,
        };
    let chains = stopped.chains.map(|chains| (chains.chain_misses, chains.chain_accounts));
    let line = ended(
        stopped.samples,
        (stopped.misses, stopped.accounts),
        chains,
        stopped.cost_percent,
        stopped.memory_kb.div_ceil(1024),
    );
    guard.accounts.tick();
    guard.accounts.fact(Fact::Stopped(stopped), line);
    guard.accounts.end();
    guard.boot.end();
    GuardState::remove(directory);
}
