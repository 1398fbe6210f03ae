//! The configuration of a guard, declared once: every key of its file and its default.

#[cfg(feature = "lab")]
use super::http::HttpSettings;
#[cfg(feature = "lab")]
use super::remote::{LabSettings, MqttSettings, OtlpSettings};
use crate::exit::UsageError;
use crate::options::quantity::{positive_time_ns, time};
use archive::nearest::nearest_or;
use archive::watched::group::ProgramGroup;
use archive::watched::guard::{INSTANCE_PREFIX, is_kept_name};
use archive::watched::{SAVED_NS, WatchSettings};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fs;
use std::path::{Path, PathBuf};

/// The example that the documents name; it holds the defaults.
pub const EXAMPLE: &str = include_str!("../../../../packaging/guard/guard.toml");
const BYTES_MAX: u64 = 1 << 20;
/// Less holds no spike beside the accounts.
const RING_MB_MIN: u32 = 8;
const SAVE_SECONDS_MAX: u32 = 60;
/// A shorter session spends more of its time on the change than on the watch.
const SESSION_NS_MIN: u64 = 60_000_000_000;

/// Every option of a guard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardConfig {
    pub watch: Watch,
    pub ring: Ring,
    pub cost: Cost,
    pub accounts: Accounts,
    pub outputs: Outputs,
    #[cfg(feature = "lab")]
    #[serde(skip_serializing)]
    pub webhook: Option<alerts::Webhook>,
    #[cfg(feature = "lab")]
    #[serde(skip_serializing)]
    pub mqtt: Option<MqttSettings>,
    #[cfg(feature = "lab")]
    #[serde(skip_serializing)]
    pub otlp: Option<OtlpSettings>,
    #[cfg(feature = "lab")]
    #[serde(skip_serializing)]
    pub lab: Option<LabSettings>,
    #[cfg(feature = "lab")]
    #[serde(skip_serializing)]
    pub http: Option<HttpSettings>,
}

/// The threads to watch, by one of the first six keys, and their limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    pub comm: Option<String>,
    pub unit: Option<String>,
    pub cgroup: Option<String>,
    pub container: Option<String>,
    pub pid: Option<i32>,
    /// A file with the number of the process; the guard waits for the file and for its process.
    pub pid_file: Option<PathBuf>,
    /// A wake-up later than this is a miss.
    pub limit: Option<Time>,
    /// A cycle longer than this is a miss.
    pub cycle_limit: Option<Time>,
    /// A file of chains of these threads; an instance that misses its deadline is a miss.
    pub chains: Option<PathBuf>,
    /// Threads without a real-time or deadline policy count as well.
    pub all_threads: bool,
}

/// The place on disk, of which the oldest part goes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ring {
    pub directory: PathBuf,
    /// Size of accounts and archives together, in MB.
    pub size_mb: u32,
    /// Length of the stretch that is saved on request.
    pub save_seconds: u32,
    /// After this time an archive is closed and the next begins.
    pub session: Time,
    /// A trace instance in memory that a reset of the machine keeps; empty: none is used.
    pub kept_instance: String,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            directory: "/var/lib/tardy/guard".into(),
            size_mb: 64,
            save_seconds: (SAVED_NS / 1_000_000_000) as u32,
            session: Time(3_600_000_000_000),
            kept_instance: format!("{INSTANCE_PREFIX}kept"),
        }
    }
}

/// The promise of cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cost {
    /// Most time that watching takes from a CPU, in percent.
    pub budget_percent: f64,
    /// Trace buffer of each CPU, in kB; the kernel has two of them for each CPU.
    pub buffer_kb: u32,
    /// Interval between reads of the trace.
    pub round: Time,
}

impl Default for Cost {
    fn default() -> Self {
        Self { budget_percent: 0.5, buffer_kb: 1024, round: Time(200_000_000) }
    }
}

/// The rate of accounts; a miss beyond it is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Accounts {
    pub per_minute: u32,
    /// Accounts that may come at once after a quiet time.
    pub burst: u32,
    /// Least time between two traces of one thread.
    pub rest: Time,
}

impl Default for Accounts {
    fn default() -> Self {
        Self { per_minute: 6, burst: 10, rest: Time(1_000_000_000) }
    }
}

/// Where each account goes beside the ring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outputs {
    /// A line on standard error, which systemd puts into the journal.
    pub line: bool,
    /// Counters for the textfile collector of the node exporter of Prometheus.
    pub textfile: Option<PathBuf>,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { line: true, textfile: None }
    }
}

