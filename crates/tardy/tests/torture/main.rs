//! Host and meter are killed at random instants of real runs: afterwards the machine is unchanged, or `tardy target restore`
//! restores it; no process is left; the archive opens, and is complete if its state says so.

use archive::manifest::RunState;
use archive::reader::{OpenError, Run};
use archive::summary::RunSummary;
use prerequisites::Prerequisite::{Prepared, Root};
use prerequisites::{Machine, met};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const KILLS_DEFAULT: u32 = 1000;
/// Harmless settings, each with a value that no machine has.
const SETTINGS: [(&str, &str, &str); 2] = [
    ("/proc/sys/vm/stat_interval", "vm.stat_interval", "7"),
    ("/proc/sys/vm/dirty_writeback_centisecs", "vm.dirty_writeback_centisecs", "701"),
];
/// A meter whose host is gone restores everything within this time, even on a busy machine.
const PUT_BACK_MAX: Duration = Duration::from_secs(60);

/// Random numbers by xorshift.
struct Lot(u64);

impl Lot {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Host,
    Meter,
    Both,
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn meter() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_tardy")).with_file_name("tardy-meter");
    let found = beside.is_file();
    met(&[Root, Prepared("a tardy-meter beside tardy (cargo build -p tardy-meter)", found)]).then_some(beside)
}

fn shown(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// State that must be unchanged.
#[derive(Debug)]
struct Condition {
    settings: Vec<String>,
    /// Trace instances of dead meters: another run on this machine may have its own meanwhile.
    instances: BTreeSet<String>,
}

impl Condition {
    fn now() -> Self {
        let instances = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        let names = instances.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_left = |name: &String| {
            let pid = name.strip_prefix("tardy-").and_then(|rest| rest.split('-').next());
            pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
        };
        let settings = SETTINGS.iter().map(|(path, ..)| shown(path)).collect();
        Self { settings, instances: names.filter(is_left).collect() }
    }

    /// Whether everything is as it was then.
    fn is_as_in(&self, before: &Self) -> bool {
        self.settings == before.settings && self.instances.is_subset(&before.instances)
    }

    fn put_back(&self) {
        for ((path, ..), before) in SETTINGS.iter().zip(&self.settings) {
            let _ = fs::write(path, before);
        }
    }
}

/// Processes with this word in their environment: those of one run.
fn processes(word: &str) -> Vec<i32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == word.as_bytes())
    };
    numbers.filter(has).collect()
}

fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

/// A place for one run, with its own state directory.
struct Attempt<'a> {
    meter: &'a Path,
    folder: tempfile::TempDir,
}

