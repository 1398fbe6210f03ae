//! `audio`: the periods of a sound card until the thread that plays or captures them runs (the Senoner test), and the latency of
//! a loop from its output to its input.
//!
//! ```text
//! card              period 1 ─ interrupt ─ · period 2 · · ─ interrupt ─┐
//! measuring thread  · · · · · └─ clock, refills, works, waits · · · · ·└─ clock |
//!                                |------------ one period ------------|== period |
//!                                                          interrupt |====== ====|
//! ```

mod round_trip;

use crate::OnDevice;
use crate::kernel::pcm::{Direction, Shape, Stream};
use archive::loss::LossKind;
use archive::method::Method;
use archive::method::audio::{self, Audio, Refill, Sample};
use archive::method::state::{Obstacle, ObstacleKind};
use meter::journal::Journal;
use meter::kernel::clock;
use meter::measure::loss_counter::LossCounter;
use meter::measure::waiter::{Arrival, Waiter, WaiterCounts};
use meter::methods::error::MethodError;
use meter::methods::{MeasuringMethod, Release, RunContext, ThreadSetup};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const PLAYBACK: &str = "/dev/snd/pcmC0D0p";
const CAPTURE: &str = "/dev/snd/pcmC0D0c";

/// A card without an interrupt for this time gives no signal.
const SILENCE: Duration = Duration::from_secs(1);

/// The frames of a transfer: with [`Refill::Period`] the thread waits for those of one period, as in the original's blocking write.
fn refill(options: &Audio) -> Refill {
    match options.sample() {
        Sample::Period => options.refill(),
        Sample::Interrupt | Sample::Loop => Refill::All,
    }
}

fn direction(options: &Audio) -> Direction {
    match (options.sample(), options.direction()) {
        (Sample::Loop, _) | (_, audio::Direction::Playback) => Direction::Playback,
        (_, audio::Direction::Capture) => Direction::Capture,
    }
}

fn device(options: &Audio) -> &str {
    options.device().unwrap_or(match direction(options) {
        Direction::Playback => PLAYBACK,
        Direction::Capture => CAPTURE,
    })
}

/// The device that captures what the other one plays.
fn far(options: &Audio) -> Option<&str> {
    (options.sample() == Sample::Loop).then(|| options.far().unwrap_or(CAPTURE))
}

fn shape(options: &Audio, direction: Direction) -> Shape {
    Shape { direction, rate: options.rate() as u32, period: options.period() as u32, periods: options.periods() as u32 }
}

fn period_ns(shape: Shape) -> i64 {
    i64::from(shape.period) * 1_000_000_000 / i64::from(shape.rate.max(1))
}

/// How the transfer of a period ended.
enum Transferred {
    Whole,
    /// The card is silent.
    Not,
}

/// The thread that refills a card or empties it at the interrupt of each period.
struct Periods {
    stream: Stream,
    measured: Sample,
    refill: Refill,
    period_ns: i64,
    /// Work of the thread in each period.
    work_ns: i64,
    /// When the thread saw the last period; `None` while the stream is not running.
    last_seen_ns: Option<i64>,
    /// When the kernel handled the interrupt of the last period; with whole periods, when the last one was transferred.
    last_interrupt_ns: Option<i64>,
    /// Periods lost to an xrun since the last sample.
    lost: u64,
    counts: Arc<WaiterCounts>,
    xruns: Arc<LossCounter>,
    over: Arc<AtomicBool>,
}

impl Periods {
    fn start(&mut self) -> Arrival {
        let started = self.stream.start();
        let now_ns = clock::monotonic_ns();
        if let Some(seen_ns) = self.last_seen_ns {
            self.lost += periods_in(now_ns - seen_ns, self.period_ns);
        }
        self.last_interrupt_ns = None;
        self.last_seen_ns = started.is_ok().then_some(now_ns);
        match started {
            Ok(()) => Arrival::Undisturbed { until_ns: now_ns },
            Err(_) => {
                // A card that is gone refuses at once.
                clock::sleep_until_ns(now_ns + SILENCE.as_nanos() as i64);
                Arrival::NoSignal
            }
        }
    }

