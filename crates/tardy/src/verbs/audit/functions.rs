//! Names of functions in the executables of this machine.
//!
//! The names of the files come from the archive, which may come from elsewhere: a file may be a pipe, a device, one that
//! the kernel makes up while it is read, or a hostile executable beside the archive.

use super::function_names::readable;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use rustix::fs::{OFlags, fstatfs};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Most bytes of all files together.
const FILES_BYTES_MAX: u64 = 1 << 30;
/// Most bytes of the names of functions of all files together. Entries of a symbol table may share a name of any length.
const NAMES_BYTES_MAX: usize = 64 << 20;
/// More than any name that a compiler writes.
const NAME_BYTES_MAX: usize = 16 << 10;
/// procfs, sysfs, tracefs and debugfs, as statfs(2) numbers them: reading a file there may wait or change something, such
/// as /proc/kmsg and `trace_pipe`.
const KERNEL_FILE_SYSTEMS: [u64; 4] = [0x9fa0, 0x6265_6572, 0x7472_6163, 0x6462_6720];

/// Files that were read so far.
#[derive(Debug)]
pub struct Functions {
    files: HashMap<String, Symbols>,
    left: Left,
}

/// The file that may still be read.
#[derive(Debug)]
struct Left {
    file_bytes: u64,
    name_bytes: usize,
}

impl Default for Functions {
    fn default() -> Self {
        Self { files: HashMap::new(), left: Left { file_bytes: FILES_BYTES_MAX, name_bytes: NAMES_BYTES_MAX } }
    }
}

/// Functions of a file by address, and where its bytes are in memory.
#[derive(Debug, Default)]
struct Symbols {
    /// (offset in the file, bytes, address) of each loaded part.
    segments: Vec<(u64, u64, u64)>,
    /// (address, bytes, name), by address.
    functions: Vec<(u64, u64, String)>,
}

impl Functions {
    /// The function that contains the byte at an offset of a file, if the file names it.
    pub fn find(&mut self, file: &str, offset: u64) -> Option<String> {
        let left = &mut self.left;
        let read = || Symbols::read(Path::new(file), left).unwrap_or_default();
        let symbols = self.files.entry(file.to_owned()).or_insert_with(read);
        symbols.at(offset)
    }
}

impl Symbols {
    fn read(path: &Path, left: &mut Left) -> Option<Self> {
        let bytes = stored(path, left)?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let named = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.address() != 0)
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?)))
            .filter(|(.., name)| name.len() <= NAME_BYTES_MAX);
        let mut functions = Vec::new();
        for (address, bytes, name) in named {
            // An entry costs memory without a name as well.
            let Some(rest) = left.name_bytes.checked_sub(name.len() + size_of::<(u64, u64, String)>()) else { break };
            left.name_bytes = rest;
            functions.push((address, bytes, name.to_owned()));
        }
        functions.sort();
        Some(Self { segments: segments.collect(), functions })
    }

    fn at(&self, offset: u64) -> Option<String> {
        let in_segment =
            |(start, length, _): &&(u64, u64, u64)| (*start..start.saturating_add(*length)).contains(&offset);
        let (start, _, base) = self.segments.iter().find(in_segment)?;
        let address = base.checked_add(offset - start)?;
        let before = self.functions.partition_point(|(at, ..)| *at <= address);
        let (at, bytes, name) = self.functions[..before].last()?;
        // Functions written in assembly have no size.
        let inside = *bytes == 0 || address - at < *bytes;
        inside.then(|| readable(name))
    }
}

/// The bytes of a regular file that is stored somewhere.
fn stored(path: &Path, left: &mut Left) -> Option<Vec<u8>> {
    let fits = |about: &fs::Metadata| about.is_file() && about.len() <= FILE_BYTES_MAX.min(left.file_bytes);
    // Opening a device may do something already.
    fs::metadata(path).ok().filter(fits)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let length = file.metadata().ok().filter(fits)?.len();
    if KERNEL_FILE_SYSTEMS.contains(&(fstatfs(&file).ok()?.f_type as u64)) {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length as usize).ok()?;
    file.take(length).read_to_end(&mut bytes).ok()?;
    left.file_bytes -= bytes.len() as u64;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn left() -> Left {
        Functions::default().left
    }

    fn read(path: PathBuf) -> Option<Symbols> {
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(Symbols::read(&path, &mut left())));
        ended.recv_timeout(Duration::from_secs(60)).expect("the file is not waited for")
    }

    #[test]
    fn a_file_that_is_not_stored_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        let large = place.path().join("large");
        File::create(&large).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        for path in [&pipe, &large, Path::new("/dev/zero"), Path::new("/proc/self/exe/.."), place.path()] {
            assert!(read(path.to_owned()).is_none(), "{}", path.display());
        }
        // The kernel makes up its contents; reading /proc/kmsg in the same place would wait and take lines away.
        assert!(stored(Path::new("/proc/version"), &mut left()).is_none());
        assert!(stored(Path::new("/sys/kernel/notes"), &mut left()).is_none());
        let small = place.path().join("small");
        fs::write(&small, "text").unwrap();
        assert_eq!(stored(&small, &mut left()).as_deref(), Some(&b"text"[..]));
    }

    #[test]
    fn files_and_names_of_functions_have_one_limit_for_all() {
        let this = std::env::current_exe().unwrap();
        let mut left = left();
        left.name_bytes = 1000;
        let few = Symbols::read(&this, &mut left).unwrap().functions;
        assert!(!few.is_empty() && few.len() < 32, "{}", few.len());
        left.file_bytes = 10;
        assert!(Symbols::read(&this, &mut left).is_none());
    }

    #[test]
    fn a_function_of_this_program_is_named() {
        let this = std::env::current_exe().unwrap();
        let symbols = Symbols::read(&this, &mut left()).unwrap();
        let (at, _, name) =
            symbols.functions.iter().find(|(_, bytes, name)| *bytes > 16 && name.contains("main")).unwrap();
        let (start, _, base) =
            symbols.segments.iter().find(|(_, length, base)| (*base..base + length).contains(at)).unwrap();
        let offset = at - base + start;
        let expected = readable(name);
        let mut functions = Functions::default();
        assert_eq!(functions.find(&this.display().to_string(), offset + 1), Some(expected));
        assert_eq!(functions.find("/etc/passwd", 1), None);
    }
}
