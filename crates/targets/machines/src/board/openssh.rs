//! The OpenSSH client: its arguments, and the meaning of its errors.

use super::board_file::Board;
use super::shell::quoted;
use crate::{Command, TargetError};
use std::fmt;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

/// Options of ssh: it never prompts, and detects a dead connection within 15 s. Its checks of host keys are unchanged.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "RequestTTY=no",
    "EscapeChar=none",
    "LogLevel=ERROR",
];

/// A command's role in the shared connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// It is the connection: when it ends, the others end.
    Master,
    Guest,
}

/// A command that runs a script in the board's shell.
pub fn command(board: &Board, control: &Path, share: Share, script: &str) -> Command {
    let mut arguments: Vec<String> = Vec::new();
    let mut option = |text: String| arguments.extend(["-o".to_owned(), text]);
    if share == Share::Guest {
        // Without the shared connection ssh would open another one, which nothing manages.
        option("ProxyCommand=false".into());
    }
    // The first of two values counts, so the user's options come first.
    board.ssh_options.iter().cloned().for_each(&mut option);
    OPTIONS.map(str::to_owned).into_iter().for_each(&mut option);
    option(format!("ControlMaster={}", if share == Share::Master { "yes" } else { "no" }));
    option("ControlPersist=no".into());
    // ssh expands tokens that start with a percent sign.
    option(format!("ControlPath={}", control.display().to_string().replace('%', "%%")));
    if let Some(port) = board.port {
        arguments.extend(["-p".into(), port.to_string()]);
    }
    if let Some(identity) = &board.identity {
        arguments.extend(["-i".into(), identity.display().to_string()]);
    }
    let root = if board.sudo { "sudo -n " } else { "" };
    arguments.extend(["--".into(), board.address.clone(), format!("exec {root}sh -c {}", quoted(script))]);
    Command { program: "ssh".into(), arguments }
}

/// An error of ssh, or of sudo behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    HostKeyChanged,
    HostKeyUnknown,
    PermissionDenied,
    UnknownHost,
    ConnectionRefused,
    NoAnswer,
    NetworkUnreachable,
    UnprotectedKey,
    SudoPassword,
    NoSudo,
    NoLogin,
}

impl Complaint {
    /// Parses the output of OpenSSH, sudo and the login programs; the first match counts.
    pub fn parse(words: &str) -> Option<Self> {
        const SIGNS: [(&str, Complaint); 13] = [
            ("REMOTE HOST IDENTIFICATION HAS CHANGED", Complaint::HostKeyChanged),
            ("Host key verification failed", Complaint::HostKeyUnknown),
            ("Permission denied", Complaint::PermissionDenied),
            ("Could not resolve hostname", Complaint::UnknownHost),
            ("Connection refused", Complaint::ConnectionRefused),
            ("timed out", Complaint::NoAnswer),
            ("No route to host", Complaint::NoAnswer),
            ("Network is unreachable", Complaint::NetworkUnreachable),
            ("UNPROTECTED PRIVATE KEY", Complaint::UnprotectedKey),
            ("a password is required", Complaint::SudoPassword),
            ("sudo: not found", Complaint::NoSudo),
            ("sudo: command not found", Complaint::NoSudo),
            ("not available", Complaint::NoLogin),
        ];
        SIGNS.into_iter().find(|(sign, _)| words.contains(sign)).map(|(_, complaint)| complaint)
    }

    fn fix(self, login: &Login) -> String {
        let Login { address, options, known } = login;
        match self {
            Self::HostKeyChanged => format!(
                "its host key has changed. If the board was reinstalled, remove the old key with \
                 `ssh-keygen -R '{known}'` and log in once with {login}"
            ),
            Self::HostKeyUnknown => {
                format!("its host key is not known here. Log in once with {login} and compare the fingerprint it shows")
            }
            Self::PermissionDenied => format!(
                "the board accepts none of your keys, or has no such user; tardy never types a password. Give the board your \
                 key with `ssh-copy-id {options}{address}`, or name the right one with --identity"
            ),
            Self::UnknownHost => "its name has no address here. Correct it, or write the address".into(),
            Self::ConnectionRefused => {
                "nothing listens on that port. Start the board's ssh server, or correct --port".into()
            }
            Self::NoAnswer => "it does not answer. Is it switched on, and on this network?".into(),
            Self::NetworkUnreachable => "this host has no way to it. Is the network up?".into(),
            Self::UnprotectedKey => "ssh refuses a key that others can read. `chmod 600` its file".into(),
            Self::SudoPassword => {
                "sudo asks for a password there. Allow the user `NOPASSWD: ALL` in /etc/sudoers, or log in as root"
                    .into()
            }
            Self::NoSudo => "there is no sudo. Log in as root, and leave out --sudo".into(),
            Self::NoLogin => "the user may not log in there. Name another user".into(),
        }
    }
}

