//! The methods of a run: which path through the kernel a sample measures, and from where to where.
//!
//! [`METHODS`] lists them for people, [`MethodRequest`] is what a run asks for, [`state`] what a machine lacks for one.

mod busy_thread;
mod catalogue;
mod options;
mod path;
mod sample_word;
pub mod state;
mod words;

pub use busy_thread::{BusyThread, PeriodicWork};
pub use catalogue::METHODS;
pub use path::OtherPath;
pub use sample_word::SampleWord;
pub use words::MethodWordsError;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The path through the kernel that a sample measures. Figures of two methods do not compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Method {
    /// A timer until the thread that waits for it runs.
    #[default]
    Timer,
    /// `sem_post` or `semop` until the thread that waits runs.
    Semaphore,
    /// Unlocking a mutex until the thread that waits for it has it.
    Mutex,
    /// A signal until the thread in `sigwaitinfo` runs.
    Signal,
    /// `mq_send` until the thread in `mq_receive` runs.
    MessageQueue,
    /// Asking for a mutex that a less urgent thread holds until having it, while a third one wants the CPU.
    Inversion,
    /// The instant at which more threads than CPUs wake until one of the most urgent runs.
    Migrate,
    /// The start of a period of a SCHED_DEADLINE thread until it runs.
    Deadline,
    /// From one look at the clock to the next of a thread that does nothing else.
    Noise,
    /// The largest gap between two looks at the clock in a part of each period.
    Hardware,
    /// A busy thread loses the CPU until it has it again.
    Map,
    /// A periodic interrupt of a real-time clock until the thread that reads the device runs.
    Rtc,
    /// A periodic interrupt of an HPET timer until the thread that reads the device runs.
    Hpet,
    /// The kernel's handler of a device's interrupt until the handler in user space runs.
    Uio,
    /// A datagram until its answer.
    Udp,
    /// A byte on a serial line until its answer.
    Serial,
    /// A raw frame until its answer.
    Ethernet,
    /// An edge on a GPIO line until its answer.
    Gpio,
    /// A strobe on a parallel port until the interrupt that answers it.
    Parallel,
    /// A read or write of a file or block device until its system call returns.
    Storage,
    /// The interrupt of a sound card's period until the thread that plays or captures it runs.
    Audio,
}

/// What starts the stretch that a sample measures; the ledger of a late one starts there.
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
}

/// What an option of a method accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// One of these; the first is the default.
    OneOf(&'static [&'static str]),
    Number {
        least: u64,
        most: u64,
        default: u64,
    },
    /// Any text; without one the method chooses.
    Text,
    /// It is set or not.
    Flag,
}

/// An option of a method, written behind its name: `semaphore:kind=sysv`.
#[derive(Debug, Clone, Copy)]
pub struct MethodOption {
    pub key: &'static str,
    pub values: Values,
    pub what: &'static str,
}

/// A method as people read it.
#[derive(Debug, Clone, Copy)]
pub struct MethodDefinition {
    pub method: Method,
    pub name: &'static str,
    /// The instant at which a sample starts, with the default options.
    pub from: &'static str,
    /// The instant at which it ends.
    pub to: &'static str,
    /// The same with other options; the first that fits counts.
    pub others: &'static [OtherPath],
    /// The program whose method it is.
    pub original: &'static str,
    pub stimulus: Stimulus,
    /// What it needs beside the right to real-time priorities; empty: nothing.
    pub needs: &'static str,
    pub options: &'static [MethodOption],
}

impl Method {
    pub fn definition(self) -> &'static MethodDefinition {
        METHODS.iter().find(|definition| definition.method == self).unwrap_or(&METHODS[0])
    }

    pub fn name(self) -> &'static str {
        self.definition().name
    }

    pub fn stimulus(self) -> Stimulus {
        self.definition().stimulus
    }

    /// By its name.
    pub fn called(name: &str) -> Option<Self> {
        METHODS.iter().find(|definition| definition.name == name).map(|definition| definition.method)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A method with its options, as a run asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodRequest {
    pub name: Method,
    /// Values by key; one that is a flag has an empty value.
    pub options: BTreeMap<String, String>,
    /// The threads of `map` that the host read from the file of its option `file`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<BusyThread>>"))]
    pub threads: Vec<BusyThread>,
}

impl From<Method> for MethodRequest {
    fn from(name: Method) -> Self {
        Self { name, ..Self::default() }
    }
}

impl MethodRequest {
    /// Whether it is what a run measures without being asked.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The value of `--method`, and the threads that it names by a file.
    pub fn words(&self) -> String {
        let threads = self.threads.iter().map(|thread| format!("; {thread}"));
        self.text() + &threads.collect::<String>()
    }

    /// What starts the stretch that a sample of this request measures.
    pub fn stimulus(&self) -> Stimulus {
        let answers = self.value("role") == Some("answer");
        match self.name {
            // The time stamp of the kernel starts the sample.
            Method::Gpio | Method::Ethernet | Method::Udp if answers => Stimulus::Device,
            Method::Migrate if self.value("wake") == Some("call") => Stimulus::Thread,
            // One thread reads and answers, and no time stamp says when the stimulus came.
            Method::Serial | Method::Parallel if answers && self.number("hops") == 0 => Stimulus::Busy,
            // The thread itself writes the impulse.
            Method::Audio if self.value("sample") == Some("loop") => Stimulus::Busy,
            name => name.stimulus(),
        }
    }

    /// The value of an option, or its default; `None`: a text or flag that is not set.
    pub fn value(&self, key: &str) -> Option<&str> {
        let option = || self.name.definition().options.iter().find(|option| option.key == key);
        self.options.get(key).map(String::as_str).or_else(|| match option()?.values {
            Values::OneOf(values) => values.first().copied(),
            Values::Number { .. } | Values::Text | Values::Flag => None,
        })
    }

    /// The value of an option that is a number.
    pub fn number(&self, key: &str) -> u64 {
        let option = self.name.definition().options.iter().find(|option| option.key == key);
        let default = match option.map(|option| option.values) {
            Some(Values::Number { default, .. }) => default,
            _ => 0,
        };
        self.options.get(key).and_then(|value| value.parse().ok()).unwrap_or(default)
    }

    pub fn is_set(&self, key: &str) -> bool {
        self.options.contains_key(key)
    }
}
