//! Programs of the target's as loads: each file says how one is started for a round and how its own figures are read.
//!
//! A program runs in rounds: when one is done the next begins, until the load is dismissed. Then the program is interrupted,
//! as Ctrl-C does, and what it tells of the broken round counts, too, where it tells anything.

mod fio;
mod hackbench;
mod iperf3;
mod kernel_build;
mod rounds;
mod rt_app;
mod stress_ng;
mod words;

pub use rounds::run;

use super::LoadError;
use archive::load::ProgramLoad;
use archive::settings::LoadWord;
use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use words::Words;

/// A program with its words, on words.
pub type CommandLine = Vec<String>;

/// How one program is a load.
pub struct Program {
    name: &'static str,
    executables: &'static [&'static str],
    /// What else the target must have; the text completes "because".
    check: fn(&Words) -> Result<(), String>,
    /// What runs beside all rounds.
    companion: fn(&Words) -> io::Result<Option<Companion>>,
    /// The commands of a round, done one after the other, in the load's own directory; the number is from 0.
    round: fn(&Words, &Setting, u64) -> Vec<CommandLine>,
    /// Units of work that a round's output, or what it left in the load's directory, tells of.
    work: fn(&[u8], &Path) -> Option<u64>,
    /// Whether the output tells of work while it grows.
    tells_meanwhile: bool,
}

/// A program that serves the one that works.
pub struct Companion {
    command: CommandLine,
    port: u16,
}

/// What a round is started in.
pub struct Setting<'a> {
    pub place: &'a Path,
    /// Port of the companion.
    pub port: Option<u16>,
}

const PROGRAMS: [&Program; 6] = [
    &stress_ng::PROGRAM,
    &fio::PROGRAM,
    &iperf3::PROGRAM,
    &hackbench::PROGRAM,
    &rt_app::PROGRAM,
    &kernel_build::PROGRAM,
];

/// The program of this name.
pub fn find(name: &str) -> Option<(&'static Program, &'static ProgramLoad)> {
    PROGRAMS.into_iter().find(|program| program.name == name).zip(archive::load::program(name))
}

/// Whether the target has what the load needs.
///
/// # Errors
/// What is missing, with the fix.
pub fn check(name: &str, words: &[LoadWord]) -> Result<(), LoadError> {
    let Some((program, told)) = find(name) else { return Err(LoadError::Unknown { name: name.into() }) };
    if let Some(missing) = program.executables.iter().find(|executable| path_of(executable).is_none()) {
        return Err(LoadError::NoProgram { name: name.into(), program: missing, fix: told.fix });
    }
    (program.check)(&Words(words)).map_err(|why| LoadError::CannotRun { name: name.into(), why })
}

/// Where a program is found: on the path, and where daemons' paths do not lead.
fn path_of(executable: &str) -> Option<PathBuf> {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).chain(usual).collect();
    folders
        .into_iter()
        .map(|folder| folder.join(executable))
        .find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0))
}

fn nothing_to_check(_: &Words) -> Result<(), String> {
    Ok(())
}

fn alone(_: &Words) -> io::Result<Option<Companion>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::load::PROGRAM_LOADS;

    #[test]
    fn every_program_that_is_told_of_can_be_started() {
        for told in &PROGRAM_LOADS {
            assert!(find(told.name).is_some(), "{}", told.name);
        }
        assert_eq!(PROGRAM_LOADS.len(), PROGRAMS.len());
    }

    #[test]
    fn what_is_missing_is_named_with_its_mend() {
        assert!(path_of("sh").is_some() && path_of("no-such-program-anywhere").is_none());
        let error = check("nonsense", &[]).expect_err("no such program");
        assert!(matches!(error, LoadError::Unknown { .. }));
        let word = LoadWord { key: String::new(), value: "/nowhere/tasks.json".into() };
        let error = check("rt-app", &[word]).expect_err("neither program nor file").to_string();
        assert!(error.contains("rt-app"), "{error}");
    }
}
