//! A power management request to the kernel, held for the lifetime of the value: closing the device withdraws it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

/// Holds /dev/cpu_dma_latency.
#[derive(Debug)]
pub struct DmaLatencyRequest {
    _device: File,
}

impl DmaLatencyRequest {
    /// Requests that waking from idle takes at most `latency_us`.
    ///
    /// # Errors
    /// The device is missing (CONFIG_CPU_IDLE, CONFIG_PM) or not writable (root).
    pub fn hold(latency_us: i32) -> io::Result<Self> {
        let mut device = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
        device.write_all(&latency_us.to_ne_bytes())?;
        Ok(Self { _device: device })
    }
}
