//! Calls that the entry leaves to Rust: the first one of a thread, those that return twice or never, and those that an
//! injection delays or refuses.

use super::action;
use super::memory::Memory;
use super::policy;
use super::registers::Registers;
use super::ring::{Running, has_room};
use super::system;
use super::thread::{Block, MEMORY, SPECIAL, child, current};
use call_ring::RING_RECORDS;
use call_ring::header::{Effect, Injection};
use call_ring::record::{INJECTED, NEVER};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

const RT_SIGRETURN: u32 = libc::SYS_rt_sigreturn as u32;
const CLONE: u32 = libc::SYS_clone as u32;
const FORK: u32 = libc::SYS_fork as u32;
const VFORK: u32 = libc::SYS_vfork as u32;
const EXIT: u32 = libc::SYS_exit as u32;
const EXIT_GROUP: u32 = libc::SYS_exit_group as u32;
const CLONE3: u32 = libc::SYS_clone3 as u32;
const PRCTL: u32 = libc::SYS_prctl as u32;
const SECCOMP: u32 = libc::SYS_seccomp as u32;
const SECCOMP_STRICT: u64 = 0;
const SECCOMP_FILTER: u64 = 1;
/// Calls that change the policy of a thread.
const OF_POLICY: [i64; 3] = [libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr];

/// Set in [`SPECIAL`].
const NOT_USUAL: u8 = 1;
const INJECTS: u8 = 2;
const MAY_FORBID: u8 = 3;
const CHANGES_POLICY: u8 = 4;

/// A rule and how many of its calls came so far.
struct Rule {
    injection: Injection,
    turns: AtomicU64,
}

static RULES: OnceLock<Vec<Rule>> = OnceLock::new();

/// A thread forbade itself to read the processor's counter, and the threads that it starts may not read it either.
static FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Sets which calls arrive here.
pub fn prepare(injections: Vec<Injection>) {
    for number in [RT_SIGRETURN, CLONE, FORK, VFORK, EXIT, EXIT_GROUP, CLONE3] {
        SPECIAL[number as usize].store(NOT_USUAL, Relaxed);
    }
    for number in [PRCTL, SECCOMP] {
        SPECIAL[number as usize].store(MAY_FORBID, Relaxed);
    }
    let can_be_injected =
        |rule: &Injection| SPECIAL.get(rule.number as usize).is_some_and(|special| special.load(Relaxed) == 0);
    let injections: Vec<Injection> = injections.into_iter().filter(can_be_injected).collect();
    for number in OF_POLICY {
        SPECIAL[number as usize].store(CHANGES_POLICY, Relaxed);
    }
    for injection in &injections {
        SPECIAL[injection.number as usize].store(INJECTS, Relaxed);
    }
    let rules = injections.into_iter().map(|injection| Rule { injection, turns: AtomicU64::new(0) });
    let _ = RULES.set(rules.collect());
}

/// Decides about a call; returns an [`action`].
pub extern "C" fn unusual(registers: &mut Registers) -> u64 {
    let block = current();
    let number = registers.rax as u32;
    let special = SPECIAL.get(number as usize).map_or(0, |special| special.load(Relaxed));
    let in_stub = special == NOT_USUAL;
    let without = if in_stub { action::IN_STUB } else { action::UNRECORDED };
    let Some(memory) = MEMORY.get().map(|memory| memory.0) else { return without };
    if block.quiet.load(Relaxed) != 0 {
        return without;
    }
    let child = started(number, registers.rdi);
    if special == MAY_FORBID {
        before_forbidding(number, registers.arguments());
    }
    if is_forbidden(block) {
        block.no_ring.store(1, Relaxed);
    }
    if !block.ensure_ring(memory, registers.stack()) || !has_room(block) {
        block.count_lost(memory);
        block.child.store(child, Relaxed);
        if special == CHANGES_POLICY {
            policy::changed();
        }
        return without;
    }
    if in_stub {
        let record = Running::begin(block, registers.call(number));
        match number {
            RT_SIGRETURN | EXIT | EXIT_GROUP => record.end(NEVER, 0),
            _ => {
                block.child.store(child, Relaxed);
                if shares_block(number, registers.rdi) {
                    // Two threads would write to one ring. What they do from now on is counted as lost.
                    record.end(NEVER, 0);
                    block.base.store(0, Relaxed);
                    block.no_ring.store(1, Relaxed);
                }
            }
        }
        return action::IN_STUB;
    }
    if special == CHANGES_POLICY {
        let record = Running::begin(block, registers.call(number));
        // SAFETY: the program's own call, which it made itself.
        let result = unsafe { system::call(u64::from(number), registers.arguments()) };
        policy::changed();
        record.end(system::ticks(), result);
        registers.rax = result as u64;
        return action::DONE;
    }
    if special == INJECTS
        && let Some(effect) = injected(number)
    {
        let record = Running::begin(block, registers.call(number | INJECTED));
        let result = match effect {
            Effect::Error(error) => -i64::from(error),
            Effect::DelayNs(ns) => {
                system::sleep_ns(ns);
                // SAFETY: the program's own call, which it made itself.
                unsafe { system::call(u64::from(number), registers.arguments()) }
            }
        };
        record.end(system::ticks(), result);
        registers.rax = result as u64;
        return action::DONE;
    }
    action::USUAL
}

