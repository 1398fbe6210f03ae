//! Parses the options to plain values; nothing of the machine is checked.

use super::getopt::{Given, Parsed};
use super::options::Id;

/// The layout of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    V2_4,
    V2_10,
}

/// Which CPUs the measuring threads are pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Affinity {
    Free,
    Each,
    List(String),
}

/// Number of measuring threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    OnePerCpu,
    Count(u32),
}

/// How a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Absolute,
    Relative,
    System,
    PosixTimer,
}

/// A scheduling policy by the names of `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyName {
    Other,
    Batch,
    Idle,
    Fifo,
    Rr,
}

/// All settings of a command line. Times are in µs, limits in the unit of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub compat: Compat,
    pub affinity: Affinity,
    pub aligned_us: Option<i64>,
    pub secaligned_us: Option<i64>,
    pub breaktrace: Option<i64>,
    pub realtime_clock: bool,
    pub keep_power: Option<&'static str>,
    pub deepest_idle_state: Option<i32>,
    pub distance_us: i64,
    pub duration_s: Option<i64>,
    pub fifo: Option<String>,
    pub histogram: usize,
    pub histogram_sum: bool,
    pub histfile: Option<String>,
    pub interval_us: i64,
    pub json: Option<String>,
    pub dma_latency_us: i32,
    pub loops: Option<u64>,
    pub main_affinity: Option<String>,
    pub lock_memory: bool,
    pub refresh_on_max: bool,
    pub nanoseconds: bool,
    pub oscope: u64,
    pub policy: PolicyName,
    pub priority: i64,
    pub priospread: bool,
    pub quiet: bool,
    pub resolution: bool,
    pub mode: Mode,
    pub smp: bool,
    pub spike: Option<i64>,
    pub spike_nodes: usize,
    pub smi: bool,
    pub threads: Threads,
    pub tracemark: bool,
    pub tracer: Option<String>,
    pub snapshot: Option<i64>,
    pub snapshot_dir: String,
    pub verbose: bool,
    pub debug: bool,
    /// Harmless remarks for standard error.
    pub notes: Vec<String>,
}

/// An error in a value, or in a combination of options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("{option} {text}: not a whole number")]
    NotANumber { option: String, text: String },
    #[error("{option} {value} cannot be; give a number {}", range(*least, *most))]
    OutOfRange { option: String, value: i64, least: i64, most: i64 },
    #[error("{option} {text}: write the length as 90, 90s, 15m, 2h or 1d")]
    NotALength { option: String, text: String },
    #[error("{option} needs the name of a file")]
    NoFile { option: String },
    #[error("-c {0} is not a clock to measure by; choose 0 (monotonic) or 1 (realtime)")]
    UnknownClock(String),
    #[error("--compat {0} is not a layout; choose 2.4 or 2.10")]
    UnknownLayout(String),
    #[error("--policy {0} is unknown; choose other, normal, batch, idle, fifo or rr")]
    UnknownPolicy(String),
    #[error("{option} is gone; {instead}")]
    Removed { option: String, instead: &'static str },
    #[error("-l 0 never ends; leave it out to measure until Ctrl-C, or add -D TIME")]
    NeverEnds,
    #[error("-o thins out what -v prints; add -v")]
    OscopeWithoutVerbose,
    #[error("-A and --secaligned choose different starts; leave one of them out")]
    TwoAlignments,
    #[error("nothing would be traced; add --breaktrace=US or --snapshot[=US]")]
    TracerWithoutTrace,
}

fn range(least: i64, most: i64) -> String {
    if most == i64::MAX { format!("at least {least}") } else { format!("from {least} to {most}") }
}

/// Most buckets of a histogram, as in rt-tests.
const HISTOGRAM_MAX: i64 = 1_000_000;
const HOUR_US: i64 = 3_600_000_000;
const YEARS_S: i64 = 100 * 366 * 86_400;

impl Default for Request {
    fn default() -> Self {
        Self {
            compat: Compat::V2_10,
            affinity: Affinity::Free,
            aligned_us: None,
            secaligned_us: None,
            breaktrace: None,
            realtime_clock: false,
            keep_power: None,
            deepest_idle_state: None,
            distance_us: 500,
            duration_s: None,
            fifo: None,
            histogram: 0,
            histogram_sum: false,
            histfile: None,
            interval_us: 1000,
            json: None,
            dma_latency_us: 0,
            loops: None,
            main_affinity: None,
            lock_memory: false,
            refresh_on_max: false,
            nanoseconds: false,
            oscope: 1,
            policy: PolicyName::Other,
            priority: 0,
            priospread: false,
            quiet: false,
            resolution: false,
            mode: Mode::Absolute,
            smp: false,
            spike: None,
            spike_nodes: 1024,
            smi: false,
            threads: Threads::Count(1),
            tracemark: false,
            tracer: None,
            snapshot: None,
            snapshot_dir: ".".into(),
            verbose: false,
            debug: false,
            notes: Vec::new(),
        }
    }
}

