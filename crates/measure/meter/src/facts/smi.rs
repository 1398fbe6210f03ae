//! Counts system management interrupts, which are invisible to the kernel: MSR_SMI_COUNT of Intel processors.

use crate::environment::tree::Tree;
use archive::facts::SmiFact;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Intel's Software Developer's Manual, volume 4: MSR_SMI_COUNT, bits 31:0.
const SMI_COUNT: u64 = 0x34;
const PAUSE: Duration = Duration::from_millis(250);

/// The counters of all CPUs.
#[derive(Debug, Default)]
pub struct Counted {
    pub cpus: Vec<SmiFact>,
    pub pause_ns: u64,
    pub problem: Option<String>,
}

/// Reads every counter twice. Without counters there is no pause.
pub fn count(tree: &Tree) -> Counted {
    let cpus: Vec<u32> = tree.numbered("dev/cpu", "").into_iter().map(|(cpu, _)| cpu).collect();
    if cpus.is_empty() {
        return Counted { problem: Some(SmiError::NoRegisters.to_string()), ..Counted::default() };
    }
    let begun = Instant::now();
    let before: Result<Vec<(u32, u64)>, SmiError> = cpus.iter().map(|cpu| Ok((*cpu, read(tree, *cpu)?))).collect();
    let before = match before {
        Ok(before) => before,
        Err(error) => return Counted { problem: Some(error.to_string()), ..Counted::default() },
    };
    thread::sleep(PAUSE);
    let counters = before.iter().filter_map(|(cpu, before)| {
        let after = read(tree, *cpu).ok()?;
        Some(SmiFact { cpu: *cpu, before: *before, after })
    });
    let cpus = counters.collect();
    Counted { cpus, pause_ns: u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX), problem: None }
}

/// Why nothing is counted; the facts store its sentence.
#[derive(Debug, Error)]
enum SmiError {
    #[error("there is no /dev/cpu/0/msr; `modprobe msr` on an Intel processor creates it")]
    NoRegisters,
    #[error("the counter of CPU {cpu} cannot be read from {}: {source}", path.display())]
    Unreadable { cpu: u32, path: PathBuf, source: io::Error },
}

fn read(tree: &Tree, cpu: u32) -> Result<u64, SmiError> {
    let path = tree.path(&format!("dev/cpu/{cpu}/msr"));
    let mut bytes = [0; 8];
    File::open(&path)
        .and_then(|file| file.read_exact_at(&mut bytes, SMI_COUNT))
        .map_err(|source| SmiError::Unreadable { cpu, path, source })?;
    Ok(u64::from_le_bytes(bytes) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_the_lower_half_of_its_register() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("dev/cpu/1")).unwrap();
        let mut device = vec![0; SMI_COUNT as usize];
        device.extend(0xdead_beef_0000_0007_u64.to_le_bytes());
        std::fs::write(root.path().join("dev/cpu/1/msr"), device).unwrap();
        let counted = count(&Tree::new(root.path()));
        assert_eq!(counted.cpus, [SmiFact { cpu: 1, before: 7, after: 7 }]);
        assert!(counted.problem.is_none() && counted.pause_ns >= 1);
        std::fs::write(root.path().join("dev/cpu/1/msr"), "short").unwrap();
        assert!(count(&Tree::new(root.path())).problem.is_some_and(|problem| problem.contains("CPU 1")));
    }
}
