//! A panic is a defect of this program: one line with its location, and a separate exit code.

use crate::terminal::progress::abandon_block;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use words::printable::printable;

/// Prints each panic from now on as one line.
pub fn print_panics_as_lines() {
    panic::set_hook(Box::new(|panic| {
        crate::top::screen::abandon();
        abandon_block();
        complain!("{}", line_of(panic));
    }));
}

/// The result of `program`; `None` after a panic, whose line has been printed by then.
pub fn unless_defective<T>(program: impl FnOnce() -> T) -> Option<T> {
    // Nothing that `program` used is used afterwards.
    panic::catch_unwind(AssertUnwindSafe(program)).ok()
}

fn line_of(panic: &PanicHookInfo) -> String {
    let message = printable(panic.payload_as_str().unwrap_or("no message")).to_string();
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    format!("tardy {version}: a defect{place}: {message}; please report this line to the authors of tardy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_panic_is_one_line_with_its_place() {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let before = panic::take_hook();
        panic::set_hook(Box::new(|panic| LINES.lock().unwrap().push(line_of(panic))));
        let ended = unless_defective(|| -> u8 { panic!("of the test,\n\u{1b}[2Jin two lines") });
        panic::set_hook(before);
        assert_eq!((ended, unless_defective(|| 7)), (None, Some(7)));
        let lines = LINES.lock().unwrap();
        let line = lines.iter().find(|line| line.contains("of the test")).unwrap();
        assert!(line.contains("a defect at crates/tardy/src/defect.rs:") && line.contains("please report"), "{line}");
        assert!(!line.contains(['\n', '\u{1b}']), "{line}");
    }
}
