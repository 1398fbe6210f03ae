//! A pseudo-terminal of a given width that keeps what is written to it.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// A terminal of which everything that is written to it is kept.
pub struct Terminal {
    shown: JoinHandle<String>,
    pub keyboard: OwnedFd,
    pub program: Child,
}

impl Terminal {
    /// Starts a program on a terminal of `columns` columns.
    pub fn start(mut command: Command, columns: u16) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        resize(&keyboard, columns);
        let screen = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let program = command.stdin(screen()).stdout(screen()).stderr(screen()).spawn().unwrap();
        // The terminal ends with its last writer: the command still holds some.
        drop(command);
        let mut output = File::from(keyboard.try_clone().unwrap());
        let shown = thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = output.read(&mut piece) {
                all.extend_from_slice(&piece[..read]);
            }
            String::from_utf8_lossy(&all).into_owned()
        });
        Self { shown, keyboard, program }
    }

    /// Waits for the program; its exit code and what it showed.
    pub fn end(mut self) -> (Option<i32>, String) {
        let code = self.program.wait().unwrap().code();
        (code, self.shown.join().unwrap())
    }
}

pub fn resize(terminal: impl AsFd, columns: u16) {
    tcsetwinsize(terminal, Winsize { ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// Lines without the terminal's commands.
pub fn lines(shown: &str) -> Vec<String> {
    let mut text = String::new();
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => drop(letters.by_ref().find(|letter| letter.is_ascii_alphabetic())),
            '\r' => text.push('\n'),
            other => text.push(other),
        }
    }
    text.lines().map(str::to_owned).filter(|line| !line.trim().is_empty()).collect()
}
