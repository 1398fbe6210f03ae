//! The TOML of a place's target file.

use super::place::PlaceState;
use crate::Command;
use crate::board::board_file::{self, Board, BoardFileError, Boot, Deploy};
use crate::board::quoted;
use crate::target_syntax::{SyntaxError, is_plain_word, read_checked};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use thiserror::Error;

/// Default time for a board to boot after power-on.
const BOOT_SECONDS: u32 = 120;
const CLIENT: &str = "labgrid-client";

/// The change of the board's power before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// Nothing: it is on.
    #[default]
    Leave,
    On,
    /// Off and on again.
    Cycle,
}

/// `labgrid`: the kind of target that the file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    #[default]
    Labgrid,
}

/// A place of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabgridPlace {
    pub backend: Backend,
    /// Its name or an alias, or `+TOKEN` of a reservation.
    pub place: String,
    /// `host:port`; the value of LG_COORDINATOR if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<String>,
    /// `labgrid-client`, as a name in PATH or as a path.
    #[serde(default = "client", skip_serializing_if = "is_client")]
    pub client: String,
    #[serde(default)]
    pub power: Power,
    /// Switch the board off before the place is released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub power_off: bool,
    /// Time limit for the board to answer after power-on.
    #[serde(default = "boot_seconds")]
    pub boot_seconds: u32,
    /// The NetworkService to use, if the place has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// `user@host` of the board, instead of that of its NetworkService.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// As for a board over ssh: port, private key, options, root by sudo, directory of the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_options: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sudo: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_meter: bool,
    /// How to deploy new software to the board; its power is cycled afterwards if `power` shows that it has a switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deploy: Option<Deploy>,
}

/// Why the target file of a place is invalid, or does not match the place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlaceFileError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("place is the name of a place, as `labgrid-client places` lists it")]
    Place,
    #[error("coordinator is where labgrid's coordinator listens, like \"lab:20408\"")]
    Coordinator,
    #[error("client is the program labgrid-client, as a name or a path")]
    Client,
    /// From the keys that a place shares with boards.
    #[error(transparent)]
    Board(#[from] BoardFileError),
    #[error("place {place} has no NetworkService called {service}; it has: {}", services.join(", "))]
    NoSuchService { place: String, service: String, services: Vec<String> },
    #[error(
        "place {place} has no NetworkService to reach the board by; export one and `{command}`, or name an address with \
         `address` in the target file"
    )]
    NoService { place: String, command: String },
    #[error(
        "place {place} has several NetworkServices: {}; name one with `service` in the target file", services.join(", ")
    )]
    SeveralServices { place: String, services: Vec<String> },
    #[error(
        "only its exporter reaches {address}; name a way with `address` and `ssh_options` in the target file, like \
         \"ProxyJump=exporter\""
    )]
    BehindExporter { address: String },
}

fn client() -> String {
    CLIENT.into()
}

fn is_client(name: &String) -> bool {
    name == CLIENT
}

fn boot_seconds() -> u32 {
    BOOT_SECONDS
}

impl LabgridPlace {
    /// A place with defaults for everything else.
    pub fn new(place: &str) -> Self {
        Self {
            backend: Backend::Labgrid,
            place: place.into(),
            coordinator: None,
            client: client(),
            power: Power::Leave,
            power_off: false,
            boot_seconds: BOOT_SECONDS,
            service: None,
            address: None,
            port: None,
            identity: None,
            ssh_options: Vec::new(),
            sudo: false,
            directory: None,
            keep_meter: false,
            deploy: None,
        }
    }

    /// Parses a target file.
    ///
    /// # Errors
    /// [`PlaceFileError`].
    pub fn parse(text: &str) -> Result<Self, PlaceFileError> {
        read_checked(text, Self::check)
    }

