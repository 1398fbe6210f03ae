//! Lists of assertions about the kernel's configuration, in the format of Xenomai's `chkkconf`.
//!
//! One assertion per line: `CONFIG_X` (built in or a module), `CONFIG_X=y`, `=m`, `=n`, each with an optional `!` in
//! front for the opposite; then optionally `if CONFIG_Y` (also `!CONFIG_Y`, `CONFIG_Y=m`) and `on ARCHITECTURE`, a
//! prefix of the output of `uname -m`. `#` starts a comment.

use super::answer::{NotKnown, Readiness};
use super::finding::{Finding, fingerprint};
use super::machine::{Machine, quoted};
use super::rule::{Fix, Severity};
use super::unknown::Unknown;
use super::{debugging, rules};
use std::fmt::Write;
use thiserror::Error;

const SOURCE: &str = "the checklist";

/// Why a line is not an assertion.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AssertionError {
    #[error("a line is CONFIG_X[=y|m|n] [if CONFIG_Y] [on ARCHITECTURE], or the same with ! in front")]
    Words,
    #[error("{0:?} is not a symbol like CONFIG_X")]
    Symbol(String),
    #[error("{0:?} is not one of y, m and n")]
    State(String),
}

/// The required state of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wish {
    negated: bool,
    /// Including `CONFIG_`.
    symbol: String,
    /// `y`, `m`, `n`; `None` for `y` or `m`.
    state: Option<char>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    wish: Wish,
    condition: Option<Wish>,
    architecture: Option<String>,
}

/// A list of assertions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checklist(Vec<Assertion>);

impl Checklist {
    /// Parses a file.
    ///
    /// # Errors
    /// Number of the first invalid line, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, AssertionError)> {
        let lines = text
            .lines()
            .enumerate()
            .map(|(number, line)| (number + 1, line.split('#').next().unwrap_or_default().trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let assertions: Result<_, _> =
            lines.map(|(number, line)| Assertion::parse(line).map_err(|why| (number, why))).collect();
        Ok(Self(assertions?))
    }

    /// Adds the assertions of another list.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn check(&self, machine: &Machine, readiness: &mut Readiness) {
        for assertion in &self.0 {
            readiness.asked += 1;
            let id = format!("checklist.{}", assertion.wish.symbol);
            match assertion.look(machine) {
                Ok(None) => {}
                Ok(Some(found)) => readiness.findings.push(assertion.finding(id, found)),
                Err(Unknown(why)) => readiness.not_known.push(NotKnown { id, title: assertion.text(), why }),
            }
        }
    }
}

impl Assertion {
    fn parse(line: &str) -> Result<Self, AssertionError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        // There may be a space between `!` and the symbol.
        let joined = match words[..] {
            ["!", symbol, ..] => {
                vec![format!("!{symbol}")].into_iter().chain(words[2..].iter().map(|word| (*word).to_owned())).collect()
            }
            _ => words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(),
        };
        let words: Vec<&str> = joined.iter().map(String::as_str).collect();
        let (wish, condition, architecture) = match words[..] {
            [wish] => (wish, None, None),
            [wish, "if", condition] => (wish, Some(condition), None),
            [wish, "on", architecture] => (wish, None, Some(architecture)),
            [wish, "if", condition, "on", architecture] => (wish, Some(condition), Some(architecture)),
            _ => return Err(AssertionError::Words),
        };
        Ok(Self {
            wish: Wish::parse(wish)?,
            condition: condition.map(Wish::parse).transpose()?,
            architecture: architecture.map(str::to_owned),
        })
    }

    /// The actual configuration if it violates the assertion; `None` if it holds.
    fn look(&self, machine: &Machine) -> Result<Option<String>, Unknown> {
        let here = |name: &String| machine.facts.environment.architecture.starts_with(name.as_str());
        if !self.architecture.as_ref().is_none_or(here) {
            return Ok(None);
        }
        if let Some(condition) = &self.condition
            && !condition.holds(machine)?.0
        {
            return Ok(None);
        }
        let (holds, value) = self.wish.holds(machine)?;
        Ok((!holds).then_some(value))
    }

    fn finding(&self, id: String, found: String) -> Finding {
        let wanted = match (self.wish.negated, self.wish.state) {
            (false, None) => 'y',
            (false, Some(state)) => state,
            (true, None | Some('y' | 'm')) => 'n',
            (true, _) => 'y',
        };
        let line = format!("{}={wanted}", self.wish.symbol);
        Finding {
            fingerprint: fingerprint(&id, &self.text()),
            id,
            severity: Severity::Warning,
            title: format!("the kernel's configuration is not as {SOURCE} wants it"),
            what: format!("{} is {}, and {} is wanted", self.wish.symbol, quoted(&found), self.text()),
            reason: "ask the author of the list".into(),
            fixes: vec![Fix::Build { line }],
            source: SOURCE.into(),
            accepted: None,
        }
    }

    fn text(&self) -> String {
        let mut text = self.wish.text();
        if let Some(condition) = &self.condition {
            let _ = write!(text, " if {}", condition.text());
        }
        if let Some(architecture) = &self.architecture {
            let _ = write!(text, " on {architecture}");
        }
        text
    }
}

impl Wish {
    fn parse(text: &str) -> Result<Self, AssertionError> {
        let (negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (symbol, state) = text.split_once('=').map_or((text, None), |(symbol, state)| (symbol, Some(state)));
        let named = symbol.strip_prefix("CONFIG_").is_some_and(|name| !name.is_empty());
        if !named || !symbol.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(AssertionError::Symbol(symbol.into()));
        }
        let state = match state {
            None => None,
            Some("y") => Some('y'),
            Some("m") => Some('m'),
            Some("n") => Some('n'),
            Some(other) => return Err(AssertionError::State(other.into())),
        };
        Ok(Self { negated, symbol: symbol.into(), state })
    }

