//! A file of stacks in, the stacks with names of functions out.

use crate::code_file::{CodeFile, Identity, SECTIONS_BYTES_MAX};
use crate::debug_file;
use crate::files::Files;
use crate::perf_records::{self, PerfSample};
use crate::unwinding::{FRAMES_MAX, Unwinding, Unwound};
use archive::own_code::CodeName;
use archive::stacks::{CodeMapping, NamedStacks, StackDescription, StackSample, decode};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Samples of one file of stacks; the oldest of more are left out. A ring of the kernel has a few hundred.
const SAMPLES_MAX: usize = 4096;
/// Mappings of one process with a file that may name functions.
const MAPPINGS_MAX: usize = 512;

/// Begin of the names that Python lists.
const PYTHON: &str = "py::";

/// Names functions with the files of one machine, each of which is read once.
pub struct Naming<F> {
    files: F,
    /// For names and sections of further files.
    bytes_left: Cell<u64>,
    /// By build id.
    read: HashMap<String, Rc<CodeFile>>,
    /// Paths that had no file with a build id.
    absent: HashSet<(String, String)>,
}

impl<F: Files> Naming<F> {
    pub fn new(files: F) -> Self {
        Self { files, bytes_left: Cell::new(SECTIONS_BYTES_MAX), read: HashMap::new(), absent: HashSet::new() }
    }

    /// Names the functions of a file of stacks; `None` if the bytes are not such a file. A function has no name if its file cannot be
    /// read, has no build id, or has another one than the program that ran.
    pub fn named(&mut self, file: &[u8]) -> Option<NamedStacks> {
        let (description, records) = decode(file)?;
        let mut unwinding = Unwinding::of(&description.machine);
        let process = self.process(&description, &mut unwinding);
        let sampled = description.sampled_bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(records.len());
        let (records, departures) = records.split_at_checked(sampled).unwrap_or((records, &[]));
        let [records, departures] = [records, departures].map(|bytes| perf_records::read(bytes, unwinding.registers()));
        let mut names = Names::default();
        let mut named = |samples: &[PerfSample]| -> Vec<StackSample> {
            let newest = samples.len().saturating_sub(SAMPLES_MAX);
            samples[newest..].iter().filter_map(|sample| names.of_sample(sample, &mut unwinding, &process)).collect()
        };
        let (samples, departures) = (named(&records.samples), named(&departures.samples));
        let period_ns = i64::try_from(description.period_ns).unwrap_or(i64::MAX);
        Some(NamedStacks { period_ns, samples, names: names.all, switches: records.switches, departures })
    }

    fn process<'a>(&mut self, description: &'a StackDescription, unwinding: &mut Unwinding) -> Process<'a> {
        let mut code = BTreeMap::new();
        let mappings =
            description.mappings.iter().filter(|mapping| mapping.start < mapping.end && mapping.build_id.is_some());
        for mapping in mappings.take(MAPPINGS_MAX) {
            let Some(file) = self.code_of(mapping) else { continue };
            let Some(bias) = file.bias(mapping.start, mapping.offset) else { continue };
            unwinding.add(mapping.start..mapping.end, bias, &file);
            code.insert(mapping.start, (file, bias));
        }
        let mut mappings: Vec<&CodeMapping> = description.mappings.iter().collect();
        mappings.sort_by_key(|mapping| mapping.start);
        Process { description, mappings, code }
    }

    fn code_of(&mut self, mapping: &CodeMapping) -> Option<Rc<CodeFile>> {
        let build_id = mapping.build_id.as_ref().filter(|_| mapping.path.starts_with('/'))?;
        if let Some(known) = self.read.get(build_id) {
            return Some(Rc::clone(known));
        }
        let place = (mapping.path.clone(), build_id.clone());
        if self.absent.contains(&place) {
            return None;
        }
        let Some(read) = read_file(&mapping.path, build_id, &mut self.files, &self.bytes_left) else {
            self.absent.insert(place);
            return None;
        };
        Some(Rc::clone(self.read.entry(build_id.clone()).or_insert(Rc::new(read))))
    }
}

