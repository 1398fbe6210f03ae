//! Boards as targets: what is typed about one, and how one is opened and verified.

use super::{Exit, tell, version_there};
use crate::cli::exit::UsageError;
use crate::cli::quantity::positive_time_ns;
use crate::text::printable::printable;
use clap::Args;
use runner::meter::{METER_NAME, MeterPlaces};
use runner::stop::StopRequests;
use runner::target::Target;
use runner::target::board::file::Board;
use runner::target::board::ssh::SshTarget;
use runner::target::board::{AccessOptions, Purpose};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `tardy target add` asks about a board.
#[derive(Debug, Args)]
pub struct BoardArguments {
    /// A board that `ssh` reaches with a key, like root@192.168.1.7; it needs nothing but a shell
    #[arg(long, value_name = "USER@HOST", help_heading = "Board")]
    ssh: Option<String>,
    /// Port of its ssh server
    #[arg(long, value_name = "N", requires = "ssh", help_heading = "Board")]
    port: Option<u16>,
    /// Private key to log in with
    #[arg(long, value_name = "FILE", requires = "ssh", help_heading = "Board")]
    identity: Option<PathBuf>,
    /// An option as after `ssh -o`, like ProxyJump=lab; may be repeated
    #[arg(long = "ssh-option", value_name = "NAME=VALUE", requires = "ssh", help_heading = "Board")]
    ssh_options: Vec<String>,
    /// Become root there with `sudo -n`
    #[arg(long, requires = "ssh", help_heading = "Board")]
    sudo: bool,
    /// Where the meter may lie, before /tmp, /var/tmp, /dev/shm and the home directory are tried
    #[arg(long, value_name = "DIR", requires = "ssh", help_heading = "Board")]
    directory: Option<String>,
    /// Leave the meter on the board between runs, so that it need not be sent again
    #[arg(long, requires = "ssh", help_heading = "Board")]
    keep_meter: bool,
}

impl BoardArguments {
    /// The board that was typed.
    pub fn board(&self) -> anyhow::Result<Board> {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let board = Board {
            port: self.port,
            identity: self.identity.as_ref().map(absolute),
            ssh_options: self.ssh_options.clone(),
            sudo: self.sudo,
            directory: self.directory.clone(),
            keep_meter: self.keep_meter,
            ..Board::ssh(self.ssh.as_deref().unwrap_or_default())
        };
        board.check().map_err(UsageError)?;
        Ok(board)
    }
}

/// How a board is to be had.
#[derive(Debug, Args)]
pub struct AccessArguments {
    /// When somebody else uses the board: wait until it is free, but not longer than this
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "24h", value_parser = positive_time_ns, help_heading = "Board")]
    wait: Option<u64>,
}

impl AccessArguments {
    pub fn options(&self, purpose: Purpose) -> AccessOptions {
        let wait = Duration::from_nanos(self.wait.unwrap_or(0));
        AccessOptions { purpose, wait, ..AccessOptions::default() }
    }
}

/// A board, not reached yet.
pub fn open_board(name: &str, board: Board, access: AccessOptions, stop: StopRequests) -> Box<dyn Target> {
    Box::new(SshTarget::new(name, board, MeterPlaces::of_process(), access, stop))
}

/// Reaches the board, runs the meter there, and leaves nothing.
pub fn verify(name: &str, board: Board, json: bool) -> anyhow::Result<Exit> {
    let address = board.identity_of_board();
    let mut target = open_board(name, board, AccessOptions::default(), StopRequests::default());
    target.prepare()?;
    let said = version_there(target.as_mut(), name, Path::new(METER_NAME))?;
    let notices: Vec<String> = target.notices().into_iter().map(|notice| notice.text).collect();
    target.close()?;
    let document = serde_json::json!({ "target": name, "address": address, "meter": said, "notices": notices });
    let mut lines = vec![format!("{name} ({address}) runs {}", printable(&said))];
    lines.extend(notices);
    tell(json, document, &lines.join("\n"))
}
