//! Measures decoding: `decode_rate FILE.dat [text]` merges all CPUs, counts every event by its ID, and prints events
//! per CPU second; with `text` it also formats each event into memory.

#![allow(clippy::disallowed_methods, reason = "a program, not the pure half of the crate")]

use std::error::Error;

use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{TraceFile, TraceItem};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: decode_rate FILE.dat [text]")?;
    let bytes = std::fs::read(path)?;
    let file = TraceFile::parse(&bytes);
    for gap in &file.gaps {
        println!("gap: {gap}");
    }
    for _ in 0..3 {
        let begin_ns = cpu_time_ns();
        let mut by_id = vec![0u64; 1 << 16];
        let (mut gaps, mut busy_pid_sum) = (0u64, 0i64);
        for item in file.merged() {
            match item {
                TraceItem::Record(record) => {
                    by_id[usize::from(record.id)] += 1;
                    busy_pid_sum += i64::from(record.common_pid);
                }
                TraceItem::Gap(_) => gaps += 1,
            }
        }
        report("decode + merge", by_id.iter().sum(), gaps, cpu_time_ns() - begin_ns);
        std::hint::black_box(busy_pid_sum);
    }
    let first_ns = file.merged().next().map_or(0, |item| item.ts_ns());
    for from_ns in [0, 500_000_000, 1_000_000_000].map(|after_ns| first_ns + after_ns) {
        let begin_ns = cpu_time_ns();
        let events = file.window(from_ns, from_ns + 10_000_000).count();
        report("window of 10 ms", events as u64, 0, cpu_time_ns() - begin_ns);
    }
    if std::env::args().nth(2).as_deref() == Some("text") {
        let begin_ns = cpu_time_ns();
        let mut printer = EventPrinter::new(&file.metadata);
        let mut text = String::new();
        let (mut events, mut bytes) = (0, 0u64);
        for item in file.merged() {
            if let TraceItem::Record(record) = item {
                printer.print(&record, &mut text);
                text.push('\n');
                events += 1;
            }
            if text.len() > 1 << 20 {
                bytes += text.len() as u64;
                text.clear();
            }
        }
        report("decode + merge + text", events, 0, cpu_time_ns() - begin_ns);
        println!("{bytes} bytes of text");
    }
    Ok(())
}

fn report(what: &str, events: u64, gaps: u64, cpu_ns: u64) {
    let seconds = cpu_ns as f64 / 1e9;
    println!(
        "{what}: {events} events, {gaps} gaps, {seconds:.6} CPU s, {:.1} M events/s",
        events as f64 / seconds / 1e6
    );
}

/// CPU time of this process; wall time is meaningless on a busy machine.
fn cpu_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec of our own, and the call writes nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
