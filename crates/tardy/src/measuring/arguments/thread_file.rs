//! The file of `--method map:file=...`: the synthetic threads of a run, each a `[[thread]]` table.

use super::declared::Contradiction;
use archive::method::map::Map;
use archive::method::{BusyThread, MethodOptions, MethodRequest, PeriodicWork};
use archive::settings::Policy;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use thiserror::Error;

const BYTES_MAX: u64 = 64 << 10;
const THREADS_MAX: usize = 64;
/// Bytes of a thread's name in the kernel.
const NAME_BYTES_MAX: usize = 15;
const PRIORITY_MAX: u8 = 98;
const PERIOD_US_MAX: u64 = 10_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadFile {
    #[serde(default)]
    thread: Vec<Described>,
}

/// A thread as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    cpu: u32,
    #[serde(default)]
    policy: PolicyWord,
    priority: Option<u8>,
    period_us: Option<u64>,
    work_us: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PolicyWord {
    #[default]
    Other,
    Fifo,
    Rr,
}

/// Reason why a file of threads is refused, and what to write instead.
#[derive(Debug, Error)]
pub enum ThreadFileError {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("it is longer than {BYTES_MAX} bytes")]
    TooLong,
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("it has {0} threads; write 1 to {THREADS_MAX} [[thread]] tables")]
    Count(usize),
    #[error("`{}` is not a thread name: use 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`", .0.escape_debug())]
    Name(String),
    #[error("two threads have the name {0}")]
    Twice(String),
    #[error("{0} needs priority = N, from 1 to {PRIORITY_MAX}")]
    Priority(String),
    #[error("{0} has a priority; add policy = \"fifo\" or \"rr\"")]
    PriorityOfOther(String),
    #[error("{0} needs both period_us and work_us to be periodic, or neither to be always busy")]
    HalfPeriodic(String),
    #[error("{0}: period_us is at most {PERIOD_US_MAX}, and work_us at least 1 and less than period_us")]
    Period(String),
    #[error("the file describes the threads; leave out {0}=")]
    Option(&'static str),
}

impl Described {
    fn checked(self) -> Result<BusyThread, ThreadFileError> {
        let Self { name, cpu, policy, priority, period_us, work_us } = self;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(fits) {
            return Err(ThreadFileError::Name(name));
        }
        let (policy, priority) = match (policy, priority) {
            (PolicyWord::Other, None) => (Policy::Other, 0),
            (PolicyWord::Other, Some(_)) => return Err(ThreadFileError::PriorityOfOther(name)),
            (PolicyWord::Fifo, Some(priority @ 1..=PRIORITY_MAX)) => (Policy::Fifo, priority),
            (PolicyWord::Rr, Some(priority @ 1..=PRIORITY_MAX)) => (Policy::Rr, priority),
            (PolicyWord::Fifo | PolicyWord::Rr, _) => return Err(ThreadFileError::Priority(name)),
        };
        let periodic = match (period_us, work_us) {
            (None, None) => None,
            (Some(period_us), Some(work_us)) if period_us <= PERIOD_US_MAX && (1..period_us).contains(&work_us) => {
                Some(PeriodicWork { period_us, work_us })
            }
            (Some(_), Some(_)) => return Err(ThreadFileError::Period(name)),
            _ => return Err(ThreadFileError::HalfPeriodic(name)),
        };
        Ok(BusyThread { name, cpu, policy, priority, periodic })
    }
}

/// The threads of a text.
fn threads(text: &str) -> Result<Vec<BusyThread>, ThreadFileError> {
    let described = toml::from_str::<ThreadFile>(text)?.thread;
    if described.is_empty() || described.len() > THREADS_MAX {
        return Err(ThreadFileError::Count(described.len()));
    }
    let mut threads: Vec<BusyThread> = Vec::new();
    for one in described {
        let thread = one.checked()?;
        if threads.iter().any(|other| other.name == thread.name) {
            return Err(ThreadFileError::Twice(thread.name));
        }
        threads.push(thread);
    }
    Ok(threads)
}

