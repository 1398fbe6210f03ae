//! A PostgreSQL server for one test: in a temporary directory, on a Unix socket alone, as a user without privileges.

use prerequisites::is_root;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// `nobody`: the server refuses to run as root.
const USER: u32 = 65534;
const WAIT_MAX: Duration = Duration::from_secs(60);

pub struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    process: Mutex<Child>,
    databases: AtomicU32,
    port: u16,
    options: Vec<String>,
}

/// The newest installed version's directory of programs.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin"));
    versions.filter(|programs| programs.join("initdb").exists()).max()
}

fn unprivileged(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    if is_root() {
        command.uid(USER).gid(USER);
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn postgres(programs: &Path, folder: &Path, options: &[String]) -> Child {
    let mut command = unprivileged(programs.join("postgres"));
    command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    command.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]);
    command.args(options.iter().flat_map(|option| ["-c", option])).spawn().unwrap()
}

impl Server {
    pub fn start() -> Self {
        Self::with(5432, |_| Vec::new())
    }

    /// One that also listens on a port of `localhost`, with `cert.pem` and `key.pem` of a folder.
    pub fn encrypted(certified: &Path, port: u16) -> Self {
        Self::with(port, |folder| {
            let own = |name: &str| {
                let file = folder.join(name);
                fs::write(&file, fs::read(certified.join(name)).unwrap()).unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
                if is_root() {
                    chown(&file, Some(USER), Some(USER)).unwrap();
                }
                file.display().to_string()
            };
            vec![
                "listen_addresses=localhost".into(),
                format!("port={port}"),
                "ssl=on".into(),
                format!("ssl_cert_file={}", own("cert.pem")),
                format!("ssl_key_file={}", own("key.pem")),
            ]
        })
    }

    fn with(port: u16, options: impl FnOnce(&Path) -> Vec<String>) -> Self {
        let programs = programs().expect("it was checked");
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            chown(folder.path(), Some(USER), Some(USER)).unwrap();
        }
        let mut initdb = unprivileged(programs.join("initdb"));
        initdb.arg("-D").arg(folder.path().join("data"));
        let made =
            initdb.args(["-U", "tardy", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]).status().unwrap();
        assert!(made.success());
        let options = options(folder.path());
        let process = Mutex::new(postgres(&programs, folder.path(), &options));
        let server = Self { folder, programs, process, databases: AtomicU32::new(0), port, options };
        server.wait();
        server
    }

    /// A new, empty database, over the Unix socket.
    pub fn database(&self) -> String {
        let (name, folder) = (self.create(), self.folder.path().display());
        format!("postgres://tardy@localhost/{name}?host={folder}")
    }

    /// The name of a new, empty database.
    pub fn create(&self) -> String {
        let name = format!("lab{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut createdb = unprivileged(self.programs.join("createdb"));
        createdb.env("PGPORT", self.port.to_string()).arg("-h").arg(self.folder.path()).args(["-U", "tardy", &name]);
        assert!(createdb.status().unwrap().success());
        name
    }

    /// Ends the server in the middle of everything, and starts it again.
    pub fn crash(&self) {
        let mut process = self.process.lock().unwrap();
        // Every backend quits at once, nothing is written back, and the next start recovers.
        kill_process(Pid::from_child(&process), Signal::QUIT).unwrap();
        process.wait().unwrap();
        *process = postgres(&self.programs, self.folder.path(), &self.options);
        drop(process);
        self.wait();
    }

    fn wait(&self) {
        let start = Instant::now();
        loop {
            let mut ready = unprivileged(self.programs.join("pg_isready"));
            ready.env("PGPORT", self.port.to_string()).arg("-q").arg("-h").arg(self.folder.path());
            if ready.status().unwrap().success() {
                return;
            }
            assert!(start.elapsed() < WAIT_MAX, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap();
        let _ = kill_process(Pid::from_child(process), Signal::QUIT);
        let _ = process.wait();
    }
}
