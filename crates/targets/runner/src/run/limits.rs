//! Time limits of each phase before a run counts as stuck.

use archive::message::RunPhase;
use archive::settings::RunSettings;
use std::time::Duration;

/// Time after which a dead connection is detected; ssh takes 20 s.
const LINE_NOTICED: Duration = Duration::from_secs(30);

/// Time limits of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeLimits {
    /// Longest time without a frame from the meter, in any phase.
    pub silence: Duration,
    pub check: Duration,
    pub prepare: Duration,
    pub load: Duration,
    pub settle: Duration,
    /// `None`: as long as frames keep coming.
    pub measure: Option<Duration>,
    pub collect: Duration,
    pub restore: Duration,
    /// Time from a request to stop until the measurement must have ended; also from the ending message until the exit.
    pub stop: Duration,
}

impl TimeLimits {
    /// Limits for a run with these settings. The meter reports several times a second while it measures, so a `silence`
    /// of tens of seconds is ample.
    pub fn of(settings: &RunSettings, silence: Duration) -> Self {
        let minute = Duration::from_secs(60);
        let settle = Duration::from_nanos(settings.settle_ns);
        Self {
            silence: silence.saturating_add(settle),
            check: minute,
            prepare: minute * 2,
            load: minute * 2,
            settle: settle.saturating_add(minute),
            measure: settings.duration_ns.map(|ns| Duration::from_nanos(ns).saturating_add(minute)),
            collect: minute * 10,
            restore: minute,
            stop: silence.min(minute),
        }
    }

    /// Limits for a connection that may be dead for a while before this is detected: lost data is not silence of the
    /// meter.
    pub fn behind_a_line(self) -> Self {
        Self { silence: self.silence.max(LINE_NOTICED), stop: self.stop.max(LINE_NOTICED), ..self }
    }

    /// Limits for a target whose clock is slower than the host's by this factor.
    pub fn stretched(&self, slowdown: u32) -> Self {
        let long = |limit: Duration| limit.saturating_mul(slowdown);
        Self {
            silence: long(self.silence),
            check: long(self.check),
            prepare: long(self.prepare),
            load: long(self.load),
            settle: long(self.settle),
            measure: self.measure.map(long),
            collect: long(self.collect),
            restore: long(self.restore),
            stop: long(self.stop),
        }
    }

    /// Limit of one phase, `None` for no limit.
    pub fn phase(&self, phase: RunPhase) -> Option<Duration> {
        match phase {
            RunPhase::Check => Some(self.check),
            RunPhase::Prepare => Some(self.prepare),
            RunPhase::Load => Some(self.load),
            RunPhase::Settle => Some(self.settle),
            RunPhase::Measure => self.measure,
            RunPhase::Collect => Some(self.collect),
            RunPhase::Restore => Some(self.restore),
        }
    }
}

/// The phase in words.
pub fn phase_title(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::Check => "check",
        RunPhase::Prepare => "prepare",
        RunPhase::Load => "load",
        RunPhase::Settle => "settle",
        RunPhase::Measure => "measure",
        RunPhase::Collect => "collect",
        RunPhase::Restore => "restore",
    }
}
