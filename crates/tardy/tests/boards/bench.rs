//! A host with a board behind OpenSSH.

use crate::host::Host;
use crate::server::Server;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Child;

/// The host and the board it uses.
pub struct Bench {
    pub server: Server,
    host: Host,
}

impl Deref for Bench {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl Bench {
    /// A host with a target `board`; `None` if this machine cannot provide it.
    pub fn new() -> Option<Self> {
        let host = Host::new("spool")?;
        let server = Server::start(&host.path(""))?;
        let bench = Self { server, host };
        bench.add("board", "known_hosts");
        Some(bench)
    }

    /// Adds a target for the board, with this known-hosts file.
    pub fn add(&self, name: &str, known: &str) {
        self.add_with(name, known, &[]);
    }

    /// The same with additional options.
    pub fn add_with(&self, name: &str, known: &str, options: &[&str]) {
        let port = self.server.port.to_string();
        self.add_as(name, &["--ssh", "root@127.0.0.1", "--port", &port], known, options);
    }

    /// The same for a labgrid place, which provides the address of the board.
    pub fn add_place(&self, name: &str, place: &[&str], options: &[&str]) {
        self.add_as(name, place, "known_hosts", options);
    }

    fn add_as(&self, name: &str, what: &[&str], known: &str, options: &[&str]) {
        let known = format!("UserKnownHostsFile={}", self.path(known).display());
        let key = self.path("key").display().to_string();
        let words = ["--identity", &key, "--ssh-option", &known];
        let ended = self.tardy(&[&["target", "add", name, "--force"], what, &words, options].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }

    /// The file of a target.
    pub fn target_file(&self, name: &str) -> PathBuf {
        self.path(&format!("configuration/tardy/targets/{name}.toml"))
    }

    /// Begins a run on the board, as [`Host::measuring_on`] does.
    #[track_caller]
    pub fn measuring(&self, duration: &str) -> Child {
        self.measuring_on("board", duration)
    }
}
