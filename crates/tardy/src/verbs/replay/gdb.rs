//! gdb for a stopped machine: its script, how it is started, and how to attach another debugger.

use super::page::Page;
use super::symbol_file::symbol_file;
use crate::measuring::signals::Signals;
use anyhow::{Context, anyhow};
use machines::qemu::virtual_time::StandingMachine;
use signal_hook::consts::{SIGHUP, SIGTERM};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const GDB: &str = "gdb";
const SYMBOLS_FILE: &str = "kernel-functions";
const SCRIPT_FILE: &str = "replay.gdb";
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Checks for gdb before minutes are spent.
///
/// # Errors
/// With the package to install.
pub fn find() -> anyhow::Result<()> {
    let mut asking = Command::new(GDB);
    match asking.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(anyhow!(
            "failed to start gdb: it is not installed; `apt install gdb`, or have another debugger attach with --listen"
        )),
        Err(error) => Err(error).context("failed to start gdb"),
    }
}

/// The files a debugger reads.
pub struct Visit {
    script: PathBuf,
    socket: PathBuf,
}

impl Visit {
    /// # Errors
    /// If the files cannot be written.
    pub fn prepare(machine: &StandingMachine, symbols: &str, page: &Page) -> anyhow::Result<Self> {
        let directory = machine.directory();
        let (functions, script) = (directory.join(SYMBOLS_FILE), directory.join(SCRIPT_FILE));
        let socket = machine.socket().to_owned();
        let write = |path: &Path, bytes: &[u8]| {
            fs::write(path, bytes).with_context(|| format!("failed to write {}", path.display()))
        };
        write(&functions, &symbol_file(symbols))?;
        write(&script, script_of(&functions, &socket, page).as_bytes())?;
        Ok(Self { script, socket })
    }

    /// How to attach.
    pub fn invitation(&self) -> String {
        format!(
            "Attach from another terminal, as the same user:\n  gdb -x {}\nAnother debugger finds the machine at the \
             socket {}.\nCtrl-C ends it.",
            self.script.display(),
            self.socket.display()
        )
    }

    /// Runs gdb for the user until it ends. Meanwhile Ctrl-C goes to gdb.
    ///
    /// # Errors
    /// If gdb cannot be started, or was ended by a signal.
    pub fn debug(&self, words: &[String], signals: &Signals) -> anyhow::Result<()> {
        let asked_to_end = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked_to_end))?;
        }
        // Requested before these handlers were registered, or with a Ctrl-C, which did not go to gdb yet.
        if signals.requests().count() > 0 {
            return Err(anyhow!("stopped on request; the machine was ended"));
        }
        let terminal = Terminal::now();
        let mut gdb = Command::new(GDB)
            .arg("-q")
            .arg("-x")
            .arg(&self.script)
            .args(words)
            .spawn()
            .context("failed to start gdb")?;
        let status = loop {
            if let Some(status) = gdb.try_wait()? {
                break status;
            }
            if asked_to_end.load(Ordering::SeqCst) {
                let _ = gdb.kill();
            }
            thread::sleep(LOOK_EVERY);
        };
        terminal.restore();
        if asked_to_end.load(Ordering::SeqCst) {
            return Err(anyhow!("stopped on request; gdb and the machine were ended"));
        }
        status.code().map(|_| ()).ok_or_else(|| anyhow!("gdb was ended by a signal, and the machine with it: {status}"))
    }

    /// Waits until the machine ends or the user stops it; returns which, as a sentence.
    pub fn wait(&self, machine: &mut StandingMachine, signals: &Signals) -> &'static str {
        loop {
            if signals.requests().count() > 0 {
                return "stopped on request; the machine was ended";
            }
            if machine.has_ended() {
                return "the machine ended: its guest came to its end, or a debugger or another program killed it";
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

/// The initial commands of gdb. Names of functions come from the machine, so only characters of identifiers are
/// accepted.
fn script_of(functions: &Path, socket: &Path, page: &Page) -> String {
    let callers = page.functions.iter().map(|name| {
        let name: String = name.chars().map(|letter| if is_of_a_name(letter) { letter } else { '?' }).collect();
        format!("  echo   {name}\\n\n")
    });
    let callers: String = callers.collect();
    let callers = if callers.is_empty() { "  echo   a program\\n\n".into() } else { callers };
    format!(
        "set architecture i386:x86-64\nsymbol-file {}\ntarget remote {}\ndefine callers\n{callers}end\ndocument \
         callers\nWho called what at the instant the machine was stopped at, the innermost first.\nFrom the flight \
         record: the kernel's code has nothing that gdb could unwind it by.\nend\n",
        functions.display(),
        socket.display()
    )
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')
}

/// The settings of the terminal, which a killed gdb does not restore.
struct Terminal(Option<String>);

impl Terminal {
    fn now() -> Self {
        let asked = Command::new("stty").arg("-g").stdin(Stdio::inherit()).stderr(Stdio::null()).output();
        let saved = asked.ok().filter(|output| output.status.success());
        Self(saved.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }

    fn restore(self) {
        if let Some(saved) = self.0 {
            // There is no terminal any more, and nothing can be done about it.
            let _ = Command::new("stty").arg(saved).stderr(Stdio::null()).status();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::page;
    use super::*;

    #[test]
    fn nothing_of_the_machine_becomes_a_command_of_gdb() {
        let mut page = page();
        page.functions = vec!["free_one".into(), "evil\nshell rm -rf /".into()];
        let script = script_of(Path::new("/s/kernel-functions"), Path::new("/s/gdb"), &page);
        assert!(script.contains("symbol-file /s/kernel-functions\ntarget remote /s/gdb\n"), "{script}");
        assert!(script.contains("  echo   free_one\\n\n  echo   evil?shell?rm??rf??\\n\nend"), "{script}");
        page.functions.clear();
        assert!(script_of(Path::new("/f"), Path::new("/g"), &page).contains("a program"));
    }
}
