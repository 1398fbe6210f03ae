//! rt-app: a set of tasks from a file. It logs a line for each completed phase in its working directory, which is the
//! load's, unless the file sets another `logdir`.

use super::options::Options;
use super::{CommandLine, Context, Program, Unusable, no_server};
use std::fs;
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "rt-app",
    executables: &["rt-app"],
    check,
    server: no_server,
    round,
    work: |_, place| phases(place),
    reports_progress: false,
};

fn check(options: &Options) -> Result<(), Unusable> {
    let path = options.subject().unwrap_or_default();
    if !path.starts_with('/') {
        return Err(Unusable::RelativePath { what: "its file", path: path.into() });
    }
    let Ok(tasks) = fs::read(path) else { return Err(Unusable::NoFile { what: "file", path: path.into() }) };
    if is_calibrated(&tasks) { Ok(()) } else { Err(Unusable::NotCalibrated { path: path.into() }) }
}

/// Whether the file contains the duration of a round of rt-app's loop. rt-app's JSON may have comments, trailing
/// commas, and duplicate keys, so only the words around the key are examined.
fn is_calibrated(tasks: &[u8]) -> bool {
    let text = String::from_utf8_lossy(tasks);
    let value = text.rsplit_once("\"calibration\"").and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    value.is_some_and(|value| value.trim_start().starts_with(|letter: char| letter.is_ascii_digit()))
}

fn round(options: &Options, _: &Context, _: u64) -> Vec<CommandLine> {
    vec![vec!["rt-app".into(), options.subject().unwrap_or_default().into()]]
}

/// Lines of all logs below `place`, which are removed so that those of the next round are counted separately.
fn phases(place: &Path) -> Option<u64> {
    let mut sum = None;
    for path in fs::read_dir(place).ok()?.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ending| ending == "log")
            && let Ok(log) = fs::read(&path)
        {
            sum = Some(sum.unwrap_or(0) + lines(&log));
            let _ = fs::remove_file(&path);
        }
    }
    sum
}

/// A line of figures starts with the number of the thread; the first line is a header.
fn lines(log: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(log);
    let figures = |line: &&str| line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok());
    text.lines().filter(figures).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
#idx   perf     run  period           start             end    rel_st      slack c_duration   c_period     wu_lat
   0  21012    2013   20010      1700000000      1700020010       120      17000      20000      20000         12
   0  21010    2011   20012      1700020010      1700040022     20130      16998      20000      20000          9
";

    #[test]
    fn a_file_that_has_rt_app_calibrate_itself_is_known() {
        for calibrated in ["{ \"calibration\" : 15 }", "\"calibration\": \"CPU0\", \"calibration\":\n\t100,"] {
            assert!(is_calibrated(calibrated.as_bytes()), "{calibrated}");
        }
        for not in
            ["", "{}", "\"calibration\" : \"CPU0\"", "\"calibration\"", "\"calibration\" 15", "\u{ff}\"calibration\":"]
        {
            assert!(!is_calibrated(not.as_bytes()), "{not}");
        }
    }

    #[test]
    fn a_line_is_a_phase_and_logs_are_read_once() {
        let place = tempfile::tempdir().expect("a directory");
        assert_eq!(phases(place.path()), None);
        for name in ["rt-app-one-0.log", "rt-app-two-1.log"] {
            fs::write(place.path().join(name), LOG).expect("a log");
        }
        assert_eq!(phases(place.path()), Some(4));
        assert_eq!(phases(place.path()), None);
        for end in 0..LOG.len() {
            assert!(lines(&LOG.as_bytes()[..end]) <= 2);
        }
        assert_eq!(lines(b"\xff\xfe\n7\xff 1\n12 3"), 1);
    }
}
