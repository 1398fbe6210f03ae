//! The tracer of an instance, and which functions and threads it follows.

use super::{Instance, TracefsError, file};

impl Instance {
    /// Tracers that run in an instance; the kernel has others that run in the top-level buffer only.
    pub fn tracers(&self) -> Vec<String> {
        let text = file::read_trimmed(&self.path().join("available_tracers")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// The tracer that is set; empty when it cannot be read.
    pub fn current_tracer(&self) -> String {
        file::read_trimmed(&self.path().join("current_tracer")).unwrap_or_default()
    }

    /// Follows only functions that match one of these globs or `:mod:NAME`; all when there are none.
    ///
    /// # Errors
    /// [`TracefsError::Rejected`] with the pattern that no function matches.
    pub fn set_functions(&self, patterns: &[String]) -> Result<(), TracefsError> {
        self.write_patterns("set_ftrace_filter", patterns)
    }

    /// Leaves these functions out; they win over [`Instance::set_functions`].
    ///
    /// # Errors
    /// [`TracefsError::Rejected`] with the pattern that no function matches.
    pub fn set_functions_not(&self, patterns: &[String]) -> Result<(), TracefsError> {
        self.write_patterns("set_ftrace_notrace", patterns)
    }

    fn write_patterns(&self, name: &str, patterns: &[String]) -> Result<(), TracefsError> {
        let path = self.path().join(name);
        file::write(&path, "")?;
        for pattern in patterns {
            // Without the line's end the kernel looks at it when the file is closed, where nobody hears its answer.
            file::append(&path, &format!("{pattern}\n"))?;
        }
        Ok(())
    }

    /// Follows the functions of these threads only, and of what they start if `children`.
    pub fn set_function_pids(&self, pids: &[i32], children: bool) -> Result<(), TracefsError> {
        let list: Vec<String> = pids.iter().map(i32::to_string).collect();
        file::write(&self.path().join("set_ftrace_pid"), &list.join(" "))?;
        self.set_option("function-fork", children)
    }

    /// Runs its tracer on these CPUs only.
    pub fn set_cpus(&self, cpus: &[u32]) -> Result<(), TracefsError> {
        file::write(&self.path().join("tracing_cpumask"), &hexadecimal_mask(cpus))
    }

    /// The longest latency its tracer saw, in µs; `None` without such a tracer.
    pub fn max_latency_us(&self) -> Option<u64> {
        file::read_trimmed(&self.max_latency_path())?.parse().ok()
    }

    /// A latency tracer forgets its maximum.
    pub fn reset_max_latency(&self) -> Result<(), TracefsError> {
        file::write(&self.max_latency_path(), "0")
    }
}

/// Words of 32 CPUs, the highest first, between commas.
fn hexadecimal_mask(cpus: &[u32]) -> String {
    let mut words = vec![0u32; cpus.iter().max().map_or(1, |last| *last as usize / 32 + 1)];
    for cpu in cpus {
        words[*cpu as usize / 32] |= 1 << (cpu % 32);
    }
    words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_highest_cpus_first() {
        assert_eq!(hexadecimal_mask(&[0, 3]), "00000009");
        assert_eq!(hexadecimal_mask(&[33]), "00000002,00000000");
        assert_eq!(hexadecimal_mask(&[]), "00000000");
    }
}
