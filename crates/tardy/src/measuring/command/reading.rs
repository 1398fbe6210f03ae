//! Reads the output of a watched command, passes it on unchanged, and counts matching lines.

use runner::run::CountedOutput;
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Read, Write};
use std::thread::{self, JoinHandle};

const BUFFER_BYTES: usize = 16 << 10;
/// A longer line is processed in pieces.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Starts a thread that reads until all writers have closed the pipe.
pub fn pass_on<R, W>(from: R, to: W, counted: CountedOutput) -> JoinHandle<()>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    thread::spawn(move || read(from, to, &counted))
}

fn read(mut from: impl Read, mut to: impl Write, counted: &CountedOutput) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut line = Vec::new();
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let now_ns = monotonic_ns();
        // A closed output ends neither the command nor the count.
        let _ = to.write_all(bytes).and_then(|()| to.flush());
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') || line.len() >= LINE_BYTES_MAX {
                look_at(&mut line, now_ns, counted);
            }
            if !matches!(byte, b'\n' | b'\r') {
                line.push(*byte);
            }
        }
    }
    look_at(&mut line, monotonic_ns(), counted);
}

fn look_at(line: &mut Vec<u8>, now_ns: i64, counted: &CountedOutput) {
    if !line.is_empty() {
        counted.look_at(&String::from_utf8_lossy(line), Some(now_ns));
        line.clear();
    }
}

fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_passed_on_as_they_are_and_lines_found_however_they_end() {
        let counted = CountedOutput::new(&["XRun".into()]);
        let printed = b"XRun 1\r\n\xff XRun 2\rXR\nun XRun 3";
        let mut passed = Vec::new();
        read(&printed[..], &mut passed, &counted);
        assert_eq!(passed, printed);
        let counts = counted.take().unwrap();
        assert_eq!(counts.totals, [3]);
        let lines: Vec<&str> = counts.lines.iter().map(|line| line.line.as_str()).collect();
        assert_eq!(lines, ["XRun 1", "\u{fffd} XRun 2", "un XRun 3"]);
        assert!(counts.lines.iter().all(|line| line.monotonic_ns.is_some()));
    }
}