/// The stack of a sample by the tables of its files; where they end too early, by the frame pointers that the kernel followed.
fn stack_of(sample: &PerfSample, unwinding: &mut Unwinding, process: &Process) -> Unwound {
    let is_trampoline = |address| process.generated_at(address).is_some_and(|name| name.starts_with(PYTHON));
    let unwound = unwinding.unwind(&sample.registers, sample.stack, &is_trampoline);
    if unwound.is_complete {
        return unwound;
    }
    // A register that is not used as a frame pointer leads anywhere.
    let known = sample.chain.iter().take(FRAMES_MAX).enumerate().map_while(|(at, address)| {
        // A return address is behind its call.
        let address = if at == 0 { *address } else { address.wrapping_sub(1) };
        process.mapping_of(address).map(|_| address)
    });
    let chain: Vec<u64> = known.collect();
    if chain.len() > unwound.addresses.len() { Unwound { addresses: chain, is_complete: false } } else { unwound }
}

/// The mappings of the process with their files.
struct Process<'a> {
    description: &'a StackDescription,
    /// By address.
    mappings: Vec<&'a CodeMapping>,
    /// By the start of the mapping: the file and the difference of an address in memory and in the file.
    code: BTreeMap<u64, (Rc<CodeFile>, u64)>,
}

impl<'a> Process<'a> {
    fn mapping_of(&self, address: u64) -> Option<&'a CodeMapping> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        after.checked_sub(1).map(|last| self.mappings[last]).filter(|mapping| address < mapping.end)
    }

    fn generated_at(&self, address: u64) -> Option<&'a str> {
        let holds = |start: u64, bytes: u64| address.checked_sub(start).is_some_and(|inside| inside < bytes);
        // A later function replaced an earlier one at its address.
        let found = self.description.generated.iter().rfind(|code| holds(code.start, code.bytes));
        found.map(|code| code.name.as_str())
    }
}

/// A file that is still the one that ran.
fn read_file(path: &str, build_id: &str, files: &mut dyn Files, bytes_left: &Cell<u64>) -> Option<CodeFile> {
    let identified = |bytes: Vec<u8>| {
        let identity = Identity::of(&bytes).filter(|identity| identity.build_id.as_deref() == Some(build_id))?;
        Some((bytes, identity))
    };
    let (bytes, identity) =
        files.of_build(build_id).and_then(identified).or_else(|| files.read(path).and_then(identified))?;
    let debug = debug_file::read(path, &identity, files);
    CodeFile::parse(&bytes, debug.as_deref(), bytes_left)
}

/// Every name once.
#[derive(Default)]
struct Names {
    all: Vec<CodeName>,
    numbers: HashMap<CodeName, u32>,
    /// Numbers of the names of an address, innermost first.
    addresses: HashMap<u64, Vec<u32>>,
}

impl Names {
    fn number(&mut self, name: CodeName) -> u32 {
        let next = self.all.len() as u32;
        *self.numbers.entry(name.clone()).or_insert_with(|| {
            self.all.push(name);
            next
        })
    }

    fn of_sample(&mut self, sample: &PerfSample, unwinding: &mut Unwinding, process: &Process) -> Option<StackSample> {
        let unwound = stack_of(sample, unwinding, process);
        let mut frames: Vec<u32> = self.of_kernel(sample, process.description);
        for address in &unwound.addresses {
            frames.extend(self.of_address(*address, process));
        }
        let is_complete = unwound.is_complete && frames.len() <= FRAMES_MAX;
        frames.truncate(FRAMES_MAX);
        (!frames.is_empty()).then_some(StackSample { ts_ns: sample.ts_ns, frames, is_complete })
    }

    /// The kernel's part of a stack: its functions if all have names, otherwise one frame.
    fn of_kernel(&mut self, sample: &PerfSample, description: &StackDescription) -> Vec<u32> {
        if !sample.in_kernel {
            return Vec::new();
        }
        let kernel = &description.kernel;
        let function = |(at, address): (usize, &u64)| {
            // A return address is behind its call.
            let address = if at == 0 { *address } else { address.wrapping_sub(1) };
            let after = kernel.partition_point(|function| function.start <= address);
            after.checked_sub(1).map(|last| CodeName::KernelFunction { name: kernel[last].name.clone() })
        };
        let names: Option<Vec<CodeName>> = sample.kernel.iter().take(FRAMES_MAX).enumerate().map(function).collect();
        let names = names.filter(|names| !names.is_empty()).unwrap_or_else(|| vec![CodeName::Kernel]);
        names.into_iter().map(|name| self.number(name)).collect()
    }

