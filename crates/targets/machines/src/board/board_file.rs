//! The TOML of a board's target file.

use crate::target_syntax::{SyntaxError, is_plain_word, read_checked};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

/// How to reach the board's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    #[default]
    Ssh,
    Serial,
}

/// Commands for the board's power.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Before every run; must not affect a board that is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// After every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
    /// After new software was deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
}

/// How to detect that the board has booted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    /// Time limit for the boot, after power-on or deployment.
    #[serde(default = "wait_seconds")]
    pub wait_seconds: u32,
}

/// How to deploy new software to the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deploy {
    pub command: String,
    /// The new software runs only after a boot, so wait for another one.
    #[serde(default = "reboots")]
    pub reboots: bool,
}

fn wait_seconds() -> u32 {
    180
}

fn reboots() -> bool {
    true
}

impl Default for Boot {
    fn default() -> Self {
        Self { wait_seconds: wait_seconds() }
    }
}

/// A board: a machine not managed by tardy, with a shell and perhaps nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    pub backend: Door,
    /// `user@host`, as for ssh; host names of ssh's configuration work. For a serial line: its device, `unix:PATH` or
    /// `tcp:HOST:PORT`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The private key for the login; that of ssh's configuration if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    /// Options of ssh, each as after `-o`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_options: Vec<String>,
    /// Speed of a serial line; 115200 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baud: Option<u32>,
    /// User name for a serial line with a login prompt; root if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A file of the host whose first line is the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    /// A command for the host's shell that prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_command: Option<String>,
    /// The board's login prompt, if it does not end with `login:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_prompt: Option<String>,
    /// Become root with `sudo -n`; otherwise the login user measures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sudo: bool,
    /// Directory for the meter, tried before the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Leave the meter there between runs, so that it need not be sent again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_meter: bool,
    /// Space for results while the host is disconnected, in MB; if absent, a quarter of the free space, at most 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool_mb: Option<u32>,
    /// Results that were not fetched are deleted after this time.
    #[serde(default = "keep_hours")]
    pub keep_hours: u32,
    /// How long to keep reconnecting after the connection is lost.
    #[serde(default = "reconnect_minutes")]
    pub reconnect_minutes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy: Option<Deploy>,
}

/// Why a text is not a board's target file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BoardFileError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("directory is an absolute path without blanks")]
    Directory,
    #[error("keep_hours is at least 1: what a lost line left there needs time to be fetched")]
    KeepHours,
    #[error("address is what ssh connects to, like \"root@192.168.1.7\"")]
    SshAddress,
    #[error(
        "baud, user, the password and login_prompt are for serial lines; ssh uses a key, and the user is in the address"
    )]
    SerialKeys,
    #[error("address is a serial line: a device like \"/dev/ttyUSB0\", \"unix:PATH\", or \"tcp:HOST:PORT\"")]
    SerialAddress,
    #[error("port, identity and ssh_options are for ssh, and this is a serial line")]
    SshKeys,
    #[error("the password comes from password_file or from password_command, not from both")]
    TwoPasswords,
    #[error("user and login_prompt are text of one line")]
    Lines,
    #[error("baud is the speed of the line, like 115200")]
    Baud,
}

fn keep_hours() -> u32 {
    48
}

fn reconnect_minutes() -> u32 {
    30
}

impl Board {
    /// A board at this ssh address, with defaults for everything else.
    pub fn ssh(address: &str) -> Self {
        Self {
            backend: Door::Ssh,
            address: address.into(),
            port: None,
            identity: None,
            ssh_options: Vec::new(),
            baud: None,
            user: None,
            password_file: None,
            password_command: None,
            login_prompt: None,
            sudo: false,
            directory: None,
            keep_meter: false,
            spool_mb: None,
            keep_hours: keep_hours(),
            reconnect_minutes: reconnect_minutes(),
            power: None,
            boot: None,
            deploy: None,
        }
    }

    /// A board on this serial line, with defaults for everything else.
    pub fn serial(address: &str) -> Self {
        Self { backend: Door::Serial, ..Self::ssh(address) }
    }

    /// Parses a target file.
    ///
    /// # Errors
    /// [`BoardFileError`].
    pub fn parse(text: &str) -> Result<Self, BoardFileError> {
        read_checked(text, Self::check)
    }

