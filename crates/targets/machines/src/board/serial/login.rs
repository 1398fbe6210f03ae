//! From an open line to a shell, whatever is there: a login prompt, a shell, or the remains of an earlier session.

use super::error::{LoginError, PortError, SerialError};
use super::port::{Port, Received};
use super::reader::without_kernel;
use crate::board::board_file::Board;
use crate::stop::StopRequests;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A shell answers this with [`PROOF`], which the echo does not contain.
const PROBE: &str = " echo \"tardy $((6*7)) sh\"\r";
const PROOF: &str = "tardy 42 sh";
/// Ends what an earlier session left: Ctrl-C, and a new line.
const INTERRUPT: &str = "\x03\r";
const LOGIN_PROMPT: &str = "login:";
const PASSWORD_PROMPT: &str = "assword:";
const POLL: Duration = Duration::from_millis(50);
const TRIES: usize = 4;
const RECEIVED_BYTES_MAX: usize = 64 << 10;
const GARBAGE_BYTES_MIN: usize = 8;

/// Time limits for a board.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// After this silence the board has sent everything.
    quiet: Duration,
    answer: Duration,
    /// A wrong password is rejected with a deliberate delay.
    password: Duration,
    /// A booting board is left alone for this time.
    boot: Duration,
}

const PATIENCE: Patience = Patience {
    quiet: Duration::from_millis(500),
    answer: Duration::from_secs(4),
    password: Duration::from_secs(20),
    boot: Duration::from_secs(30),
};

/// The shell at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shell {
    /// Whether this session logged in.
    pub by_us: bool,
}

/// Gets to a shell.
///
/// # Errors
/// [`SerialError`].
pub fn shell(port: &Port, board: &Board, stop: &StopRequests) -> Result<Shell, SerialError> {
    shell_within(PATIENCE, port, board, stop)
}

fn shell_within(patience: Patience, port: &Port, board: &Board, stop: &StopRequests) -> Result<Shell, SerialError> {
    let mut login = Login { patience, port, board, stop, received: String::new(), all: Vec::new(), by_us: false };
    login.let_boot()?;
    for attempt in 0..TRIES {
        // The first attempt does not interrupt a user at a prompt.
        login.say(if attempt == 0 { "\r" } else { INTERRUPT })?;
        login.listen(patience.answer / 2, true, |_| false)?;
        if login.reached()? {
            return Ok(Shell { by_us: login.by_us });
        }
    }
    Err(login.failure().into())
}

struct Login<'a> {
    patience: Patience,
    port: &'a Port,
    board: &'a Board,
    stop: &'a StopRequests,
    /// Text received since the last line was sent.
    received: String,
    all: Vec<u8>,
    by_us: bool,
}

