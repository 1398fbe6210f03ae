//! The declaration of chains in TOML: stimulus, stages, end and deadline.

use crate::event_name::EventName;
use crate::recorded::HAND_OVERS;
use archive::watched::WatchSettings;
use archive::watched::chain::{ChainEvent, FollowedChain, FollowedStage};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error as ThisError;
use wakeups::pattern::Pattern;
use words::time::time_ns;

/// More stages than a chain of programs has.
pub const STAGES_MAX: usize = 64;

/// The chains of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainFile {
    #[serde(default)]
    pub chain: Vec<Chain>,
}

/// One chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    pub name: String,
    /// From the stimulus to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeSpan>,
    /// Stimuli closer than half of this to the one before are part of its instance: the first stage sleeps in its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<TimeSpan>,
    #[serde(default)]
    pub stimulus: Stimulus,
    /// The threads in the order in which each wakes the next one.
    pub stages: Vec<Stage>,
    #[serde(default)]
    pub end: End,
}

/// A time with its unit, `1.5ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSpan {
    pub ns: i64,
}

impl<'de> Deserialize<'de> for TimeSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let ns = time_ns(&text).map_err(D::Error::custom)?;
        i64::try_from(ns).map(|ns| Self { ns }).map_err(D::Error::custom)
    }
}

impl Serialize for TimeSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.ns {
            ns if ns % 1000 == 0 => serializer.serialize_str(&format!("{}us", ns / 1000)),
            ns => serializer.serialize_str(&format!("{ns}ns")),
        }
    }
}

/// The start of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stimulus {
    /// A timer of the first stage: the instant that it was set for.
    #[default]
    Timer,
    /// The handler of an interrupt whose name or number this is; `*` and `?` match in a name.
    Interrupt(String),
    /// A packet: the interrupt that announced it, or the softirq that received it.
    Packet,
    /// The first stage writes a text to `trace_marker` that begins like this.
    Marker(String),
    /// The first stage causes this trace event, such as a probe in its program.
    Event(EventName),
    /// Any wake-up of the first stage.
    Wakeup,
}

/// The end of an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The last stage goes to sleep until its next input.
    #[default]
    Sleep,
    /// The last stage writes a text to `trace_marker` that begins like this.
    Marker(String),
    /// The last stage causes this trace event, such as `net:net_dev_queue` or a probe in its program.
    Event(EventName),
}

impl Stimulus {
    /// The trace event that it is.
    pub fn event(&self) -> Option<&EventName> {
        if let Self::Event(event) = self { Some(event) } else { None }
    }
}

impl End {
    /// The trace event that it is.
    pub fn event(&self) -> Option<&EventName> {
        if let Self::Event(event) = self { Some(event) } else { None }
    }
}

/// The threads that can be a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Stage {
    /// By name; `*` and `?` match.
    Comm(String),
    Thread(ThreadId),
}

/// One thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadId {
    pub tid: i32,
}

impl Stage {
    /// As it is written in the file.
    pub fn label(&self) -> String {
        match self {
            Self::Comm(comm) => comm.clone(),
            Self::Thread(ThreadId { tid }) => format!("thread {tid}"),
        }
    }
}

/// A refused declaration. The texts complete "failed to read the chains: ".
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum ChainProblem {
    #[error("{}{why}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Syntax { line: Option<usize>, why: String },
    #[error("there is no [[chain]]; `tardy explain RECORDING --discover` proposes some")]
    Empty,
    #[error("chain `{0}` has no stages; name the threads in their order, stages = [\"sensor\", \"control\"]")]
    NoStages(String),
    #[error("chain `{chain}` has {stages} stages; the limit is {STAGES_MAX}")]
    TooManyStages { chain: String, stages: usize },
    #[error("chain `{chain}`: {why}")]
    Name { chain: String, why: String },
    #[error("chain `{chain}`: the interrupt has no name; write its name or number")]
    EmptyInterrupt { chain: String },
    #[error("chain `{chain}`: a marker must not be empty")]
    EmptyMarker { chain: String },
}