    /// Whether the values are consistent.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), BoardFileError> {
        match self.backend {
            Door::Ssh => self.check_ssh()?,
            Door::Serial => self.check_serial()?,
        }
        if let Some(directory) = &self.directory
            && !(directory.starts_with('/') && directory.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(BoardFileError::Directory);
        }
        if self.keep_hours == 0 {
            return Err(BoardFileError::KeepHours);
        }
        Ok(())
    }

    fn check_ssh(&self) -> Result<(), BoardFileError> {
        if !is_plain_word(&self.address) {
            return Err(BoardFileError::SshAddress);
        }
        let passwords = self.password_file.is_some() || self.password_command.is_some();
        if self.baud.is_some() || self.user.is_some() || passwords || self.login_prompt.is_some() {
            return Err(BoardFileError::SerialKeys);
        }
        Ok(())
    }

    fn check_serial(&self) -> Result<(), BoardFileError> {
        let remote = |rest: &str| {
            rest.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        let sound = match self.address.split_once(':') {
            Some(("tcp", rest)) => remote(rest),
            Some(("unix", path)) => !path.is_empty(),
            _ => self.address.starts_with('/'),
        };
        if !sound {
            return Err(BoardFileError::SerialAddress);
        }
        if self.port.is_some() || self.identity.is_some() || !self.ssh_options.is_empty() {
            return Err(BoardFileError::SshKeys);
        }
        if self.password_file.is_some() && self.password_command.is_some() {
            return Err(BoardFileError::TwoPasswords);
        }
        let one_line = |text: &Option<String>| {
            text.as_ref().is_none_or(|text| !text.is_empty() && !text.contains(char::is_control))
        };
        if !one_line(&self.user) || !one_line(&self.login_prompt) {
            return Err(BoardFileError::Lines);
        }
        if self.baud == Some(0) {
            return Err(BoardFileError::Baud);
        }
        Ok(())
    }

    /// Identifier of the board, independent of its targets: two runs must never use it at the same time.
    pub fn identity_of_board(&self) -> String {
        match self.port {
            // One line may have several names.
            None if self.backend == Door::Serial => std::fs::canonicalize(&self.address)
                .map_or_else(|_| self.address.clone(), |path| path.display().to_string()),
            None => self.address.clone(),
            Some(port) => format!("{}:{port}", self.address),
        }
    }

    /// The text of a target file.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a board has only plain values")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_comes_back() {
        let board = Board {
            port: Some(2222),
            identity: Some("/keys/board".into()),
            ssh_options: vec!["ProxyJump=lab".into()],
            sudo: true,
            directory: Some("/data".into()),
            keep_meter: true,
            spool_mb: Some(16),
            keep_hours: 1,
            reconnect_minutes: 2,
            power: Some(Power { cycle: Some("outlet 7 cycle".into()), ..Power::default() }),
            boot: Some(Boot { wait_seconds: 60 }),
            deploy: Some(Deploy { command: "flash \"$TARDY_IMAGE\"".into(), reboots: false }),
            ..Board::ssh("tester@pi")
        };
        assert_eq!(Board::parse(&board.to_text()).unwrap(), board);
        assert_eq!(Board::parse("backend = \"ssh\"\naddress = \"root@pi\"").unwrap(), Board::ssh("root@pi"));
    }

    #[test]
    fn a_serial_line_has_keys_of_its_own() {
        let board = Board {
            baud: Some(1_500_000),
            user: Some("tester".into()),
            password_file: Some("/secret".into()),
            login_prompt: Some("Name:".into()),
            ..Board::serial("/dev/ttyUSB0")
        };
        assert_eq!(Board::parse(&board.to_text()).unwrap(), board);
        for address in ["unix:/tmp/console", "tcp:lab:4001", "tcp:::1:4001"] {
            assert_eq!(Board::serial(address).check(), Ok(()));
        }
        let wrong = |line: &str| Board::parse(&format!("backend = \"serial\"\n{line}")).unwrap_err().to_string();
        assert!(wrong("address = \"ttyUSB0\"").contains("/dev/ttyUSB0"));
        assert!(wrong("address = \"tcp:lab\"").contains("tcp:HOST:PORT"));
        assert!(wrong("address = \"/dev/ttyUSB0\"\nport = 22").contains("for ssh"));
        assert!(wrong("address = \"/dev/ttyUSB0\"\nuser = \"a\\nb\"").contains("one line"));
        assert_eq!(Board { baud: Some(9600), ..Board::ssh("root@pi") }.check(), Err(BoardFileError::SerialKeys));
    }

    #[test]
    fn an_invalid_key_or_value_is_named() {
        let wrong = |line: &str| Board::parse(&format!("backend = \"ssh\"\n{line}")).unwrap_err().to_string();
        assert!(wrong("").contains("address"));
        assert!(wrong("address = \"-oProxyCommand=touch\"").contains("address"), "an address is no option");
        assert!(wrong("address = \"root@pi\"\ndirectory = \"data\"").contains("absolute"));
        assert!(wrong("address = \"root@pi\"\nkeep_hours = 0").contains("keep_hours"));
        assert!(wrong("address = \"root@pi\"\ncolour = 1").contains("colour"));
    }
}