impl Attempt<'_> {
    fn word(&self) -> String {
        format!("TARDY_STATE_DIR={}", self.folder.path().join("state").display())
    }

    fn tardy(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.folder.path()).env("TARDY_METER", self.meter);
        command.env("TARDY_STATE_DIR", self.folder.path().join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn start(&self) -> Child {
        let mut words = vec![
            "run",
            "-D",
            "300ms",
            "--settle",
            "0",
            "--load",
            "cpu:1",
            "--quiet",
            "--out",
            "run",
            "--beside-others",
        ];
        let settings: Vec<String> = SETTINGS.iter().map(|(_, name, value)| format!("{name}={value}")).collect();
        for setting in &settings {
            words.extend(["--set", setting]);
        }
        self.tardy(&words).spawn().unwrap()
    }

    fn kill(&self, victim: Victim) -> bool {
        let wanted = |name: &str| match victim {
            Victim::Host => name == "tardy",
            Victim::Meter => name == "tardy-meter",
            Victim::Both => name.starts_with("tardy"),
        };
        let victims: Vec<i32> = processes(&self.word()).into_iter().filter(|pid| wanted(&name(*pid))).collect();
        let mut killed = false;
        for pid in victims.into_iter().filter_map(Pid::from_raw) {
            killed |= kill_process(pid, Signal::KILL).is_ok();
        }
        killed
    }

    /// The rest of the run after the kill.
    fn outcome(&self, victim: Victim, before: &Condition) -> Result<Survival, String> {
        self.wait_for_the_end()?;
        let restored = !Condition::now().is_as_in(before);
        if restored && victim == Victim::Host {
            return Err(format!("a meter that lives restores by itself: {:?}", Condition::now()));
        }
        let answered = self.tardy(&["target", "restore"]).status().map_err(|error| error.to_string())?;
        let now = Condition::now();
        if !answered.success() || !now.is_as_in(before) {
            return Err(format!("restore: {answered}, {now:?}, before {before:?}"));
        }
        match fs::read_dir(self.folder.path().join("state/journal")).into_iter().flatten().count() {
            0 => Ok(Survival { restored, ended: self.archive()? }),
            journals => Err(format!("{journals} journals are left")),
        }
    }

    /// Waits until no process of the run is left.
    fn wait_for_the_end(&self) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let left: Vec<String> =
                processes(&self.word()).into_iter().map(name).filter(|name| !name.is_empty()).collect();
            match left.is_empty() {
                true => return Ok(()),
                false if started.elapsed() > PUT_BACK_MAX => return Err(format!("{left:?} are left")),
                false => sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Where the run in the archive ended. One that is called complete is.
    fn archive(&self) -> Result<String, String> {
        let run = match Run::open(self.folder.path().join("run")) {
            Ok(run) => run,
            Err(OpenError::Missing(_) | OpenError::Foreign(_)) => return Ok("no archive yet".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        RunSummary::of(&run, &[]);
        let state = run.manifest.as_ref().map(|manifest| manifest.state);
        let counted = !run.threads.is_empty() && run.threads.values().all(|thread| thread.totals.cycles > 0);
        match (state, run.phases.last()) {
            (Some(RunState::Complete), _) if run.gaps.is_empty() && run.ending.is_some() && counted => {
                Ok("complete".to_owned())
            }
            (Some(RunState::Complete), _) => Err(format!("called complete, and is not: {:?}", run.gaps)),
            (_, None) => Ok("before the first phase".to_owned()),
            (_, Some((phase, _))) => Ok(format!("{phase:?}")),
        }
    }
}

/// How a run came through a kill.
struct Survival {
    /// It needed `tardy target restore`.
    restored: bool,
    /// Where its archive ends.
    ended: String,
}

#[test]
#[ignore = "kills for half an hour: make torture"]
fn torture_of_host_and_meter_by_random_kills() {
    let Some(meter) = meter() else { return };
    let kills = number("TORTURE_KILLS", KILLS_DEFAULT.into());
    let seed = number("TORTURE_SEED", 1);
    let mut lot = Lot(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let _machine = Machine::alone();
    let before = Condition::now();
    // Duration of a whole run here, within which it is killed.
    let attempt = Attempt { meter: &meter, folder: tempfile::tempdir().unwrap() };
    let started = Instant::now();
    assert!(attempt.start().wait().unwrap().success(), "a run that nobody kills");
    let length_us = started.elapsed().as_micros() as u64 * 11 / 10;
    let (mut restored, mut missed, mut done) = (0, 0, 0);
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let mut lost = Vec::new();
    while done < kills {
        let attempt = Attempt { meter: &meter, folder: tempfile::tempdir().unwrap() };
        let victim = [Victim::Host, Victim::Meter, Victim::Both][lot.below(3) as usize];
        let after = Duration::from_micros(lot.below(length_us));
        let mut host = attempt.start();
        sleep(after);
        if attempt.kill(victim) {
            done += 1;
        } else {
            // The run had ended, or its meter had not started.
            missed += 1;
        }
        host.wait().unwrap();
        match attempt.outcome(victim, &before) {
            Ok(Survival { restored: needed, ended }) => {
                restored += u64::from(needed);
                *found.entry(ended).or_default() += 1;
            }
            Err(why) => {
                println!("lost: seed {seed}, kill {done}: {victim:?} after {after:?}: {why}");
                lost.push(why);
            }
        }
        // What one attempt lost is not the next one's.
        before.put_back();
    }
    println!(
        "seed {seed}: tried {done} kills ({missed} more came too early or too late), survived {}, lost {}; needed \
         `tardy target restore` {restored} times",
        done - lost.len() as u64,
        lost.len()
    );
    println!("archives by where they ended: {found:?}");
    assert!(lost.is_empty(), "{lost:#?}");
}
