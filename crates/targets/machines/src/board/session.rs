//! The session that holds a board: its script, and its greeting.

use super::shell::quoted;

const SCRIPT: &str = include_str!("session.sh");
/// Its output functions and additional commands: on a clean connection, and on a console.
const CLEAN: &str = "say() { printf 'tardy %s\\n' \"$*\"; }\nother() { :; }\n";
const CONSOLE: &str = include_str!("serial/session.sh");
/// Directories where programs can usually run, in the order of attempts.
const PLACES: &str = "/tmp /var/tmp /dev/shm $HOME";
/// Prefix of every line of the session; a login may print other lines.
const PREFIX: &str = "tardy ";
/// Space to ask for: the meter, once more during the transfer, and working space.
const NEED_KB: u32 = 4096;

/// The purpose of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Purpose {
    /// A new run: no results of another may be left.
    #[default]
    Run,
    /// The results of the run with this id.
    Collect { run: String },
    /// Restoring what a killed meter left changed.
    Restore,
    /// The same, and discarding results that were not fetched.
    Discard,
}

/// The request to a session.
#[derive(Debug, Clone, Default)]
pub struct SessionRequest {
    pub purpose: Purpose,
    /// Tried before all other directories.
    pub directory: Option<String>,
    /// The user of the board, for others.
    pub who: String,
    /// Token of the holder of the host's lock: a session with the same token may replace one whose connection was lost.
    pub token: String,
    /// Leave the meter there.
    pub keep_meter: bool,
}

impl SessionRequest {
    /// The text for the board's shell, for a connection without other output.
    pub fn script(&self) -> String {
        self.text(CLEAN)
    }

    /// The same for a console.
    pub fn console_script(&self) -> String {
        self.text(CONSOLE)
    }

    fn text(&self, manner: &str) -> String {
        let directory = self.directory.as_deref().unwrap_or_default();
        let keep = if self.keep_meter { "1" } else { "" };
        let (purpose, run) = match &self.purpose {
            Purpose::Run => ("run", ""),
            Purpose::Collect { run } => ("collect", run.as_str()),
            Purpose::Restore => ("fix", ""),
            Purpose::Discard => ("discard", ""),
        };
        format!(
            "places=\"{} {PLACES}\"; need_kb={NEED_KB}; who={}; token={}; keep={keep}; purpose={purpose}; run={}\n{manner}{SCRIPT}",
            directory.replace(['"', '$', '`', '\\'], ""),
            quoted(&self.who),
            quoted(&self.token),
            quoted(run)
        )
    }
}

/// The reports of a session so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Output of `uname -m`.
    pub machine: String,
    /// User ID.
    pub user: Option<u32>,
    /// Identifies the board's current boot.
    pub boot: String,
    /// The directory of this session.
    pub place: String,
    /// Meters in it.
    pub meters: Vec<String>,
    /// The board can be used.
    pub ready: bool,
    /// Another session holds it.
    pub held: Option<String>,
    /// A run with this id is being measured there; its host may be disconnected.
    pub measuring: Option<String>,
    /// The results of the run with this id are there, not yet fetched.
    pub left: Option<String>,
    /// Nothing is left of the run whose results were requested.
    pub gone: bool,
    /// The reason why it cannot be used.
    pub refused: Option<String>,
}

impl Greeting {
    /// Processes one line. All values from a target are validated here: a path outside the session's directories is
    /// ignored.
    pub fn take(&mut self, line: &str) {
        let Some(rest) = line.trim_end().strip_prefix(PREFIX) else { return };
        let (word, value) = rest.split_once(' ').unwrap_or((rest, ""));
        let value: String = value.chars().take(800).collect();
        match word {
            "machine" => self.machine = value,
            "boot" => self.boot = value,
            "user" => self.user = value.parse().ok(),
            "place" if value.starts_with('/') && !value.contains(char::is_whitespace) => self.place = value,
            "meter" if self.meters.len() < 100 => self.meters.push(value),
            "ready" => self.ready = !self.place.is_empty(),
            "held" => self.held = Some(value),
            "measuring" => self.measuring = Some(value),
            "left" => self.left = Some(value),
            "gone" => self.gone = true,
            "refused" => self.refused = Some(value),
            _ => {}
        }
    }