    fn xrun(&mut self) -> Arrival {
        self.xruns.add(1);
        self.start()
    }

    /// Plays or captures one period, as soon as the card has room or data for all of it.
    fn transfer_period(&mut self) -> io::Result<Transferred> {
        let mut left = self.stream.shape().period as usize;
        loop {
            left = left.saturating_sub(self.stream.transfer(left)?);
            if left == 0 {
                return Ok(Transferred::Whole);
            }
            if !self.stream.wait(SILENCE) {
                return Ok(Transferred::Not);
            }
        }
    }

    /// From one transfer of a whole period to the next.
    fn wait_for_transfer(&mut self, last_ns: i64) -> Arrival {
        match self.transfer_period() {
            Err(_) => return self.xrun(),
            Ok(Transferred::Not) => {
                self.last_seen_ns = None;
                return Arrival::NoSignal;
            }
            Ok(Transferred::Whole) => {}
        }
        let seen_ns = clock::monotonic_ns();
        self.last_seen_ns = Some(seen_ns);
        let lost = std::mem::take(&mut self.lost);
        if self.last_interrupt_ns.replace(seen_ns).is_none() {
            self.lost = lost + periods_in(seen_ns - last_ns, self.period_ns);
            return Arrival::Undisturbed { until_ns: seen_ns };
        }
        deviation(last_ns, seen_ns, self.period_ns, lost)
    }

    /// Works until this instant, or until the run ends.
    fn work(&self) {
        let Some(seen_ns) = self.last_seen_ns else { return };
        while clock::monotonic_ns() < seen_ns + self.work_ns && !self.over.load(Relaxed) {}
    }
}

/// Whole periods in a stretch, rounded.
fn periods_in(ns: i64, period_ns: i64) -> u64 {
    ((ns + period_ns / 2) / period_ns.max(1)).max(0) as u64
}

/// How far the distance of two periods is from their length, as a stretch that ends now. The interrupts between them were
/// missed.
fn deviation(last_ns: i64, seen_ns: i64, period_ns: i64, lost: u64) -> Arrival {
    let off_ns = (seen_ns - last_ns - period_ns).abs();
    let skipped = lost + periods_in(seen_ns - last_ns, period_ns).saturating_sub(1);
    Arrival::Stimulus { given_ns: seen_ns - off_ns, seen_ns, skipped }
}

/// From the oldest interrupt that the thread had not seen; `None`: the latest one was seen before, or came after the clock was
/// read.
fn since_interrupt(last_ns: Option<i64>, latest_ns: i64, seen_ns: i64, period_ns: i64, lost: u64) -> Option<Arrival> {
    let passed = last_ns
        .map_or(1, |last_ns| if latest_ns > last_ns { periods_in(latest_ns - last_ns, period_ns).max(1) } else { 0 });
    let given_ns = latest_ns - (passed as i64 - 1) * period_ns;
    (passed > 0 && given_ns <= seen_ns).then(|| Arrival::Stimulus { given_ns, seen_ns, skipped: lost + passed - 1 })
}

