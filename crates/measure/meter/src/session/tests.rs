//! A session with a scripted source.

use super::source::ControlPace;
use super::*;
use crate::measure::thread_record::ThreadRecord;
use archive::frame::{Decoder, Item};
use archive::message::ThreadProgress;
use archive::sample::Sample;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// Two threads, one of which never returns.
struct Hanging {
    record: ThreadRecord,
    /// Whether the hang is detected before the end, or only at the stop.
    noticed: bool,
}

impl Hanging {
    fn problem(&self) -> MeterProblem {
        MeterProblem::NeverWoke { cpus: vec![1] }
    }
}

impl SampleSource for Hanging {
    fn start(&mut self) -> Span {
        self.record.count(&Sample { cpu: 0, cycle: 0, due_ns: 0, latency_ns: 5 });
        Span { start_ns: 0, count_from_ns: 0, end_ns: 1 }
    }

    fn drain(&mut self, _batch: &mut Batch) {}

    fn progress(&self) -> Vec<ThreadProgress> {
        Vec::new()
    }

    fn control_pace(&self) -> ControlPace {
        ControlPace::Spread { without_end_ns: i64::MAX }
    }

    fn request_control(&mut self) -> bool {
        false
    }

    fn is_done(&mut self, _now_ns: i64) -> Result<bool, MeterProblem> {
        if self.noticed { Err(self.problem()) } else { Ok(true) }
    }

    fn stop(&mut self, _send: source::Send<'_>) -> Result<(), MeterProblem> {
        Err(self.problem())
    }

    fn losses(&self) -> Vec<archive::message::Loss> {
        Vec::new()
    }

    fn send_totals(&mut self, last: bool, send: source::Send<'_>) {
        if !last {
            return;
        }
        for (thread, cpu) in [(0, 0), (1, 1)] {
            let (totals, histogram) = (self.record.totals(), self.record.histogram());
            send(Message::Thread { thread, cpu, totals, histogram, worst: Vec::new() });
        }
    }
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn totals_of_every_cpu_are_sent_although_one_hangs() {
    for noticed in [false, true] {
        let output = Output::default();
        let (control, _host) = std::io::pipe().unwrap();
        let (signals, _sender) = std::io::pipe().unwrap();
        let control = File::from(OwnedFd::from(control));
        let mut lines = Lines { link: Link::new(output.clone()), control, signals: signals.into(), bell: None };
        let resources = SessionResources {
            audit: None,
            block_path: None,
            capturing: None,
            tracing: None,
            loads: Loads { running: RunningLoads::default(), start: LoadStart::OnceReady },
            cpu_dma_latency_us: None,
            clocks: Clocks::now(),
            settings: HeldSettings::default(),
        };
        let settings = RunSettings { counters: false, lock_memory: false, ..RunSettings::default() };
        let source = Hanging { record: ThreadRecord::new(0), noticed };
        let ended = Session::new(&settings, source, resources).run(&mut lines);
        assert!(matches!(ended, Err(MeterProblem::NeverWoke { .. })));
        let bytes = output.0.lock().unwrap().clone();
        let totals = Decoder::default().push(&bytes).into_iter().filter_map(|item| match item {
            Item::Message(Message::Thread { thread, totals, .. }) => Some((thread, totals.cycles)),
            _ => None,
        });
        assert_eq!(totals.collect::<Vec<_>>(), [(0, 1), (1, 1)]);
    }
}
