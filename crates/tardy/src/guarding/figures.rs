//! The figures of a guard since its start, and their text for Prometheus.

use archive::sample::Second;
use archive::watched::chain::MissedChain;
use std::collections::BTreeMap;

/// Accounts without a known cause.
const UNKNOWN: &str = "unknown";

/// One series of a watched thread in the current session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeriesFigures {
    pub tid: i32,
    /// `None`: not known yet, which counts as watched.
    pub counts: Option<bool>,
    pub samples: u64,
    pub misses: u64,
}

/// Missed deadlines of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainFigures {
    before: u64,
    session: String,
    missed: u64,
}

impl ChainFigures {
    fn total(&self) -> u64 {
        self.before + self.missed
    }

    fn count(&mut self, session: &str, missed: u64) {
        if self.session != session {
            self.before += self.missed;
            session.clone_into(&mut self.session);
            self.missed = 0;
        }
        self.missed = self.missed.max(missed);
    }
}

/// Entries of the log for one output on another machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deliveries {
    /// Not acknowledged yet.
    pub waiting: usize,
    pub delivered: u64,
    /// Given up: refused, or too many waited.
    pub undelivered: u64,
}

/// Counters since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Of sessions that have ended.
    samples_before: u64,
    misses_before: u64,
    pub series: BTreeMap<u32, SeriesFigures>,
    pub by_culprit: BTreeMap<String, u64>,
    /// Missed deadlines of each chain: before the current session, and in it.
    pub chains: BTreeMap<String, ChainFigures>,
    pub chain_accounts: u64,
    pub saved: u64,
    /// By the name of the output.
    pub deliveries: BTreeMap<&'static str, Deliveries>,
    pub blind_ms: u64,
    pub cost_percent: f64,
    pub budget_percent: f64,
    pub shed: usize,
    /// The most so far.
    pub memory_kb: u64,
}

impl Figures {
    /// Adds complete seconds of the session.
    pub fn add(&mut self, seconds: &[Second]) {
        for second in seconds {
            let series = self.series.entry(second.thread).or_default();
            series.samples += u64::from(second.cycles);
            series.misses += u64::from(second.over_limit);
        }
    }

    /// The numbers of its series begin again.
    pub fn end_session(&mut self) {
        (self.samples_before, self.misses_before) = (self.samples(), self.misses());
        self.series.clear();
    }

    pub fn samples(&self) -> u64 {
        self.samples_before + self.counted().map(|series| series.samples).sum::<u64>()
    }

    pub fn misses(&self) -> u64 {
        self.misses_before + self.counted().map(|series| series.misses).sum::<u64>()
    }

    fn counted(&self) -> impl Iterator<Item = &SeriesFigures> {
        self.series.values().filter(|series| series.counts != Some(false))
    }

    /// Counts an account of a miss.
    pub fn accounted(&mut self, culprit: Option<&str>) {
        *self.by_culprit.entry(culprit.unwrap_or(UNKNOWN).to_owned()).or_default() += 1;
    }

    /// Takes the count of a session into account, which a missed deadline has.
    pub fn chain_missed(&mut self, session: &str, missed: &MissedChain) {
        self.chains.entry(missed.name.clone()).or_default().count(session, missed.missed);
    }

    /// Missed deadlines of all chains.
    pub fn chain_misses(&self) -> u64 {
        self.chains.values().map(ChainFigures::total).sum()
    }

    pub fn accounts(&self) -> u64 {
        self.by_culprit.values().sum()
    }

    /// Misses without an account. A second is counted at its end, an account at once.
    pub fn suppressed(&self) -> u64 {
        self.misses().saturating_sub(self.accounts())
    }

