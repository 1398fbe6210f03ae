//! Code that a program generated at run time, by the list that it writes for perf: `/tmp/perf-PID.map`, with the start, the length and the name
//! of a function in each line. Of a list that may have any length, only the functions that occur in the records are kept.

use crate::compact;
use archive::stacks::{CodeMapping, ENTRIES_MAX, GeneratedCode};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Where programs write their lists, in a container below its own root.
const LISTS: &str = "/tmp";
/// The rest of a longer list is not read.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// A longer name is cut.
const NAME_BYTES_MAX: usize = 512;

/// The functions of a process that occur in records, in the order of its list: a later one replaced an earlier one at its address.
pub fn of(pid: i32, mappings: &[CodeMapping], records: &[u8]) -> Vec<GeneratedCode> {
    let addresses = generated_addresses(mappings, records);
    if addresses.is_empty() {
        return Vec::new();
    }
    let path = format!("/proc/{pid}/root{LISTS}/perf-{}.map", own_number(pid));
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
    let list = File::options().read(true).custom_flags(flags).open(path);
    let owner = fs::metadata(format!("/proc/{pid}")).map(|process| process.uid());
    // Anyone may create a file of that name first.
    let is_its_own = |about: fs::Metadata| {
        about.is_file() && (about.uid() == 0 || owner.as_ref().is_ok_and(|owner| about.uid() == *owner))
    };
    let list = list.ok().filter(|list| list.metadata().is_ok_and(is_its_own));
    list.map(|list| occurring(BufReader::new(list.take(LIST_BYTES_MAX)), &addresses)).unwrap_or_default()
}

/// Words of the records that lie in executable memory without a file.
fn generated_addresses(mappings: &[CodeMapping], records: &[u8]) -> BTreeSet<u64> {
    let generated: Vec<&CodeMapping> =
        mappings.iter().filter(|mapping| !mapping.path.starts_with(['/', '['])).collect();
    if generated.is_empty() {
        return BTreeSet::new();
    }
    let words = records.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let is_generated = |word: &u64| generated.iter().any(|mapping| (mapping.start..mapping.end).contains(word));
    compact::inserted(words.filter(is_generated))
}

/// The number of a process as it sees it itself, in a container another one.
fn own_number(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok()).unwrap_or(pid)
}

fn occurring(list: impl BufRead, addresses: &BTreeSet<u64>) -> Vec<GeneratedCode> {
    let lines = list.split(b'\n').map_while(Result::ok);
    let code = lines.filter_map(|line| parsed(&String::from_utf8_lossy(&line)));
    let occurs = |code: &GeneratedCode| {
        let end = code.start.saturating_add(code.bytes);
        // A return address may be the first one behind a function that ends with a call.
        code.start <= end && addresses.range(code.start..=end).next().is_some()
    };
    code.filter(occurs).take(ENTRIES_MAX).collect()
}

/// A function of a line like `7f3a10 1c LazyCompile:*update /robot.js:12`.
fn parsed(line: &str) -> Option<GeneratedCode> {
    let mut words = line.splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let (start, bytes) = (number()?, number()?);
    let name: String = words.next()?.chars().take(NAME_BYTES_MAX).collect();
    (!name.is_empty()).then_some(GeneratedCode { start, bytes, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_of_the_records_are_taken_from_the_list() {
        let list =
            "1000 10 js:idle a.js\n0x2000 20 py::update:/robot.py\nnoise\n3000 8 gone\n2000 20 py::update again\n";
        let mapping = |start, end, path: &str| CodeMapping { start, end, path: path.into(), ..CodeMapping::default() };
        let mappings = [mapping(0x1000, 0x2800, ""), mapping(0x3000, 0x4000, "/bin/a")];
        let records: Vec<u8> = [0x3004_u64, 0x2008, 7].iter().flat_map(|word| word.to_le_bytes()).collect();
        let addresses = generated_addresses(&mappings, &records);
        assert_eq!(addresses, BTreeSet::from([0x2008]));
        let names: Vec<String> = occurring(list.as_bytes(), &addresses).into_iter().map(|code| code.name).collect();
        assert_eq!(names, ["py::update:/robot.py", "py::update again"]);
    }

    #[test]
    fn this_process_has_its_own_number() {
        assert_eq!(own_number(std::process::id() as i32) as u32, std::process::id());
    }

    proptest! {
        #[test]
        fn any_list_is_read(list: Vec<u8>, line in "[0-9a-f]{0,18} [0-9a-f]{0,18} .{0,20}", address: u64) {
            let _ = occurring(&list[..], &BTreeSet::from([address]));
            let _ = parsed(&line);
        }
    }
}
