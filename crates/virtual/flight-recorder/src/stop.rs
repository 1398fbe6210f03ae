//! Stops the machine at an instant of its own clock.
//!
//! A debugger that breaks in from outside comes when it comes, and a breakpoint that is passed a thousand times before
//! halts the clock a thousand times. QEMU itself stops a machine from within by `vm_stop`; called while a block begins, it
//! takes effect before the next one, with nothing executed in between. It is no part of the interface for plugins. QEMUs
//! that can be extended by modules, as distributions build them, let plugins find it all the same. It is called only where QEMU's own
//! table of names calls the state that is passed "paused".

use crate::qemu;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::mem::transmute;
use std::ptr::null_mut;

const NAME: &CStr = c"vm_stop";
/// `RUN_STATE_PAUSED` of QEMU's `RunState`: as if the user had paused it.
const PAUSED: c_int = 4;
const PAUSED_NAME: &CStr = c"paused";
/// `QEnumLookup` of the states; it begins with the array of their names, of which there are more than [`PAUSED`].
const STATES: &CStr = c"RunState_lookup";

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

/// The address of a name in QEMU.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string; a null handle means all that the program has loaded.
    let found = unsafe { qemu::dlsym(null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// # Errors
/// [`NoStop`], also where the number of the state is another.
pub fn find() -> Result<StopMachine, NoStop> {
    let (found, states) = symbol(NAME).zip(symbol(STATES)).ok_or(NoStop)?;
    // SAFETY: the symbol is a `QEnumLookup`, in the QEMUs that load a plugin of this version; it has no fewer names.
    if !unsafe { is_named(states.cast(), PAUSED, PAUSED_NAME) } {
        return Err(NoStop);
    }
    // SAFETY: QEMU declares `int vm_stop(RunState state)`, an enumeration of C's, in all versions that load this plugin.
    Ok(StopMachine(unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(found) }))
}

/// Whether a table of names, given by the address of its first field, calls a number so.
///
/// # Safety
/// The field is the address of an array of C strings with more than `number` elements, or null.
unsafe fn is_named(table: *const *const *const c_char, number: c_int, name: &CStr) -> bool {
    // SAFETY: as the caller promises.
    let names = unsafe { *table };
    if names.is_null() {
        return false;
    }
    // SAFETY: as the caller promises.
    let found = unsafe { *names.offset(number as isize) };
    // SAFETY: it is a C string where it is not null.
    !found.is_null() && unsafe { CStr::from_ptr(found) } == name
}

impl StopMachine {
    /// Must be called by the thread that executes the guest.
    pub fn stop(self) {
        // SAFETY: in that thread it notes the request and returns.
        unsafe { (self.0)(PAUSED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn a_state_of_another_name_is_not_passed() {
        let names = [c"debug", c"inmigrate", c"paused"].map(CStr::as_ptr);
        let table = names.as_ptr();
        // SAFETY: the table has three names.
        let is_paused = |number| unsafe { is_named(&raw const table, number, PAUSED_NAME) };
        assert_eq!([0, 1, 2].map(is_paused), [false, false, true]);
        let empty = null::<*const c_char>();
        // SAFETY: a table without names.
        assert!(!unsafe { is_named(&raw const empty, PAUSED, PAUSED_NAME) });
    }

    #[test]
    fn a_program_that_is_not_qemu_is_not_stopped() {
        assert_eq!(find().map(drop), Err(NoStop));
    }
}
