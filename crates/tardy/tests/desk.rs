//! `tardy desk` on this machine: a planted program comes first on its page, settings change and change back, and nothing is left.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A user looks for the cause after a minute.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(60);
const INSTANCES: &str = "/sys/kernel/tracing/instances";

struct AtDesk {
    child: Child,
    address: String,
    cookie: String,
    place: TempDir,
}

impl AtDesk {
    fn open(options: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(["desk", "--directory"]).arg(place.path().join("desk")).args(options);
        command.env("HOME", place.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
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

    fn ask(&self, method: &str, path: &str) -> String {
        String::from_utf8_lossy(&self.ask_for_bytes(method, path)).into_owned()
    }

    fn ask_for_bytes(&self, method: &str, path: &str) -> Vec<u8> {
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

    fn page(&self) -> String {
        self.ask("GET", "/desk")
    }

    /// Looks at the page until it holds.
    fn wait(&self, patience: Duration, what: &str, mut holds: impl FnMut(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let page = self.page();
            if holds(&page) {
                return page;
            }
            assert!(start.elapsed() < patience, "{what} did not come: {page}");
            std::thread::sleep(Duration::from_millis(250));
        }
    }

    fn archives(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path().join("desk")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.join("manifest.json").is_file()).collect()
    }

    /// Numbers of the processes that it started.
    fn children(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
        tasks.map(children).flat_map(|all| all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Its exit code after Ctrl-C.
    fn end(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// Values of the attributes of each element that has the first one, in the order of the page.
fn rows<'p>(page: &'p str, attribute: &str) -> Vec<BTreeMap<&'p str, &'p str>> {
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

fn compiled(place: &Path) -> PathBuf {
    let (source, program) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/hog.c"), place.join("hog"));
    assert!(Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(source).status().unwrap().success());
    program
}

/// Trace instances of a meter: their names begin with its number.
fn instances_of(meters: &[String]) -> Vec<String> {
    let names = fs::read_dir(INSTANCES).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| meters.iter().any(|meter| name.starts_with(&format!("tardy-{meter}-")))).collect()
}

#[test]
fn a_planted_hog_comes_first_and_nothing_is_left() {
    prerequisites::require!(Root, Tracefs, Program("cc"));
    let mut desk = AtDesk::open(&[]);
    let hog = compiled(desk.place.path());
    desk.wait(PATIENCE, "a measurement", |page| {
        rows(page, "data-standing").iter().any(|row| row["data-standing"] != "not-measured")
    });
    let mut hog = Command::new(hog).args(["0", "20000", "300000"]).spawn().unwrap();
    let first = |page: &str| {
        rows(page, "data-culprit").first().map(|row| (row["data-who"].to_owned(), row["data-culprit"].to_owned()))
    };
    let page = desk.wait(FOUND_WITHIN, "the hog", |page| first(page) == Some(("hog".into(), "other-rt-task".into())));
    let standing = |page: &str, of: &str| {
        rows(page, "data-use").iter().find(|row| row["data-use"] == of).unwrap()["data-standing"].to_owned()
    };
    assert_eq!([standing(&page, "audio-256"), standing(&page, "frames-144")], ["too-late", "too-late"]);
    let spike = rows(&page, "data-spike")[0]["data-spike"].to_owned();
    let account = desk.ask("GET", &format!("/desk/spikes/{spike}"));
    assert!(
        account.starts_with("HTTP/1.1 200") && account.contains(&format!("id=\"spike-{spike}\"")),
        "{spike}: {account}"
    );
    assert!(desk.ask("GET", "/desk/spikes/4000000000").starts_with("HTTP/1.1 404"));
    hog.kill().unwrap();
    hog.wait().unwrap();
    let meters = desk.children();
    assert_eq!(desk.archives().len(), 1);
    assert!(!instances_of(&meters).is_empty(), "{meters:?}");
    assert_eq!(desk.end(), Some(0));
    assert_eq!((desk.archives().len(), instances_of(&meters)), (0, Vec::new()), "archives and trace instances");
}

#[test]
fn a_kept_measurement_stays_and_its_shared_file_names_nothing() {
    prerequisites::require!(Root, Tracefs);
    let mut desk = AtDesk::open(&["--limit", "1us"]);
    desk.wait(PATIENCE, "an account", |page| !rows(page, "data-culprit").is_empty());
    let shared = desk.ask_for_bytes("POST", "/desk/share");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let named = format!("-{}", host.trim());
    assert!(shared.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&shared[..shared.len().min(2000)]));
    assert!(String::from_utf8_lossy(&shared).contains("publication.json"));
    assert!(!String::from_utf8_lossy(&shared).contains(&named), "the name of the host");
    assert!(desk.ask("POST", "/desk/keep").starts_with("HTTP/1.1 303"));
    assert_eq!(desk.end(), Some(0));
    let [kept] = &desk.archives()[..] else { panic!("{:?}", desk.archives()) };
    assert!(kept.join("explanations.json").is_file());
}

#[test]
fn a_setting_is_changed_and_changed_back_while_the_measurement_goes_on() {
    const SETTING: &str = "/proc/sys/vm/compact_unevictable_allowed";
    prerequisites::require!(Root, Tracefs);
    let before = fs::read_to_string(SETTING).unwrap();
    if before.trim() != "1" {
        return;
    }
    let mut desk = AtDesk::open(&[]);
    let button = |page: &str, what: &str| {
        let forms = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
        let place = |form: &String| form.ends_with(what);
        let at = page.find(SETTING).or_else(|| page.find("changed</span>"))?;
        let behind = &page[at..];
        forms.filter(place).find(|form| behind.contains(form.as_str()))
    };
    let page = desk.wait(PATIENCE, "the finding", |page| button(page, "/apply").is_some() && page.contains(SETTING));
    let apply = button(&page, "/apply").unwrap();
    assert!(desk.ask("POST", &apply).starts_with("HTTP/1.1 303"));
    assert_eq!(fs::read_to_string(SETTING).unwrap().trim(), "0");
    let undo = apply.replace("/apply", "/undo");
    assert!(desk.page().contains(&undo), "the change stays on the page");
    assert!(desk.ask("POST", &undo).starts_with("HTTP/1.1 303"));
    assert_eq!(fs::read_to_string(SETTING).unwrap(), before);
    assert!(!desk.page().contains(&undo));
    assert_eq!(desk.end(), Some(0));
}

#[test]
fn the_entry_of_the_menu_is_valid_and_starts_the_desk() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/desktop/tardy-desk.desktop");
    let text = fs::read_to_string(path).unwrap();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap();
    assert_eq!(
        (text.lines().next(), value("Type"), value("Terminal")),
        (Some("[Desktop Entry]"), "Application", "true")
    );
    let words: Vec<&str> = value("Exec").split(' ').collect();
    assert_eq!(words, ["tardy", "desk", "--open"]);
    let help = Command::new(env!("CARGO_BIN_EXE_tardy")).args(["desk", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--open"));
    if let Ok(checked) = Command::new("desktop-file-validate").arg(path).output() {
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}

#[test]
fn other_machines_are_not_served() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(["desk", "--listen", "0.0.0.0:0", "--directory"]).arg(place.path());
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}
