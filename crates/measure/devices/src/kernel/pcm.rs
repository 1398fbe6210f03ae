//! Streams of sound cards by the kernel's own requests: a static program cannot load ALSA's library and its plug-ins.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

const ACCESS_INTERLEAVED: usize = 3;
const FORMAT_S16_LE: usize = 2;
/// Positions among the intervals of [`HardwareParameters`].
const CHANNELS: usize = 2;
const RATE: usize = 3;
const PERIOD_SIZE: usize = 5;
const PERIODS: usize = 7;
const INTEGER: u32 = 1 << 2;
/// Time stamps are stored, and are of CLOCK_MONOTONIC.
const STAMPS_ENABLED: libc::c_int = 1;
const STAMPS_MONOTONIC: u32 = 1;
/// The first version of the protocol with the type of time stamps among the parameters.
const PROTOCOL: u32 = 2 << 16 | 12;
/// Reads the positions and the status as they are, without asking the card.
const READ_BOTH: u32 = 1 << 1 | 1 << 2;
const STATE_RUNNING: i32 = 3;
pub const CHANNELS_COUNT: usize = 2;

/// `struct snd_interval`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Interval {
    min: u32,
    max: u32,
    flags: u32,
}

/// `struct snd_pcm_hw_params` of sound/asound.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct HardwareParameters {
    flags: u32,
    masks: [[u32; 8]; 3],
    reserved_masks: [[u32; 8]; 5],
    intervals: [Interval; 12],
    reserved_intervals: [Interval; 9],
    requested: u32,
    changed: u32,
    info: u32,
    bits: u32,
    rate_num: u32,
    rate_den: u32,
    fifo_size: libc::c_ulong,
    reserved: [u8; 64],
}

/// `struct snd_pcm_sw_params`.
#[repr(C)]
struct SoftwareParameters {
    tstamp_mode: libc::c_int,
    period_step: u32,
    sleep_min: u32,
    avail_min: libc::c_ulong,
    xfer_align: libc::c_ulong,
    start_threshold: libc::c_ulong,
    stop_threshold: libc::c_ulong,
    silence_threshold: libc::c_ulong,
    silence_size: libc::c_ulong,
    boundary: libc::c_ulong,
    proto: u32,
    tstamp_type: u32,
    reserved: [u8; 56],
}

/// `struct __snd_pcm_sync_ptr64` of a little-endian machine, with the status that it contains.
#[repr(C)]
struct Positions {
    flags: u32,
    pad: u32,
    state: i32,
    state_pad: u32,
    card: u64,
    stamp_s: i64,
    stamp_ns: i64,
    status_rest: [u64; 4],
    control: [u64; 8],
}

/// `struct snd_xferi`.
#[repr(C)]
struct Transfer {
    result: libc::c_long,
    buffer: *mut libc::c_void,
    frames: libc::c_ulong,
}

/// The request of type `A` in the encoding of most architectures.
const fn request(direction: u32, number: u32, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | (b'A' as u32) << 8 | number
}

const REFINE: u32 = request(3, 0x10, size_of::<HardwareParameters>());
const SET_HARDWARE: u32 = request(3, 0x11, size_of::<HardwareParameters>());
const SET_SOFTWARE: u32 = request(3, 0x13, size_of::<SoftwareParameters>());
const POSITIONS: u32 = request(3, 0x23, size_of::<Positions>());
const PREPARE: u32 = request(0, 0x40, 0);
const START: u32 = request(0, 0x42, 0);
const WRITE: u32 = request(1, 0x50, size_of::<Transfer>());
const READ: u32 = request(2, 0x51, size_of::<Transfer>());
const _: () = assert!(size_of::<Positions>() == 136);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<HardwareParameters>() == 608 && size_of::<SoftwareParameters>() == 136);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Playback,
    Capture,
}

/// A stream of two channels of 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub direction: Direction,
    /// Frames per second.
    pub rate: u32,
    /// Frames of a period.
    pub period: u32,
    pub periods: u32,
}

/// An open stream.
#[derive(Debug)]
pub struct Stream {
    device: File,
    shape: Shape,
    /// As many frames as the card's buffer has: those to play, or those captured last.
    frames: Vec<i16>,
}

impl HardwareParameters {
    /// Everything that a card can do.
    fn any() -> Self {
        let all = Interval { min: 0, max: u32::MAX, flags: 0 };
        Self {
            flags: 0,
            masks: [[u32::MAX; 8]; 3],
            reserved_masks: [[0; 8]; 5],
            intervals: [all; 12],
            reserved_intervals: [Interval { min: 0, max: 0, flags: 0 }; 9],
            requested: u32::MAX,
            changed: 0,
            info: u32::MAX,
            bits: 0,
            rate_num: 0,
            rate_den: 0,
            fifo_size: 0,
            reserved: [0; 64],
        }
    }

    fn choose(&mut self, mask: usize, bit: usize) {
        self.masks[mask] = [0; 8];
        self.masks[mask][bit / 32] = 1 << (bit % 32);
    }

    fn between(&mut self, interval: usize, min: u32, max: u32) {
        self.intervals[interval] = Interval { min, max, flags: INTEGER };
    }
}