impl Waiter for Periods {
    fn wait(&mut self, _due_ns: i64) -> Arrival {
        if self.over.load(Relaxed) {
            return Arrival::Ended { skipped: 0 };
        }
        let Some(last_ns) = self.last_seen_ns else { return self.start() };
        self.work();
        if self.refill == Refill::Period {
            return self.wait_for_transfer(last_ns);
        }
        if !self.stream.wait(SILENCE) {
            self.last_seen_ns = None;
            return Arrival::NoSignal;
        }
        let seen_ns = clock::monotonic_ns();
        let Ok(interrupt_ns) = self.stream.interrupt_ns() else { return self.xrun() };
        if self.stream.transfer(usize::MAX).is_err() {
            return self.xrun();
        }
        self.last_seen_ns = Some(seen_ns);
        let before_ns = self.last_interrupt_ns.replace(interrupt_ns);
        let lost = std::mem::take(&mut self.lost);
        match self.measured {
            // The first period after a start is shorter by what the card had played before the clock was read.
            _ if before_ns.is_none() => {
                self.lost = lost + periods_in(seen_ns - last_ns, self.period_ns);
                Arrival::Undisturbed { until_ns: seen_ns }
            }
            Sample::Interrupt => since_interrupt(before_ns, interrupt_ns, seen_ns, self.period_ns, lost)
                .unwrap_or_else(|| {
                    self.counts.count_stray();
                    Arrival::Undisturbed { until_ns: seen_ns }
                }),
            Sample::Period | Sample::Loop => deviation(last_ns, seen_ns, self.period_ns, lost),
        }
    }
}

fn impossible(kind: ObstacleKind, text: String, fix: &str) -> MethodError {
    MethodError::Impossible { method: Method::Audio, obstacles: vec![Obstacle { kind, text, fix: fix.into() }] }
}

fn in_use(name: &str) -> (ObstacleKind, String, &'static str) {
    (
        ObstacleKind::InUse,
        format!("another program uses {name}"),
        "end it; a sound server releases cards with `pasuspender`",
    )
}

fn opened(name: &str, wanted: Shape) -> Result<Stream, MethodError> {
    let stream = Stream::open(Path::new(name), wanted).map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY | libc::EAGAIN) => {
            let (kind, text, fix) = in_use(name);
            impossible(kind, text, fix)
        }
        Some(libc::EINVAL) => impossible(
            ObstacleKind::Device,
            format!("{name} has no two channels of 16 bits at {} frames per second", wanted.rate),
            "set rate= to one that the card has; `cat /proc/asound/card0/stream0` lists the rates of a USB card",
        ),
        _ => MethodError::Refused { method: Method::Audio, action: "set the sound card up", source },
    })?;
    let got = stream.shape();
    if got == wanted {
        return Ok(stream);
    }
    let text = format!(
        "{name} rounds {} periods of {} frames to {} of {}",
        wanted.periods, wanted.period, got.periods, got.period
    );
    let fix = format!("use --method audio:period={},periods={}", got.period, got.periods);
    Err(impossible(ObstacleKind::Device, text, &fix))
}

fn setup(options: &Audio, cpu: u32) -> Result<ThreadSetup, MethodError> {
    let stream = opened(device(options), shape(options, direction(options)))?;
    let over = Arc::<AtomicBool>::default();
    let counts = Arc::<WaiterCounts>::default();
    let xruns = LossCounter::new(LossKind::Xruns, "of the sound card: the thread came later than its buffer lasts");
    let release: Release = {
        let over = over.clone();
        Box::new(move || over.store(true, Relaxed))
    };
    let setup = match far(options) {
        Some(far) => {
            let capture = opened(far, shape(options, Direction::Capture))?;
            ThreadSetup::new(cpu, round_trip::Impulses::new(stream, capture, counts.clone(), xruns.clone(), over))
        }
        None => {
            let period_ns = period_ns(stream.shape());
            let periods = Periods {
                stream,
                measured: options.sample(),
                refill: refill(options),
                period_ns,
                work_ns: period_ns * options.work() as i64 / 100,
                last_seen_ns: None,
                last_interrupt_ns: None,
                lost: 0,
                counts: counts.clone(),
                xruns: xruns.clone(),
                over,
            };
            ThreadSetup::new(cpu, periods)
        }
    };
    Ok(ThreadSetup { counts, losses: vec![xruns], release: Some(release), ..setup })
}

