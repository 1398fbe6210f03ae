//! The tracer of an instance, and the functions and threads that it traces.

use super::{Instance, TracefsError, file};

impl Instance {
    /// Tracers available in an instance; some run only in the top-level buffer.
    pub fn tracers(&self) -> Vec<String> {
        let text = file::read_trimmed(&self.path().join("available_tracers")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// The current tracer; empty if it cannot be read.
    pub fn current_tracer(&self) -> String {
        file::read_trimmed(&self.path().join("current_tracer")).unwrap_or_default()
    }

    /// Traces only functions that match one of these globs or `:mod:NAME`; all if there are none.
    ///
    /// # Errors
    /// [`TracefsError::Rejected`] with the pattern that no function matches.
    pub fn set_functions(&self, patterns: &[String]) -> Result<(), TracefsError> {
        self.write_patterns("set_ftrace_filter", patterns)
    }

    /// Excludes these functions; this overrides [`Instance::set_functions`].
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
            // Without a line end the kernel evaluates it when the file is closed, where errors are lost.
            file::append(&path, &format!("{pattern}\n"))?;
        }
        Ok(())
    }

    /// Traces the functions of these threads only, and with `children` also of those they start.
    pub fn set_function_pids(&self, pids: &[i32], children: bool) -> Result<(), TracefsError> {
        let list: Vec<String> = pids.iter().map(i32::to_string).collect();
        file::write(&self.path().join("set_ftrace_pid"), &list.join(" "))?;
        self.set_option("function-fork", children)
    }

    /// Runs the tracer on these CPUs only.
    pub fn set_cpus(&self, cpus: &[u32]) -> Result<(), TracefsError> {
        file::write(&self.path().join("tracing_cpumask"), &hexadecimal_mask(cpus))
    }

    /// Resets the maximum of a latency tracer.
    pub fn reset_max_latency(&self) -> Result<(), TracefsError> {
        file::write(&self.max_latency_path(), "0")
    }
}

/// Words of 32 CPUs, the highest first, separated by commas.
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