    /// Whether it holds, and the actual configuration.
    fn holds(&self, machine: &Machine) -> Result<(bool, String), Unknown> {
        let found = machine.config(self.symbol.trim_start_matches("CONFIG_"))?.unwrap_or("n");
        let holds = match self.state {
            None => matches!(found, "y" | "m"),
            Some(state) => found.len() == 1 && found.starts_with(state),
        };
        Ok((holds != self.negated, found.to_owned()))
    }

    fn text(&self) -> String {
        let not = if self.negated { "!" } else { "" };
        let state = self.state.map(|state| format!("={state}")).unwrap_or_default();
        format!("{not}{}{state}", self.symbol)
    }
}

/// The kernel configuration that the rules of this crate require: kernels/preempt-rt.checklist.
pub fn checklist_text() -> String {
    let mut text = String::from(
        "# Options that a PREEMPT_RT kernel for real-time work needs, and options that it must not have.\n\
         # For `tardy check --checklist`, and for chkkconf of Xenomai. Written by UPDATE_GOLDEN=1 cargo test -p readiness.\n",
    );
    let _ = writeln!(text, "\n# Preemptible almost everywhere, timers with a resolution of 1 ns, no group budgets.");
    text += "CONFIG_PREEMPT_RT\nCONFIG_HIGH_RES_TIMERS\nCONFIG_FUTEX_PI\n!CONFIG_RT_GROUP_SCHED\n";
    let _ = writeln!(text, "\n# CPUs can be reserved for real-time work.");
    text += "CONFIG_CPU_ISOLATION if CONFIG_SMP\nCONFIG_NO_HZ_FULL if CONFIG_SMP on x86\nCONFIG_RCU_NOCB_CPU if CONFIG_SMP\n";
    let _ = writeln!(text, "\n# The CPU frequency can be fixed.");
    text += "CONFIG_CPU_FREQ_GOV_PERFORMANCE if CONFIG_CPU_FREQ\n";
    let _ = writeln!(text, "\n# A late wake-up can be explained.");
    for option in ["FTRACE", "TRACER_SNAPSHOT", "HIST_TRIGGERS"] {
        let _ = writeln!(text, "CONFIG_{option}");
    }
    for (rule, options) in debugging::OPTIONS {
        let title = rules()
            .iter()
            .flat_map(|group| group.rules)
            .find(|found| found.id == *rule)
            .map_or("", |found| found.title);
        let _ = writeln!(text, "\n# Otherwise {title}.");
        for option in *options {
            let _ = writeln!(text, "!CONFIG_{option}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Subject, check};
    use archive::facts::Facts;
    use proptest::prelude::*;

    const SUBJECT: Subject = Subject { cpus: None, priority: 80, profile: Profile::Auto };

    fn found(list: &str, config: &str, architecture: &str) -> Vec<String> {
        let mut facts = Facts { kernel_config: Some(config.into()), ..Facts::default() };
        facts.environment.architecture = architecture.into();
        let readiness = check(&facts, &SUBJECT, &Checklist::parse(list).unwrap(), &[]);
        let ours = readiness.findings.into_iter().filter(|finding| finding.id.starts_with("checklist."));
        ours.map(|finding| finding.id["checklist.CONFIG_".len()..].to_owned()).collect()
    }

    #[test]
    fn assertions_mean_what_chkkconf_says_they_mean() {
        let config = "CONFIG_Y=y\nCONFIG_M=m\nCONFIG_TEXT=\"y\"\n";
        let list = "CONFIG_Y\nCONFIG_M # a module will do\nCONFIG_N\n!CONFIG_M\nCONFIG_M=y\n\n# nothing\nCONFIG_NO=n\n\
                    !CONFIG_Y=y\n!CONFIG_N2\n! CONFIG_Y=m\nCONFIG_TEXT=y";
        assert_eq!(found(list, config, "x86_64"), ["N", "M", "M", "Y", "TEXT"]);
        let list = "CONFIG_A if CONFIG_Y\nCONFIG_B if CONFIG_N\nCONFIG_C if !CONFIG_N\nCONFIG_D if CONFIG_M=y\n\
                    CONFIG_E on x86\nCONFIG_F on aarch\nCONFIG_G if CONFIG_Y on aarch64\nCONFIG_H if CONFIG_M on x86_64";
        assert_eq!(found(list, config, "x86_64"), ["A", "C", "E", "H"]);
        assert_eq!(found(list, config, "aarch64"), ["A", "C", "F", "G"]);
    }

    #[test]
    fn an_invalid_assertion_is_refused_with_its_line() {
        for line in ["X", "CONFIG_", "CONFIG_X=maybe", "CONFIG_X if", "CONFIG_X on a b", "CONFIG_X CONFIG_Y", "!"] {
            assert_eq!(Checklist::parse(&format!("# first\n{line}\n")).unwrap_err().0, 2, "{line}");
        }
    }

    #[test]
    fn the_list_that_is_shipped_can_be_read_and_holds_on_itself() {
        let list = Checklist::parse(&checklist_text()).unwrap();
        assert!(list.len() > 30);
        let good: String =
            list.0.iter().filter(|one| !one.wish.negated).map(|one| format!("{}=y\n", one.wish.symbol)).collect();
        assert_eq!(found(&checklist_text(), &good, "x86_64"), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
            let _ = Checklist::parse(&text);
        }
    }
}
