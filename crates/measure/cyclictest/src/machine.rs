//! Checks and changes of the machine for the test; the changes are restored afterwards.

use super::error::Error;
use super::printing::warn;
use super::request::{Affinity, Request};
use super::thread::Job;
use super::{cpu_list, tracing};
use meter::journal::{Header, Journal, journal_directory, restore};
use meter::kernel::clock_resolution;
use meter::kernel::dma_latency::DmaLatencyRequest;
use meter::trace::arming::Armed;
use std::fmt::Write;

/// Changes to restore when the test ends in any way.
#[derive(Default)]
pub struct Changes {
    journal: Option<Journal>,
    pub power: Option<(i32, DmaLatencyRequest)>,
}

impl Changes {
    /// The journal of this process, created when it is first needed.
    ///
    /// # Errors
    /// There is no writable directory for it.
    pub fn journal(&mut self) -> Result<&mut Journal, Error> {
        if self.journal.is_none() {
            let directory = journal_directory();
            // What an earlier process that was killed left behind would be in the way of this one.
            drop(restore::restore_all(&directory, &directory, restore::Leftovers::Keep));
            let journal = Journal::begin(&directory, &Header::of_this_process());
            self.journal = Some(journal.map_err(|error| Error::Journal(error.to_string()))?.announced());
        }
        self.journal.as_mut().ok_or_else(|| Error::Journal("no journal".into()))
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        for left in self.journal.take().map(Journal::undo).unwrap_or_default() {
            warn(&format!("not put back: {left}; run `tardy-meter restore`"));
        }
    }
}

/// A snapshotter if one is requested; if it is optional, the test continues without it.
///
/// # Errors
/// A requested trace is not available.
pub fn arm(request: &Request, allowed: &[u32], changes: &mut Changes) -> Result<Option<Armed>, Error> {
    let Some(required) = tracing::wanted(request) else { return Ok(None) };
    let cpus = cpu_count("possible").max(allowed.len());
    match changes.journal().and_then(|journal| tracing::arm(request, cpus, journal)) {
        Ok(armed) => Ok(Some(armed)),
        Err(error) if required => Err(error),
        Err(error) => {
            warn(&format!("no trace of the break will be kept: {error}"));
            Ok(None)
        }
    }
}

/// Holds /dev/cpu_dma_latency and states so in the head of the output, or why not.
pub fn hold_power(request: &Request, changes: &mut Changes, head: &mut String) {
    if let Some(why) = request.keep_power {
        return warn(why);
    }
    let latency_us = request.dma_latency_us;
    match DmaLatencyRequest::hold(latency_us) {
        Ok(held) => {
            let _ = writeln!(head, "# /dev/cpu_dma_latency set to {latency_us}us");
            changes.power = Some((latency_us, held));
        }
        Err(error) => warn(&format!(
            "/dev/cpu_dma_latency could not be set to {latency_us}us: {error}; deep idle states may be in the latencies"
        )),
    }
}

/// Prints the output of `-R`.
pub fn print_resolution(job: &Job) {
    let reported = rustix::time::clock_getres(job.clock);
    warn(&format!("reported clock resolution: {} nsec", reported.tv_sec * 1_000_000_000 + reported.tv_nsec));
    warn(&format!("measured clock resolution approximately: {} nsec", clock_resolution::step_of_ns(job.clock)));
}

/// Marker and switch of the user's own trace, for `--tracemark`.
///
/// # Errors
/// They cannot be opened.
pub fn open_tracemark(request: &Request) -> Result<Option<(std::fs::File, std::fs::File)>, Error> {
    if !request.tracemark || request.breaktrace.is_none() {
        return Ok(None);
    }
    let tracefs = meter::kernel::trace_mount::find_or_mount().map_err(|error| Error::NoTracefs(error.to_string()))?;
    let open = |name: &str| {
        let path = tracefs.root().join(name);
        std::fs::OpenOptions::new().write(true).open(&path).map_err(|source| Error::Tracemark { path, source })
    };
    Ok(Some((open("trace_marker")?, open("tracing_on")?)))
}

/// Writes the output of `-v` about the CPUs.
pub fn write_cpus(request: &Request, allowed: &[u32], head: &mut String) {
    if request.verbose {
        let _ = write!(head, "Max CPUs = {}\nOnline CPUs = {}\n", cpu_count("possible"), cpu_count("online"));
        if let Affinity::List(list) = &request.affinity {
            let _ = writeln!(head, "Using {} cpus.", cpu_list::parse(list, allowed).map_or(0, |cpus| cpus.len()));
        }
    }
}

/// Number of CPUs in a list in /sys/devices/system/cpu.
fn cpu_count(list: &str) -> usize {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{list}")).unwrap_or_default();
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((last.parse::<usize>().ok()? + 1).saturating_sub(first.parse().ok()?))
    };
    text.trim().split(',').filter_map(count).sum()
}
