//! Requirements of a test on its machine: privileges, programs, kernel features, and exclusive use.
//!
//! A test that lacks something is skipped, printed and recorded. In continuous integration it fails instead, so that a
//! successful run there means that everything ran.

mod machine;
mod skipped;

pub use machine::{Machine, has_program, is_root, tracefs};

use skipped::Skipped;

/// A requirement of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prerequisite<'a> {
    Root,
    /// A mounted tracing file system that this user may change.
    Tracefs,
    /// A program on the search path, or at this absolute path.
    Program(&'a str),
    /// Anything else that can be prepared: its description, and whether it exists.
    Prepared(&'a str, bool),
    /// A property of the running kernel, which cannot be prepared: it never fails a test.
    Kernel(&'a str, bool),
}

impl Prerequisite<'_> {
    /// The missing thing, as a noun phrase.
    fn missing(self) -> Option<String> {
        let (met, what) = match self {
            Self::Root => (is_root(), "root".to_owned()),
            Self::Tracefs => (
                tracefs().is_some(),
                "a writable tracefs (mount -t tracefs nodev /sys/kernel/tracing, as root)".to_owned(),
            ),
            Self::Program(name) => (has_program(name), format!("the program `{name}`")),
            Self::Prepared(what, met) | Self::Kernel(what, met) => (met, what.to_owned()),
        };
        (!met).then_some(what)
    }

    fn is_required_in_ci(self) -> bool {
        !matches!(self, Self::Kernel(..))
    }
}

/// Whether everything exists. A missing item is printed and recorded, and fails the test in continuous integration.
///
/// # Panics
///
/// If `CI` is set and something is missing that can be prepared.
#[track_caller]
pub fn met(needed: &[Prerequisite]) -> bool {
    let Some((lacking, what)) = needed.iter().find_map(|one| Some((*one, one.missing()?))) else { return true };
    let in_ci = std::env::var("CI").is_ok_and(|value| !["", "0", "false"].contains(&value.as_str()));
    assert!(
        !(in_ci && lacking.is_required_in_ci()),
        "this machine lacks {what}, and CI is set: a missing prerequisite fails there"
    );
    Skipped::here(&what).print_and_record();
    false
}

/// Skips the test unless the machine has everything listed: `require!(Root, Program("strace"))`.
#[macro_export]
macro_rules! require {
    ($($needed:ident $(($($value:expr),+))?),+ $(,)?) => {
        if !$crate::met(&[$($crate::Prerequisite::$needed $(($($value),+))?),+]) {
            return;
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_thing_is_not_missing() {
        assert_eq!(Prerequisite::Program("sh").missing(), None);
        assert_eq!(Prerequisite::Program("/bin/sh").missing(), None);
        assert_eq!(Prerequisite::Prepared("a board", true).missing(), None);
        assert_eq!(Prerequisite::Root.missing().is_none(), is_root());
    }

    #[test]
    fn a_missing_thing_is_named() {
        let named = |needed: Prerequisite| needed.missing().expect("it is missing");
        assert_eq!(named(Prerequisite::Program("no-such-program")), "the program `no-such-program`");
        assert_eq!(named(Prerequisite::Program("/nowhere/sh")), "the program `/nowhere/sh`");
        assert_eq!(named(Prerequisite::Kernel("osnoise", false)), "osnoise");
    }

    #[test]
    fn only_the_kernel_is_nobody_s_fault() {
        assert!(!Prerequisite::Kernel("osnoise", false).is_required_in_ci());
        for needed in [Prerequisite::Root, Prerequisite::Tracefs, Prerequisite::Prepared("a board", false)] {
            assert!(needed.is_required_in_ci());
        }
    }
}
