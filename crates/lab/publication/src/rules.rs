//! The rules: what happens to the fields of an archive before strangers see it.
//!
//! The field, or the type of its value, decides. A text that no rule names is emptied, so a field that a later version adds reveals
//! nothing.

use crate::own_word::OwnWord;

/// Version of the rules; a publication says by which it was made.
pub const RULES_VERSION: u32 = 3;

/// The treatment of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The whole value gets a pseudonym with this prefix.
    Name(&'static str),
    /// As [`Self::Name`], except for threads of the kernel and of tardy, and names that the user keeps.
    Task,
    /// The holder of a CPU in words: names inside are treated by their kinds.
    Holder,
    /// As [`Self::Name`], except for devices as the kernel numbers them.
    Device,
    /// A function stays if the traces of the runs have it as one of the kernel itself.
    Function,
    /// Names of built-in loads and of programs stay; others are commands.
    Load,
    /// Options of methods and of loads stay, and their values if they are figures or words of tardy.
    LoadOption,
    /// Targets that tardy itself names stay; others are boards of the user.
    Target,
    /// The version stays; what a builder added gets a pseudonym.
    Release,
    /// Words that Linux itself uses there, numbers and units stay; every other word gets a pseudonym.
    KernelText,
    /// Stays if it is a figure, a list of CPUs or a version.
    Figure,
    /// Stays if it is one of these.
    Own(OwnWord),
    /// The code of the problem stands in for its sentence.
    Code,
    /// Written again from what else is published.
    Rewritten,
    /// Emptied.
    Empty,
    /// As if it could not be read.
    Absent,
}

impl Action {
    /// The treatment in words, for the documents.
    pub fn words(self) -> &'static str {
        match self {
            Self::Name(_) => "pseudonym",
            Self::Task => "pseudonym, except for threads of the kernel and of tardy",
            Self::Holder => "each name inside as its kind",
            Self::Device => "pseudonym, except for devices as the kernel numbers them",
            Self::Function => "pseudonym, except for functions that the traces of the runs have as the kernel's own",
            Self::Load => "pseudonym, except for loads and programs that tardy knows",
            Self::LoadOption => "pseudonym, except for figures and words of tardy",
            Self::Target => "pseudonym, except for `local` and virtual machines of tardy",
            Self::Release => "pseudonym for what follows the version",
            Self::KernelText => "unknown words get a pseudonym",
            Self::Figure => "emptied, except for numbers, units, lists of CPUs and versions",
            Self::Own(_) => "emptied, except for words of this list",
            Self::Code => "replaced by their codes",
            Self::Rewritten => "written again from the facts that are published",
            Self::Empty => "emptied",
            Self::Absent => "left out",
        }
    }
}

/// Values of one kind.
#[derive(Debug)]
pub struct Rule {
    pub kind: &'static str,
    pub action: Action,
    /// `Type.field`, `message.field` for a message with fields of its own, or `Type` for a text with a type of its own.
    pub fields: &'static [&'static str],
    /// Why, for the documents.
    pub reason: &'static str,
}

mod table;

pub use table::{FUNCTIONS, HOSTS, INTERRUPTS, RELEASES, RULES, TASKS, UNNAMED, WORDS};

/// The rule for a field, if there is one.
pub fn rule_of(container: &str, field: &str) -> Option<&'static Rule> {
    let is_it = |name: &&str| name.strip_prefix(container).and_then(|rest| rest.strip_prefix('.')) == Some(field);
    RULES.iter().find(|rule| rule.fields.iter().any(is_it))
}

/// The rule for a text whose type says what it is.
pub fn rule_of_type(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.fields.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_field_has_one_rule() {
        let mut seen = BTreeSet::new();
        for field in RULES.iter().flat_map(|rule| rule.fields) {
            assert!(seen.insert(field), "{field} is in two rules");
        }
        assert_eq!(rule_of("Environment", "hostname").map(|rule| rule.kind), Some(HOSTS));
        assert!(rule_of("Environment", "host").is_none() && rule_of("", "Environment.hostname").is_none());
        assert_eq!(rule_of_type("KernelName").map(|rule| rule.kind), Some(FUNCTIONS));
    }
}