/// Reason why a device cannot be used.
fn obstacle(root: &Path, name: &str) -> Option<Obstacle> {
    let path = root.join(name.trim_start_matches('/'));
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
    let (kind, text, fix) = match opened.err()?.raw_os_error() {
        Some(libc::EBUSY | libc::EAGAIN) => in_use(name),
        Some(libc::EACCES | libc::EPERM) => {
            (ObstacleKind::Right, format!("no right to open {name}"), "run as root, or in the group audio")
        }
        _ => (
            ObstacleKind::Device,
            format!("there is no sound card ({name})"),
            "`modprobe snd-dummy` makes one without hardware; device= names another one",
        ),
    };
    Some(Obstacle { kind, text, fix: fix.into() })
}

impl MeasuringMethod for OnDevice<'_, Audio> {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        [Some(device(self)), far(self)].into_iter().flatten().filter_map(|name| obstacle(root, name)).collect()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        // One card, so one thread.
        run.measured.iter().take(1).map(|cpu| setup(self, *cpu)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obstacles_of;

    #[test]
    fn a_sample_is_how_far_the_distance_of_two_periods_is_from_their_length() {
        let of = |seen_ns| deviation(1_000, seen_ns, 5_000, 0);
        assert_eq!(of(6_000), Arrival::Stimulus { given_ns: 6_000, seen_ns: 6_000, skipped: 0 });
        assert_eq!(of(6_700), Arrival::Stimulus { given_ns: 6_000, seen_ns: 6_700, skipped: 0 });
        assert_eq!(of(5_500), Arrival::Stimulus { given_ns: 5_000, seen_ns: 5_500, skipped: 0 });
        assert_eq!(of(11_500), Arrival::Stimulus { given_ns: 6_000, seen_ns: 11_500, skipped: 1 });
        let lost = deviation(1_000, 6_000, 5_000, 3);
        assert_eq!(lost, Arrival::Stimulus { given_ns: 6_000, seen_ns: 6_000, skipped: 3 });
    }

    #[test]
    fn a_sample_from_the_interrupt_starts_at_the_oldest_one_that_was_not_seen() {
        let of = |latest_ns, seen_ns| since_interrupt(Some(1_000), latest_ns, seen_ns, 5_000, 0);
        assert_eq!(of(6_100, 6_300), Some(Arrival::Stimulus { given_ns: 6_100, seen_ns: 6_300, skipped: 0 }));
        assert_eq!(of(11_100, 12_000), Some(Arrival::Stimulus { given_ns: 6_100, seen_ns: 12_000, skipped: 1 }));
        assert_eq!(of(1_000, 3_000), None, "the same interrupt again");
        assert_eq!(of(6_400, 6_300), None, "after the clock was read");
        let merged = Some(Arrival::Stimulus { given_ns: 6_100, seen_ns: 11_000, skipped: 1 });
        assert_eq!(of(11_100, 11_000), merged, "the second interrupt came between the clock and the request");
    }

    #[test]
    fn a_period_lasts_as_long_as_its_frames() {
        let of = |rate| period_ns(Shape { direction: Direction::Playback, rate, period: 480, periods: 2 });
        assert_eq!((of(48_000), of(96_000)), (10_000_000, 5_000_000));
    }

    #[test]
    fn a_machine_without_a_card_is_named() {
        let root = tempfile::tempdir().unwrap();
        let kinds = |text: &str| obstacles_of(text, root.path()).into_iter().map(|one| one.kind).collect::<Vec<_>>();
        assert_eq!(kinds("audio"), [ObstacleKind::Device]);
        std::fs::create_dir_all(root.path().join("dev/snd")).unwrap();
        std::fs::write(root.path().join("dev/snd/pcmC0D0p"), "").unwrap();
        assert_eq!(kinds("audio"), []);
        assert_eq!(kinds("audio:direction=capture"), [ObstacleKind::Device]);
        assert_eq!(kinds("audio:sample=loop"), [ObstacleKind::Device], "its input is missing");
        assert_eq!(kinds("audio:sample=loop,far=/dev/snd/pcmC0D0p"), []);
    }
}
