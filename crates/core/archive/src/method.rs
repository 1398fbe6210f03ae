//! The methods of a run: which path through the kernel a sample measures, and from where to where.
//!
//! Each method has a file, which declares its options, its catalogue entry and what its samples are; the list below names all of
//! them. [`METHODS`] shows them to people, [`MethodRequest`] is what a run asks for, [`state`] what a machine lacks for one.

mod busy_thread;
mod declaration;
mod definition;
mod hand_over;
mod interrupt;
mod request;
mod role;
mod sample_word;
pub mod state;
mod values;
mod wire;
mod words;

pub mod audio;
pub mod deadline;
pub mod ethernet;
pub mod gpio;
pub mod hardware;
pub mod hpet;
pub mod inversion;
pub mod map;
pub mod message_queue;
pub mod migrate;
pub mod mutex;
pub mod noise;
pub mod parallel;
pub mod rtc;
pub mod semaphore;
pub mod serial;
pub mod signal;
pub mod storage;
pub mod timer;
pub mod udp;
pub mod uio;

pub use busy_thread::{BusyThread, PeriodicWork};
use declaration::{Declared, Sampled, methods};
pub use definition::{MethodDefinition, MethodOption, OtherPath, Stimulus};
pub use hand_over::{Caches, Partner, Protocol, Rounds, SAMPLE as HAND_OVER};
pub use request::MethodRequest;
pub use role::{Role, Undivided, WiredRole};
pub use sample_word::SampleWord;
use serde::{Deserialize, Serialize};
pub use values::{Flag, Number, OptionValue, Text, Values};
pub use words::MethodWordsError;

/// A path of a method that this version lacks.
const OF_ANOTHER_VERSION: &str = "not known to this version";

methods! {
    /// A timer until the thread that waits for it runs.
    Timer(timer::Timer) = "timer",
    /// `sem_post` or `semop` until the thread that waits runs.
    Semaphore(semaphore::Semaphore) = "semaphore",
    /// Unlocking a mutex until the thread that waits for it has it.
    Mutex(mutex::Mutex) = "mutex",
    /// A signal until the thread in `sigwaitinfo` runs.
    Signal(signal::Signal) = "signal",
    /// `mq_send` until the thread in `mq_receive` runs.
    MessageQueue(message_queue::MessageQueue) = "message-queue",
    /// Asking for a mutex that a less urgent thread holds until having it, while a third one wants the CPU.
    Inversion(inversion::Inversion) = "inversion",
    /// The instant at which more threads than CPUs wake until one of the most urgent runs.
    Migrate(migrate::Migrate) = "migrate",
    /// The start of a period of a SCHED_DEADLINE thread until it runs.
    Deadline(deadline::Deadline) = "deadline",
    /// From one look at the clock to the next of a thread that does nothing else.
    Noise(noise::Noise) = "noise",
    /// The largest gap between two looks at the clock in a part of each period.
    Hardware(hardware::Hardware) = "hardware",
    /// A busy thread loses the CPU until it has it again.
    Map(map::Map) = "map",
    /// A periodic interrupt of a real-time clock until the thread that reads the device runs.
    Rtc(rtc::Rtc) = "rtc",
    /// A periodic interrupt of an HPET timer until the thread that reads the device runs.
    Hpet(hpet::Hpet) = "hpet",
    /// The kernel's handler of a device's interrupt until the handler in user space runs.
    Uio(uio::Uio) = "uio",
    /// A datagram until its answer.
    Udp(udp::Udp) = "udp",
    /// A byte on a serial line until its answer.
    Serial(serial::Serial) = "serial",
    /// A raw frame until its answer.
    Ethernet(ethernet::Ethernet) = "ethernet",
    /// An edge on a GPIO line until its answer.
    Gpio(gpio::Gpio) = "gpio",
    /// A strobe on a parallel port until the interrupt that answers it.
    Parallel(parallel::Parallel) = "parallel",
    /// A read or write of a file or block device until its system call returns.
    Storage(storage::Storage) = "storage",
    /// The interrupt of a sound card's period until the thread that plays or captures it runs.
    Audio(audio::Audio) = "audio",
}

/// Archives from before there were methods have none.
impl Default for Method {
    fn default() -> Self {
        Self::Timer
    }
}