fn read(path: &Path) -> Result<Vec<BusyThread>, ThreadFileError> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(ThreadFileError::TooLong);
    }
    threads(&text)
}

/// The request with the threads of the file that it names.
///
/// # Errors
/// Reason why the file is refused.
pub fn with_threads(request: &MethodRequest) -> Result<MethodRequest, Contradiction> {
    let MethodOptions::Map(map) = &request.options else { return Ok(request.clone()) };
    let Some(file) = map.file() else { return Ok(request.clone()) };
    let also = [
        ("threads", map.threads.is_some()),
        ("policy", map.policy.is_some()),
        ("priority", map.priority.is_some()),
        ("work", map.work.is_some()),
    ];
    let also = also.into_iter().find_map(|(key, given)| given.then_some(key));
    let read = also.map_or_else(|| read(Path::new(file)), |key| Err(ThreadFileError::Option(key)));
    let described =
        read.map_err(|error| Contradiction::new("method", format!("failed to read the threads of {file}: {error}")))?;
    Ok(MethodRequest { options: MethodOptions::Map(Map { described, ..map.clone() }), ..request.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::assert_sentence;

    const FILE: &str = r#"
        [[thread]]
        name = "control"
        cpu = 0
        policy = "fifo"
        priority = 20
        period_us = 5000
        work_us = 1000

        [[thread]]
        name = "logger"
        cpu = 0
    "#;

    #[test]
    fn threads_are_periodic_or_always_busy() {
        let threads = threads(FILE).unwrap();
        let words: Vec<String> = threads.iter().map(ToString::to_string).collect();
        assert_sentence!("described-threads", words.join("\n"));
    }

    #[test]
    fn what_is_wrong_is_refused_with_what_to_write() {
        let with =
            |lines: &str| threads(&format!("[[thread]]\nname = \"a\"\ncpu = 0\n{lines}")).unwrap_err().to_string();
        for (lines, expected) in [
            ("policy = \"fifo\"", "a needs priority = N"),
            ("policy = \"rr\"\npriority = 99", "a needs priority = N"),
            ("priority = 3", "add policy"),
            ("period_us = 100", "both period_us and work_us"),
            ("period_us = 100\nwork_us = 100", "less than period_us"),
            ("period_us = 100\nwork_us = 0", "less than period_us"),
            ("period_us = 10000001\nwork_us = 1", "at most 10000000"),
            ("nice = 3", "unknown field `nice`"),
            ("policy = \"deadline\"", "unknown variant"),
            ("[[thread]]\nname = \"a\"\ncpu = 1", "two threads have the name a"),
            ("[[thread]]\nname = \"a\\u001bb\"\ncpu = 1", "`a\\u{1b}b` is not a thread name"),
        ] {
            let refused = with(lines);
            assert!(refused.contains(expected), "{lines}: {refused}");
        }
        assert!(threads("").unwrap_err().to_string().contains("0 threads"));
        let many = (0..65).map(|at| format!("[[thread]]\nname = \"a{at}\"\ncpu = 0\n")).collect::<String>();
        assert!(threads(&many).unwrap_err().to_string().contains("65 threads"));
    }

    #[test]
    fn the_file_replaces_the_options_of_equal_threads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("threads.toml");
        std::fs::write(&path, FILE).unwrap();
        let request = |options: &str| MethodRequest::parse(&format!("map:file={}{options}", path.display())).unwrap();
        assert_eq!(with_threads(&request("")).unwrap().threads().len(), 2);
        assert_eq!(with_threads(&request(",gap_ns=5000")).unwrap().threads().len(), 2);
        assert!(with_threads(&request(",work=10")).unwrap_err().why.contains("work="));
        std::fs::write(&path, " ".repeat(1 << 17)).unwrap();
        assert!(with_threads(&request("")).unwrap_err().why.contains("longer than"));
        std::fs::remove_file(&path).unwrap();
        assert!(with_threads(&request("")).unwrap_err().why.contains("threads.toml"));
    }
}
