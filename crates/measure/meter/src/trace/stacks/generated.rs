//! Code that a program generated at run time, by the list that it writes for perf: `/tmp/perf-PID.map`, with the start, the length and the name
//! of a function in each line. Of a list that may have any length, only the functions that occur in the records are kept.

use super::addresses::Addresses;
use super::jitdump::{self, NAME_BYTES_MAX};
use archive::stacks::{CodeMapping, ENTRIES_MAX, GeneratedCode};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Where programs write their lists, in a container below its own root.
const LISTS: &str = "/tmp";
/// The rest of a longer list is not read.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// The functions of a process that occur in records, in the order of its list: a later one replaced an earlier one at its address.
pub fn of(pid: i32, mappings: &[CodeMapping], records: &[u8]) -> Vec<GeneratedCode> {
    let addresses = Addresses::of(mappings, records);
    if addresses.is_empty() {
        return Vec::new();
    }
    let list = own_file(pid, &format!("{LISTS}/perf-{}.map", own_number(pid)));
    let listed = list.map(|list| occurring(BufReader::new(list.take(LIST_BYTES_MAX)), &addresses)).unwrap_or_default();
    // The program maps its file, so that others find it.
    let is_dump =
        |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("jit-") && name.ends_with(".dump"));
    let dump = mappings.iter().find(|mapping| is_dump(&mapping.path)).and_then(|mapping| own_file(pid, &mapping.path));
    let dumped = dump.map(|dump| jitdump::functions(BufReader::new(dump), &addresses)).unwrap_or_default();
    let mut all = [listed, dumped].concat();
    all.truncate(ENTRIES_MAX);
    all
}

/// A regular file below the root of a process that its user or root owns: anyone may create a file of a name first.
fn own_file(pid: i32, path: &str) -> Option<File> {
    // A program chooses its paths, and opening a device may do something already.
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let place = File::options().read(true).custom_flags(flags).open(format!("/proc/{pid}/root{path}")).ok()?;
    let about = place.metadata().ok()?;
    let owner = fs::metadata(format!("/proc/{pid}")).map(|process| process.uid());
    let is_its_own = about.uid() == 0 || owner.is_ok_and(|owner| about.uid() == owner);
    let file = (about.is_file() && is_its_own).then(|| File::open(format!("/proc/self/fd/{}", place.as_raw_fd())));
    file?.ok()
}

/// The number of a process as it sees it itself, in a container another one.
fn own_number(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok()).unwrap_or(pid)
}

fn occurring(list: impl BufRead, addresses: &Addresses) -> Vec<GeneratedCode> {
    let lines = list.split(b'\n').map_while(Result::ok);
    let code = lines.filter_map(|line| parsed(&String::from_utf8_lossy(&line)));
    code.filter(|code| addresses.occur_in(code)).take(ENTRIES_MAX).collect()
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
        let addresses = Addresses::of(&mappings, &records);
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
            let _ = occurring(&list[..], &Addresses::from([address]));
            let _ = parsed(&line);
        }
    }
}
