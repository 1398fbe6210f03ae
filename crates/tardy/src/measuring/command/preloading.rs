//! Whether a program loads a library that `LD_PRELOAD` names, and why not.

use super::executable::{Architecture, Executable};
use super::places;
use rustix::process::{getgid, getuid};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Scripts that name scripts: the kernel follows this many.
const SCRIPTS_MAX: usize = 5;
const SET_USER: u32 = 0o4000;
/// Without the right of the group to execute, the bit means a mandatory lock.
const SET_GROUP: u32 = 0o2010;

/// Why a program does not load it.
#[derive(Debug)]
pub struct Obstacle {
    /// The program, or the interpreter of the script.
    program: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Static,
    NotGlibc { loader: String },
    OtherArchitecture(Architecture),
    OtherUser,
    OtherGroup,
    Capabilities,
    Unreadable(io::Error),
    NotExecutable,
}

impl Obstacle {
    /// Actions for the user.
    pub fn fix(&self) -> &'static str {
        match self.kind {
            Kind::Static => "link it dynamically",
            Kind::NotGlibc { .. } => "link it with glibc",
            Kind::OtherArchitecture(_) => "build it for x86-64",
            Kind::OtherUser | Kind::OtherGroup => "audit a copy without the setuid and setgid bits",
            Kind::Capabilities => "audit as root, or a copy without capabilities",
            Kind::Unreadable(_) => "make it readable",
            Kind::NotExecutable => "name an executable or a script that starts with #!",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.program.display())?;
        match &self.kind {
            Kind::Static => out.write_str("is linked statically and loads no library"),
            Kind::NotGlibc { loader } => {
                write!(out, "is not linked with glibc (its loader is {loader}) and cannot load the library")
            }
            Kind::OtherArchitecture(other) => write!(out, "is built for {}, the library for x86-64", other.words()),
            Kind::OtherUser => out.write_str("is setuid to another user, so its loader ignores LD_PRELOAD"),
            Kind::OtherGroup => out.write_str("is setgid to another group, so its loader ignores LD_PRELOAD"),
            Kind::Capabilities => out.write_str("has file capabilities, so its loader ignores LD_PRELOAD"),
            Kind::Unreadable(error) => write!(out, "cannot be read: {error}"),
            Kind::NotExecutable => out.write_str("is neither an executable of Linux nor a script with #!"),
        }
    }
}

/// Reason why a program of this machine cannot load a library that is made for glibc on x86-64; `None` if there is none.
/// Where a script names its interpreter, that one loads it.
pub fn obstacle(program: &str) -> Option<Obstacle> {
    let mut program = program.to_owned();
    for _ in 0..SCRIPTS_MAX {
        let file = places(&program).into_iter().find(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(&program));
        match Executable::read(&file) {
            Ok(Executable::Script(words)) => match interpreter(&words) {
                Some(next) => program = next,
                None => return Some(Obstacle { program: file, kind: Kind::NotExecutable }),
            },
            Ok(executable) => return of_executable(&file, executable).map(|kind| Obstacle { program: file, kind }),
            Err(error) => return Some(Obstacle { program: file, kind: Kind::Unreadable(error) }),
        }
    }
    Some(Obstacle { program: program.into(), kind: Kind::NotExecutable })
}

/// The program that runs a script. env(1) runs the one that follows its options.
fn interpreter(words: &str) -> Option<String> {
    let mut words = words.split_whitespace();
    let first = words.next()?;
    let is_env = Path::new(first).file_name().is_some_and(|name| name == "env");
    let after = words.find(|word| !word.starts_with('-') && !word.contains('='));
    Some(if is_env { after.unwrap_or(first) } else { first }.to_owned())
}

fn of_executable(file: &Path, executable: Executable) -> Option<Kind> {
    let Executable::Elf { architecture, loader } = executable else { return Some(Kind::NotExecutable) };
    if architecture != Architecture::X86_64 {
        return Some(Kind::OtherArchitecture(architecture));
    }
    let Some(loader) = loader else { return Some(Kind::Static) };
    if !is_glibc(&loader) {
        return Some(Kind::NotGlibc { loader });
    }
    raised(file)
}

