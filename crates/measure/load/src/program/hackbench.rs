//! hackbench: it prints what it sends at the start of a round, and the duration at the end.

use super::options::Options;
use super::{CommandLine, Context, Program, is_decimal, no_server, nothing_to_check};
use std::path::Path;

pub const PROGRAM: Program = Program {
    name: "hackbench",
    executables: &["hackbench"],
    check: nothing_to_check,
    server: no_server,
    round,
    work: |output, _: &Path| messages(output),
    reports_progress: false,
};

fn round(options: &Options, _: &Context, _: u64) -> Vec<CommandLine> {
    let mut line: CommandLine = ["hackbench", "--groups", options.value_or("groups", "1")].map(String::from).into();
    line.extend(
        ["--loops", options.value_or("loops", "200"), "--datasize", options.value_or("bytes", "100")].map(String::from),
    );
    for flag in ["pipe", "threads"].into_iter().filter(|flag| options.is_set(flag)) {
        line.push(format!("--{flag}"));
    }
    vec![line]
}

/// Messages of a completed round: each sender sends this number to each receiver of its group, and half of the file
/// descriptors of a group are senders.
fn messages(output: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(output);
    let number_behind = |words: &str| {
        let (_, rest) = text.split_once(words)?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    let seconds = text.split_once("Time:")?.1.split_whitespace().next()?;
    let (groups, descriptors) = (number_behind("mode with")?, number_behind("groups using")?);
    let loops = number_behind("will pass")?;
    let pairs = (descriptors / 2).checked_mul(descriptors / 2)?;
    let messages = groups.checked_mul(pairs)?.checked_mul(loops)?;
    (is_decimal(seconds) && seconds.contains(|digit| matches!(digit, '1'..='9'))).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::rounds::any_bytes;

    /// Output of version 2.40.
    const OUTPUT: &str = "\
Running in threaded mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 50 messages of 100 bytes
Time: 0.016
";

    #[test]
    fn messages_count_when_they_were_sent() {
        assert_eq!(messages(OUTPUT.as_bytes()), Some(2 * 20 * 20 * 50));
        let (unfinished, _) = OUTPUT.split_once("Time").expect("a time");
        assert_eq!(messages(unfinished.as_bytes()), None);
        any_bytes(&PROGRAM, OUTPUT);
    }
}
