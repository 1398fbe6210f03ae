//! When a busy thread saw that it did not have its CPU, from its samples.

use archive::reader::Run;
use archive::samples_file;
use std::io;

/// In ns of CLOCK_MONOTONIC.
pub type Stretch = (i64, i64);

/// Times from an archive are kept within 36 years of the boot, so that no sum of two overflows.
const TIME_NS_MAX: i64 = 1 << 60;

/// Hands over the gaps of a thread as it saw them: one after the other, none empty. `false` if the run kept no samples.
///
/// # Errors
/// If the file cannot be read.
pub fn each_gap(run: &Run, thread: u32, mut visit: impl FnMut(Stretch)) -> io::Result<bool> {
    let Ok(file) = samples_file::open(&run.directory, thread) else { return Ok(false) };
    let mut after_ns = i64::MIN;
    for piece in samples_file::pieces(file) {
        for sample in piece? {
            let from_ns = sample.due_ns.clamp(-TIME_NS_MAX, TIME_NS_MAX);
            let until_ns = from_ns + sample.latency_ns.clamp(0, TIME_NS_MAX);
            // One thread has one gap at a time.
            if from_ns >= after_ns && until_ns > from_ns {
                after_ns = until_ns;
                visit((from_ns, until_ns));
            }
        }
    }
    Ok(true)
}
