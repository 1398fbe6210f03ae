//! The kernel's own functions, as the traces of the runs have them: a function of a module may be the user's.

use archive::reader::Run;
use ftrace::flight_record::FlightRecord;
use ftrace::kernel_symbols::KernelSymbols;
use ftrace::trace_dat::TraceFile;
use std::collections::BTreeSet;

/// Functions by name.
#[derive(Debug, Default)]
pub struct KernelFunctions {
    built_in: BTreeSet<String>,
    of_modules: BTreeSet<String>,
}

impl KernelFunctions {
    /// Adds those in the traces of a run.
    pub fn add(&mut self, run: &Run) {
        for spike in &run.spikes {
            if let Ok(trace) = run.spike_trace(spike.number) {
                self.add_symbols(&TraceFile::parse(trace.as_slice()).metadata.symbols);
            }
            if let Ok(record) = run.flight_record(spike.number) {
                self.add_symbols(&KernelSymbols::parse(&FlightRecord::parse(&record).symbols));
            }
        }
    }

    pub(crate) fn add_symbols(&mut self, symbols: &KernelSymbols) {
        for (name, module) in symbols.names() {
            let names = if module { &mut self.of_modules } else { &mut self.built_in };
            names.insert(name.to_owned());
        }
    }

    /// Whether the kernel itself has the function, alone or with an offset in it (`NAME+0x1c`), and no module has one of this name.
    pub fn has(&self, text: &str) -> bool {
        let (name, offset) = text.split_once('+').map_or((text, None), |(name, offset)| (name, Some(offset)));
        offset.is_none_or(is_offset) && self.built_in.contains(name) && !self.of_modules.contains(name)
    }
}

/// `0x1c`, or with the length of the function, `0x1c/0x40`.
fn is_offset(text: &str) -> bool {
    const DIGITS_MAX: usize = 5;
    text.splitn(2, '/').all(|part| {
        part.strip_prefix("0x").is_some_and(|digits| {
            (1..=DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions() -> KernelFunctions {
        let mut functions = KernelFunctions::default();
        let text = "1000 T do_idle\n2000 t ext4_sync_file\t[ext4]\n3000 t probe\n4000 t probe [acme]\n";
        functions.add_symbols(&KernelSymbols::parse(text));
        functions
    }

    #[test]
    fn functions_of_modules_are_not_the_kernels() {
        let functions = functions();
        assert!(functions.has("do_idle") && functions.has("do_idle+0x1c/0x40"));
        for other in
            ["ext4_sync_file", "probe", "acme_isr", "do_idle [acme]", "do_idle+0xffff8880123", "do_idle+alice", ""]
        {
            assert!(!functions.has(other), "{other}");
        }
    }
}
