//! The job file that fio gets: the requests of the run's options, or the user's own job file, with what a run needs before it.

use super::super::request::Requests;
use archive::method::storage::Mode;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Options of a job file that a run sets itself: with others its samples would be missing or mean something else.
const OWN_OPTIONS: [&str; 6] = ["write_lat_log", "log_", "per_job_logs", "disable_lat", "gtod_reduce", "output"];
/// Where a job file may send its requests instead of to the run's file.
const PLACES: [&str; 3] = ["filename", "directory", "opendir"];
/// fio ends by itself this long after the run would end it, should the meter be killed.
const SPARE_S: u64 = 30;
const WITHOUT_END_S: u64 = 30 * 24 * 3600;

/// Options that a run decides whatever the job file says.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// Directory of the log files.
    pub logs: &'a Path,
    /// The file or device of the run.
    pub target: &'a Path,
    pub bytes: u64,
    /// Settling and measuring; `None` without an end.
    pub duration_ns: Option<u64>,
    pub interval_ns: u64,
    pub cpus: &'a [u32],
}

/// Why a job file cannot be used, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error("line {line} of the job file sets {option}, which tardy sets itself; leave it out")]
    OwnOption { line: usize, option: String },
    #[error(
        "line {line} of the job file names a device, and a job writes, which destroys what is on it; if nothing on it is needed, add the option overwrite"
    )]
    WritesToDevice { line: usize },
    #[error("an interval of more than 1 s is below fio's lowest rate; use pace=back-to-back or a shorter --interval")]
    TooSlow,
}

/// The settings of a job file: number of the line, option and value.
fn settings(jobs: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    jobs.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim();
        if line.starts_with(['#', ';', '[']) || line.is_empty() {
            return None;
        }
        let (option, value) = line.split_once('=').unwrap_or((line, ""));
        Some((at + 1, option.trim(), value.trim()))
    })
}

/// Whether a job file names what it reads and writes.
pub fn names_a_place(jobs: &str) -> bool {
    settings(jobs).any(|(_, option, _)| PLACES.contains(&option))
}

/// The files, devices and directories that a job file names. Names in its directories are left out.
pub fn places(jobs: &str) -> Vec<PathBuf> {
    let values = settings(jobs).filter(|(_, option, _)| PLACES.contains(option)).map(|(_, _, value)| value);
    let named: Vec<&str> = values.flat_map(|value| value.split(':')).collect();
    // With a directory, other names are in it.
    let in_directory = settings(jobs).any(|(_, option, _)| option == "directory");
    let absolute = |name: &&str| Path::new(name).is_absolute() || !in_directory;
    named.iter().filter(|name| absolute(name)).map(PathBuf::from).collect()
}

/// Looks for what a run cannot accept.
///
/// # Errors
/// [`JobError`].
pub fn check(jobs: &str, overwrite: bool) -> Result<(), JobError> {
    for (line, option, _) in settings(jobs) {
        if OWN_OPTIONS.iter().any(|own| option == *own || (own.ends_with('_') && option.starts_with(own))) {
            return Err(JobError::OwnOption { line, option: option.to_owned() });
        }
    }
    let writes = settings(jobs).any(|(_, option, value)| {
        matches!(option, "rw" | "readwrite") && ["write", "rw", "trim"].iter().any(|word| value.contains(word))
    });
    let mut devices = settings(jobs).filter(|(_, option, value)| PLACES.contains(option) && value.contains("/dev/"));
    match devices.next() {
        Some((line, ..)) if writes && !overwrite => Err(JobError::WritesToDevice { line }),
        _ => Ok(()),
    }
}