    /// Whether the values are consistent.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), PlaceFileError> {
        if !is_plain_word(&self.place) {
            return Err(PlaceFileError::Place);
        }
        if self.coordinator.as_deref().is_some_and(|coordinator| !is_plain_word(coordinator)) {
            return Err(PlaceFileError::Coordinator);
        }
        if self.client.trim().is_empty() {
            return Err(PlaceFileError::Client);
        }
        Ok(self.board_at("checked").check()?)
    }

    /// The text of a target file.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a place is plain TOML")
    }

    /// A short name of the place, for lists.
    pub fn label(&self) -> String {
        match &self.coordinator {
            None => format!("place {}", self.place),
            Some(coordinator) => format!("place {} at {coordinator}", self.place),
        }
    }

    /// Seconds that the board may take until it answers.
    pub fn boot_wait_seconds(&self) -> u32 {
        if self.power == Power::Leave { 0 } else { self.boot_seconds }
    }

    /// `labgrid-client` for this place, with these arguments.
    pub fn client_command(&self, words: &[&str]) -> Command {
        let mut arguments = Vec::new();
        if let Some(coordinator) = &self.coordinator {
            arguments.extend(["--coordinator".into(), coordinator.clone()]);
        }
        arguments.extend(["--place".into(), self.place.clone()]);
        arguments.extend(words.iter().map(|word| (*word).to_owned()));
        Command { program: self.client.clone().into(), arguments }
    }

    /// The same as a user would type it.
    pub fn command(&self, words: &str) -> String {
        let coordinator =
            self.coordinator.as_ref().map_or(String::new(), |coordinator| format!(" -x {}", quoted(coordinator)));
        format!("{}{coordinator} -p {} {words}", self.client, self.place)
    }

    /// The same, quoted for a shell.
    fn shell_line(&self, words: &[&str]) -> String {
        let Command { program, arguments } = self.client_command(words);
        let words = std::iter::once(program.display().to_string()).chain(arguments);
        words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
    }

    /// The board of a place.
    ///
    /// # Errors
    /// If the place does not define how to reach it, with the fix.
    pub fn board(&self, state: &PlaceState) -> Result<Board, PlaceFileError> {
        if let Some(address) = &self.address {
            return Ok(self.board_at(address));
        }
        let services: Vec<_> = state.services().collect();
        let names = || services.iter().map(|(name, _)| (*name).to_owned()).collect();
        let chosen = match &self.service {
            Some(wanted) => services.iter().find(|(name, _)| name == wanted).ok_or_else(|| {
                PlaceFileError::NoSuchService { place: self.place.clone(), service: wanted.clone(), services: names() }
            })?,
            None => match services.as_slice() {
                [only] => only,
                [] => {
                    let command = self.command("add-match EXPORTER/GROUP/NetworkService");
                    return Err(PlaceFileError::NoService { place: self.place.clone(), command });
                }
                _ => return Err(PlaceFileError::SeveralServices { place: self.place.clone(), services: names() }),
            },
        };
        let (_, service) = chosen;
        if service.behind_exporter {
            return Err(PlaceFileError::BehindExporter { address: service.address.clone() });
        }
        let user = if service.user.is_empty() { "root" } else { &service.user };
        let mut board = self.board_at(&format!("{user}@{}", service.address));
        board.port = self.port.or(service.port);
        board.check()?;
        Ok(board)
    }

    fn board_at(&self, address: &str) -> Board {
        Board {
            port: self.port,
            identity: self.identity.clone(),
            ssh_options: self.ssh_options.clone(),
            sudo: self.sudo,
            directory: self.directory.clone(),
            keep_meter: self.keep_meter,
            boot: Some(Boot { wait_seconds: self.boot_seconds }),
            power: (self.power != Power::Leave).then(|| board_file::Power {
                cycle: Some(self.shell_line(&["power", "cycle"])),
                ..board_file::Power::default()
            }),
            deploy: self.deploy.clone(),
            ..Board::ssh(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_file_comes_back() {
        let place = LabgridPlace {
            coordinator: Some("lab:20408".into()),
            client: "/opt/labgrid/bin/labgrid-client".into(),
            power: Power::Cycle,
            power_off: true,
            boot_seconds: 30,
            service: Some("net".into()),
            address: Some("root@10.0.0.7".into()),
            port: Some(2222),
            identity: Some("/keys/board".into()),
            ssh_options: vec!["ProxyJump=lab".into()],
            sudo: true,
            directory: Some("/data".into()),
            keep_meter: true,
            deploy: Some(Deploy { command: "labgrid-client write-image".into(), reboots: true }),
            ..LabgridPlace::new("board1")
        };
        assert_eq!(LabgridPlace::parse(&place.to_text()).unwrap(), place);
        let least = LabgridPlace::parse("backend = \"labgrid\"\nplace = \"board1\"").unwrap();
        assert_eq!(least, LabgridPlace::new("board1"));
        assert_eq!(LabgridPlace::parse(&least.to_text()).unwrap(), least);
    }

    #[test]
    fn an_invalid_key_or_value_is_named() {
        let wrong =
            |lines: &str| LabgridPlace::parse(&format!("backend = \"labgrid\"\n{lines}")).unwrap_err().to_string();
        assert!(wrong("place = \"--help\"").contains("labgrid-client places"), "a place is no option");
        assert!(wrong("place = \"a\"\ncoordinator = \"a b\"").contains("20408"));
        assert!(wrong("place = \"a\"\npower = \"off\"").contains("power"));
        assert!(wrong("place = \"a\"\ndirectory = \"data\"").contains("absolute"));
        assert!(wrong("place = \"a\"\ncolour = 1").contains("colour"));
    }

    #[test]
    fn a_place_that_does_not_say_how_to_reach_the_board_is_refused_with_the_fix() {
        let place = LabgridPlace::new("board1");
        let none = place.board(&PlaceState::default()).unwrap_err().to_string();
        assert!(none.contains("NetworkService") && none.contains("`labgrid-client -p board1 add-match"), "{none}");
        let shown = |name: &str, address: &str| {
            format!(
                "Acquired resource '{name}' (exp/lab/NetworkService/{name}):\n {{'params': {{'address': '{address}', \
                 'port': 22, 'username': ''}}}}\n"
            )
        };
        let two = PlaceState::parse(&(shown("a", "10.0.0.1") + &shown("b", "10.0.0.2")));
        assert!(place.board(&two).unwrap_err().to_string().contains("a, b"));
        let named = LabgridPlace { service: Some("b".into()), port: Some(2222), ..place.clone() };
        let board = named.board(&two).unwrap();
        assert_eq!((board.address.as_str(), board.port), ("root@10.0.0.2", Some(2222)));
        let hidden = PlaceState::parse(&shown("a", "fe80::1%eth0"));
        assert!(place.board(&hidden).unwrap_err().to_string().contains("ProxyJump"));
        let option = PlaceState::parse(&shown("a", "-oProxyCommand=x"));
        assert_eq!(place.board(&option).unwrap().address, "root@-oProxyCommand=x", "behind a user it is no option");
    }
}