impl Request {
    /// Interprets a command line.
    ///
    /// # Errors
    /// The first invalid value, or an inconsistent combination of options.
    pub fn of(parsed: &Parsed) -> Result<Self, RequestError> {
        let mut request = Self::default();
        let mut zero_loops = false;
        for given in &parsed.options {
            zero_loops |= given.id == Id::Loops && number(given, 0, i64::MAX)? == 0;
            request.take(given)?;
        }
        if !parsed.operands.is_empty() {
            request.note(format!("{} belongs to no option and is ignored", parsed.operands.join(" ")));
        }
        if zero_loops && request.loops.is_none() && request.duration_s.is_none() {
            return Err(RequestError::NeverEnds);
        }
        request.settle()?;
        Ok(request)
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    fn take(&mut self, given: &Given) -> Result<(), RequestError> {
        let text = || given.value.clone().unwrap_or_default();
        match given.id {
            Id::Affinity => {
                self.affinity = given.value.clone().map_or(Affinity::Each, Affinity::List);
            }
            Id::Aligned => self.aligned_us = Some(perhaps(given, 0, HOUR_US)?.unwrap_or(0)),
            Id::Secaligned => self.secaligned_us = Some(perhaps(given, 0, HOUR_US)?.unwrap_or(0)),
            Id::Breaktrace => self.breaktrace = Some(number(given, 0, i64::MAX / 1000)?).filter(|limit| *limit > 0),
            Id::Clock => self.realtime_clock = realtime(&text())?,
            Id::Compat => self.compat = compat(&text())?,
            Id::Debug => self.debug = true,
            Id::DeepestIdleState => self.deepest_idle_state = Some(number(given, -1, 99)? as i32),
            Id::DefaultSystem => self.keep_power = Some("not setting cpu_dma_latency from cyclictest"),
            Id::Laptop => self.keep_power = Some("not setting cpu_dma_latency to save battery power"),
            Id::Distance => self.distance_us = number(given, 0, HOUR_US)?,
            Id::Duration => self.duration_s = Some(seconds(given)?).filter(|seconds| *seconds > 0),
            Id::Fifo => self.fifo = Some(path(given)?),
            Id::Histogram | Id::Histofall => {
                let buckets = number(given, 1, i64::MAX)?;
                if buckets > HISTOGRAM_MAX {
                    self.note(format!(
                        "{} {buckets} is more than there is: {HISTOGRAM_MAX} buckets are kept",
                        given.spelt
                    ));
                }
                self.histogram = buckets.min(HISTOGRAM_MAX) as usize;
                self.histogram_sum |= given.id == Id::Histofall;
            }
            Id::Histfile => self.histfile = Some(path(given)?),
            Id::Interval => self.interval_us = number(given, 1, HOUR_US)?,
            Id::Json => self.json = Some(path(given)?),
            Id::Latency => self.dma_latency_us = number(given, 0, 2_000_000_000)? as i32,
            Id::Loops => self.loops = Some(number(given, 0, i64::MAX)? as u64).filter(|loops| *loops > 0),
            Id::MainAffinity => self.main_affinity = Some(text()),
            Id::Mlockall => self.lock_memory = true,
            Id::Nsecs => self.nanoseconds = true,
            Id::Oscope => self.oscope = number(given, 1, i64::MAX)? as u64,
            Id::Policy => self.policy = policy(&text())?,
            Id::PosixTimers => self.mode = Mode::PosixTimer,
            Id::Priority => {
                self.priority = number(given, 0, 99)?;
                if self.priority > 0 && self.policy != PolicyName::Rr {
                    self.policy = PolicyName::Fifo;
                }
            }
            Id::PrioSpread => self.priospread = true,
            Id::Quiet => self.quiet = true,
            Id::RefreshOnMax => self.refresh_on_max = true,
            Id::Relative => self.relax(Mode::Relative),
            Id::System => self.relax(Mode::System),
            Id::Resolution => self.resolution = true,
            Id::Smi => self.smi = true,
            Id::Smp => self.smp = true,
            Id::Snapshot => self.snapshot = Some(perhaps(given, 0, i64::MAX / 1000)?.unwrap_or(0)),
            Id::SnapshotDir => self.snapshot_dir = path(given)?,
            Id::Spike => self.spike = Some(number(given, 0, i64::MAX / 1000)?).filter(|limit| *limit > 0),
            Id::SpikeNodes => self.spike_nodes = number(given, 1, 1_000_000)? as usize,
            Id::Threads => {
                self.threads = match perhaps(given, 0, 10_000)? {
                    Some(count) if count > 0 => Threads::Count(count as u32),
                    _ => Threads::OnePerCpu,
                };
            }
            Id::Tracemark => self.tracemark = true,
            Id::Tracer => self.tracer = Some(text()),
            Id::TracerNamed(name) => self.tracer = Some(name.into()),
            Id::Verbose => self.verbose = true,
            Id::Needless(text) => self.note(text),
            Id::Refused(instead) => return Err(RequestError::Removed { option: given.spelt.clone(), instead }),
            Id::Help | Id::Man | Id::Unbuffered | Id::Version => {}
        }
        Ok(())
    }

    fn relax(&mut self, mode: Mode) {
        if self.mode != Mode::PosixTimer && self.mode != Mode::System {
            self.mode = mode;
        }
    }

    /// Resolves combinations of options.
    fn settle(&mut self) -> Result<(), RequestError> {
        if self.oscope > 1 && !self.verbose {
            return Err(RequestError::OscopeWithoutVerbose);
        }
        if self.aligned_us.is_some() && self.secaligned_us.is_some() {
            return Err(RequestError::TwoAlignments);
        }
        if self.tracer.is_some() && self.breaktrace.is_none() && self.snapshot.is_none() {
            return Err(RequestError::TracerWithoutTrace);
        }
        if self.smp {
            if self.threads != Threads::Count(1) {
                self.note("-t ignored due to smp mode");
            }
            if self.affinity != Affinity::Free {
                self.note("-a ignored due to smp mode");
            }
            (self.threads, self.affinity) = (Threads::OnePerCpu, Affinity::Each);
        }
        if self.histogram > 0 && self.distance_us != 0 {
            if self.distance_us != Self::default().distance_us {
                self.note("distance is ignored and set to 0, if histogram enabled");
            }
            self.distance_us = 0;
        }
        if self.smi && self.affinity == Affinity::Free {
            self.note("--smi reads the counter of one CPU, so threads are pinned (-a)");
            self.affinity = Affinity::Each;
        }
        if self.priority > 0 && self.policy != PolicyName::Fifo && self.policy != PolicyName::Rr {
            self.note("policy and priority don't match: setting policy to SCHED_FIFO");
            self.policy = PolicyName::Fifo;
        }
        if self.spike_nodes != Self::default().spike_nodes && self.spike.is_none() {
            self.note("--spike-nodes does nothing without --spike");
        }
        if self.deepest_idle_state.is_some() {
            self.keep_power.get_or_insert("not setting cpu_dma_latency, --deepest-idle-state was given");
        }
        Ok(())
    }
}

fn number(given: &Given, least: i64, most: i64) -> Result<i64, RequestError> {
    let option = || given.spelt.clone();
    let text = given.value.as_deref().unwrap_or_default();
    let value: i64 =
        text.trim().parse().map_err(|_| RequestError::NotANumber { option: option(), text: text.into() })?;
    if value < least || value > most {
        return Err(RequestError::OutOfRange { option: option(), value, least, most });
    }
    Ok(value)
}

fn perhaps(given: &Given, least: i64, most: i64) -> Result<Option<i64>, RequestError> {
    given.value.as_ref().map(|_| number(given, least, most)).transpose()
}

fn path(given: &Given) -> Result<String, RequestError> {
    let path = given.value.clone().filter(|path| !path.is_empty());
    path.ok_or_else(|| RequestError::NoFile { option: given.spelt.clone() })
}

fn seconds(given: &Given) -> Result<i64, RequestError> {
    let text = given.value.as_deref().unwrap_or_default().trim();
    let wrong = || RequestError::NotALength { option: given.spelt.clone(), text: text.into() };
    let (digits, factor) = match text.char_indices().next_back().ok_or_else(wrong)? {
        (at, 's') => (&text[..at], 1),
        (at, 'm') => (&text[..at], 60),
        (at, 'h') => (&text[..at], 3600),
        (at, 'd') => (&text[..at], 86_400),
        _ => (text, 1),
    };
    let count = digits.parse::<i64>().map_err(|_| wrong())?;
    count.checked_mul(factor).filter(|seconds| (0..=YEARS_S).contains(seconds)).ok_or_else(wrong)
}

fn realtime(text: &str) -> Result<bool, RequestError> {
    match text {
        "0" | "monotonic" => Ok(false),
        "1" | "realtime" => Ok(true),
        _ => Err(RequestError::UnknownClock(text.into())),
    }
}

fn compat(text: &str) -> Result<Compat, RequestError> {
    match text {
        "2.4" => Ok(Compat::V2_4),
        "2.10" => Ok(Compat::V2_10),
        _ => Err(RequestError::UnknownLayout(text.into())),
    }
}

fn policy(text: &str) -> Result<PolicyName, RequestError> {
    match text.to_ascii_lowercase().as_str() {
        "other" | "normal" => Ok(PolicyName::Other),
        "batch" => Ok(PolicyName::Batch),
        "idle" => Ok(PolicyName::Idle),
        "fifo" => Ok(PolicyName::Fifo),
        "rr" => Ok(PolicyName::Rr),
        _ => Err(RequestError::UnknownPolicy(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::getopt::parse;
    use crate::options::{OPTIONS, Takes};

    fn request(line: &str) -> Result<Request, Error> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Ok(Request::of(&parse(&words)?)?)
    }

    #[test]
    fn the_command_lines_of_the_field_are_understood() {
        let book = request("-l 100000 -m -n -p 99").unwrap();
        assert_eq!(
            (book.loops, book.lock_memory, book.priority, book.policy),
            (Some(100_000), true, 99, PolicyName::Fifo)
        );
        assert!(matches!(&book.notes[..], [note] if note.starts_with("-n ")), "{:?}", book.notes);
        let plot = request("-l100000000 -m -Sp90 -i200 -h400 -q").unwrap();
        assert_eq!((plot.smp, plot.histogram, plot.interval_us, plot.distance_us), (true, 400, 200, 0));
        let talk = request(
            "--histogram=10000 --interval=10000 --duration=3600s --smp --quiet --mlockall --priority=50 --snapshot=1000",
        )
        .unwrap();
        assert_eq!((talk.duration_s, talk.snapshot), (Some(3600), Some(1000)));
        let traced = request("-a -t -n -p99 -f -b100").unwrap();
        assert_eq!((traced.tracer.as_deref(), traced.breaktrace), (Some("function"), Some(100)));
        let wiki = request("--mlockall --smp --priority=80 --interval=200 --distance=0").unwrap();
        assert_eq!((wiki.distance_us, wiki.notes.len()), (0, 0));
    }

    #[test]
    fn every_option_of_the_table_is_understood() {
        for row in OPTIONS {
            let value = match row.id {
                Id::Policy => "rr",
                Id::Compat => "2.4",
                Id::Oscope => "1",
                Id::Tracer => "nop",
                _ if row.argument == "PATH" || row.argument == "DIR" => "place",
                _ => "1",
            };
            for spelling in [row.short.map(|letter| format!("-{}", letter as char)), Some(format!("--{}", row.long))] {
                let Some(spelling) = spelling.filter(|spelling| spelling != "--") else { continue };
                let value = if row.takes == Takes::Nothing { String::new() } else { format!(" {value}") };
                let answer = request(&format!("{spelling}{value} -b 100"));
                assert_eq!(answer.is_err(), matches!(row.id, Id::Refused(_)), "{spelling}: {answer:?}");
            }
        }
    }

    #[test]
    fn policy_and_priority_go_together_as_ever() {
        assert_eq!(request("--policy rr -p 5").unwrap().policy, PolicyName::Rr);
        assert_eq!(request("-p 5 --policy rr").unwrap().policy, PolicyName::Rr);
        assert_eq!(request("--policy other -p 5").unwrap().policy, PolicyName::Fifo);
        assert_eq!(request("-p 5 --policy idle").unwrap().policy, PolicyName::Fifo);
    }

    #[test]
    fn wrong_values_are_refused_with_the_fix() {
        let refusals = [
            ("-i 0", "from 1"),
            ("-i -5", "from 1"),
            ("-i 99999999999", "3600000000"),
            ("-h 0", "at least 1"),
            ("-l 0", "Ctrl-C"),
            ("-l x", "not a whole number"),
            ("-p 100", "0 to 99"),
            ("-p 5x", "not a whole number"),
            ("-D 1x", "15m"),
            ("-D 99999999999999d", "15m"),
            ("-c 2", "monotonic"),
            ("-c aux0", "monotonic"),
            ("--policy foo", "fifo"),
            ("-o 5", "add -v"),
            ("-f", "--breaktrace"),
            ("-A 5 --secaligned", "leave one"),
            ("-y rr", "--policy"),
            ("-e 5", "--latency"),
            ("--compat 3", "2.10"),
            ("--json=", "name of a file"),
        ];
        for (line, fix) in refusals {
            let error = request(line).expect_err(line);
            assert!(error.to_string().contains(fix), "{line}: {error}");
            assert_eq!(error.exit_status(), 2);
        }
        assert_eq!(request("-l 0 -D 1").unwrap().duration_s, Some(1));
    }
}
