//! As late_functions.c, in Rust: its functions are methods. It is compiled alone, without crates.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SINK: AtomicU64 = AtomicU64::new(1);

#[repr(C)]
#[derive(Clone, Copy)]
struct Timespec {
    seconds: i64,
    ns: i64,
}

unsafe extern "C" {
    fn clock_gettime(clock: i32, now: *mut Timespec) -> i32;
    fn clock_nanosleep(clock: i32, flags: i32, until: *const Timespec, rest: *mut Timespec) -> i32;
}

const MONOTONIC: i32 = 1;
const CPU_TIME: i32 = 3;
const ABSOLUTE: i32 = 1;

fn ns_of(clock: i32) -> i64 {
    let mut now = Timespec { seconds: 0, ns: 0 };
    // SAFETY: the pointer leads to a Timespec.
    unsafe { clock_gettime(clock, &raw mut now) };
    now.seconds * 1_000_000_000 + now.ns
}

struct Controller;

macro_rules! work {
    ($name:ident, $factor:literal) => {
        #[inline(never)]
        fn $name(&self, count: u64) {
            for i in 0..count {
                SINK.store(SINK.load(Relaxed).wrapping_mul($factor).wrapping_add(i), Relaxed);
            }
        }
    };
}

impl Controller {
    work!(ordinary_work, 3);
    work!(slow_filter, 5);
    work!(slow_planner, 7);
    work!(slow_logger, 11);
    work!(slow_solver, 13);
}

type Work = fn(&Controller, u64);

macro_rules! links {
    ($($name:ident calls $next:ident;)*) => {
        $(#[inline(never)]
        fn $name(controller: &Controller, depth: u32, slow: Work, count: u64) {
            if depth <= 2 { slow(controller, count) } else { $next(controller, depth - 1, slow, count) }
            SINK.fetch_add(line!().into(), Relaxed);
        })*
    };
}

#[inline(never)]
fn link_1(controller: &Controller, _: u32, slow: Work, count: u64) {
    slow(controller, count);
    SINK.fetch_add(1, Relaxed);
}

links! {
    link_2 calls link_1;
    link_3 calls link_2;
    link_4 calls link_3;
    link_5 calls link_4;
    link_6 calls link_5;
    link_7 calls link_6;
    link_8 calls link_7;
    link_9 calls link_8;
    link_10 calls link_9;
    link_11 calls link_10;
    link_12 calls link_11;
    link_13 calls link_12;
    link_14 calls link_13;
    link_15 calls link_14;
    link_16 calls link_15;
    link_17 calls link_16;
    link_18 calls link_17;
    link_19 calls link_18;
}

#[inline(never)]
fn cycle(controller: &Controller, depth: u32, slow: Option<Work>, count: u64, ordinary: u64) {
    controller.ordinary_work(ordinary);
    match slow {
        Some(slow) if depth <= 1 => slow(controller, count),
        Some(slow) => link_19(controller, depth, slow, count),
        None => {}
    }
    SINK.fetch_add(1, Relaxed);
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (depth, late): (u32, u64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let mut truth = File::create(&words[3]).unwrap();
    let period: u64 = words.get(4).map_or(1, |text| text.parse().unwrap());
    let every = if period > 1 { 10 } else { 50 };
    let controller = Controller;
    let begun = ns_of(CPU_TIME);
    controller.ordinary_work(20_000_000);
    let per_ms = 20_000_000 * 1_000_000 / (ns_of(CPU_TIME) - begun + 1) as u64 + 1;
    let slow: [(Work, &str); 4] = [
        (Controller::slow_filter, "late_functions::Controller::slow_filter"),
        (Controller::slow_planner, "late_functions::Controller::slow_planner"),
        (Controller::slow_logger, "late_functions::Controller::slow_logger"),
        (Controller::slow_solver, "late_functions::Controller::slow_solver"),
    ];
    let mut next_ns = ns_of(MONOTONIC);
    for number in 1..=late * every {
        next_ns += period as i64 * 5_000_000;
        let until = Timespec { seconds: next_ns / 1_000_000_000, ns: next_ns % 1_000_000_000 };
        // SAFETY: the pointer leads to a Timespec, and nothing is written.
        unsafe { clock_nanosleep(MONOTONIC, ABSOLUTE, &raw const until, std::ptr::null_mut()) };
        let (work, name) = slow[(number / every % 4) as usize];
        let is_late = number % every == 0;
        let before_ns = ns_of(MONOTONIC);
        cycle(&controller, depth, is_late.then_some(work), period * per_ms * 4, period * per_ms / 3);
        if is_late {
            writeln!(truth, "{before_ns} {name}").unwrap();
        }
    }
}
