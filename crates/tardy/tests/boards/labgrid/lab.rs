//! A lab on loopback: labgrid's coordinator and exporter, a place, a power switch, and the board behind them.

use crate::bench::Bench;
use crate::host::ends;
use fixtures::ended::Ended;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::Prepared;
use prerequisites::met;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

/// Set by `make e2e-labgrid` to the directory of the programs.
const PROGRAMS: &str = "TARDY_LABGRID";

/// The lab, with the target `board` for its one place.
pub struct Lab {
    pub bench: Bench,
    programs: PathBuf,
    coordinator: String,
    servers: Vec<Child>,
    outlet: Arc<Mutex<String>>,
}

impl Lab {
    /// `None` if this machine cannot provide a lab. `options` are options of `tardy target add`.
    pub fn new(options: &[&str]) -> Option<Self> {
        let programs = std::env::var_os(PROGRAMS).map(PathBuf::from);
        if !met(&[Prepared("labgrid (make e2e-labgrid)", programs.is_some())]) {
            return None;
        }
        let programs = programs?;
        let bench = Bench::new()?;
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let coordinator = format!("127.0.0.1:{port}");
        let (switch, outlet) = switch();
        let resources = format!(
            "rtlab:\n  NetworkService:\n    address: 127.0.0.1\n    port: {}\n    username: root\n  power:\n    \
             cls: NetworkPowerPort\n    model: rest\n    host: 'http://127.0.0.1:{switch}/outlet/{{index}}'\n    index: '1'\n",
            bench.server.port
        );
        fs::write(bench.path("exporter.yaml"), resources).unwrap();
        let mut lab = Self { bench, programs, coordinator, servers: Vec::new(), outlet };
        let listen = lab.coordinator.clone();
        lab.serve("labgrid-coordinator", &["-l", &listen]);
        wait_until("the coordinator does not listen", || TcpStream::connect(&listen).is_ok());
        lab.serve("labgrid-exporter", &["-c", &listen, "-n", "exp1", "--hostname", "127.0.0.1", "exporter.yaml"]);
        wait_until("the exporter exports nothing", || lab.asked("admin", &["resources"]).contains("exp1/rtlab/"));
        lab.client("admin", &["create"]);
        for resource in ["NetworkService", "NetworkPowerPort/power"] {
            lab.client("admin", &["add-match", &format!("exp1/rtlab/{resource}")]);
        }
        let place = ["--labgrid", "rack1", "--coordinator", &listen];
        // labgrid provides the address of the board.
        lab.bench.add_place("board", &place, options);
        Some(lab)
    }

    fn serve(&mut self, program: &str, words: &[&str]) {
        let folder = self.bench.path(program);
        fs::create_dir(&folder).unwrap();
        let log = File::create(folder.join("log")).unwrap();
        let words = words
            .iter()
            .map(|word| word.replace("exporter.yaml", &self.bench.path("exporter.yaml").display().to_string()));
        let mut command = Command::new(self.programs.join(program));
        command.args(words).current_dir(folder).stdout(log.try_clone().unwrap()).stderr(log);
        self.servers.push(command.spawn().unwrap());
    }

    /// `labgrid-client` for the place, run as this user of the host `lab`; must succeed.
    #[track_caller]
    pub fn client(&self, person: &str, words: &[&str]) {
        let output = self.client_command(person, words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Its output, even if it fails.
    fn asked(&self, person: &str, words: &[&str]) -> String {
        String::from_utf8_lossy(&self.client_command(person, words).output().unwrap().stdout).into_owned()
    }

    fn client_command(&self, person: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("labgrid-client"));
        command.args(["-x", &self.coordinator, "-p", "rack1"]).args(words);
        command.env("LG_HOSTNAME", "lab").env("LG_USERNAME", person).current_dir(self.bench.path(""));
        command
    }

    pub fn is_acquired(&self) -> bool {
        let shown = self.asked("admin", &["show"]);
        assert!(shown.contains("Place 'rack1'"), "{shown}");
        !shown.contains("acquired: None")
    }

    /// Commands that the power switch has received so far: 1 for on, 0 for off.
    pub fn switched(&self) -> String {
        self.outlet.lock().unwrap().clone()
    }

    /// `tardy` in the lab, not yet started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.bench.command(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.programs.display())).env("LG_HOSTNAME", "lab");
        command.env("LG_COORDINATOR", &self.coordinator);
        command
    }

    pub fn begin(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn tardy(&self, words: &[&str]) -> Ended {
        ends(self.begin(words))
    }

    /// A program of labgrid's environment, not yet started.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(self.bench.path("")).env("LG_COORDINATOR", &self.coordinator).env("LG_HOSTNAME", "lab");
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for server in self.servers.iter_mut().rev() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// A power switch with the interface of labgrid's `rest` model: its port, and the received commands.
fn switch() -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, reported) = (listener.local_addr().unwrap().port(), Arc::new(Mutex::new(String::new())));
    let outlet = Arc::clone(&reported);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answered(&stream, &outlet);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
            let _ = (&stream).write_all((head + &answer).as_bytes());
        }
    });
    (port, reported)
}

/// Handles a request; a PUT switches, any other request queries.
fn answered(stream: &TcpStream, outlet: &Mutex<String>) -> String {
    let mut reader = BufReader::new(stream);
    let (mut puts, mut length) = (false, 0);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
        puts |= line.starts_with("PUT ");
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let mut outlet = outlet.lock().unwrap();
    if puts && reader.read_exact(&mut body).is_ok() {
        outlet.push_str(&String::from_utf8_lossy(&body));
    }
    outlet.chars().last().unwrap_or('1').to_string()
}
