//! Calls of functions of the C library: they may wait, and seldom enter the kernel.

use crate::activity::Call;
use call_ring::function::mutex_kind::{INHERITS, PROTECTS};
use call_ring::function::{Effect, Function, Lock};

/// The function that was called.
pub fn function(call: &Call) -> Option<Function> {
    Function::from_number(u32::try_from(call.number).ok()?)
}

/// The kind of lock that a function takes, tries or releases.
pub fn lock_of(function: Function) -> Option<Lock> {
    match function.effect() {
        Effect::Lock(lock) | Effect::TryLock(lock) | Effect::Unlock(lock) => Some(lock),
        Effect::Allocation | Effect::Release | Effect::Wait | Effect::Signal => None,
    }
}

/// Whether the call takes a lock, however long that takes, that leaves its holder at its own priority.
pub fn takes_plain_lock(call: &Call, function: Function) -> bool {
    let Effect::Lock(lock) = function.effect() else { return false };
    let kind = if lock == Lock::Mutex { call.arguments[1] } else { 0 };
    kind & (INHERITS | PROTECTS) == 0
}
