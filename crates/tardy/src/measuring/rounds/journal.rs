//! The file of a series of rounds: the question, the random orders, the runs and the result. It is written after every
//! run, so that a series can continue after a crash with the same random orders.

use super::Rounds;
use crate::archives::{RUNS, new_below};
use crate::exit::UsageError;
use crate::terminal::json;
use crate::terminal::page::Page;
use archive::directory::{read_inside, replace_inside};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Upper bound of the file's size.
const BYTES_MAX: u64 = 64 << 20;

/// The question of one kind of series, and the type of its answer.
pub trait Question: Serialize + DeserializeOwned {
    type Answer: Serialize + DeserializeOwned;
    /// Name of the file in the directory of a series.
    const FILE: &'static str;
    /// The words behind `tardy` that begin a series.
    const VERB: &'static str;
    /// Newest version of the file that this program understands.
    const VERSION: u32;
    /// Version of the file that the question was read from.
    fn version(&self) -> u32;
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Journal<Q: Question> {
    #[serde(flatten)]
    pub question: Q,
    #[serde(flatten)]
    pub rounds: Rounds,
    /// A machine was emulated: its latencies mean nothing as real-time figures.
    pub emulated: bool,
    /// A clock counts instructions.
    #[serde(default)]
    pub virtual_time: bool,
    pub command: Vec<String>,
    pub tool_version: String,
    pub started_unix_ns: i64,
    /// In 0 .. 1.
    pub confidence: f64,
    pub result: Option<Q::Answer>,
}

impl<Q: Question> Journal<Q> {
    pub fn new(question: Q, rounds: Rounds, confidence: f64, command: Vec<String>, started: Duration) -> Self {
        Self {
            question,
            rounds,
            emulated: false,
            virtual_time: false,
            command,
            tool_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ns: i64::try_from(started.as_nanos()).unwrap_or(i64::MAX),
            confidence,
            result: None,
        }
    }

    /// Name of the file in the directory of its series.
    pub fn file() -> String {
        Q::FILE.to_owned()
    }

    /// Reads the file of a directory.
    ///
    /// # Errors
    /// A [`UsageError`] if there is no such file or its contents are not understood.
    pub fn load(directory: &Path) -> Result<Self, UsageError> {
        let path = directory.join(Self::file());
        let why = |why: String| UsageError(format!("failed to continue {}: {why}", path.display()));
        let bytes = read_inside(directory, Self::file(), BYTES_MAX)
            .map_err(|error| why(format!("{error}; `tardy {}` makes such a directory", Q::VERB)))?;
        let journal: Self = serde_json::from_slice(&bytes).map_err(|error| why(error.to_string()))?;
        if journal.question.version() > Q::VERSION {
            return Err(why(format!("version {} is newer than this program", journal.question.version())));
        }
        if !journal.rounds.names_only_its_own() {
            return Err(why("it names an archive outside of its directory".into()));
        }
        Ok(journal)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, directory: &Path) -> anyhow::Result<()> {
        Ok(replace_inside(directory, Self::file(), &json::indented(self)?)?)
    }

    /// Shows the series in the requested form: as JSON, as the path alone, or as a page.
    ///
    /// # Errors
    /// If standard output is closed.
    pub fn show(
        &self,
        directory: &Path,
        json: bool,
        quiet: bool,
        lay_out: impl FnOnce(&Path, &Self, Page) -> Page,
    ) -> anyhow::Result<()> {
        if json {
            let mut document = serde_json::to_value(self)?;
            document["directory"] = directory.display().to_string().into();
            json::print(&document)?;
        } else if quiet {
            let mut page = Page::for_stdout();
            page.line(&directory.display().to_string());
            page.print()?;
        } else {
            lay_out(directory, self, Page::for_stdout()).print()?;
        }
        Ok(())
    }
}

/// The time since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Creates the directory of a new series: `asked`, which must be empty, or `runs/<time>-<name>`.
///
/// # Errors
/// If it cannot be created, or `asked` is not empty.
pub fn new_directory(asked: Option<&Path>, started: Duration, name: &str) -> anyhow::Result<PathBuf> {
    let Some(out) = asked else { return Ok(new_below(Path::new(RUNS), started.as_secs(), name)?.0) };
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        let text = format!("{} is not empty; choose another --out, or --resume {0}", out.display());
        return Err(UsageError(text).into());
    }
    fs::create_dir_all(out).map_err(|error| anyhow::anyhow!("failed to create {}: {error}", out.display()))?;
    Ok(out.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Asked {
        asked_version: u32,
        what: String,
    }

    impl Question for Asked {
        type Answer = f64;
        const FILE: &'static str = "ask.json";
        const VERB: &'static str = "ask";
        const VERSION: u32 = 2;
        fn version(&self) -> u32 {
            self.asked_version
        }
    }

    fn journal(asked_version: u32) -> Journal<Asked> {
        let rounds = Rounds::new(7, 3, vec!["a".into(), "b".into()]);
        let question = Asked { asked_version, what: "it".into() };
        Journal::new(question, rounds, 0.95, vec!["tardy".into()], Duration::from_secs(9))
    }

    #[test]
    fn what_is_saved_is_loaded_again_unless_it_is_newer() {
        let directory = tempfile::tempdir().unwrap();
        let load = || Journal::<Asked>::load(directory.path()).map_err(|error| error.0);
        assert!(load().unwrap_err().contains("`tardy ask`"));
        let saved = journal(2);
        saved.save(directory.path()).unwrap();
        assert_eq!(load().unwrap(), saved);
        assert!(directory.path().join("ask.json").exists());
        journal(3).save(directory.path()).unwrap();
        assert!(load().unwrap_err().contains("version 3 is newer"));
        fs::write(directory.path().join("ask.json"), "{}").unwrap();
        assert!(load().unwrap_err().contains("missing field"));
        assert!(
            new_directory(Some(directory.path()), Duration::ZERO, "x").unwrap_err().to_string().contains("not empty")
        );
    }
}
