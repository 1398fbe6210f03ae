//! Stops the machine at an instant of its own clock.
//!
//! A debugger that breaks in from outside comes when it comes, and a breakpoint that is passed a thousand times before
//! halts the clock a thousand times. QEMU itself stops a machine from within by `vm_stop`; called while a block begins, it
//! takes effect before the next one, with nothing executed in between. It is no part of the interface for plugins. QEMUs
//! that can be extended by modules, as distributions build them, let plugins find it all the same.

use crate::qemu;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::mem::transmute;
use std::ptr::null_mut;

const NAME: &CStr = c"vm_stop";
/// `RUN_STATE_PAUSED` of QEMU's `RunState`: as if the user had paused it.
const PAUSED: c_int = 4;

/// QEMU's `vm_stop`.
#[derive(Debug, Clone, Copy)]
pub struct StopMachine(unsafe extern "C" fn(c_int) -> c_int);

/// This QEMU does not export `vm_stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoStop;

impl fmt::Display for NoStop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(
            "this QEMU does not let a plugin stop the machine; use one that is built with modules, as distributions have \
             them",
        )
    }
}

/// # Errors
/// [`NoStop`].
pub fn find() -> Result<StopMachine, NoStop> {
    // SAFETY: the name is a C string; a null handle means all that the program has loaded.
    let found = unsafe { qemu::dlsym(null_mut(), NAME.as_ptr()) };
    if found.is_null() {
        return Err(NoStop);
    }
    // SAFETY: QEMU 6.0 to 8.2 declare `int vm_stop(RunState state)`, an enumeration of C's.
    Ok(StopMachine(unsafe { transmute::<*mut std::ffi::c_void, unsafe extern "C" fn(c_int) -> c_int>(found) }))
}

impl StopMachine {
    /// Must be called by the thread that executes the guest.
    pub fn stop(self) {
        // SAFETY: in that thread it notes the request and returns.
        unsafe { (self.0)(PAUSED) };
    }
}