impl Stream {
    /// Opens a device such as /dev/snd/pcmC0D0p. [`Stream::shape`] is what the card made of the request: cards round
    /// the lengths of periods.
    ///
    /// # Errors
    /// EBUSY or EAGAIN for a card in use; EINVAL for a rate or format that it does not have.
    pub fn open(path: &Path, shape: Shape) -> io::Result<Self> {
        let device = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        let mut stream = Self { device, shape, frames: Vec::new() };
        let mut wanted = HardwareParameters::any();
        wanted.choose(0, ACCESS_INTERLEAVED);
        wanted.choose(1, FORMAT_S16_LE);
        wanted.choose(2, 0);
        wanted.between(CHANNELS, CHANNELS_COUNT as u32, CHANNELS_COUNT as u32);
        wanted.between(RATE, shape.rate, shape.rate);
        stream.refine(&mut wanted)?;
        let period = stream.nearest(&wanted, PERIOD_SIZE, shape.period)?;
        wanted.between(PERIOD_SIZE, period, period);
        stream.refine(&mut wanted)?;
        let periods = stream.nearest(&wanted, PERIODS, shape.periods)?;
        wanted.between(PERIODS, periods, periods);
        stream.exchange(SET_HARDWARE, &mut wanted)?;
        stream.shape = Shape { period, periods, ..shape };
        let frames = period as usize * periods as usize;
        stream.frames = vec![0; frames * CHANNELS_COUNT];
        let buffer = frames as libc::c_ulong;
        let mut software = SoftwareParameters {
            tstamp_mode: STAMPS_ENABLED,
            period_step: 1,
            sleep_min: 0,
            // The interrupt of a period may find some frames less than a period, and must wake the thread all the same.
            avail_min: 1,
            xfer_align: 1,
            start_threshold: buffer,
            stop_threshold: buffer,
            silence_threshold: 0,
            silence_size: 0,
            boundary: 0,
            proto: PROTOCOL,
            tstamp_type: STAMPS_MONOTONIC,
            reserved: [0; 56],
        };
        stream.exchange(SET_SOFTWARE, &mut software)?;
        Ok(stream)
    }

    /// The shape that the card granted.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Frames of all channels, one after the other: those to play, or those captured last.
    pub fn frames(&mut self) -> &mut [i16] {
        &mut self.frames
    }

    fn exchange<T>(&self, number: u32, argument: &mut T) -> io::Result<()> {
        // SAFETY: each request reads and writes one structure of the type that its number names, which is live.
        let answer = unsafe { libc::ioctl(self.device.as_raw_fd(), number as _, std::ptr::from_mut(argument)) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn order(&self, number: u32) -> io::Result<()> {
        // SAFETY: a request without an argument.
        let answer = unsafe { libc::ioctl(self.device.as_raw_fd(), number as _, 0) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn refine(&self, wanted: &mut HardwareParameters) -> io::Result<()> {
        wanted.requested = u32::MAX;
        self.exchange(REFINE, wanted)
    }

    /// The value of an interval that the card has nearest to this one: the next larger one, or else the next smaller one.
    fn nearest(&self, wanted: &HardwareParameters, interval: usize, value: u32) -> io::Result<u32> {
        let Interval { min, max, .. } = wanted.intervals[interval];
        let value = value.clamp(min, max);
        let mut upwards = *wanted;
        upwards.between(interval, value, max);
        if self.refine(&mut upwards).is_ok() {
            return Ok(upwards.intervals[interval].min);
        }
        let mut downwards = *wanted;
        downwards.between(interval, min, value);
        self.refine(&mut downwards)?;
        Ok(downwards.intervals[interval].max)
    }

    /// Starts the stream, after an xrun as well: with a buffer full of [`Stream::frames`], or an empty one.
    ///
    /// # Errors
    /// Errors of the requests.
    pub fn start(&mut self) -> io::Result<()> {
        self.order(PREPARE)?;
        match self.shape.direction {
            Direction::Capture => self.order(START),
            // A full buffer starts it.
            Direction::Playback => self.transfer(usize::MAX).map(|_| ()),
        }
    }

    /// Waits for the interrupt of a period, or an xrun; `false`: neither came in time.
    #[inline]
    pub fn wait(&self, at_most: Duration) -> bool {
        let limit = Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
        let ready = match self.shape.direction {
            Direction::Playback => PollFlags::OUT,
            Direction::Capture => PollFlags::IN,
        };
        let mut waiting = [PollFd::new(&self.device, ready)];
        !matches!(poll(&mut waiting, Some(&limit)), Ok(0))
    }

    /// When the kernel handled the latest interrupt of a period, in ns of CLOCK_MONOTONIC. A transfer changes it.
    ///
    /// # Errors
    /// EPIPE after an xrun.
    #[inline]
    pub fn interrupt_ns(&self) -> io::Result<i64> {
        // SAFETY: a structure of integers, for which zeros are valid.
        let mut positions: Positions = unsafe { std::mem::zeroed() };
        positions.flags = READ_BOTH;
        self.exchange(POSITIONS, &mut positions)?;
        match positions.state {
            STATE_RUNNING => Ok(positions.stamp_s * 1_000_000_000 + positions.stamp_ns),
            _ => Err(io::Error::from_raw_os_error(libc::EPIPE)),
        }
    }

    /// Plays or captures as many frames as the card has room or data for, up to a number; returns how many.
    ///
    /// # Errors
    /// EPIPE after an xrun, EBADFD if the stream was not started.
    #[inline]
    pub fn transfer(&mut self, at_most: usize) -> io::Result<usize> {
        let number = if self.shape.direction == Direction::Playback { WRITE } else { READ };
        let frames = at_most.min(self.frames.len() / CHANNELS_COUNT) as libc::c_ulong;
        let mut transfer = Transfer { result: 0, buffer: self.frames.as_mut_ptr().cast(), frames };
        // SAFETY: the request reads or writes at most `frames` frames at `buffer`, which has room for as many.
        match unsafe { libc::ioctl(self.device.as_raw_fd(), number as _, &raw mut transfer) } {
            0.. => Ok(transfer.result as usize),
            _ => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EAGAIN) => Ok(0),
                error => Err(error),
            },
        }
    }
}
