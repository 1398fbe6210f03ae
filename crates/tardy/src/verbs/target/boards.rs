//! Boards as targets: their options, and how a board is opened and verified.

use super::{Exit, report, version_there};
use crate::exit::UsageError;
use crate::options::quantity::whole;
use clap::{ArgGroup, Args, ValueEnum};
use machines::Target;
use machines::board::board_file::Board;
use machines::labgrid::place_file::{LabgridPlace, Power};
use machines::meter_places::METER_NAME;
use machines::target_file::Description;
use std::path::{Path, PathBuf};
use words::printable::printable;

/// Options of `tardy target add` about a board.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("board").args(["ssh", "serial", "labgrid"]))]
pub struct BoardArguments {
    /// A board that `ssh` reaches with a key, like root@192.168.1.7; it needs nothing but a shell
    #[arg(long, value_name = "USER@HOST", help_heading = "Board")]
    ssh: Option<String>,
    /// A board that has nothing but a console: a device like /dev/ttyUSB0, unix:PATH, or tcp:HOST:PORT
    #[arg(long, value_name = "LINE", help_heading = "Board")]
    serial: Option<String>,
    /// Speed of the serial line [default: 115200]
    #[arg(long, value_name = "N", requires = "serial", value_parser = whole::<u32>(1..), help_heading = "Board")]
    baud: Option<u32>,
    /// Who logs in on the serial line [default: root]
    #[arg(long, value_name = "NAME", requires = "serial", help_heading = "Board")]
    user: Option<String>,
    /// A file with the password for that in its first line; it is read whenever one is asked for
    #[arg(long, value_name = "FILE", requires = "serial", conflicts_with = "password_command", help_heading = "Board")]
    password_file: Option<PathBuf>,
    /// A command that prints the password; it is run whenever one is asked for
    #[arg(long, value_name = "COMMAND", requires = "serial", help_heading = "Board")]
    password_command: Option<String>,
    /// How the board asks for the user's name, when that does not end with `login:`
    #[arg(long, value_name = "TEXT", requires = "serial", help_heading = "Board")]
    login_prompt: Option<String>,
    /// Port of its ssh server
    #[arg(long, value_name = "N", requires = "board", value_parser = whole::<u16>(1..), help_heading = "Board")]
    port: Option<u16>,
    /// Private key to log in with
    #[arg(long, value_name = "FILE", requires = "board", help_heading = "Board")]
    identity: Option<PathBuf>,
    /// An option as after `ssh -o`, like ProxyJump=lab; may be repeated
    #[arg(long = "ssh-option", value_name = "NAME=VALUE", requires = "board", help_heading = "Board")]
    ssh_options: Vec<String>,
    /// Become root there with `sudo -n`
    #[arg(long, requires = "board", help_heading = "Board")]
    sudo: bool,
    /// Where the meter may lie, before /tmp, /var/tmp, /dev/shm and the home directory are tried
    #[arg(long, value_name = "DIR", requires = "board", help_heading = "Board")]
    directory: Option<String>,
    /// Leave the meter on the board between runs, so that it need not be sent again
    #[arg(long, requires = "board", help_heading = "Board")]
    keep_meter: bool,
    /// A place of a lab that labgrid shares out: it is acquired for each run, reached over ssh, and released
    #[arg(long, value_name = "PLACE", help_heading = "Board")]
    labgrid: Option<String>,
    /// Where labgrid's coordinator listens [default: what LG_COORDINATOR says]
    #[arg(long, value_name = "HOST:PORT", requires = "labgrid", help_heading = "Board")]
    coordinator: Option<String>,
    /// Action of labgrid on the board's power before each run; then its boot is waited for
    #[arg(long, value_enum, default_value = "leave", help_heading = "Board")]
    power: PowerName,
    /// Have labgrid switch the board off after each run
    #[arg(long, requires = "labgrid", help_heading = "Board")]
    power_off: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PowerName {
    /// Nothing: the board is on
    Leave,
    /// Switch it on
    On,
    /// Switch it off and on again
    Cycle,
}

impl PowerName {
    fn power(self) -> Power {
        match self {
            Self::Leave => Power::Leave,
            Self::On => Power::On,
            Self::Cycle => Power::Cycle,
        }
    }
}

impl BoardArguments {
    /// The board described by the options.
    ///
    /// # Errors
    /// If the options do not describe a board.
    pub fn description(&self) -> anyhow::Result<Description> {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let identity = self.identity.as_ref().map(absolute);
        if let Some(missing) = identity.as_ref().filter(|path| !path.is_file()) {
            return Err(UsageError(format!("--identity: {} does not exist", missing.display())).into());
        }
        if let Some(place) = &self.labgrid {
            let place = LabgridPlace {
                coordinator: self.coordinator.clone(),
                power: self.power.power(),
                power_off: self.power_off,
                port: self.port,
                identity,
                ssh_options: self.ssh_options.clone(),
                sudo: self.sudo,
                directory: self.directory.clone(),
                keep_meter: self.keep_meter,
                ..LabgridPlace::new(place)
            };
            place.check().map_err(|error| UsageError(error.to_string()))?;
            return Ok(Description::Labgrid(Box::new(place)));
        }
        let base = match &self.serial {
            Some(line) => match line.strip_prefix("unix:") {
                Some(path) => Board::serial(&format!("unix:{}", absolute(&path.into()).display())),
                None => Board::serial(line),
            },
            None => Board::ssh(self.ssh.as_deref().unwrap_or_default()),
        };
        let board = Board {
            baud: self.baud,
            user: self.user.clone(),
            password_file: self.password_file.as_ref().map(absolute),
            password_command: self.password_command.clone(),
            login_prompt: self.login_prompt.clone(),
            port: self.port,
            identity,
            ssh_options: self.ssh_options.clone(),
            sudo: self.sudo,
            directory: self.directory.clone(),
            keep_meter: self.keep_meter,
            ..base
        };
        board.check().map_err(|error| UsageError(error.to_string()))?;
        Ok(Description::Board(Box::new(board)))
    }
}

/// Connects to the board at `address`, runs the meter there, and leaves nothing behind.
pub fn verify(mut target: Box<dyn Target>, address: &str, json: bool) -> anyhow::Result<Exit> {
    let name = target.name().to_owned();
    target.prepare()?;
    let said = version_there(target.as_mut(), &name, Path::new(METER_NAME))?;
    let notices: Vec<String> = target.notices().into_iter().map(|notice| notice.text).collect();
    target.close()?;
    let document = serde_json::json!({ "target": name, "address": address, "meter": said, "notices": notices });
    let mut lines = vec![format!("{name} ({address}) runs {}", printable(&said))];
    lines.extend(notices);
    report(json, document, &lines.join("\n"))
}