    /// Whether no more lines will come.
    pub fn is_over(&self) -> bool {
        let hindrances = [&self.held, &self.measuring, &self.left, &self.refused];
        self.ready || self.gone || hindrances.into_iter().any(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader, Write};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    fn greeting(text: &str) -> Greeting {
        let mut greeting = Greeting::default();
        text.lines().for_each(|line| greeting.take(line));
        greeting
    }

    /// The script in the shell of this machine, in its own directory.
    fn session(place: &Path, token: &str) -> (Child, Greeting) {
        session_for(place, token, Purpose::Run)
    }

    fn session_for(place: &Path, token: &str, purpose: Purpose) -> (Child, Greeting) {
        let request = SessionRequest {
            directory: Some(place.display().to_string()),
            who: format!("o'host {token}"),
            token: token.into(),
            purpose,
            ..SessionRequest::default()
        };
        let script = request.script().replace(PLACES, "");
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("every machine has a shell");
        let mut greeting = Greeting::default();
        for line in BufReader::new(child.stdout.as_mut().unwrap()).lines().map_while(Result::ok) {
            greeting.take(&line);
            if greeting.is_over() {
                break;
            }
        }
        (child, greeting)
    }

    #[test]
    fn a_session_finds_a_place_and_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (mut child, greeting) = session(place.path(), "a");
        assert!(greeting.ready, "{greeting:?}");
        assert_eq!(greeting.place, place.path().join("tardy-board").display().to_string());
        std::fs::write(Path::new(&greeting.place).join("meter-x"), "").unwrap();
        // The input ends, as when the host dies.
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_second_host_learns_who_holds_the_board_and_a_dead_one_holds_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (mut first, _) = session(place.path(), "a");
        let (mut second, greeting) = session(place.path(), "b");
        second.wait().unwrap();
        assert!(greeting.held.as_ref().is_some_and(|who| who.starts_with("o'host a ")), "{greeting:?}");
        // The same host again, after its connection was lost.
        let (mut again, greeting) = session(place.path(), "a");
        assert!(greeting.ready, "{greeting:?}");
        first.wait().unwrap();
        again.kill().unwrap();
        again.wait().unwrap();
        let (mut third, greeting) = session(place.path(), "b");
        assert!(greeting.ready, "{greeting:?}");
        third.stdin.take().unwrap().write_all(b"end\n").unwrap();
        third.wait().unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_of_an_earlier_boot_holds_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mine = place.path().join("tardy-board");
        std::fs::create_dir(&mine).unwrap();
        std::os::unix::fs::symlink("1.1.00000000-0000.x", mine.join("lock")).unwrap();
        let (mut child, greeting) = session(place.path(), "a");
        assert!(greeting.ready, "{greeting:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn changes_of_a_dead_meter_stay_recorded() {
        let place = tempfile::tempdir().unwrap();
        let (mut child, greeting) = session(place.path(), "a");
        let journal = Path::new(&greeting.place).join("journal");
        std::fs::create_dir(&journal).unwrap();
        std::fs::write(journal.join("7.jsonl"), "{}").unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(journal.join("7.jsonl").exists() && !Path::new(&greeting.place).join("lock").exists());
    }

    #[test]
    fn results_nobody_has_fetched_are_for_who_asks_for_them() {
        let place = tempfile::tempdir().unwrap();
        let spool = place.path().join("tardy-board/spool");
        std::fs::create_dir_all(&spool).unwrap();
        std::fs::write(spool.join("run"), "r1").unwrap();
        let ends = |purpose: Purpose| {
            let (mut child, greeting) = session_for(place.path(), "a", purpose);
            drop(child.stdin.take());
            child.wait().unwrap();
            greeting
        };
        assert_eq!(ends(Purpose::Run).left.as_deref(), Some("r1"));
        assert_eq!(ends(Purpose::Collect { run: "r2".into() }).left.as_deref(), Some("r1"));
        assert!(ends(Purpose::Restore).ready && spool.is_dir());
        let (mut child, greeting) = session_for(place.path(), "a", Purpose::Collect { run: "r1".into() });
        assert!(greeting.ready, "{greeting:?}");
        child.stdin.take().unwrap().write_all(b"fetched\nend\n").unwrap();
        child.wait().unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        let nothing = ends(Purpose::Collect { run: "r1".into() });
        assert!(nothing.gone && nothing.is_over(), "{nothing:?}");
        std::fs::create_dir_all(&spool).unwrap();
        assert!(ends(Purpose::Discard).ready);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_of_another_user_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/", place.path().join("tardy-board")).unwrap();
        let (mut child, greeting) = session(place.path(), "a");
        child.wait().unwrap();
        assert!(greeting.refused.as_ref().is_some_and(|why| why.contains("not ours")), "{greeting:?}");
    }

    #[test]
    fn other_output_of_a_login_is_ignored() {
        let text = "Welcome to busybox\ntardy machine armv7l\r\ntardy place /tmp/tardy-board\ntardy ready\n";
        let found = greeting(text);
        assert_eq!((found.machine.as_str(), found.place.as_str(), found.ready), ("armv7l", "/tmp/tardy-board", true));
        assert!(!greeting("tardy place ; rm -rf /\ntardy ready").ready);
    }

    proptest! {
        #[test]
        fn any_words_are_some_greeting(text in ".{0,300}") {
            greeting(&text);
            greeting(&format!("tardy {text}"));
        }
    }
}
