//! fio: reads and writes in a directory that is removed with the load. It reports the number of its I/Os in JSON.

use super::options::Options;
use super::{CommandLine, Context, Program, Unusable, no_server};
use serde_json::Value;
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "fio",
    executables: &["fio"],
    check,
    server: no_server,
    round,
    work: |output, _: &Path| total_ios(output),
    reports_progress: false,
};

/// Values of fio's option `rw`.
const PATTERNS: [&str; 11] = [
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];

fn job_file<'a>(options: &'a Options) -> Option<&'a str> {
    options.subject().filter(|subject| subject.contains('/'))
}

fn check(options: &Options) -> Result<(), Unusable> {
    if let Some(path) = job_file(options) {
        let is_there = Path::new(path).is_file();
        return if is_there { Ok(()) } else { Err(Unusable::NoFile { what: "job file", path: path.into() }) };
    }
    // `randread:8` reads 8 blocks before each new place.
    let pattern = options.subject().map(|subject| subject.split(':').next().unwrap_or(subject));
    match pattern.filter(|pattern| !PATTERNS.contains(pattern)) {
        Some(pattern) => Err(Unusable::NoPattern { pattern: pattern.into(), known: PATTERNS.join(", ") }),
        None => Ok(()),
    }
}

fn round(options: &Options, context: &Context, _: u64) -> Vec<CommandLine> {
    let mut line = vec!["fio".to_owned(), "--output-format=json".into()];
    if let Some(path) = job_file(options) {
        line.push(path.into());
        return vec![line];
    }
    line.extend([
        "--name=tardy-load".into(),
        format!("--directory={}", context.directory.display()),
        format!("--rw={}", options.subject().unwrap_or("randrw")),
        format!("--bs={}", options.value_or("bs", "4k")),
        format!("--size={}", options.value_or("size", "16m")),
        format!("--numjobs={}", options.value_or("jobs", "1")),
        format!("--runtime={}", options.value_or("time", "5")),
        "--time_based".into(),
        "--ioengine=psync".into(),
        "--group_reporting".into(),
    ]);
    if options.is_set("direct") {
        line.push("--direct=1".into());
    }
    vec![line]
}

/// I/Os of all jobs. Lines about the end of the round may precede the document.
fn total_ios(output: &[u8]) -> Option<u64> {
    let start = output.iter().position(|&byte| byte == b'{')?;
    let document: Value = serde_json::Deserializer::from_slice(&output[start..]).into_iter().next()?.ok()?;
    let jobs = document.get("jobs")?.as_array()?;
    let of_job = |job: &Value| {
        let of = |kind: &str| job.get(kind).and_then(|kind| kind.get("total_ios")).and_then(Value::as_u64);
        ["read", "write", "trim"].into_iter().filter_map(of).fold(0u64, u64::saturating_add)
    };
    Some(jobs.iter().map(of_job).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::rounds::any_bytes;
    use archive::settings::LoadRequest;

    /// Output of version 3.33 when interrupted, without most of its figures.
    const OUTPUT: &str = r#"
fio: terminating on signal 2
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "tardy-load",
      "error" : 0,
      "read" : { "io_bytes" : 24821760, "total_ios" : 6060, "short_ios" : 0 },
      "write" : { "io_bytes" : 25088000, "total_ios" : 6125 },
      "trim" : { "io_bytes" : 0, "total_ios" : 0 },
      "sync" : { "total_ios" : 0 }
    }
  ]
}
"#;

    #[test]
    fn reads_and_writes_are_added() {
        assert_eq!(total_ios(OUTPUT.as_bytes()), Some(12_185));
        assert_eq!(total_ios(b"fio: failed parsing rw=nonsense"), None);
        any_bytes(&PROGRAM, OUTPUT);
    }

    #[test]
    fn a_pattern_that_fio_lacks_is_refused() {
        let checked = |text: &str| match LoadRequest::parse(text) {
            Ok(LoadRequest::Program { words, .. }) => check(&Options(&words)),
            other => panic!("no program: {other:?}"),
        };
        let refused = Unusable::NoPattern { pattern: "x".into(), known: PATTERNS.join(", ") };
        assert_eq!(checked("fio:x"), Err(refused));
        assert_eq!((checked("fio:randread:8"), checked("fio:rw,bs=16k")), (Ok(()), Ok(())));
        assert!(matches!(checked("fio:/nowhere/jobs.fio"), Err(Unusable::NoFile { .. })));
    }

    #[test]
    fn files_lie_in_the_load_s_directory() {
        let Ok(LoadRequest::Program { words, .. }) = LoadRequest::parse("fio:randwrite,bs=16k,direct") else {
            panic!("no program");
        };
        let line = round(&Options(&words), &Context { directory: Path::new("/x"), server_port: None }, 0)[0].join(" ");
        for part in ["--directory=/x", "--rw=randwrite", "--bs=16k", "--direct=1", "--runtime=5"] {
            assert!(line.contains(part), "{line}");
        }
    }
}
