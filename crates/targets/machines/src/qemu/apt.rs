//! Queries apt for packages: with the machine's configuration, or, for another architecture, with separate lists.
//!
//! Neither needs root, and nothing of the machine's apt or dpkg is changed.

use super::file_error::FileError;
use super::kernel_error::{KernelError, ProgramError};
use super::platform::Platform;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Directory in the cache with the lists of other architectures.
const LISTS: &str = "apt";
/// Written after lists were fetched.
const STAMP: &str = "updated";
/// Younger lists are not fetched again.
const FRESH: Duration = Duration::from_secs(3600);
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"];
/// Format of apt's output for each source.
const SOURCE_FORMAT: &str = "$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)";
/// For machines whose apt has no Debian source.
const SOURCES_DEFAULT: [(&str, &str); 2] =
    [("http://deb.debian.org/debian/", "bookworm"), ("http://deb.debian.org/debian-security/", "bookworm-security")];
const SECURITY: &str = "-security";

/// The packages of one architecture.
#[derive(Debug)]
pub struct Apt {
    /// `None` for the machine's own configuration.
    configuration: Option<PathBuf>,
}

impl Apt {
    /// Apt for the kernels of a platform; fetches lists if the machine has none for it.
    ///
    /// # Errors
    /// [`KernelError`].
    pub fn of(platform: &Platform, cache: &Path, report: &mut dyn FnMut(&str)) -> Result<Self, KernelError> {
        let own = output(Command::new("dpkg").arg("--print-architecture"))?;
        if own.trim() == platform.debian {
            return Ok(Self { configuration: None });
        }
        let root = cache.join(LISTS).join(platform.debian);
        let root = std::path::absolute(&root).map_err(FileError::of("find", &root))?;
        let apt = Self { configuration: Some(root.join("apt.conf")) };
        make_root(&root, platform)?;
        if !is_fresh(&root.join(STAMP)) {
            report(&format!("fetching Debian's package lists for {}", platform.debian));
            match apt.ask("apt-get", &["-q", "update"]) {
                Ok(_) => fs::write(root.join(STAMP), "").map_err(FileError::writing(root.join(STAMP)))?,
                // Some lists may have been fetched, and the package may be in them.
                Err(ProgramError::Failed { lines, .. }) if !lines.is_empty() => {
                    report(&format!("not every list came: {}", lines[0]));
                }
                Err(error) => report(&format!("not every list came: {error}")),
            }
        }
        Ok(apt)
    }

    /// The output of a program of apt.
    ///
    /// # Errors
    /// Its error messages.
    pub fn ask(&self, program: &str, words: &[&str]) -> Result<String, ProgramError> {
        output(self.command(program).args(words))
    }

    /// A program of apt, not yet started.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(configuration) = &self.configuration {
            command.env("APT_CONFIG", configuration);
        }
        command
    }
}

/// Runs a program to its end and returns its output.
///
/// # Errors
/// How it failed, and its output.
pub fn output(command: &mut Command) -> Result<String, ProgramError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ProgramError::NotStarted { program: program.clone(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let lines = String::from_utf8_lossy(&output.stderr).trim().lines().map(str::to_owned).collect();
    Err(ProgramError::Failed { program, status: output.status, lines })
}

fn is_fresh(stamp: &Path) -> bool {
    let age = fs::metadata(stamp).and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age < FRESH)
}

fn make_root(root: &Path, platform: &Platform) -> Result<(), KernelError> {
    let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).is_file());
    let keyring = keyring.ok_or(KernelError::NoKeyring)?;
    let words = ["indextargets", "--format", SOURCE_FORMAT, "Identifier: Packages"];
    let answer = output(Command::new("apt-get").args(words))?;
    let configuration = configuration(root, platform)?;
    for directory in ["lists/partial", "cache/archives/partial"] {
        let path = root.join(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(FileError::of("make", path))?;
    }
    let files =
        [("status", String::new()), ("sources.list", sources(&answer, platform, keyring)), ("apt.conf", configuration)];
    for (name, text) in files {
        fs::write(root.join(name), text).map_err(FileError::writing(root.join(name)))?;
    }
    Ok(())
}

fn configuration(root: &Path, platform: &Platform) -> Result<String, KernelError> {
    let text = root.to_str().filter(|text| !text.contains(['"', '\n']));
    let root = text.ok_or_else(|| KernelError::QuotedPath { path: root.to_owned() })?;
    let debian = platform.debian;
    Ok(format!(
        "APT::Architecture \"{debian}\";\nAPT::Architectures {{ \"{debian}\"; }};\nAPT::Sandbox::User \"root\";\n\
         Dir::State \"{root}\";\nDir::State::Lists \"{root}/lists\";\nDir::State::status \"{root}/status\";\n\
         Dir::Cache \"{root}/cache\";\nDir::Etc::sourcelist \"{root}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n"
    ))
}

/// A list of sources: Debian's main archives at the URLs that the machine's own apt uses.
fn sources(answer: &str, platform: &Platform, keyring: &str) -> String {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in answer.lines() {
        if let ["Debian", "main", address, release] = line.split_whitespace().collect::<Vec<_>>()[..] {
            found.push((address.into(), release.into()));
        }
    }
    if found.is_empty() {
        found = SOURCES_DEFAULT.map(|(address, release)| (address.into(), release.into())).to_vec();
    }
    if let Some(newer) = platform.newer_release {
        let first = |security: bool| found.iter().find(|(_, release)| release.ends_with(SECURITY) == security);
        let ordinary = first(false).map(|(address, _)| (address.clone(), newer.to_owned()));
        let security = first(true).map(|(address, _)| (address.clone(), format!("{newer}{SECURITY}")));
        found.extend(ordinary.into_iter().chain(security));
    }
    let mut lines = Vec::new();
    for (address, release) in found {
        let line = format!("deb [target=Packages signed-by={keyring}] {address} {release} main\n");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::Architecture;

    const ANSWER: &str = "\
Debian main http://mirror/debian/ bookworm
Debian contrib http://mirror/debian/ bookworm
Debian main http://mirror/debian-security/ bookworm-security
Somebody main http://else/ bookworm
";

    fn list(answer: &str, architecture: Architecture) -> String {
        sources(answer, Platform::of(architecture), "/keys").replace("[target=Packages signed-by=/keys] ", "")
    }

    #[test]
    fn the_machines_mirror_is_asked_for_debians_main_archives() {
        let own =
            "deb http://mirror/debian/ bookworm main\ndeb http://mirror/debian-security/ bookworm-security main\n";
        assert_eq!(list(ANSWER, Architecture::Arm64), own);
        let newer = "deb http://mirror/debian/ trixie main\ndeb http://mirror/debian-security/ trixie-security main\n";
        assert_eq!(list(ANSWER, Architecture::Riscv64), format!("{own}{newer}"));
        let trixie = ANSWER.replace("bookworm", "trixie");
        assert_eq!(list(&trixie, Architecture::Riscv64), newer);
        assert!(list("", Architecture::Arm64).starts_with("deb http://deb.debian.org/debian/ bookworm main\n"));
    }

    #[test]
    fn everything_apt_writes_is_below_our_directory() {
        let platform = Platform::of(Architecture::Arm64);
        let text = configuration(Path::new("/cache dir/apt/arm64"), platform).unwrap();
        for line in text.lines().filter(|line| line.starts_with("Dir::") && !line.contains("/dev/null")) {
            assert!(line.contains("\"/cache dir/apt/arm64"), "{line}");
        }
        assert!(text.contains("APT::Architecture \"arm64\";"));
        assert!(configuration(Path::new("/a\"b"), platform).is_err());
    }
}
