//! What a board is, as the TOML of its target file.

use super::hooks::{Boot, Deploy, Power};
use crate::target::file::{is_plain_word, read_checked};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How one gets to the board's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    #[default]
    Ssh,
}

/// A board: a machine that is there without us, with a shell and perhaps nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    pub backend: Door,
    /// `user@host`, as ssh takes it; names of ssh's own configuration count.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The private key to log in with; what ssh's configuration says when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    /// Options of ssh's, each as after `-o`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_options: Vec<String>,
    /// Become root with `sudo -n`; without it the login is the user that measures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sudo: bool,
    /// Where the meter may lie, before the usual places are tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Leave the meter there between runs, so that it need not be sent again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_meter: bool,
    /// Room for results while the host is away, in MB; a quarter of what is free there, at most 256, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool_mb: Option<u32>,
    /// Results nobody has fetched are thrown away after so long.
    #[serde(default = "keep_hours")]
    pub keep_hours: u32,
    /// A line that is lost is tried again for so long.
    #[serde(default = "reconnect_minutes")]
    pub reconnect_minutes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy: Option<Deploy>,
}

fn keep_hours() -> u32 {
    48
}

fn reconnect_minutes() -> u32 {
    30
}

impl Board {
    /// A board behind this address of ssh's, with the defaults of everything else.
    pub fn ssh(address: &str) -> Self {
        Self {
            backend: Door::Ssh,
            address: address.into(),
            port: None,
            identity: None,
            ssh_options: Vec::new(),
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

    /// Reads the text of a target file.
    ///
    /// # Errors
    /// What is wrong with it, with line and column where that is known.
    pub fn parse(text: &str) -> Result<Self, String> {
        read_checked(text, Self::check)
    }

    /// Whether the values make sense together.
    ///
    /// # Errors
    /// A sentence for the first that does not.
    pub fn check(&self) -> Result<(), String> {
        if !is_plain_word(&self.address) {
            return Err("address is what ssh connects to, like \"root@192.168.1.7\"".into());
        }
        if let Some(directory) = &self.directory
            && !(directory.starts_with('/') && directory.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err("directory is an absolute path without blanks".into());
        }
        if self.keep_hours == 0 {
            return Err("keep_hours is at least 1: what a lost line left there needs time to be fetched".into());
        }
        Ok(())
    }

    /// What one board is known by, whatever targets describe it: two runs on it must never meet.
    pub fn identity_of_board(&self) -> String {
        match self.port {
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
    fn what_is_wrong_with_a_file_is_named() {
        let wrong = |line: &str| Board::parse(&format!("backend = \"ssh\"\n{line}")).unwrap_err();
        assert!(wrong("").contains("address"));
        assert!(wrong("address = \"-oProxyCommand=touch\"").contains("address"), "an address is no option");
        assert!(wrong("address = \"root@pi\"\ndirectory = \"data\"").contains("absolute"));
        assert!(wrong("address = \"root@pi\"\nkeep_hours = 0").contains("keep_hours"));
        assert!(wrong("address = \"root@pi\"\ncolour = 1").contains("colour"));
    }
}