/// How the user would log in manually.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    address: String,
    /// `-p PORT -i KEY `, as far as the board has them.
    options: String,
    /// The board's name in the list of known hosts.
    known: String,
}

impl Login {
    pub fn of(board: &Board) -> Self {
        let host = board.address.rsplit('@').next().unwrap_or_default();
        let port = board.port.map(|port| format!("-p {port} ")).into_iter();
        let identity = board.identity.as_ref().map(|key| format!("-i {} ", key.display()));
        Self {
            address: board.address.clone(),
            options: port.chain(identity).collect(),
            known: board.port.map_or_else(|| host.to_owned(), |port| format!("[{host}]:{port}")),
        }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`ssh {}{}`", self.options, self.address)
    }
}

/// Why there is no session.
#[derive(Debug, Error)]
pub enum SshError {
    #[error("stopped on request")]
    Stopped,
    #[error("{0}; on Debian ssh comes with `apt-get install openssh-client`")]
    NotStarted(#[source] Box<TargetError>),
    #[error("its shell did not answer within {} s; does {login} work?", limit.as_secs())]
    NoAnswer { limit: Duration, login: Login },
    #[error("{} (ssh says: {words})", complaint.fix(login))]
    Complaint { complaint: Complaint, login: Login, words: String },
    #[error("ssh says: {words}; does {login} work?")]
    Unknown { login: Login, words: String },
    #[error("the login shell of {} ran nothing; does {login} work?", login.address)]
    NoWords { login: Login },
}

/// Why there is no session, from the output of ssh and the board.
pub fn diagnosis(board: &Board, complaints: &[String]) -> SshError {
    let (words, login) = (complaints.join(" | "), Login::of(board));
    match Complaint::parse(&words) {
        Some(complaint) => SshError::Complaint { complaint, login, words },
        None if words.is_empty() => SshError::NoWords { login },
        None => SshError::Unknown { login, words },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_never_an_option_and_a_script_one_word() {
        let board = Board { port: Some(22), identity: Some("/k".into()), sudo: true, ..Board::ssh("root@pi") };
        let command = command(&board, Path::new("/run/100%"), Share::Guest, "echo 'a'");
        let words = command.arguments.join(" ");
        assert!(words.ends_with(r"-p 22 -i /k -- root@pi exec sudo -n sh -c 'echo '\''a'\'''"), "{words}");
        assert!(words.contains("BatchMode=yes") && words.contains("ControlPath=/run/100%%"), "{words}");
        assert!(!words.contains("StrictHostKeyChecking"), "checking host keys is the person's business");
    }

    #[test]
    fn complaints_come_with_a_fix() {
        let board = Board { port: Some(2222), ..Board::ssh("root@pi") };
        let text = |words: &str| diagnosis(&board, &[words.to_owned()]).to_string();
        assert!(text("root@pi: Permission denied (publickey,password).").contains("ssh-copy-id -p 2222 root@pi"));
        assert!(text("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @").contains("ssh-keygen -R '[pi]:2222'"));
        assert!(text("Host key verification failed.").contains("fingerprint"));
        assert!(text("sudo: a password is required").contains("NOPASSWD"));
        assert!(text("something new").contains("something new"));
        assert!(diagnosis(&Board::ssh("pi"), &[]).to_string().contains("login shell"));
    }

    #[test]
    fn each_complaint_is_one_kind() {
        assert_eq!(Complaint::parse("ssh: connect to host pi port 22: No route to host"), Some(Complaint::NoAnswer));
        assert_eq!(Complaint::parse("sh: 1: sudo: not found"), Some(Complaint::NoSudo));
        assert_eq!(Complaint::parse("kex_exchange_identification: read"), None);
    }
}
