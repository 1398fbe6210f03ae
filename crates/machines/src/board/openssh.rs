//! The client of OpenSSH: its arguments, and what its complaints mean.

use super::board_file::Board;
use super::shell::quoted;
use crate::Command;
use std::path::Path;

/// How ssh is asked to behave: it never asks a person, and notices a dead line within a quarter of a minute. What it
/// checks of host keys is left as it is.
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

/// How a command takes part in the one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// It is the connection: when it ends, the others do.
    Master,
    Guest,
}

/// A command that has the board's shell run a script.
pub fn command(board: &Board, control: &Path, share: Share, script: &str) -> Command {
    let mut arguments: Vec<String> = Vec::new();
    let mut option = |text: String| arguments.extend(["-o".to_owned(), text]);
    if share == Share::Guest {
        // Without the connection ssh would make one of its own, which nobody holds.
        option("ProxyCommand=false".into());
    }
    // The first of two values counts, so that a person's come first.
    board.ssh_options.iter().cloned().for_each(&mut option);
    OPTIONS.map(str::to_owned).into_iter().for_each(&mut option);
    option(format!("ControlMaster={}", if share == Share::Master { "yes" } else { "no" }));
    option("ControlPersist=no".into());
    // A percent sign begins a token of ssh's.
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

/// Why there is no session, and what to do about it, from what ssh and the board complained of.
pub fn diagnosis(board: &Board, complaints: &[String]) -> String {
    let said = complaints.join(" | ");
    let port = board.port.map_or(String::new(), |port| format!("-p {port} "));
    let login = format!("`ssh {port}{}`", board.address);
    let host = board.address.rsplit('@').next().unwrap_or_default();
    let known = board.port.map_or_else(|| host.to_owned(), |port| format!("[{host}]:{port}"));
    let mends = [
        (
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            format!(
                "its host key has changed. If the board was reinstalled, remove the old key with \
                 `ssh-keygen -R '{known}'` and log in once with {login}"
            ),
        ),
        (
            "Host key verification failed",
            format!("its host key is not known here. Log in once with {login} and compare the fingerprint it shows"),
        ),
        (
            "Permission denied",
            format!(
                "the board takes no key of yours, or has no such user; tardy never types a password. Give the board your \
                 key with `ssh-copy-id {port}{}`, or name the right one with --identity",
                board.address
            ),
        ),
        ("Could not resolve hostname", "its name has no address here. Correct it, or write the address".into()),
        ("Connection refused", "nothing listens on that port. Start the board's ssh server, or correct --port".into()),
        ("timed out", "it does not answer. Is it switched on, and on this network?".into()),
        ("No route to host", "it does not answer. Is it switched on, and on this network?".into()),
        ("Network is unreachable", "this host has no way to it. Is the network up?".into()),
        ("UNPROTECTED PRIVATE KEY", "ssh refuses a key that others can read. `chmod 600` its file".into()),
        (
            "a password is required",
            "sudo asks for a password there. Allow the user `NOPASSWD: ALL` in /etc/sudoers, or log in as root".into(),
        ),
        ("sudo: not found", "there is no sudo. Log in as root, and leave out --sudo".into()),
        ("sudo: command not found", "there is no sudo. Log in as root, and leave out --sudo".into()),
        ("not available", "the user may not log in there. Name another user".into()),
    ];
    let fix = mends.into_iter().find(|(sign, _)| said.contains(sign)).map(|(_, fix)| fix);
    match (fix, said.is_empty()) {
        (Some(fix), _) => format!("{fix} (ssh says: {said})"),
        (None, false) => format!("ssh says: {said}; does {login} work?"),
        (None, true) => format!("the login shell of {} ran nothing; does {login} work?", board.address),
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
    fn complaints_come_with_a_mend() {
        let told = |words: &str| diagnosis(&Board { port: Some(2222), ..Board::ssh("root@pi") }, &[words.to_owned()]);
        assert!(told("root@pi: Permission denied (publickey,password).").contains("ssh-copy-id -p 2222 root@pi"));
        assert!(told("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @").contains("ssh-keygen -R '[pi]:2222'"));
        assert!(told("Host key verification failed.").contains("fingerprint"));
        assert!(told("sudo: a password is required").contains("NOPASSWD"));
        assert!(told("something new").contains("something new"));
        assert!(diagnosis(&Board::ssh("pi"), &[]).contains("login shell"));
    }
}