/// A time in ns, written with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub u64);

impl Time {
    pub fn ns(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time(self.0))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        positive_time_ns(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl GuardConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// A [`UsageError`] that names the line and the fix.
    pub fn read(path: &Path) -> Result<Self, UsageError> {
        let failed = |error| UsageError(format!("failed to read {}: {error}", path.display()));
        if fs::metadata(path).map_err(failed)?.len() > BYTES_MAX {
            return Err(UsageError(format!("{} is too long for a configuration of a guard", path.display())));
        }
        Self::parse(&fs::read_to_string(path).map_err(failed)?, path)
    }

    /// The configuration in a text; `path` is where it is from.
    ///
    /// # Errors
    /// As [`GuardConfig::read`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, UsageError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let place = error.span().and_then(|span| text.get(span)).unwrap_or_default().trim();
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            UsageError(format!("{}: line {line}: {}", path.display(), with_fix(error.message(), place)))
        })
    }

    /// Refuses what cannot be guarded.
    ///
    /// # Errors
    /// A [`UsageError`] that names the key and the fix.
    pub fn check(&self, has_command: bool) -> Result<(), UsageError> {
        let refuse = |text: String| Err(UsageError(text));
        let watch = &self.watch;
        let named = watch.named();
        match (named, has_command) {
            (0, false) => {
                return refuse(
                    "name the threads to guard: `comm`, `unit` or another key below [watch], --comm, or -- COMMAND"
                        .into(),
                );
            }
            (0, true) | (1, false) => {}
            (_, true) => {
                return refuse("leave out -- COMMAND, or the threads below [watch]: one of them is guarded".into());
            }
            (_, false) => return refuse("[watch] names threads in more than one way; keep one of its keys".into()),
        }
        if watch.limit.is_none() && watch.cycle_limit.is_none() && watch.chains.is_none() {
            let text = "no wake-up would be a miss; set `limit`, `cycle_limit` or `chains` below [watch], or --limit";
            return refuse(text.into());
        }
        let within = |name: &str, is_right: bool, range: &str| match is_right {
            true => Ok(()),
            false => Err(UsageError(format!("{name} is out of range; choose {range}"))),
        };
        within("ring.size_mb", self.ring.size_mb >= RING_MB_MIN, &format!("{RING_MB_MIN} or more"))?;
        within("ring.save_seconds", (1..=SAVE_SECONDS_MAX).contains(&self.ring.save_seconds), "1 to 60")?;
        within("ring.session", self.ring.session.0 >= SESSION_NS_MIN, "1min or longer")?;
        let kept = &self.ring.kept_instance;
        if !kept.is_empty() && !is_kept_name(kept) {
            return refuse(format!(
                "ring.kept_instance cannot be the name of an instance of a guard; begin it with `{INSTANCE_PREFIX}` and a letter, as in `{INSTANCE_PREFIX}kept`"
            ));
        }
        within("cost.budget_percent", (0.01..=100.0).contains(&self.cost.budget_percent), "0.01 to 100")?;
        within("cost.buffer_kb", (64..=1 << 20).contains(&self.cost.buffer_kb), "64 to 1048576")?;
        within("cost.round", (10_000_000..=400_000_000).contains(&self.cost.round.0), "10ms to 400ms")?;
        within("accounts.per_minute", (1..=600).contains(&self.accounts.per_minute), "1 to 600")?;
        within("accounts.burst", (1..=600).contains(&self.accounts.burst), "1 to 600")
    }
}

impl Watch {
    fn named(&self) -> usize {
        let texts = [&self.comm, &self.unit, &self.cgroup, &self.container];
        let others = [self.pid.is_some(), self.pid_file.is_some()];
        texts.iter().filter(|key| key.is_some()).count() + others.iter().filter(|key| **key).count()
    }

    /// The request to the meter; `pid` is the process of a pid file or of a command.
    pub fn request(&self, pid: Option<i32>) -> WatchSettings {
        let unit = self.unit.clone().map(|name| ProgramGroup::Unit { name });
        let below = self.cgroup.clone().map(|path| ProgramGroup::Below { path });
        let container = self.container.clone().map(|name| ProgramGroup::Container { name });
        WatchSettings {
            pid: pid.or(self.pid),
            comm: self.comm.clone(),
            group: unit.or(below).or(container),
            cycle_limit_ns: self.cycle_limit.map(Time::ns),
            all_threads: self.all_threads,
            ..WatchSettings::default()
        }
    }

