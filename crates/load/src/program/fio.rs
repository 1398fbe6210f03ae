//! fio: reads and writes in a directory that goes with the load. It tells the number of its I/Os in JSON.

use super::words::Words;
use super::{CommandLine, Program, Setting, alone};
use serde_json::Value;
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "fio",
    executables: &["fio"],
    check,
    companion: alone,
    round,
    work: |output, _: &Path| total_ios(output),
    tells_meanwhile: false,
};

fn job_file<'a>(words: &'a Words) -> Option<&'a str> {
    words.subject().filter(|subject| subject.contains('/'))
}

fn check(words: &Words) -> Result<(), String> {
    match job_file(words) {
        Some(path) if !Path::new(path).is_file() => Err(format!("there is no job file {path} on the target")),
        _ => Ok(()),
    }
}

fn round(words: &Words, setting: &Setting, _: u64) -> Vec<CommandLine> {
    let mut line = vec!["fio".to_owned(), "--output-format=json".into()];
    if let Some(path) = job_file(words) {
        line.push(path.into());
        return vec![line];
    }
    line.extend([
        "--name=tardy-load".into(),
        format!("--directory={}", setting.place.display()),
        format!("--rw={}", words.subject().unwrap_or("randrw")),
        format!("--bs={}", words.value_or("bs", "4k")),
        format!("--size={}", words.value_or("size", "16m")),
        format!("--numjobs={}", words.value_or("jobs", "1")),
        format!("--runtime={}", words.value_or("time", "5")),
        "--time_based".into(),
        "--ioengine=psync".into(),
        "--group_reporting".into(),
    ]);
    if words.is_set("direct") {
        line.push("--direct=1".into());
    }
    vec![line]
}

/// I/Os of all jobs. Before the document there may be lines about how the round ended.
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

    /// As version 3.33 prints when it is interrupted, without most of its figures.
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
    fn files_lie_in_the_load_s_directory() {
        let Ok(LoadRequest::Program { words, .. }) = LoadRequest::parse("fio:randwrite,bs=16k,direct") else {
            panic!("no program");
        };
        let line = round(&Words(&words), &Setting { place: Path::new("/x"), port: None }, 0)[0].join(" ");
        for part in ["--directory=/x", "--rw=randwrite", "--bs=16k", "--direct=1", "--runtime=5"] {
            assert!(line.contains(part), "{line}");
        }
    }
}
