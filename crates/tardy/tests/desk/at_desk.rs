//! A program `tardy desk`, and a browser that reads its page.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A user looks for the cause after a minute.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
/// A virtual machine boots first, on a busy host.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub struct AtDesk {
    child: Child,
    address: String,
    cookie: String,
    pub place: TempDir,
}

impl AtDesk {
    pub fn open(options: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.env("HOME", place.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        Self::start(command, place, options)
    }

    /// `command` starts `tardy`.
    pub fn start(mut command: Command, place: TempDir, options: &[&str]) -> Self {
        command.args(["desk", "--directory"]).arg(place.path().join("desk")).args(options);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        // The pipe stays open: the program goes on to write there.
        std::thread::spawn(move || said.read_to_string(&mut String::new()));
        let link =
            line.split_whitespace().find_map(|word| word.strip_prefix("http://")).unwrap_or_else(|| panic!("{line}"));
        let (address, path) = link.split_once('/').unwrap();
        let mut desk = Self { child, address: address.to_owned(), cookie: String::new(), place };
        let entered = desk.ask("GET", &format!("/{path}"));
        let cookie =
            entered.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_else(|| panic!("{entered}"));
        desk.cookie = cookie.split(';').next().unwrap().to_owned();
        desk
    }

    pub fn ask(&self, method: &str, path: &str) -> String {
        String::from_utf8_lossy(&self.ask_for_bytes(method, path)).into_owned()
    }

    pub fn ask_for_bytes(&self, method: &str, path: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, cookie) = (&self.address, &self.cookie);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept: text/html\r\ncookie: {cookie}\r\ncontent-length: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    pub fn page(&self) -> String {
        self.ask("GET", "/desk")
    }

    /// Looks at the page until it holds.
    pub fn wait(&self, patience: Duration, what: &str, mut holds: impl FnMut(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let page = self.page();
            if holds(&page) {
                return page;
            }
            assert!(start.elapsed() < patience, "{what} did not come; {}", ranking(&page));
            std::thread::sleep(Duration::from_millis(250));
        }
    }

    pub fn archives(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path().join("desk")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("manifest.json").is_file()).collect()
    }

    /// Numbers of the processes that it started.
    pub fn children(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        tasks.map(children).flat_map(|all| all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Its exit code after Ctrl-C.
    pub fn end(&mut self) -> Option<i32> {
        self.end_by(rustix::process::Signal::INT)
    }

    /// Its exit code after a signal.
    pub fn end_by(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// Values of the attributes of each element that has the first one, in the order of the page.
pub fn rows<'p>(page: &'p str, attribute: &str) -> Vec<BTreeMap<&'p str, &'p str>> {
    let elements = page.split('<').filter(|element| element.contains(&format!(" {attribute}=\"")));
    let attributes = |element: &'p str| {
        let inside = element.split_once('>').map_or(element, |(inside, _)| inside);
        inside
            .split("\" ")
            .filter_map(|pair| pair.rsplit_once("=\""))
            .map(|(name, value)| (name.rsplit(' ').next().unwrap_or(name), value.trim_end_matches('"')))
            .collect()
    };
    elements.map(attributes).collect()
}

/// The ranking of a page, for the message of a failed test.
fn ranking(page: &str) -> String {
    let of = |element: &str| {
        let text = element.split('<').filter_map(|part| Some(part.split_once('>')?.1));
        let words: Vec<&str> = text.flat_map(str::split_whitespace).collect();
        words.join(" ")
    };
    let section = page.split_once("id=\"ranking-title\"").map_or(page, |(_, rest)| rest);
    let section = section.split_once("</section>").map_or(section, |(inside, _)| inside);
    let named: Vec<String> = rows(section, "data-culprit")
        .iter()
        .map(|row| format!("{} {}", row["data-culprit"], row["data-who"]))
        .collect();
    format!("the ranking is {named:?}: {}", of(section))
}

impl AtDesk {
    /// Waits until it measures.
    pub fn wait_for_figures(&self) {
        let measures =
            |page: &str| rows(page, "data-standing").iter().any(|row| row["data-standing"] != "not-measured");
        self.wait(PATIENCE, "a measurement", measures);
    }

    /// Waits until this comes first: a name with its culprit.
    pub fn wait_for_first(&self, who: &str, culprits: &[&str]) -> String {
        self.wait_for_first_of(who, |found| found == who, culprits)
    }

    /// Waits until a name that fits comes first with one of the culprits.
    pub fn wait_for_first_of(&self, what: &str, is_it: impl Fn(&str) -> bool, culprits: &[&str]) -> String {
        let is_first = |page: &str| {
            let rows = rows(page, "data-culprit");
            rows.first().is_some_and(|row| is_it(row["data-who"]) && culprits.contains(&row["data-culprit"]))
        };
        self.wait(FOUND_WITHIN, what, is_first)
    }
}

impl Drop for AtDesk {
    /// A failed test leaves no measurement.
    fn drop(&mut self) {
        if let (Ok(None), pid) = (self.child.try_wait(), rustix::process::Pid::from_child(&self.child)) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            let _ = self.child.wait();
        }
    }
}