    /// Names the threads of another request instead.
    pub fn rename(&mut self, request: &WatchSettings) {
        let kept = Self {
            limit: self.limit,
            cycle_limit: self.cycle_limit,
            chains: self.chains.clone(),
            all_threads: self.all_threads,
            ..Self::default()
        };
        *self = Self { comm: request.comm.clone(), pid: request.pid, ..kept };
        match &request.group {
            Some(ProgramGroup::Unit { name }) => self.unit = Some(name.clone()),
            Some(ProgramGroup::Below { path }) => self.cgroup = Some(path.clone()),
            Some(ProgramGroup::Container { name }) => self.container = Some(name.clone()),
            None => {}
        }
    }
}

/// The words of an error. If it is about a key, which the file has at its place, the key that was meant in place of it.
fn with_fix(message: &str, at_its_place: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(typed) if typed == at_its_place => {
            let known: Vec<&str> = quoted.collect();
            let otherwise = format!("the keys here are {}", known.join(", "));
            format!("the key `{typed}` does not exist; {}", nearest_or(typed, known.iter().copied(), &otherwise))
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<GuardConfig, String> {
        GuardConfig::parse(text, Path::new("guard.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_example_holds_the_defaults() {
        let example = parsed(EXAMPLE).unwrap();
        example.check(false).unwrap();
        assert_eq!(GuardConfig { watch: Watch::default(), ..example }, GuardConfig::default());
        // Each key is in the example, if only behind a #.
        let all = toml::Value::try_from(GuardConfig::default()).unwrap();
        for (table, keys) in all.as_table().unwrap() {
            assert!(EXAMPLE.contains(&format!("[{table}]")), "{table}");
            for key in keys.as_table().unwrap().keys() {
                assert!(EXAMPLE.contains(&format!("{key} =")), "{table}.{key}");
            }
        }
    }

    #[cfg(feature = "lab")]
    #[test]
    fn every_table_behind_a_mark_is_one() {
        let (_, tables) = EXAMPLE.split_once("# [webhook]").unwrap();
        let tables: Vec<&str> = tables.lines().map(|line| line.trim_start_matches("# ")).collect();
        let config = parsed(&format!("[webhook]{}", tables.join("\n"))).unwrap();
        assert!(config.webhook.is_some() && config.mqtt.is_some() && config.otlp.is_some());
        assert!(config.lab.is_some() && config.http.is_some());
    }

    #[test]
    fn an_unknown_key_names_the_one_that_was_meant() {
        let refused = parsed("[watch]\nlimt = \"1ms\"\n").unwrap_err();
        assert!(refused.starts_with("guard.toml: line 2: ") && refused.ends_with("`limit`?"), "{refused}");
        let refused = parsed("[cost]\nbudget = 1\n").unwrap_err();
        assert!(refused.contains("budget_percent, buffer_kb, round"), "{refused}");
        let refused = parsed("[watch]\nlimit = \"100\"\n").unwrap_err();
        assert!(refused.contains("line 2") && refused.contains("100us"), "{refused}");
    }

    #[test]
    fn threads_are_named_in_one_way_and_have_a_limit() {
        let checked =
            |text: &str, has_command| parsed(text).unwrap().check(has_command).map_err(|error| error.to_string());
        let limit = "limit = \"1ms\"\n";
        assert!(checked(&format!("[watch]\ncomm = \"x\"\n{limit}"), false).is_ok());
        assert!(checked(&format!("[watch]\n{limit}"), true).is_ok());
        for (text, has_command, named) in [
            (format!("[watch]\n{limit}"), false, "--comm"),
            (format!("[watch]\ncomm = \"x\"\n{limit}"), true, "-- COMMAND"),
            (format!("[watch]\ncomm = \"x\"\npid = 1\n{limit}"), false, "keep one"),
            ("[watch]\ncomm = \"x\"\n".into(), false, "--limit"),
            (format!("[watch]\npid = 1\n{limit}[ring]\nsize_mb = 1\n"), false, "8 or more"),
            (format!("[watch]\npid = 1\n{limit}[cost]\nbudget_percent = 0\n"), false, "0.01 to 100"),
            (format!("[watch]\npid = 1\n{limit}[ring]\nkept_instance = \"boot\"\n"), false, "`tardy-kept`"),
        ] {
            let refused = checked(&text, has_command).unwrap_err();
            assert!(refused.contains(named), "{text}: {refused}");
        }
    }
}
