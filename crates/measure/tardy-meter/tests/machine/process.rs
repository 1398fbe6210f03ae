//! A meter process under test: started with settings, controlled over its pipes, with its stream decoded.

use archive::frame::{Decoder, Item};
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::sample::Totals;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use archive::spike::Spike;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// Settings of a short run without tracing.
pub fn short(duration_ms: u64) -> RunSettings {
    RunSettings {
        duration_ns: Some(duration_ms * 1_000_000),
        settle_ns: 20_000_000,
        trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
        ..RunSettings::default()
    }
}

/// Settings of a run without tracing that ends after this many cycles of each thread, however few turns a busy machine
/// gives them.
pub fn cycles(count: u64) -> RunSettings {
    RunSettings { cycles: Some(count), ..short(120_000) }
}

/// A short run with tracing.
pub fn traced(duration_ms: u64) -> RunSettings {
    let trace = TraceSettings { mode: SnapshotMode::Auto, buffer_kb_per_cpu: 1024, ..TraceSettings::default() };
    RunSettings { trace, ..short(duration_ms) }
}

/// A running meter.
pub struct Meter {
    pub child: Child,
    pub input: Option<ChildStdin>,
    output: ChildStdout,
    decoder: Decoder,
    pub messages: Vec<Message>,
}

impl Meter {
    /// Starts a meter with its journals in `state`.
    pub fn start(settings: &RunSettings, state: &Path) -> Self {
        Self::start_as(Command::new(env!("CARGO_BIN_EXE_tardy-meter")), settings, state)
    }

    pub fn start_as(mut command: Command, settings: &RunSettings, state: &Path) -> Self {
        command.arg("measure").env("TARDY_STATE_DIR", state).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the meter starts");
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{}", serde_json::to_string(settings).unwrap()).unwrap();
        let output = child.stdout.take().unwrap();
        Self { child, input: Some(input), output, decoder: Decoder::default(), messages: Vec::new() }
    }

    /// Reads until the meter enters a phase, or its stream ends.
    pub fn read_until(&mut self, phase: RunPhase) {
        self.read_until_one(|message| matches!(message, Message::Phase { phase: seen, .. } if *seen == phase));
    }

    /// Reads until every thread has measured something, or the stream ends.
    pub fn read_until_measured(&mut self) {
        let all_measured = |message: &Message| match message {
            Message::Progress { threads, .. } => !threads.is_empty() && threads.iter().all(|thread| thread.cycles > 0),
            _ => false,
        };
        self.read_until_one(all_measured);
    }

    fn read_until_one(&mut self, wanted: impl Fn(&Message) -> bool) {
        while !self.messages.iter().any(&wanted) && self.read_some() {}
    }

    fn read_some(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        let count = self.output.read(&mut bytes).unwrap_or(0);
        for item in self.decoder.push(&bytes[..count]) {
            match item {
                Item::Message(message) => self.messages.push(message),
                Item::Chunk { .. } => {}
                other => panic!("the meter's stream is damaged: {other:?}"),
            }
        }
        count > 0
    }

    /// Reads the rest and waits for the exit.
    pub fn finish(mut self) -> Finished {
        while self.read_some() {}
        let status = self.child.wait().unwrap();
        Finished { status, messages: self.messages }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// Output of an ended meter.
pub struct Finished {
    pub status: ExitStatus,
    pub messages: Vec<Message>,
}

impl Finished {
    pub fn ending(&self) -> Option<Ending> {
        self.messages.iter().find_map(|message| match message {
            Message::End { ending, .. } => Some(*ending),
            _ => None,
        })
    }

    /// Totals of every thread, by number.
    pub fn totals(&self) -> Vec<Totals> {
        let last: std::collections::BTreeMap<u32, Totals> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Thread { thread, totals, .. } => Some((*thread, *totals)),
                _ => None,
            })
            .collect();
        last.into_values().collect()
    }

    pub fn spikes(&self) -> Vec<Spike> {
        self.messages
            .iter()
            .filter_map(|message| match message {
                Message::Spike(spike) => Some((**spike).clone()),
                _ => None,
            })
            .collect()
    }

    /// Problems with at least this severity: the code in brackets, the text and the fix.
    pub fn problems(&self, least: Severity) -> Vec<String> {
        self.messages
            .iter()
            .filter_map(|message| match message {
                Message::Problem(problem) if problem.severity >= least => {
                    Some(format!("[{}] {} -> {}", problem.code, problem.text, problem.fix))
                }
                _ => None,
            })
            .collect()
    }
}
