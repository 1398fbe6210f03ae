//! The counter of system management interrupts of one Intel CPU, read through /dev/cpu/N/msr.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// MSR_SMI_COUNT, Intel SDM volume 4.
const SMI_COUNT: u64 = 0x34;

/// Why SMIs of a CPU cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum SmiError {
    #[error("cannot count SMIs, {path}: {source}; as root: modprobe msr")]
    Open { path: String, source: std::io::Error },
    #[error("cannot count SMIs, {path} has no such counter")]
    NoCounter { path: String },
}

/// The counter of one CPU.
#[derive(Debug)]
pub struct SmiCounter {
    register: File,
    last: u32,
}

impl SmiCounter {
    /// # Errors
    /// The driver `msr`, the privilege to use it, or the register is missing.
    pub fn open(cpu: u32) -> Result<Self, SmiError> {
        let path = format!("/dev/cpu/{cpu}/msr");
        let register = File::open(&path).map_err(|source| SmiError::Open { path: path.clone(), source })?;
        let mut counter = Self { register, last: 0 };
        counter.last = counter.read().ok_or(SmiError::NoCounter { path })?;
        Ok(counter)
    }

    fn read(&self) -> Option<u32> {
        let mut value = [0; 8];
        self.register.read_exact_at(&mut value, SMI_COUNT).ok()?;
        Some(u64::from_ne_bytes(value) as u32)
    }

    /// Interrupts since the last call, with one system call.
    #[inline]
    pub fn new_ones(&mut self) -> u64 {
        let now = self.read().unwrap_or(self.last);
        u64::from(now.wrapping_sub(std::mem::replace(&mut self.last, now)))
    }
}

/// Whether this kind of processor has the counter, according to /proc/cpuinfo.
pub fn supported(cpuinfo: &str) -> bool {
    let value = |key: &str| {
        cpuinfo.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })
    };
    cfg!(target_arch = "x86_64") && value("vendor_id") == Some("GenuineIntel") && value("cpu family") == Some("6")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn only_one_family_counts() {
        assert!(supported("processor : 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"));
        assert!(!supported("vendor_id\t: AuthenticAMD\ncpu family\t: 25\n"));
        assert!(!supported(""));
    }
}
