//! What an injector is told, its log, and the pauses between injections.

use crate::kernel::{now_ns, sleep_until};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Less of an injection than this delays nobody enough to be noticed.
const STRETCH_NS_MIN: i64 = 50_000;

/// What is wrong with the words of an injector.
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
pub struct Terms {
    /// The CPU that is to be late.
    pub cpu: usize,
    pub length_ns: i64,
    pub pause_ns: i64,
    seed: u64,
    /// Nothing is injected after this instant: whoever ends the injector ends it between injections.
    until_ns: i64,
    log: File,
    /// Kernel module of the injectors that need one.
    module: Option<PathBuf>,
    /// What the injector does, where it has a choice.
    pub kind: String,
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
            log,
            module: value("module").map(PathBuf::from),
            kind: value("kind").cloned().unwrap_or_default(),
            period_us: value("period-us").map(|_| number("period-us", 0)).transpose()?,
        })
    }

    /// Writes an injection down. Only afterwards: writing takes time of the CPU, too.
    pub fn note(&mut self, begin_ns: i64, end_ns: i64) -> io::Result<()> {
        self.log.write_all(format!("{begin_ns} {end_ns}\n").as_bytes())
    }

    /// The parts of an injection in which its thread had the CPU. Moments between two switches are none.
    pub fn note_stretches(&mut self, stretches: &[(i64, i64)]) -> io::Result<()> {
        let long = |(begin_ns, end_ns): &&(i64, i64)| end_ns - begin_ns >= STRETCH_NS_MIN;
        stretches.iter().filter(long).try_for_each(|&(begin_ns, end_ns)| self.note(begin_ns, end_ns))
    }

    /// The same of an injector that others may have kept off the CPU meanwhile, `held_ns` is what it had of it, and that does one
    /// step after the other; `unsure_ns` is by how much some took longer than usual.
    pub fn note_steps(&mut self, begin_ns: i64, end_ns: i64, held_ns: i64, unsure_ns: i64) -> io::Result<()> {
        self.log.write_all(format!("{begin_ns} {end_ns} {held_ns} {unsure_ns}\n").as_bytes())
    }

    /// Writes lines down as they are.
    pub fn note_lines(&mut self, lines: &str) -> io::Result<()> {
        self.log.write_all(lines.as_bytes())
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
        // Marsaglia's xorshift.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        if now_ns() > self.until_ns {
            sleep_until(i64::MAX);
        }
        let part = i64::try_from(self.seed >> 33).unwrap_or(0) % 1000;
        self.pause_ns / 2 + self.pause_ns * part / 1000
    }
}
