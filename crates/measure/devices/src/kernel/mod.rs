//! Wrappers of the system calls and registers of devices.

pub mod datagram;
pub mod gpio;
pub mod hpet;
pub mod packet;
pub mod parallel_port;
pub mod pci_window;
pub mod pcm;
pub mod rtc;
pub mod vfio;