/// A call that the stub made has returned, in the parent, in the child, or in both.
pub extern "C" fn returned_in_stub(registers: &mut Registers) -> u64 {
    let block = current();
    let Some(_) = MEMORY.get() else { return action::DONE };
    let result = registers.rax as i64;
    let kind = block.child.load(Relaxed);
    if result == 0 {
        match kind {
            child::BORROWS => block.tid.store(system::thread_number(), Relaxed),
            // The block of a new thread is empty.
            _ => block.forget_ring(),
        }
        return action::DONE;
    }
    block.child.store(child::NONE, Relaxed);
    if block.base.load(Relaxed) != 0 {
        let own = block.own_tid.load(Relaxed);
        block.tid.store(own, Relaxed);
        close_open(block, own, result);
    }
    action::DONE
}

/// The flags of clone(2) and clone3(2).
fn flags(number: u32, first: u64) -> u64 {
    match number {
        CLONE => first,
        // SAFETY: the kernel is about to read the same word; a program that passes another pointer would get EFAULT, but no
        // C library does.
        CLONE3 if first != 0 && first.is_multiple_of(8) => unsafe { *(first as *const u64) },
        VFORK => (libc::CLONE_VM | libc::CLONE_VFORK) as u64,
        _ => 0,
    }
}

fn started(number: u32, first: u64) -> u32 {
    if !matches!(number, CLONE | CLONE3 | FORK | VFORK) {
        return child::NONE;
    }
    let flags = flags(number, first);
    let has = |flag: i32| flags & flag as u64 != 0;
    match (has(libc::CLONE_VM), has(libc::CLONE_SETTLS), has(libc::CLONE_VFORK)) {
        (false, ..) => child::COPY,
        (true, true, _) => child::THREAD,
        (true, false, true) => child::BORROWS,
        (true, false, false) => child::NONE,
    }
}

/// Whether the call starts a thread that uses the same thread-local storage at the same time.
fn shares_block(number: u32, first: u64) -> bool {
    let flags = flags(number, first);
    let has = |flag: i32| flags & flag as u64 != 0;
    matches!(number, CLONE | CLONE3) && has(libc::CLONE_VM) && !has(libc::CLONE_SETTLS) && !has(libc::CLONE_VFORK)
}

/// Ends the recording of this thread, and of those that it starts, before a call after which it could not read the counter. After
/// one that filters calls, the library asks no thread for its policy any more.
pub fn before_forbidding(number: u32, arguments: [u64; 6]) {
    if filters_calls(number, arguments) {
        policy::ask_no_more();
    }
    if forbids_the_counter(number, arguments) {
        let block = current();
        FORBIDDEN.store(true, Relaxed);
        block.base.store(0, Relaxed);
        block.no_ring.store(1, Relaxed);
    }
}

/// Whether reading the counter would kill the thread after the call: the kernel forbids it beside seccomp's strict mode, too.
fn forbids_the_counter(number: u32, [first, second, ..]: [u64; 6]) -> bool {
    match number {
        SECCOMP => first == SECCOMP_STRICT,
        _ => {
            let is = |option: i32, value: u32| (first, second) == (option as u64, u64::from(value));
            is(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV as u32) || is(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT)
        }
    }
}

fn filters_calls(number: u32, [first, second, ..]: [u64; 6]) -> bool {
    match number {
        SECCOMP => first == SECCOMP_FILTER,
        _ => (first, second) == (libc::PR_SET_SECCOMP as u64, u64::from(libc::SECCOMP_MODE_FILTER)),
    }
}

/// Whether a thread may not read the counter any more, and has no ring.
pub fn is_forbidden(block: &Block) -> bool {
    FORBIDDEN.load(Relaxed) && block.base.load(Relaxed) == 0
}

fn injected(number: u32) -> Option<Effect> {
    let rules = RULES.get()?;
    let mut of_number = rules.iter().filter(|rule| rule.injection.number == number);
    let strikes = |rule: &&Rule| rule.injection.strikes(rule.turns.fetch_add(1, Relaxed));
    of_number.find(strikes).map(|rule| rule.injection.effect)
}

/// Ends the record of the call that started a child, and those of a child that borrowed the ring and executed another
/// program meanwhile.
fn close_open(block: &Block, own: u32, result: i64) {
    let head = block.head.load(Relaxed);
    for back in 1..=RING_RECORDS as u64 {
        let Some(position) = head.checked_sub(back) else { return };
        let Some((running, number, tid)) = Running::open_at(block, position) else { continue };
        if tid != own {
            running.end(NEVER, 0);
        } else if matches!(number, CLONE | CLONE3 | FORK | VFORK) {
            running.end(system::ticks(), result);
            return;
        } else {
            return;
        }
    }
}

/// Switches recording off for calls of the library itself.
pub fn quietly(work: impl FnOnce()) {
    let block = current();
    block.quiet.store(1, Relaxed);
    work();
    block.quiet.store(0, Relaxed);
}

/// Keeps the memory for the calls to come.
pub fn use_memory(memory: Memory) {
    let _ = MEMORY.set(super::thread::SharedMemory(memory));
}
