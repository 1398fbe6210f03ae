//! Thin, safe wrappers of system calls that no library offers, or that must be called in exactly one way.

pub mod clock;
pub mod datagram;
pub mod descriptors;
pub mod dma_latency;
pub mod event_stamps;
pub mod gpio;
pub mod hpet;
pub mod memory;
pub mod message_queue;
pub mod mutex;
pub mod packet;
pub mod parallel_port;
pub mod pci_window;
pub mod pcm;
pub mod pty;
pub mod rtc;
pub mod scheduling;
pub mod semaphore;
pub mod serial_port;
pub mod shared_memory;
pub mod signals;
pub mod sleep;
pub mod thread_signal;
pub mod ticks;
pub mod trace_mount;
pub mod wake_up_mark;