    /// The text format of Prometheus, as the textfile collector of the node exporter reads it.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut counter = |name: &str, help: &str, values: &[(String, String)], kind: &str| {
            text.push_str(&format!("# HELP tardy_guard_{name} {help}\n# TYPE tardy_guard_{name} {kind}\n"));
            for (label, value) in values {
                text.push_str(&format!("tardy_guard_{name}{label} {value}\n"));
            }
        };
        let one = |value: String| vec![(String::new(), value)];
        counter("samples_total", "Wake-ups and cycles that were watched.", &one(self.samples().to_string()), "counter");
        counter("misses_total", "Wake-ups and cycles over their limit.", &one(self.misses().to_string()), "counter");
        let culprits: Vec<(String, String)> = self
            .by_culprit
            .iter()
            .map(|(name, count)| (format!("{{culprit=\"{name}\"}}"), count.to_string()))
            .collect();
        counter("accounts_total", "Accounts of misses, by their first culprit.", &culprits, "counter");
        let chains: Vec<(String, String)> = self
            .chains
            .iter()
            .map(|(name, chain)| (format!("{{chain=\"{}\"}}", label(name)), chain.total().to_string()))
            .collect();
        counter("chain_missed_total", "Missed deadlines of chains.", &chains, "counter");
        counter("suppressed_total", "Misses without an account.", &one(self.suppressed().to_string()), "counter");
        counter("saved_total", "Stretches saved on request.", &one(self.saved.to_string()), "counter");
        let outputs = |value: fn(&Deliveries) -> u64| -> Vec<(String, String)> {
            let labelled =
                |(name, counts): (&&str, &Deliveries)| (format!("{{output=\"{name}\"}}"), value(counts).to_string());
            self.deliveries.iter().map(labelled).collect()
        };
        let given_up = outputs(|counts| counts.undelivered);
        counter(
            "undelivered_total",
            "Accounts given up, as an output refused them or too many waited.",
            &given_up,
            "counter",
        );
        counter(
            "delivered_total",
            "Accounts that an output acknowledged.",
            &outputs(|counts| counts.delivered),
            "counter",
        );
        counter("waiting", "Accounts that wait for an output.", &outputs(|counts| counts.waiting as u64), "gauge");
        let blind_s = format!("{:.3}", self.blind_ms as f64 / 1000.0);
        counter(
            "blind_seconds_total",
            "Time between two archives in which nothing was watched.",
            &one(blind_s),
            "counter",
        );
        counter(
            "cost_percent",
            "Cost of watching, in percent of a CPU.",
            &one(format!("{:.3}", self.cost_percent)),
            "gauge",
        );
        counter("budget_percent", "Budget of that cost.", &one(format!("{:.3}", self.budget_percent)), "gauge");
        counter("shed_kinds", "Kinds of events that are not recorded.", &one(self.shed.to_string()), "gauge");
        counter(
            "memory_bytes",
            "Most memory of guard, meter and trace buffers so far.",
            &one((self.memory_kb * 1024).to_string()),
            "gauge",
        );
        text
    }
}

/// The value of a label of Prometheus.
fn label(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(thread: u32, cycles: u32, over_limit: u32) -> Second {
        Second { thread, cycles, over_limit, ..Second::default() }
    }

    #[test]
    fn misses_of_ordinary_threads_do_not_count_and_sessions_add_up() {
        let mut figures = Figures::default();
        figures.add(&[second(0, 100, 2), second(1, 50, 9)]);
        assert_eq!((figures.samples(), figures.misses()), (150, 11), "not known yet");
        figures.series.get_mut(&1).unwrap().counts = Some(false);
        assert_eq!((figures.samples(), figures.misses()), (100, 2));
        figures.end_session();
        figures.add(&[second(1, 10, 1)]);
        assert_eq!((figures.samples(), figures.misses()), (110, 3));
        figures.accounted(Some("page-fault"));
        figures.accounted(None);
        assert_eq!((figures.accounts(), figures.suppressed()), (2, 1));
    }

    #[test]
    fn prometheus_gets_a_counter_for_each_culprit() {
        let mut figures = Figures { cost_percent: 0.1234, budget_percent: 0.5, ..Figures::default() };
        figures.accounted(Some("softirq"));
        for (session, missed) in [("a", 3), ("a", 4), ("b", 2)] {
            let missed = MissedChain {
                name: "to \"motor\"".into(),
                stimulus_ns: 0,
                end_ns: 9,
                deadline_ns: 5,
                is_open: false,
                instances: 10,
                missed,
            };
            figures.chain_missed(session, &missed);
        }
        figures.deliveries.insert("mqtt", Deliveries { waiting: 3, delivered: 2, undelivered: 1 });
        let text = figures.prometheus();
        for line in [
            "tardy_guard_accounts_total{culprit=\"softirq\"} 1",
            "tardy_guard_cost_percent 0.123",
            "tardy_guard_chain_missed_total{chain=\"to \\\"motor\\\"\"} 6",
            "tardy_guard_undelivered_total{output=\"mqtt\"} 1",
            "tardy_guard_waiting{output=\"mqtt\"} 3",
            "# TYPE tardy_guard_misses_total counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(
            text.lines()
                .all(|line| line.starts_with("# ") || line.split_once("} ").is_some() || line.split(' ').count() == 2),
            "{text}"
        );
    }
}