impl Login<'_> {
    fn say(&mut self, text: &str) -> Result<(), PortError> {
        self.received.clear();
        self.port.write(text.as_bytes())
    }

    /// Receives until `enough` is satisfied, or, with `settles`, until nothing more comes.
    fn listen(&mut self, limit: Duration, settles: bool, enough: impl Fn(&str) -> bool) -> Result<(), SerialError> {
        let (begun, mut last) = (Instant::now(), Instant::now());
        while begun.elapsed() < limit && !enough(&self.received) {
            if self.stop.count() > 0 {
                return Err(SerialError::Stopped);
            }
            match self.port.read(POLL) {
                Received::Bytes(bytes) => {
                    last = Instant::now();
                    self.received.push_str(&String::from_utf8_lossy(&bytes));
                    self.all.extend(bytes);
                    if self.all.len() > RECEIVED_BYTES_MAX {
                        self.all.drain(..RECEIVED_BYTES_MAX / 2);
                    }
                    if self.received.len() > RECEIVED_BYTES_MAX {
                        self.received.clear();
                    }
                }
                Received::Nothing if settles && !self.received.is_empty() && last.elapsed() > self.patience.quiet => {
                    break;
                }
                Received::Nothing => {}
                // A server that gives the line to another client reports that before it hangs up.
                Received::Gone(error) => {
                    return Err(match self.last_output() {
                        None => error.into(),
                        Some(last_output) => LoginError::LineGone { error, last_output }.into(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The last lines on the console, from any program.
    fn last_output(&self) -> Option<String> {
        let text = without_kernel(&String::from_utf8_lossy(&self.all));
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last: Vec<String> = lines[lines.len().saturating_sub(2)..].iter().map(|line| visible(line)).collect();
        (!last.is_empty()).then(|| last.join(" | "))
    }

    /// A character sent to a boot loader would stop the boot.
    fn let_boot(&mut self) -> Result<(), SerialError> {
        let switched = self.board.power.is_some() || self.board.deploy.is_some();
        let Patience { quiet, answer, boot, .. } = self.patience;
        self.listen(if switched { answer } else { quiet }, true, |_| false)?;
        let begun = Instant::now();
        while is_booting(&self.received) && begun.elapsed() < boot {
            let before = self.received.len();
            self.listen(answer, true, |_| false)?;
            if self.received.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// Whether a shell answers, after a login if there is a prompt.
    fn reached(&mut self) -> Result<bool, SerialError> {
        match self.sight() {
            Sight::Name => return self.log_in(),
            // An earlier login was left incomplete: an empty password ends it.
            Sight::Password => {
                let login = self.login_prompt();
                self.say("\r")?;
                self.listen(self.patience.password, false, |received| asks_for_name(received, &login))?;
                return if self.sight() == Sight::Name { self.log_in() } else { Ok(false) };
            }
            Sight::BootLoader => {
                return Err(LoginError::BootLoader.into());
            }
            Sight::Other => {}
        }
        self.say(PROBE)?;
        let login = self.login_prompt();
        self.listen(self.patience.answer, false, |received| proven(received) || asks_for_name(received, &login))?;
        if proven(&self.received) {
            return Ok(true);
        }
        if self.sight() == Sight::Name { self.log_in() } else { Ok(false) }
    }

    fn log_in(&mut self) -> Result<bool, SerialError> {
        let user = self.board.user.clone().unwrap_or_else(|| "root".into());
        let login = self.login_prompt();
        self.say(&format!("{user}\r"))?;
        let answered = |received: &str| asks_for_password(received) || is_refused(received) || prompts(received);
        self.listen(self.patience.password, false, answered)?;
        if asks_for_password(&self.received) {
            let password = password(self.board)?.ok_or_else(|| LoginError::NoPassword { user: user.clone() })?;
            self.say(&format!("{password}\r"))?;
            self.listen(self.patience.password, true, |received| {
                asks_for_name(received, &login) || is_refused(received)
            })?;
            if is_refused(&self.received) || asks_for_name(&self.received, &login) {
                return Err(LoginError::Refused { user }.into());
            }
        } else if is_refused(&self.received) || asks_for_name(&self.received, &login) {
            // It refers to an earlier input, perhaps by another session.
            return Ok(false);
        }
        self.by_us = true;
        for _ in 0..TRIES {
            self.say(PROBE)?;
            self.listen(self.patience.answer, false, |received| proven(received) || is_refused(received))?;
            if proven(&self.received) {
                return Ok(true);
            }
            if is_refused(&self.received) {
                return Err(LoginError::Refused { user }.into());
            }
        }
        Err(LoginError::NoShell { user }.into())
    }

    fn login_prompt(&self) -> String {
        self.board.login_prompt.clone().unwrap_or_else(|| LOGIN_PROMPT.into())
    }

    fn sight(&self) -> Sight {
        sight(&self.received, &self.login_prompt())
    }

    fn failure(&self) -> LoginError {
        let (address, baud) = (self.board.address.clone(), super::baud(self.board));
        if self.all.is_empty() {
            return LoginError::Silent { address };
        }
        if is_garbage(&self.all) {
            return LoginError::WrongSpeed { address, baud };
        }
        LoginError::Unknown { address, last_output: self.last_output().unwrap_or_default() }
    }
}

/// Parses the output of a board in every way that decides.
#[cfg(fuzzing)]
pub fn seen(bytes: &[u8], text: &str) {
    let _ =
        (sight(text, LOGIN_PROMPT), proven(text), is_booting(text), is_refused(text), is_garbage(bytes), visible(text));
}

/// The end of the board's output, classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Name,
    Password,
    BootLoader,
    Other,
}

fn sight(received: &str, login: &str) -> Sight {
    let text = without_kernel(received);
    let last = text.trim_end().rsplit(['\n', '\r']).next().unwrap_or_default();
    if asks_for_name(received, login) {
        Sight::Name
    } else if asks_for_password(received) {
        Sight::Password
    } else if ["=>", "U-Boot>", "barebox:/", "grub>"].iter().any(|prompt| last.trim_start().starts_with(prompt)) {
        Sight::BootLoader
    } else {
        Sight::Other
    }
}

fn asks_for_name(received: &str, login: &str) -> bool {
    without_kernel(received).trim_end().ends_with(login)
}

fn asks_for_password(received: &str) -> bool {
    without_kernel(received).trim_end().ends_with(PASSWORD_PROMPT)
}

/// Whether the text ends like a shell prompt; any other prompt only takes a longer wait.
fn prompts(received: &str) -> bool {
    without_kernel(received).trim_end().ends_with(['#', '$', '>'])
}

fn is_refused(received: &str) -> bool {
    ["ogin incorrect", "ermission denied", "uthentication failure"].iter().any(|words| received.contains(words))
}

fn proven(received: &str) -> bool {
    without_kernel(received).contains(PROOF)
}

fn is_booting(received: &str) -> bool {
    let end: String = received.chars().rev().take(500).collect::<Vec<_>>().into_iter().rev().collect();
    end.contains("autoboot") || end.contains("Starting kernel")
}

/// At a wrong speed most bytes are not text.
fn is_garbage(bytes: &[u8]) -> bool {
    let odd = |byte: &&u8| !matches!(byte, b'\t' | b'\n' | b'\r' | 7 | 8 | 27 | b' '..=b'~');
    bytes.len() >= GARBAGE_BYTES_MIN && bytes.iter().filter(odd).count() * 4 > bytes.len()
}

fn visible(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_control()).take(100).collect()
}

/// The password, from the source in the target file.
fn password(board: &Board) -> Result<Option<String>, LoginError> {
    let text = match (&board.password_file, &board.password_command) {
        (Some(path), _) => std::fs::read_to_string(path)
            .map_err(|error| LoginError::PasswordFile { path: path.clone(), why: error.to_string() })?,
        (None, Some(command)) => {
            let output = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
            let output = output.map_err(|error| LoginError::PasswordCommand { why: error.to_string() })?;
            if !output.status.success() {
                let words = String::from_utf8_lossy(&output.stderr);
                let (status, words) = (output.status.to_string(), visible(words.trim()));
                return Err(LoginError::PasswordCommandFailed { status, words });
            }
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        (None, None) => return Ok(None),
    };
    let first = text.lines().next().unwrap_or_default();
    if first.chars().any(char::is_control) {
        return Err(LoginError::Untypable);
    }
    Ok(Some(first.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// Result of a login at a board that answers each line with `answers`.
    fn met(board: &Board, mut answers: impl FnMut(&str) -> String + Send) -> Result<Shell, SerialError> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut lines = BufReader::new(theirs.try_clone().unwrap());
                let mut line = Vec::new();
                while matches!(lines.read_until(b'\r', &mut line), Ok(1..)) {
                    let answer = answers(String::from_utf8_lossy(&line).trim_matches(['\r', '\x03']));
                    let _ = (&theirs).write_all(answer.as_bytes());
                    line.clear();
                }
            });
            let port = Port::of_socket(ours.into()).unwrap();
            let short = Duration::from_millis(400);
            let patience = Patience { quiet: short / 4, answer: short, password: short * 5, boot: short };
            shell_within(patience, &port, board, &StopRequests::default())
        })
    }

    fn with_password() -> Board {
        let command = Some("echo secret".to_owned());
        Board { user: Some("tester".into()), password_command: command, ..Board::serial("/dev/ttyX") }
    }

    /// A board with a login that distinguishes right and wrong passwords.
    fn login() -> impl FnMut(&str) -> String + Send {
        let mut state = "name";
        move |line| match (state, line) {
            ("name", "") => "\r\nboard log[   12.345678] usb 1-1: new\r\nin: ".into(),
            ("name", _) => {
                state = "password";
                "tester\r\nPassword: ".into()
            }
            ("password", "secret") => {
                state = "shell";
                "\r\nWelcome\r\n$ ".into()
            }
            ("password", _) => {
                state = "name";
                "\r\nLogin incorrect\r\nboard login: ".into()
            }
            (_, line) if line.contains("echo") => format!("{line}\r\ntardy 4[    1.0] x\r\n2 sh\r\n$ "),
            _ => "\r\n$ ".into(),
        }
    }

    #[test]
    fn a_login_takes_its_user_and_password_although_the_kernel_speaks_into_it() {
        assert_eq!(met(&with_password(), login()), Ok(Shell { by_us: true }));
        let wrong = Board { password_command: Some("echo wrong".into()), ..with_password() };
        assert!(met(&wrong, login()).unwrap_err().to_string().contains("refused tester"));
        let none = Board { password_command: None, ..with_password() };
        assert!(met(&none, login()).unwrap_err().to_string().contains("--password-file"));
        let broken = Board { password_command: Some("echo no key >&2; exit 3".into()), ..with_password() };
        assert!(met(&broken, login()).unwrap_err().to_string().contains("no key"));
    }

    #[test]
    fn a_shell_that_is_there_needs_no_login() {
        let shell = |line: &str| if line.contains("echo") { format!("{line}\r\n{PROOF}\r\n# ") } else { "# ".into() };
        assert_eq!(met(&Board::serial("/dev/ttyX"), shell), Ok(Shell { by_us: false }));
    }

    #[test]
    fn a_hangup_quotes_the_last_output() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"Port in use\r\n").unwrap();
        drop(theirs);
        let board = Board::serial("tcp:lab:4001");
        let refused = shell(&Port::of_socket(ours.into()).unwrap(), &board, &StopRequests::default()).unwrap_err();
        assert!(refused.to_string().ends_with(": Port in use"), "{refused}");
    }

    #[test]
    fn an_unknown_prompt_is_classified() {
        let board = Board { baud: Some(9600), ..Board::serial("/dev/ttyX") };
        let silent = met(&board, |_| String::new()).unwrap_err().to_string();
        assert_eq!(silent, LoginError::Silent { address: "/dev/ttyX".into() }.to_string());
        let garbage = |_: &str| "\u{fffd}\u{1}\u{2}\u{fffd}x".repeat(9);
        let refused = met(&board, garbage).unwrap_err().to_string();
        assert!(refused.contains("9600 baud") && refused.contains("--baud"), "{refused}");
        assert!(met(&board, |_| "\r\n=> ".into()).unwrap_err().to_string().contains("boot loader"));
        assert!(met(&board, |_| "\r\nmain menu> ".into()).unwrap_err().to_string().contains("main menu>"));
    }

    proptest! {
        #[test]
        fn any_words_are_seen_as_something(text in ".{0,300}") {
            let _ = (sight(&text, LOGIN_PROMPT), proven(&text), is_booting(&text), is_garbage(text.as_bytes()));
        }
    }
}
