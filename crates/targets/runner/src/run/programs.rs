//! The executables of a board whose stacks were sampled: the host, which names their functions, has others or none.

use archive::programs::{PROGRAM_BYTES_MAX, PROGRAMS_BYTES_MAX, is_build_id, program_path};
use archive::reader::Run;
use archive::stacks::{CodeMapping, decode};
use machines::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Further files are left out.
const FILES_MAX: usize = 64;
/// No file is begun later, or if it would probably end later.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files that were fetched, and those that the stacks need besides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    pub files: usize,
    /// Paths on the target.
    pub missing: Vec<String>,
}

/// Fetches the files that occur in the stacks of an archive into it, the smallest first. A file that is fetched may be another one than
/// the one that ran: the reader compares the build ids.
pub fn fetch(target: &mut dyn Target, directory: &Path) -> Fetched {
    let mut wanted: Vec<CodeMapping> = occurring(directory).into_values().collect();
    wanted.sort_by_key(|mapping| mapping.file_bytes);
    let mut fetched = Fetched::default();
    let (begun, mut bytes) = (Instant::now(), 0_u64);
    for mapping in wanted {
        let Some(id) = mapping.build_id.filter(|id| is_build_id(id)) else { continue };
        // What the target says of the size may be wrong; what has arrived is not.
        let expected = begun.elapsed().as_secs_f64() * (bytes + mapping.file_bytes) as f64 / bytes.max(1) as f64;
        let is_soon = begun.elapsed() < PATIENCE && (bytes == 0 || expected < PATIENCE.as_secs_f64());
        let fits = mapping.file_bytes <= PROGRAM_BYTES_MAX.min(PROGRAMS_BYTES_MAX.saturating_sub(bytes));
        let is_wanted = is_soon && fits && fetched.files < FILES_MAX;
        let to = directory.join(program_path(&id));
        match is_wanted.then(|| fetch_one(target, Path::new(&mapping.path), &to)).flatten() {
            Some(length) => (fetched.files, bytes) = (fetched.files + 1, bytes.saturating_add(length)),
            None => fetched.missing.push(mapping.path),
        }
    }
    fetched
}

/// The length of a file that was fetched.
fn fetch_one(target: &mut dyn Target, from: &Path, to: &Path) -> Option<u64> {
    fs::create_dir_all(to.parent()?).ok()?;
    let is_fetched = target.fetch_file(from, to).is_ok();
    let length = fs::metadata(to).ok().map(|about| about.len()).filter(|length| *length <= PROGRAM_BYTES_MAX);
    length.filter(|_| is_fetched).or_else(|| {
        let _ = fs::remove_file(to);
        None
    })
}

/// A mapping of each file with code that may be in the stacks, by build id.
fn occurring(directory: &Path) -> BTreeMap<String, CodeMapping> {
    let run = Run::open_without_seconds(directory).unwrap_or_default();
    let mut files = BTreeMap::new();
    for spike in &run.spikes {
        let Ok(file) = run.spike_stacks(spike.number) else { continue };
        let Some((description, records)) = decode(&file) else { continue };
        let words: BTreeSet<u64> = records.chunks_exact(8).map(word).collect();
        let occurs = |mapping: &CodeMapping| {
            mapping.path.starts_with('/')
                && mapping.start < mapping.end
                && words.range(mapping.start..mapping.end).next().is_some()
        };
        for mapping in description.mappings.into_iter().filter(occurs) {
            if let Some(id) = mapping.build_id.clone() {
                files.entry(id).or_insert(mapping);
            }
        }
    }
    files
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map(u64::from_le_bytes).unwrap_or_default()
}
