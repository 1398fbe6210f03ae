//! Programs of the target as loads: each file defines how one is started for a round and how its output is parsed.
//!
//! A program runs in rounds: when one ends the next starts, until the load is stopped. Then the program is interrupted,
//! as by Ctrl-C, and its report of the interrupted round counts, too, if there is one.

mod fio;
mod hackbench;
mod iperf3;
mod kernel_build;
mod options;
mod rounds;
mod rt_app;
mod stress_ng;
mod unusable;

pub use rounds::run;
pub use unusable::Unusable;

use super::LoadError;
use archive::load::ProgramLoad;
use archive::settings::LoadWord;
use options::Options;
use std::env;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program and its arguments.
pub type CommandLine = Vec<String>;

/// How to run one program as a load.
pub struct Program {
    name: &'static str,
    executables: &'static [&'static str],
    /// Further requirements on the target.
    check: fn(&Options) -> Result<(), Unusable>,
    /// A server that all rounds need.
    server: fn(&Options) -> io::Result<Option<Server>>,
    /// The commands of a round, run one after the other in the load's directory; the number counts from 0.
    round: fn(&Options, &Context, u64) -> Vec<CommandLine>,
    /// Units of work according to a round's output, or to its files in the load's directory.
    work: fn(&[u8], &Path) -> Option<u64>,
    /// Whether the output reports work during a round.
    reports_progress: bool,
}

/// A server for the working program.
pub struct Server {
    command: CommandLine,
    port: u16,
}

/// Where a round runs.
pub struct Context<'a> {
    pub directory: &'a Path,
    pub server_port: Option<u16>,
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

/// Whether the text is a number such as `0.016`. Its value would take 15 kB of the standard library.
fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    [whole, fraction].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether the target has what the load needs.
///
/// # Errors
/// The missing thing, with the fix.
pub fn check(name: &str, words: &[LoadWord]) -> Result<(), LoadError> {
    let Some((program, definition)) = find(name) else { return Err(LoadError::Unknown { name: name.into() }) };
    if let Some(missing) = program.executables.iter().find(|executable| path_of(executable).is_none()) {
        return Err(LoadError::NoProgram { name: name.into(), program: missing, fix: definition.fix });
    }
    (program.check)(&Options(words)).map_err(|source| LoadError::Unusable { name: name.into(), source })
}

/// Path of a program: searched in PATH, and in directories that daemons' paths lack.
fn path_of(executable: &str) -> Option<PathBuf> {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).chain(usual).collect();
    folders
        .into_iter()
        .map(|folder| folder.join(executable))
        .find(|path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0))
}

fn nothing_to_check(_: &Options) -> Result<(), Unusable> {
    Ok(())
}

fn no_server(_: &Options) -> io::Result<Option<Server>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::load::PROGRAM_LOADS;

    #[test]
    fn every_program_load_can_be_started() {
        for definition in &PROGRAM_LOADS {
            assert!(find(definition.name).is_some(), "{}", definition.name);
        }
        assert_eq!(PROGRAM_LOADS.len(), PROGRAMS.len());
    }

    #[test]
    fn a_missing_program_is_named() {
        assert!(path_of("sh").is_some() && path_of("no-such-program-anywhere").is_none());
        let error = check("nonsense", &[]).expect_err("no such program");
        assert!(matches!(error, LoadError::Unknown { .. }));
        let word = LoadWord { key: String::new(), value: "/nowhere/tasks.json".into() };
        let error = check("rt-app", &[word]).expect_err("neither program nor file").to_string();
        assert!(error.contains("rt-app"), "{error}");
    }
}