/// The whole text for fio.
///
/// # Errors
/// [`JobError::TooSlow`].
pub fn text(requests: &Requests, jobs: Option<&str>, conditions: &Conditions<'_>) -> Result<String, JobError> {
    let seconds = conditions.duration_ns.map_or(WITHOUT_END_S, |ns| ns.div_ceil(1_000_000_000) + SPARE_S);
    let logs = conditions.logs.join("log");
    let mut text = String::from("[global]\n");
    let mut line = |key: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{key}={value}");
    };
    line("write_lat_log", &logs.display());
    line("log_unix_epoch", &1);
    line("per_job_logs", &1);
    line("disable_clat", &1);
    line("disable_slat", &1);
    line("thread", &1);
    line("time_based", &1);
    line("runtime", &seconds);
    if let Some(jobs) = jobs {
        if !names_a_place(jobs) {
            line("filename", &conditions.target.display());
            line("size", &conditions.bytes);
        }
        text.push_str(jobs);
        text.push('\n');
        return Ok(text);
    }
    let block = requests.block_bytes as u64;
    let part = conditions.bytes / requests.threads as u64 / block * block;
    let cpus: Vec<String> = conditions.cpus.iter().map(u32::to_string).collect();
    line("filename", &conditions.target.display());
    line("size", &part);
    line("offset_increment", &part);
    line("numjobs", &requests.threads);
    line("cpus_allowed", &cpus.join(","));
    line("cpus_allowed_policy", &"split");
    let (random, direction) =
        (if requests.random { "rand" } else { "" }, if requests.writes { "write" } else { "read" });
    line("rw", &format_args!("{random}{direction}"));
    line("bs", &block);
    line("ioengine", &requests.ioengine);
    line("iodepth", &requests.iodepth);
    let (key, value) = mode(requests);
    line(key, &value);
    if !requests.back_to_back {
        let per_second = 1_000_000_000 / conditions.interval_ns.max(1);
        if per_second == 0 {
            return Err(JobError::TooSlow);
        }
        line("rate_iops", &per_second);
    }
    text.push_str("[requests]\n");
    Ok(text)
}

fn mode(requests: &Requests) -> (&'static str, &'static str) {
    match requests.mode {
        Mode::Direct => ("direct", "1"),
        Mode::Sync => ("sync", "sync"),
        Mode::DataSync => ("sync", "dsync"),
        Mode::Fsync => ("fsync", "1"),
        Mode::Fdatasync => ("fdatasync", "1"),
        Mode::Buffered => ("direct", "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::storage::Storage;
    use archive::method::{MethodOptions, MethodRequest};
    use proptest::prelude::*;

    fn conditions() -> Conditions<'static> {
        Conditions {
            logs: Path::new("/var/tmp/tardy-fio-1"),
            target: Path::new("/var/tmp/tardy-storage-1"),
            bytes: 1 << 20,
            duration_ns: Some(1_500_000_000),
            interval_ns: 10_000_000,
            cpus: &[0, 2],
        }
    }

    #[test]
    fn options_become_a_job_with_a_part_for_each_thread() {
        let request = "storage:engine=fio,op=write,block=4k,mode=fsync,threads=3,ioengine=io_uring,iodepth=8";
        let MethodOptions::Storage(options) = MethodRequest::parse(request).unwrap().options else { panic!() };
        let requests = Requests::of(&options);
        let text = text(&requests, None, &conditions()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for expected in [
            "write_lat_log=/var/tmp/tardy-fio-1/log",
            "runtime=32",
            "size=348160",
            "offset_increment=348160",
            "numjobs=3",
            "cpus_allowed=0,2",
            "rw=randwrite",
            "ioengine=io_uring",
            "iodepth=8",
            "fsync=1",
            "rate_iops=100",
        ] {
            assert!(lines.contains(&expected), "{expected} is not in\n{text}");
        }
        let slow = Conditions { interval_ns: 1_000_000_001, ..conditions() };
        assert_eq!(super::text(&requests, None, &slow), Err(JobError::TooSlow));
    }

    #[test]
    fn a_job_file_comes_after_what_the_run_sets_and_keeps_its_own_place() {
        let requests = Requests::of(&Storage::default());
        let own = text(&requests, Some("[a]\nrw=read\nfilename=/data/x"), &conditions()).unwrap();
        assert!(!own.contains("tardy-storage") && own.find("per_job_logs") < own.find("[a]"), "{own}");
        let ours = text(&requests, Some("[a]\nrw=read"), &conditions()).unwrap();
        assert!(ours.contains("filename=/var/tmp/tardy-storage-1\nsize=1048576\n"), "{ours}");
    }

    #[test]
    fn a_job_file_that_destroys_a_device_or_moves_the_logs_is_refused() {
        let device = "[a]\nrw=randwrite\nfilename = /dev/sdb";
        assert_eq!(check(device, false), Err(JobError::WritesToDevice { line: 3 }));
        assert_eq!(check(device, true), Ok(()));
        assert_eq!(check("[a]\nrw=randread\nfilename=/dev/sdb", false), Ok(()));
        for option in ["write_lat_log=x", "log_avg_msec=10", "gtod_reduce", "per_job_logs = 0"] {
            let refused = check(&format!("# why\n[a]\n{option}"), true).unwrap_err();
            assert!(matches!(refused, JobError::OwnOption { line: 3, .. }), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_job_file_is_checked(jobs in "\\PC*(\\n\\PC*){0,8}") {
            let _ = check(&jobs, false);
            let _ = names_a_place(&jobs);
        }
    }
}