    fn of_address(&mut self, address: u64, process: &Process) -> Vec<u32> {
        if let Some(known) = self.addresses.get(&address) {
            return known.clone();
        }
        let mut numbers: Vec<u32> = names_at(address, process).into_iter().map(|name| self.number(name)).collect();
        // An alias that the compiler inlined into the function.
        numbers.dedup();
        self.addresses.insert(address, numbers.clone());
        numbers
    }
}

fn names_at(address: u64, process: &Process) -> Vec<CodeName> {
    if let Some(name) = process.generated_at(address) {
        return vec![CodeName::Generated { name: name.to_owned() }];
    }
    let Some(mapping) = process.mapping_of(address) else { return vec![CodeName::Unknown] };
    if mapping.path.is_empty() {
        return vec![CodeName::Unknown];
    }
    let file = &mapping.path;
    let known = process.code.get(&mapping.start);
    let functions = known.map(|(code, bias)| code.functions_at(address.wrapping_sub(*bias))).unwrap_or_default();
    if functions.is_empty() {
        return vec![CodeName::Unnamed { file: file.clone() }];
    }
    functions.into_iter().map(|name| CodeName::Function { name, file: file.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::stacks::{GeneratedCode, encode};
    use proptest::prelude::*;

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&mut self, _: &str) -> Option<Vec<u8>> {
            None
        }
    }

    struct SameBytes(Vec<u8>);

    impl Files for SameBytes {
        fn read(&mut self, _: &str) -> Option<Vec<u8>> {
            Some(self.0.clone())
        }
    }

    fn sample(ts_ns: u64, ip: u64, stack: &[u64]) -> Vec<u8> {
        let bytes = (stack.len() * 8) as u64;
        let words = [&[7, ts_ns, 0, 2, 0x1008, 0x1000, ip, bytes][..], stack, &[bytes]].concat();
        let head = [&9_u32.to_le_bytes()[..], &[0; 2], &((words.len() * 8 + 8) as u16).to_le_bytes()].concat();
        head.into_iter().chain(words.iter().flat_map(|word| word.to_le_bytes())).collect()
    }

    #[test]
    fn code_without_a_file_has_the_name_that_its_program_listed_or_none() {
        let description = StackDescription {
            machine: "x86_64".into(),
            period_ns: 250_000,
            mappings: vec![
                CodeMapping { start: 0x1000, end: 0x2000, ..CodeMapping::default() },
                CodeMapping { start: 0x40_0000, end: 0x41_0000, path: "/gone".into(), ..CodeMapping::default() },
            ],
            generated: vec![GeneratedCode { start: 0x1100, bytes: 0x10, name: "py::loop:/a.py".into() }],
            ..StackDescription::default()
        };
        let stack = [0, 0x1020, 0x40_1234, 0, 0, 0];
        let named = Naming::new(NoFiles).named(&encode(&description, &sample(5, 0x1108, &stack))).unwrap();
        let names = [CodeName::Generated { name: "py::loop:/a.py".into() }, CodeName::Unnamed { file: "/gone".into() }];
        assert_eq!((named.period_ns, &named.names[..]), (250_000, &names[..]));
        assert_eq!((named.samples[0].ts_ns, &named.samples[0].frames[..]), (5, &[0, 1][..]));
    }

    proptest! {
        #[test]
        fn any_file_and_any_executable_become_stacks(
            bytes: Vec<u8>, program: Vec<u8>, start: u64, length: u64, offset: u64, ip: u64,
        ) {
            let mapping = CodeMapping { start, end: start.saturating_add(length), offset, path: "/a".into(), ..CodeMapping::default() };
            let machine = "x86_64".into();
            let description = StackDescription { machine, mappings: vec![mapping], ..StackDescription::default() };
            let records = [sample(1, ip, &[1, 2, 3]), bytes.clone()].concat();
            let elf = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &program].concat();
            let mut naming = Naming::new(SameBytes(elf));
            let stacks = naming.named(&encode(&description, &records)).unwrap();
            prop_assert!(stacks.samples.iter().all(|sample| !sample.frames.is_empty()));
            let _ = naming.named(&bytes);
        }
    }
}