/// The kernel marks a program with more rights than its caller, and its loader then ignores the variable.
fn raised(file: &Path) -> Option<Kind> {
    let about = fs::metadata(file).ok()?;
    if about.mode() & SET_USER != 0 && about.uid() != getuid().as_raw() {
        return Some(Kind::OtherUser);
    }
    if about.mode() & SET_GROUP == SET_GROUP && about.gid() != getgid().as_raw() {
        return Some(Kind::OtherGroup);
    }
    let mut value = [0_u8; 64];
    let has_capabilities = rustix::fs::getxattr(file, c"security.capability", &mut value[..]).is_ok();
    (has_capabilities && !getuid().is_root()).then_some(Kind::Capabilities)
}

/// The loaders of glibc have such names on every architecture.
fn is_glibc(loader: &str) -> bool {
    let name = Path::new(loader).file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ld-linux") || name.starts_with("ld64.so") || name.starts_with("ld.so")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    fn written(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    /// The start of an executable for a machine, with this loader.
    fn elf(class: u8, machine: u8, loader: Option<&str>) -> Vec<u8> {
        let mut head = vec![0; 256];
        head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1]);
        head[18] = machine;
        (head[32], head[54], head[56]) = (64, 56, 1);
        let Some(loader) = loader else { return head };
        (head[64], head[72], head[96]) = (3, 128, loader.len() as u8);
        head[128..128 + loader.len()].copy_from_slice(loader.as_bytes());
        head
    }

    fn said(program: &str) -> String {
        obstacle(program).map_or_else(String::new, |obstacle| obstacle.to_string())
    }

    const GLIBC: &str = "/lib64/ld-linux-x86-64.so.2";

    #[test]
    fn each_obstacle_is_named_before_the_program_starts() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, head: &[u8]| said(&written(&folder, name, head));
        assert_eq!(of("dynamic", &elf(2, 62, Some(GLIBC))), "");
        let found = obstacle(&written(&folder, "static", &elf(2, 62, None))).unwrap();
        assert!(matches!(found.kind, Kind::Static), "{found}");
        assert!(of("musl", &elf(2, 62, Some("/lib/ld-musl-x86_64.so.1"))).contains("its loader is /lib/ld-musl"));
        assert!(of("narrow", &elf(1, 3, Some("/lib/ld-linux.so.2"))).contains("x86 with 32-bit addresses"));
        // The x32 ABI has other numbers of calls.
        assert!(of("x32", &elf(1, 62, Some("/libx32/ld-linux-x32.so.2"))).contains("x86-64 with 32-bit addresses"));
        assert!(of("arm64", &elf(2, 183, None)).contains("built for arm64"));
        assert!(of("other", &elf(2, 22, None)).contains("ELF machine 22"));
        assert!(of("text", b"echo hello\n").contains("neither"));
        let missing = obstacle("/nonexistent/program").unwrap();
        assert!(matches!(missing.kind, Kind::Unreadable(_)), "{missing}");
    }

    #[test]
    fn of_a_script_the_interpreter_counts() {
        let folder = tempfile::tempdir().unwrap();
        let fixed = written(&folder, "fixed", &elf(2, 62, None));
        let loads = written(&folder, "loads", &elf(2, 62, Some(GLIBC)));
        let script = |name: &str, first: &str| said(&written(&folder, name, format!("#!{first}\nexit\n").as_bytes()));
        assert_eq!(script("good", &format!(" {loads} -e")), "");
        assert_eq!(script("bad", &fixed), said(&fixed));
        assert!(script("env", &format!("/usr/bin/env -S A=b {fixed}")).contains("statically"));
        assert!(script("empty", "").contains("neither"));
        let circle = folder.path().join("circle").display().to_string();
        fs::write(&circle, format!("#!{circle}\n")).unwrap();
        assert!(said(&circle).contains("neither"));
    }

    #[test]
    fn a_program_that_takes_another_user_does_not_load_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = written(&folder, "raises", &elf(2, 62, Some(GLIBC)));
        let set = |mode| fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        // Its own user and group change nothing.
        set(0o6755);
        assert_eq!(said(&program), "");
        if !getuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(&program, Some(65_534), None).unwrap();
        set(0o4755);
        assert!(matches!(obstacle(&program).unwrap().kind, Kind::OtherUser), "{}", said(&program));
        std::os::unix::fs::chown(&program, Some(0), Some(65_534)).unwrap();
        set(0o2755);
        assert!(said(&program).contains("setgid"), "{}", said(&program));
        set(0o2745);
        assert_eq!(said(&program), "");
    }
}
