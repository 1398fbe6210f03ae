//! Parses loads as typed, `messaging`, `cpu:2` or `stress-ng:matrix,ops=1000,cpus=0-1`, and formats them.

use super::{BUILTIN_LOADS, PROGRAM_LOADS, ProgramLoad, builtin, program};
use crate::nearest::nearest_or;
use crate::settings::{LoadRequest, LoadWord};
use thiserror::Error;

const WORKERS_MAX: u32 = 4096;

/// The error in a load's notation, with the right notation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadWordsError {
    #[error(
        "a load is a name like messaging, a name and its workers like cpu:2, or a program and its words like \
         stress-ng:matrix; use --load-cmd for commands"
    )]
    NoName,
    #[error(
        "there is no load called `{name}`; {}",
        nearest_or(name, names(), "`tardy list loads` shows those there are, and --load-cmd takes commands")
    )]
    Unknown { name: String },
    #[error("`{text}` is not a number of workers from 1 to {WORKERS_MAX}")]
    Workers { text: String },
    #[error("{key} of {load} is said twice")]
    Twice { load: &'static str, key: String },
    #[error("`{text}` is not a CPU list like 0-1,3")]
    Cpus { text: String },
    #[error("{load} needs {subject}; write it like {example}")]
    NoSubject { load: &'static str, subject: &'static str, example: &'static str },
    #[error("{key} of {load} is a number, not `{value}`")]
    NoNumber { load: &'static str, key: String, value: String },
    #[error("{key} of {load} cannot be `{value}`")]
    Value { load: &'static str, key: String, value: String },
    #[error("{key} of {load} takes no value")]
    Flag { load: &'static str, key: String },
    #[error("{key} of {load} needs a value, {key}=...")]
    NoValue { load: &'static str, key: String },
    #[error("{load} has no `{key}`; it has {}", known.join(", "))]
    Key { load: &'static str, key: String, known: Vec<&'static str> },
}

/// Names of the loads that are built in, and of the programs that are loads.
fn names() -> impl Iterator<Item = &'static str> {
    BUILTIN_LOADS.iter().map(|load| load.name).chain(PROGRAM_LOADS.iter().map(|load| load.name))
}

impl LoadRequest {
    /// Parses the argument of `--load`.
    ///
    /// # Errors
    /// [`LoadWordsError`].
    pub fn parse(text: &str) -> Result<Self, LoadWordsError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let name = name.trim();
        let sound = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
        if !sound {
            return Err(LoadWordsError::NoName);
        }
        match (builtin(name), program(name)) {
            (Some(_), _) => Ok(Self::Builtin { name: name.into(), workers: rest.map_or(Ok(0), workers)? }),
            (None, Some(load)) => parse_program(load, rest.unwrap_or_default()),
            (None, None) => Err(LoadWordsError::Unknown { name: name.into() }),
        }
    }

    /// The argument of `--load` for this request; for a command, the command itself.
    pub fn text(&self) -> String {
        match self {
            Self::Builtin { name, workers: 0 } => name.clone(),
            Self::Builtin { name, workers } => format!("{name}:{workers}"),
            Self::Command { line, .. } => line.clone(),
            Self::Program { name, words } if words.is_empty() => name.clone(),
            Self::Program { name, words } => {
                let words: Vec<String> = words.iter().map(LoadWord::text).collect();
                format!("{name}:{}", words.join(","))
            }
        }
    }
}

impl LoadWord {
    fn text(&self) -> String {
        if self.key.is_empty() {
            return self.value.clone();
        }
        if self.value.is_empty() { self.key.clone() } else { format!("{}={}", self.key, self.value) }
    }
}

fn workers(text: &str) -> Result<u32, LoadWordsError> {
    match text.trim().parse::<u32>() {
        Ok(workers) if (1..=WORKERS_MAX).contains(&workers) => Ok(workers),
        _ => Err(LoadWordsError::Workers { text: text.into() }),
    }
}

fn parse_program(load: &ProgramLoad, text: &str) -> Result<LoadRequest, LoadWordsError> {
    let mut words: Vec<LoadWord> = Vec::new();
    for (place, part) in text.split(',').map(str::trim).filter(|part| !part.is_empty()).enumerate() {
        // A CPU list contains commas, too.
        let continues = part.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
        if let Some(last) = words.last_mut().filter(|last| continues && last.key == "cpus") {
            last.value = format!("{},{part}", last.value);
            continue;
        }
        let word = word(load, place, part)?;
        if words.iter().any(|other| other.key == word.key) {
            return Err(LoadWordsError::Twice { load: load.name, key: word.key });
        }
        words.push(word);
    }
    if let Some(cpus) = words.iter().find(|word| word.key == "cpus") {
        cpu_list(&cpus.value).ok_or_else(|| LoadWordsError::Cpus { text: cpus.value.clone() })?;
    }
    let missing = load.subject.filter(|subject| subject.needed && !words.iter().any(|word| word.key.is_empty()));
    match missing {
        Some(subject) => {
            Err(LoadWordsError::NoSubject { load: load.name, subject: subject.what, example: load.example })
        }
        None => Ok(LoadRequest::Program { name: load.name.into(), words }),
    }
}

fn word(load: &ProgramLoad, place: usize, part: &str) -> Result<LoadWord, LoadWordsError> {
    let name = load.name;
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    let known = load.options.iter().find(|option| option.key == key);
    match known {
        Some(option) if option.flag == value.is_empty() => {
            let number = ["ops", "time", "workers", "jobs", "groups", "loops", "bytes", "streams", "port"];
            if number.contains(&key) && value.parse::<u32>().is_err() {
                return Err(LoadWordsError::NoNumber { load: name, key: key.into(), value: value.into() });
            }
            if value.starts_with('-') {
                return Err(LoadWordsError::Value { load: name, key: key.into(), value: value.into() });
            }
            Ok(LoadWord { key: key.into(), value: value.into() })
        }
        Some(option) if option.flag => Err(LoadWordsError::Flag { load: name, key: key.into() }),
        Some(_) => Err(LoadWordsError::NoValue { load: name, key: key.into() }),
        None if place == 0 && load.subject.is_some() && !part.starts_with('-') => {
            Ok(LoadWord { key: String::new(), value: part.into() })
        }
        None => {
            let known = load.options.iter().map(|option| option.key).collect();
            Err(LoadWordsError::Key { load: name, key: key.into(), known })
        }
    }
}

/// The CPUs of a list such as `0-1,3`; `None` if the text is not one.
pub fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= WORKERS_MAX || cpus.len() as u32 + (last - first) >= WORKERS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::super::PROGRAM_LOADS;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_of_cpus_is_no_longer_than_the_workers_of_a_load() {
        assert_eq!(cpu_list("0-1,3"), Some(vec![0, 1, 3]));
        assert_eq!(cpu_list("0-4095").map(|cpus| cpus.len()), Some(4096));
        assert_eq!(cpu_list("0-4095,0"), None);
    }

    #[test]
    fn what_is_typed_comes_back_as_text() {
        for text in [
            "messaging",
            "cpu:2",
            "stress-ng:matrix,ops=1000,cpus=0-1,3",
            "fio:randwrite,bs=16k,direct",
            "hackbench",
            "hackbench:groups=4,pipe",
            "iperf3:192.168.7.1,udp",
            "kernel-build:/usr/src/linux,jobs=4",
        ] {
            assert_eq!(LoadRequest::parse(text).unwrap().text(), text);
        }
        let Ok(LoadRequest::Program { words, .. }) = LoadRequest::parse("stress-ng:hdd,cpus=0-1,3,time=2") else {
            panic!("no program");
        };
        assert_eq!(words[1], LoadWord { key: "cpus".into(), value: "0-1,3".into() });
        assert_eq!(words.len(), 3);
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (text, expected) in [
            ("make -j4", "--load-cmd"),
            ("cpu:x", "workers"),
            ("cpu:0", "1 to 4096"),
            ("warp", "`tardy list loads`"),
            ("stress-ng", "stressor"),
            ("stress-ng:ops=4", "needs the stressor"),
            ("stress-ng:matrix,opps=4", "no `opps`; it has ops, time"),
            ("stress-ng:matrix,ops=x", "number"),
            ("stress-ng:--help", "no `--help`"),
            ("stress-ng:matrix,cpus=3-1", "CPU list"),
            ("fio:read,direct=1", "takes no value"),
            ("fio:read,bs=--x", "cannot be"),
            ("fio:read,bs", "bs=..."),
            ("fio:read,bs=1k,bs=2k", "twice"),
            ("hackbench:matrix", "no `matrix`"),
        ] {
            let refusal = LoadRequest::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(expected), "{text}: {refusal}");
        }
    }

    #[test]
    fn every_example_can_be_typed() {
        for load in &PROGRAM_LOADS {
            LoadRequest::parse(load.example).unwrap();
        }
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpu_list("0-1,3"), Some(vec![0, 1, 3]));
        for none in ["", "a", "1-", "2-1", "0-99999"] {
            assert_eq!(cpu_list(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_load_or_refused(text in "\\PC*") {
            let _ = LoadRequest::parse(&text);
        }

        #[test]
        fn a_load_that_was_read_reads_the_same_again(words in "(stress-ng|fio|iperf3):[a-z0-9=,/.-]{0,40}") {
            if let Ok(request) = LoadRequest::parse(&words) {
                prop_assert_eq!(LoadRequest::parse(&request.text()), Ok(request));
            }
        }
    }
}
