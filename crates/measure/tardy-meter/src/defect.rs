//! Handles a panic as a defect of this program: one line with its location, and a special exit code.

use std::panic::{self, PanicHookInfo, UnwindSafe};

/// `EX_SOFTWARE` of sysexits(3); docs/how-to/test-systems.md lists it.
pub const EXIT_CODE: i32 = 70;

/// Prints panics as one line each, from now on.
pub fn print_panics_as_lines() {
    panic::set_hook(Box::new(|panic| eprintln!("{}", line_of(panic))));
}

/// The result of `program`, or the code of a defect.
pub fn exit_code_of(program: impl FnOnce() -> i32 + UnwindSafe) -> i32 {
    panic::catch_unwind(program).unwrap_or(EXIT_CODE)
}

fn line_of(panic: &PanicHookInfo) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = text.unwrap_or("no message").replace('\n', " ");
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    format!("tardy-meter {version}: a defect{place}: {message}; please report this line to the authors of tardy")
}
