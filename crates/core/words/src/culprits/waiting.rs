//! Words about waiting: the thread waited during its work.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the thread waited during its work",
    confirm: "`strace -f` shows the call it waits in",
    fix: "no file, socket or device in the loop; shorten what others do under a lock",
};
