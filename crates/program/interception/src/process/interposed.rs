//! Functions of the C library that the program calls here instead: their instruction may be one that is not patched.

use super::calls;
use super::system;

/// prctl(2), which may forbid the thread to read the processor's counter.
///
/// # Safety
/// As in the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: libc::c_int, first: u64, second: u64, third: u64, fourth: u64) -> libc::c_int {
    let number = libc::SYS_prctl as u64;
    let arguments = [option as u64, first, second, third, fourth, 0];
    calls::before_forbidding(number as u32, arguments);
    // SAFETY: the program's own call.
    let result = unsafe { system::call(number, arguments) };
    if result < 0 {
        // SAFETY: the word belongs to this thread.
        unsafe { *libc::__errno_location() = -result as libc::c_int };
        return -1;
    }
    result as libc::c_int
}
