//! Two programs in one source, as `habits.c`: with `--cfg bad` a loop with the same habits, without it none of them. Built by
//! the tests with the Rust compiler of the machine, for glibc and for musl.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

#[repr(C)]
struct Time {
    seconds: i64,
    ns: i64,
}

#[repr(C)]
struct Priority {
    priority: i32,
    /// musl has more fields there.
    reserved: [i64; 6],
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, now: *mut Time) -> i32;
    fn clock_nanosleep(clock: i32, flags: i32, until: *const Time, left: *mut Time) -> i32;
    fn pthread_self() -> usize;
    fn pthread_setschedparam(thread: usize, policy: i32, priority: *const Priority) -> i32;
    fn mlockall(flags: i32) -> i32;
    fn raise(signal: i32) -> i32;
    fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
}

const REALTIME: i32 = 0;
const MONOTONIC: i32 = 1;
const ABSOLUTE: i32 = 1;
const FIFO: i32 = 1;
const CYCLES: u32 = 240;
const PERIOD_NS: i64 = 5_000_000;
const PAGE: usize = 4096;

static SHARED: Mutex<u64> = Mutex::new(0);
static FINISHED: AtomicBool = AtomicBool::new(false);

extern "C" fn nothing(_: i32) {}

fn now(clock: i32) -> Time {
    let mut now = Time { seconds: 0, ns: 0 };
    unsafe { clock_gettime(clock, &mut now) };
    now
}

fn sleep_until(clock: i32, at: &Time) {
    while unsafe { clock_nanosleep(clock, ABSOLUTE, at, std::ptr::null_mut()) } != 0 {}
}

impl Time {
    fn add(&mut self, ns: i64) {
        self.ns += ns;
        while self.ns >= 1_000_000_000 {
            self.ns -= 1_000_000_000;
            self.seconds += 1;
        }
    }
}

/// Computes without a system call.
fn work(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {}
}

#[inline(never)]
fn deep<const BYTES: usize>() {
    let mut frame = [0_u8; BYTES];
    for at in (0..BYTES).step_by(PAGE) {
        black_box(&mut frame)[at] = 1;
    }
}

fn bad_things(cycle: u32, file: &mut File) {
    if cycle == 100 {
        for _ in 0..4 {
            drop(black_box(vec![1_u8; 1 << 20]));
        }
    }
    if cycle == 120 {
        deep::<{ 40 * PAGE }>();
    }
    match cycle % 50 {
        10 => file.write_all(b"cycle\n").unwrap(),
        20 => thread::yield_now(),
        30 => thread::sleep(Duration::from_micros(100)),
        40 => {
            let mut at = now(REALTIME);
            at.add(200_000);
            sleep_until(REALTIME, &at);
        }
        _ => {}
    }
    if cycle == 150 {
        unsafe { raise(10) };
    }
}

fn urgent(bad: bool) {
    let priority = Priority { priority: 40, reserved: [0; 6] };
    assert_eq!(unsafe { pthread_setschedparam(pthread_self(), FIFO, &priority) }, 0, "needs root");
    let mut file = File::create(std::env::args().nth(1).unwrap()).unwrap();
    if !bad {
        deep::<{ 64 * PAGE }>();
    }
    let mut due = now(MONOTONIC);
    for cycle in 0..CYCLES {
        due.add(PERIOD_NS);
        sleep_until(MONOTONIC, &due);
        if bad {
            let mut shared = SHARED.lock().unwrap();
            *shared += 1;
            work(Duration::from_micros(50));
            drop(shared);
            bad_things(cycle, &mut file);
        } else {
            work(Duration::from_micros(50));
        }
    }
    FINISHED.store(true, Relaxed);
}

/// An ordinary thread that takes the lock as well: for long, so that the other one waits.
fn neighbour() {
    while !FINISHED.load(Relaxed) {
        let mut shared = SHARED.lock().unwrap();
        *shared += 1;
        work(Duration::from_millis(2));
        drop(shared);
        thread::sleep(Duration::from_millis(3));
    }
}

fn main() {
    let bad = cfg!(bad);
    unsafe { signal(10, nothing) };
    if !bad {
        assert_eq!(unsafe { mlockall(3) }, 0, "needs root");
    }
    let thread = |name: &str| thread::Builder::new().name(name.into());
    let urgent = thread("urgent").spawn(move || urgent(bad)).unwrap();
    let neighbour = thread("neighbour").spawn(neighbour).unwrap();
    urgent.join().unwrap();
    neighbour.join().unwrap();
}
