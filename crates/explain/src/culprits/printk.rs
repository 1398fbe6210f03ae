//! The kernel writes to a console.

use super::about::{About, Proof};
use super::named::{NOTHING, Named};
use crate::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "a printing thread (pr/NAME) has the CPU while the thread could run, or a *console_write function holds it",
    confirm: "dmesg has a line of that instant; its bytes times 10 divided by the baud rate is about the time it took",
    fix: "quiet or loglevel=3 on the kernel command line; a faster console or none (console=); mend what logs",
    reading: &["Message logging with printk", "The kernel's command-line parameters"],
    proof: Proof::Real,
};

const NAMED: Named =
    Named { threads: &["pr/*"], functions: &["*console_write*", "wake_up_klogd_work_func"], ..NOTHING };

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "the kernel was writing to a console")
}
