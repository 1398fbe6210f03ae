//! Defines a method as people read it, and what the macro [`method`](super::declaration) makes of each declaration.

use super::Method;
use super::values::Values;

/// The start of the stretch that a sample measures; the ledger of a late one starts there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stimulus {
    /// A timer of the measuring thread.
    #[default]
    Timer,
    /// A system call of another thread of the meter.
    Thread,
    /// A device, whose interrupt handler wakes the thread.
    Device,
    /// Nothing: the thread is busy, and the stretch is one in which it did not get on.
    Busy,
    /// A system call of the measuring thread itself, in which it may sleep.
    OwnCall,
    /// Not known: another version of this program measured by a method that this one lacks.
    Unknown,
}

/// An option of a method, written behind its name: `semaphore:kind=sysv`.
#[derive(Debug, Clone, Copy)]
pub struct MethodOption {
    pub key: &'static str,
    pub values: Values,
    pub what: &'static str,
}

/// The stretch that a sample measures with other options than the default ones.
#[derive(Debug, Clone, Copy)]
pub struct OtherPath {
    /// Keys and values that choose it.
    pub options: &'static [(&'static str, &'static str)],
    pub from: &'static str,
    pub to: &'static str,
}

/// The catalogue entry of a method, without its name.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The instant at which a sample starts, with the default options.
    pub from: &'static str,
    /// The instant at which it ends.
    pub to: &'static str,
    /// The same with other options; the first that fits counts.
    pub others: &'static [OtherPath],
    /// The program whose method it is.
    pub original: &'static str,
    /// Needs beside the right to real-time priorities; empty if there are none.
    pub needs: &'static str,
    pub options: &'static [MethodOption],
}

/// A method as people read it.
#[derive(Debug, Clone, Copy)]
pub struct MethodDefinition {
    pub method: Method,
    pub name: &'static str,
    pub entry: Entry,
}

impl Method {
    /// By its name.
    pub fn called(name: &str) -> Option<Self> {
        super::METHODS.iter().find(|definition| definition.name == name).map(|definition| definition.method)
    }

    pub fn name(self) -> &'static str {
        self.definition().name
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}
