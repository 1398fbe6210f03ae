//! The request to an injector, its log, and the pauses between injections.

use crate::disturbance::Stretch;
use crate::kernel::{now_ns, sleep_until};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// An error in the words of an injector.
#[derive(Debug)]
pub enum TermsError {
    NoNumber { name: &'static str, text: String },
    NoLog,
    NegativeCpu,
    Log { path: String, source: io::Error },
}

impl fmt::Display for TermsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { name, text } => write!(out, "--{name} takes a number, not `{text}`"),
            Self::NoLog => out.write_str("--log is missing"),
            Self::NegativeCpu => out.write_str("--cpu is negative"),
            Self::Log { path, source } => write!(out, "{path}: {source}"),
        }
    }
}

/// Common options of all injectors.
#[derive(Clone)]
pub struct Terms {
    /// The CPU that is to be late.
    pub cpu: usize,
    pub length_ns: i64,
    pub pause_ns: i64,
    seed: u64,
    /// Nothing is injected after this instant, so that the injector is ended between injections.
    until_ns: i64,
    log: Arc<File>,
    log_path: PathBuf,
    /// Kernel module of the injectors that need one.
    module: Option<PathBuf>,
    /// The kind of disturbance, where the injector has a choice.
    pub kind: String,
    /// Threads of a chain.
    pub threads: usize,
    /// The parts that a mix draws from, `NAME:INJECTOR:KIND:THREADS:LENGTH_US` each.
    pub parts: Vec<String>,
    /// Period of what the kernel rations, where that is to be changed.
    pub period_us: Option<i64>,
}

impl Terms {
    /// Reads `--name value` pairs.
    pub fn parse(words: &[String]) -> Result<Self, TermsError> {
        let value = |name: &str| {
            let at = words.iter().position(|word| word.strip_prefix("--") == Some(name))?;
            words.get(at + 1)
        };
        let number = |name: &'static str, default: i64| {
            let Some(text) = value(name) else { return Ok(default) };
            text.parse().map_err(|_| TermsError::NoNumber { name, text: text.clone() })
        };
        let path = value("log").ok_or(TermsError::NoLog)?;
        let log = File::options().create(true).append(true).open(path);
        let log = log.map_err(|source| TermsError::Log { path: path.clone(), source })?;
        Ok(Self {
            cpu: usize::try_from(number("cpu", 1)?).map_err(|_| TermsError::NegativeCpu)?,
            length_ns: number("length-us", 3000)? * 1000,
            pause_ns: number("pause-us", 200_000)? * 1000,
            seed: number("seed", 1)?.unsigned_abs() | 1,
            until_ns: now_ns() + number("seconds", 3600)? * 1_000_000_000,
            log: Arc::new(log),
            log_path: path.into(),
            module: value("module").map(PathBuf::from),
            kind: value("kind").cloned().unwrap_or_default(),
            threads: usize::try_from(number("threads", 3)?).unwrap_or(0),
            parts: value("parts").map(|parts| parts.split(',').map(str::to_owned).collect()).unwrap_or_default(),
            period_us: value("period-us").map(|_| number("period-us", 0)).transpose()?,
        })
    }

    /// Writes injections down.
    pub fn note(&self, stretches: &[Stretch]) -> io::Result<()> {
        self.note_as("", stretches)
    }

    /// The same of an injector that was drawn from several: its name goes before the numbers.
    pub fn note_as(&self, name: &str, stretches: &[Stretch]) -> io::Result<()> {
        stretches.iter().try_for_each(|stretch| {
            let Stretch { begin_ns, end_ns, held_ns, unsure_ns } = *stretch;
            let mut line = format!("{name} {begin_ns} {end_ns}");
            if let Some(held_ns) = held_ns {
                line += &format!(" {held_ns} {unsure_ns}");
            }
            self.note_lines(&format!("{}\n", line.trim_start()))
        })
    }

    /// Writes lines down as they are.
    pub fn note_lines(&self, lines: &str) -> io::Result<()> {
        (&*self.log).write_all(lines.as_bytes())
    }

    pub fn module_bytes(&self) -> io::Result<Vec<u8>> {
        let path = self.module.as_ref().ok_or_else(|| io::Error::other("--module is missing"))?;
        std::fs::read(path)
    }

    /// Sleeps until the next injection.
    pub fn pause(&mut self) {
        let pause_ns = self.next_pause_ns();
        sleep_until(now_ns() + pause_ns);
    }

    /// Half to one and a half of the pause, so that injections keep no step with anything. Sleeps instead once there are to
    /// be no more.
    pub fn next_pause_ns(&mut self) -> i64 {
        if now_ns() > self.until_ns {
            sleep_until(i64::MAX);
        }
        let part = self.draw(1000) as i64;
        self.pause_ns / 2 + self.pause_ns * part / 1000
    }

    /// A number from 0 on, below this one, by Marsaglia's xorshift.
    pub fn draw(&mut self, count: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 33) as usize % count.max(1)
    }

    /// A file in the directory of the log.
    pub fn beside_log(&self, name: &str) -> PathBuf {
        self.log_path.with_file_name(name)
    }

    /// The same for one part of a mix.
    pub fn of_part(&self, kind: &str, threads: usize, length_us: i64) -> Self {
        Self { kind: kind.into(), threads, length_ns: length_us * 1000, ..self.clone() }
    }
}
