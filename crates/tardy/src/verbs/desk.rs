//! `tardy desk`: a page about this machine for people who do not use a terminal.

use crate::desk::{self, Asked};
use crate::exit::{Exit, UsageError};
use crate::measuring::machine::find;
use crate::options::quantity::{latency_ns, positive_time_ns, whole};
use crate::verb::{Place, Verb};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Show on a page what makes this machine's programs late
#[derive(Debug, Args)]
pub struct DeskArguments {
    /// Machine to measure: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    target: String,
    /// Open the page in the browser of the desktop
    #[arg(long)]
    open: bool,
    /// Keep the measurement at the end
    #[arg(long)]
    keep: bool,
    /// Place of measurements that are kept [default: ~/.local/share/tardy/desk]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Address on loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = socket_address)]
    listen: SocketAddr,
    /// Real-time priority of the measuring threads
    #[arg(short, long, value_name = "N", default_value_t = 80, value_parser = whole::<u8>(1..=99))]
    priority: u8,
    /// Explain wake-ups later than this
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = latency_ns)]
    limit: i64,
    /// Begin a new archive after this time, or at 64 MB
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = positive_time_ns)]
    session: u64,
}

fn socket_address(text: &str) -> Result<SocketAddr, UsageError> {
    text.parse().map_err(|_| UsageError("write ADDRESS:PORT, like 127.0.0.1:8701".into()))
}

impl Verb for DeskArguments {
    const NAME: &'static str = "desk";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] =
        &["tardy desk", "tardy desk --open", "tardy desk --keep --limit 100us", "tardy desk --target board"];
    const NOTES: &'static str = "\
The page shows whether this machine is good enough for audio, machine tools, printers and games, what delays its wake-ups, and what to change. \
Each printed link lets one browser in. Without root it takes `sudo tardy setup --apply` once.
Ctrl-C ends it and restores what the measurement changed; settings that you changed on the page stay until Undo, `tardy target restore` or \
the next boot.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        let asked = Asked {
            target: find(&self.target)?,
            listen: self.listen,
            opens: self.open,
            keeps: self.keep,
            directory: self.directory.clone(),
            priority: self.priority,
            limit_ns: self.limit,
            session_ns: self.session,
        };
        desk::open(&asked, typed)
    }
}
