//! Thin, safe wrappers of system calls that no library offers, or that must be called in exactly one way.

pub mod bell;
pub mod bpf;
pub mod capability;
pub mod clock;
pub mod clock_resolution;
pub mod descriptors;
pub mod dma_latency;
pub mod event_stamps;
pub mod kept_memory;
pub mod memory;
pub mod message_queue;
pub mod mutex;
pub mod perf_event;
pub mod pty;
pub mod scheduling;
pub mod semaphore;
pub mod serial_port;
pub mod shared_memory;
pub mod signals;
pub mod sleep;
pub mod stack_ring;
pub mod thread_signal;
pub mod ticks;
pub mod trace_mount;
pub mod wait_flag;
pub mod wake_up_mark;
