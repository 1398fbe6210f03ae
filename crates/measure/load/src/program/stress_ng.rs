//! stress-ng: any of its stressors. At the end of a round it reports the bogo operations of each.

use super::options::Options;
use super::{CommandLine, Context, Program, is_decimal, no_server, nothing_to_check};
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "stress-ng",
    executables: &["stress-ng"],
    check: nothing_to_check,
    server: no_server,
    round,
    work: |output, _: &Path| bogo_operations(output),
    reports_progress: false,
};

fn round(options: &Options, context: &Context, _: u64) -> Vec<CommandLine> {
    let stressor = options.subject().unwrap_or_default();
    let mut line = vec!["stress-ng".into(), format!("--{stressor}"), options.value_or("workers", "0").into()];
    if let Some(operations) = options.value("ops") {
        line.extend([format!("--{stressor}-ops"), operations.into()]);
    }
    match (options.value("time"), options.is_set("ops")) {
        (Some(seconds), _) => line.extend(["--timeout".into(), format!("{seconds}s")]),
        (None, false) => line.extend(["--timeout".into(), "5s".into()]),
        // The number of operations ends the round.
        (None, true) => line.extend(["--timeout".into(), "0".into()]),
    }
    let place = context.directory.to_string_lossy().into_owned();
    line.extend(["--metrics-brief", "--temp-path", &place].map(String::from));
    vec![line]
}

/// The sum of the second column in the lines of `--metrics-brief`: after the process number the stressor, its
/// operations, and at least five figures. Other lines start alike and have other columns.
fn bogo_operations(output: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(output);
    let of_line = |line: &str| {
        let (_, figures) = line.split_once(']').filter(|(head, _)| head.starts_with("stress-ng: "))?;
        let fields: Vec<&str> = figures.split_whitespace().collect();
        let numbers = fields.get(2..7)?.iter().all(|field| is_decimal(field));
        fields[1].parse::<u64>().ok().filter(|_| numbers)
    };
    text.lines().filter_map(of_line).fold(None, |sum, operations| Some(sum.unwrap_or(0u64).saturating_add(operations)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::rounds::any_bytes;
    use archive::settings::LoadRequest;

    /// Output of version 0.15.06, and of older ones for the first line.
    const OUTPUT: &str = "\
stress-ng: info:  [18344] dispatching hogs: 1 matrix
stress-ng: metrc: [18344] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [18344]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [18344] matrix              200      0.09      0.05      0.00      2200.64        4434.39
stress-ng: metrc: [18344] miscellaneous metrics:
stress-ng: metrc: [18344] matrix            154961.97 add matrix ops per sec (geometic mean of 1 instances)
stress-ng: info:  [18344] successful run completed in 0.10s
";

    #[test]
    fn the_operations_of_every_stressor_are_added() {
        assert_eq!(bogo_operations(OUTPUT.as_bytes()), Some(200));
        let older = "stress-ng: info:  [99] cpu                 714      1.15      0.41      0.00       621.25        1708.05\n";
        assert_eq!(bogo_operations(format!("{OUTPUT}{older}").as_bytes()), Some(914));
        assert_eq!(bogo_operations(b"stress-ng: info:  [1] successful run completed in 0.10s"), None);
        any_bytes(&PROGRAM, OUTPUT);
    }

    #[test]
    fn rounds_end_by_operations_or_by_time() {
        let line = |text: &str| {
            let Ok(LoadRequest::Program { words, .. }) = LoadRequest::parse(text) else { panic!("no program") };
            round(&Options(&words), &Context { directory: Path::new("/x"), server_port: None }, 0)[0].join(" ")
        };
        assert_eq!(
            line("stress-ng:matrix,ops=1000,cpus=0-1"),
            "stress-ng --matrix 0 --matrix-ops 1000 --timeout 0 --metrics-brief --temp-path /x"
        );
        assert_eq!(
            line("stress-ng:hdd,workers=2,time=3"),
            "stress-ng --hdd 2 --timeout 3s --metrics-brief --temp-path /x"
        );
        assert!(line("stress-ng:vm").contains("--timeout 5s"));
    }
}