impl ChainFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ChainProblem`] with the first mistake.
    pub fn parse(text: &str) -> Result<Self, ChainProblem> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
            ChainProblem::Syntax { line, why: error.message().trim_end().replace('\n', "; ") }
        })?;
        if file.chain.is_empty() {
            return Err(ChainProblem::Empty);
        }
        file.chain.iter().try_for_each(Chain::check)?;
        Ok(file)
    }
}

impl ChainFile {
    /// The trace events that are a stimulus or an end.
    pub fn events(&self) -> BTreeSet<EventName> {
        self.chain.iter().flat_map(Chain::events).cloned().collect()
    }

    /// Sets the chains that a watch follows while it goes on, and the events that it records. What the kept traces show decides about the
    /// other chains.
    pub fn request(&self, watch: &mut WatchSettings) {
        watch.chains = self.chain.iter().filter_map(|chain| chain.followed().ok()).collect();
        watch.chain_events = self.recorded_events();
    }

    fn recorded_events(&self) -> Vec<ChainEvent> {
        let event = |system: &str, name: &str, of_watched: bool| ChainEvent {
            system: system.to_owned(),
            name: name.to_owned(),
            of_watched,
        };
        let hand_overs = HAND_OVERS.iter().map(|(system, name)| event(system, name, false));
        let is_hand_over = |named: &EventName| HAND_OVERS.contains(&(named.group(), named.name()));
        let declared = self.events().into_iter().filter(|named| !is_hand_over(named));
        hand_overs.chain(declared.map(|named| event(named.group(), named.name(), true))).collect()
    }
}

impl fmt::Display for ChainFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = toml::to_string(self).map_err(|_| fmt::Error)?;
        out.write_str(&text)
    }
}

/// A chain that a watch cannot follow while it goes on.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum NotFollowed {
    #[error("chain `{0}` has no deadline to miss; add deadline = \"5ms\"")]
    NoDeadline(String),
    #[error("chain `{0}` ends with a marker or an event, which only the kept trace shows; use end = \"sleep\"")]
    EndsAwake(String),
}

impl Chain {
    /// The chain as a watch follows it while it goes on.
    ///
    /// # Errors
    /// [`NotFollowed`].
    pub fn followed(&self) -> Result<FollowedChain, NotFollowed> {
        let Some(deadline) = self.deadline else { return Err(NotFollowed::NoDeadline(self.name.clone())) };
        if self.end != End::Sleep {
            return Err(NotFollowed::EndsAwake(self.name.clone()));
        }
        let stage = |stage: &Stage| match stage {
            Stage::Comm(comm) => FollowedStage::Comm(comm.clone()),
            Stage::Thread(thread) => FollowedStage::Tid(thread.tid),
        };
        Ok(FollowedChain {
            name: self.name.clone(),
            stages: self.stages.iter().map(stage).collect(),
            deadline_ns: deadline.ns,
            by_timer: self.stimulus == Stimulus::Timer,
            period_ns: self.period.map(|period| period.ns),
            declaration: Some(ChainFile { chain: vec![self.clone()] }.to_string()),
        })
    }

    /// The trace events that are its stimulus or its end.
    pub fn events(&self) -> impl Iterator<Item = &EventName> {
        self.stimulus.event().into_iter().chain(self.end.event())
    }

    /// The declaration of a chain that a watch followed; `None` if it is wrong, as in a damaged archive.
    pub fn of_followed(chain: &FollowedChain) -> Option<Self> {
        if let Some(text) = &chain.declaration {
            return ChainFile::parse(text).ok()?.chain.into_iter().next();
        }
        let stage = |stage: &FollowedStage| match stage {
            FollowedStage::Comm(comm) => Stage::Comm(comm.clone()),
            FollowedStage::Tid(tid) => Stage::Thread(ThreadId { tid: *tid }),
        };
        let declared = Self {
            name: chain.name.clone(),
            deadline: Some(TimeSpan { ns: chain.deadline_ns }),
            period: chain.period_ns.map(|ns| TimeSpan { ns }),
            stimulus: if chain.by_timer { Stimulus::Timer } else { Stimulus::Wakeup },
            stages: chain.stages.iter().map(stage).collect(),
            end: End::Sleep,
        };
        (chain.deadline_ns > 0 && declared.check().is_ok()).then_some(declared)
    }

    fn check(&self) -> Result<(), ChainProblem> {
        let chain = || self.name.clone();
        match self.stages.len() {
            0 => return Err(ChainProblem::NoStages(chain())),
            stages if stages > STAGES_MAX => return Err(ChainProblem::TooManyStages { chain: chain(), stages }),
            _ => {}
        }
        let interrupt = if let Stimulus::Interrupt(name) = &self.stimulus { Some(name) } else { None };
        let comms =
            self.stages.iter().filter_map(|stage| if let Stage::Comm(comm) = stage { Some(comm) } else { None });
        for name in comms {
            Pattern::new(name).map_err(|why| ChainProblem::Name { chain: chain(), why: why.to_string() })?;
        }
        if interrupt.is_some_and(String::is_empty) {
            return Err(ChainProblem::EmptyInterrupt { chain: chain() });
        }
        let marker_of_stimulus = if let Stimulus::Marker(text) = &self.stimulus { Some(text) } else { None };
        let marker_of_end = if let End::Marker(text) = &self.end { Some(text) } else { None };
        match marker_of_stimulus.into_iter().chain(marker_of_end).any(String::is_empty) {
            true => Err(ChainProblem::EmptyMarker { chain: chain() }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_followed_chain_keeps_its_declaration() {
        let text = r#"
            [[chain]]
            name = "net"
            deadline = "1.5ms"
            stimulus = "packet"
            stages = ["rx", { tid = 4711 }]
        "#;
        let chain = ChainFile::parse(text).unwrap().chain.remove(0);
        let followed = chain.followed().unwrap();
        assert_eq!(Chain::of_followed(&followed).as_ref(), Some(&chain));
        let older = FollowedChain { declaration: None, ..followed };
        assert_eq!(Chain::of_followed(&older), Some(Chain { stimulus: Stimulus::Wakeup, ..chain.clone() }));
        assert_eq!(Chain::of_followed(&FollowedChain { deadline_ns: -1, ..older.clone() }), None);
        assert_eq!(Chain::of_followed(&FollowedChain { stages: Vec::new(), ..older }), None);
        let without = Chain { deadline: None, ..chain.clone() };
        assert_eq!(without.followed(), Err(NotFollowed::NoDeadline("net".into())));
        let marked = Chain { end: End::Marker("done".into()), ..chain };
        assert_eq!(marked.followed(), Err(NotFollowed::EndsAwake("net".into())));
    }

    #[test]
    fn a_chain_with_everything() {
        let text = r#"
            [[chain]]
            name = "sensor to motor"
            deadline = "1.5ms"
            period = "10ms"
            stimulus = { interrupt = "spi*" }
            stages = ["irq/*-spi", "sensor", { tid = 4711 }]
            end = { marker = "done" }
        "#;
        let ChainFile { chain } = ChainFile::parse(text).unwrap();
        let declared = Chain {
            name: "sensor to motor".into(),
            deadline: Some(TimeSpan { ns: 1_500_000 }),
            period: Some(TimeSpan { ns: 10_000_000 }),
            stimulus: Stimulus::Interrupt("spi*".into()),
            stages: vec![
                Stage::Comm("irq/*-spi".into()),
                Stage::Comm("sensor".into()),
                Stage::Thread(ThreadId { tid: 4711 }),
            ],
            end: End::Marker("done".into()),
        };
        assert_eq!(chain, std::slice::from_ref(&declared));
        let written = ChainFile { chain }.to_string();
        assert_eq!(ChainFile::parse(&written).unwrap().chain, [declared], "{written}");
    }

    #[test]
    fn events_of_stimuli_and_ends_are_recorded_of_watched_threads_only() {
        let text = |end: &str| {
            let begins = "[[chain]]\nname = \"c\"\nstages = [\"a\"]\nstimulus = { event = \"sdt_robot:step\" }";
            format!("{begins}\nend = {{ event = \"{end}\" }}")
        };
        let file = ChainFile::parse(&text("net:net_dev_queue")).unwrap();
        assert_eq!(ChainFile::parse(&file.to_string()).as_ref(), Ok(&file));
        let mut watch = WatchSettings::default();
        file.request(&mut watch);
        let recorded = watch.chain_events;
        let named: Vec<(&str, bool)> = recorded.iter().map(|event| (event.name.as_str(), event.of_watched)).collect();
        let of_watched = [("net_dev_queue", true), ("step", true)];
        assert_eq!(named, [&[("softirq_raise", false), ("workqueue_queue_work", false)], &of_watched[..]].concat());
        let twice = ChainFile::parse(&text("irq:softirq_raise")).unwrap().recorded_events();
        let raised: Vec<bool> =
            twice.iter().filter(|event| event.name == "softirq_raise").map(|event| event.of_watched).collect();
        assert_eq!(raised, [false], "hand-overs need it of all threads");
        let wrong = ChainFile::parse(&text("../x:enable")).unwrap_err();
        assert!(matches!(wrong, ChainProblem::Syntax { line: Some(5), .. }), "{wrong:?}");
    }

    #[test]
    fn a_timer_and_the_next_sleep_are_the_defaults() {
        let ChainFile { chain } = ChainFile::parse("[[chain]]\nname = \"loop\"\nstages = [\"loop\"]").unwrap();
        assert_eq!((&chain[0].stimulus, &chain[0].end, chain[0].deadline), (&Stimulus::Timer, &End::Sleep, None));
    }

    #[test]
    fn mistakes_are_named() {
        let of = |rest: &str| ChainFile::parse(&format!("[[chain]]\nname = \"c\"\n{rest}")).unwrap_err();
        assert_eq!(ChainFile::parse("chain = []"), Err(ChainProblem::Empty));
        assert_eq!(ChainFile::parse("# nothing was proposed\n").unwrap_err(), ChainProblem::Empty);
        assert_eq!(of("stages = []"), ChainProblem::NoStages("c".into()));
        assert!(matches!(of("stages = [\"a\"]\ndeadline = \"5\""), ChainProblem::Syntax { line: Some(4), .. }));
        assert!(matches!(of("stages = [\"a\"]\nlimit = \"5ms\""), ChainProblem::Syntax { line: Some(4), .. }));
        assert!(matches!(of("stages = [\"a_name_of_sixteen\"]"), ChainProblem::Name { .. }));
        assert!(matches!(of("stages = [\"a\"]\nend = { marker = \"\" }"), ChainProblem::EmptyMarker { .. }));
        let many = vec!["\"a\""; STAGES_MAX + 1].join(", ");
        assert!(matches!(of(&format!("stages = [{many}]")), ChainProblem::TooManyStages { stages: 65, .. }));
    }
}
