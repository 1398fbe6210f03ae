//! The rules: what happens to the fields of an archive before strangers see it.
//!
//! A field that no rule names is a text of which known words, numbers and units stay: [`Action::Text`]. So a field that a later
//! version adds, or a target fills with something else, reveals nothing.

/// Version of the rules; a publication says by which it was made.
pub const RULES_VERSION: u32 = 2;

/// The treatment of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Known words, numbers and units stay; every other word gets a pseudonym.
    Text,
    /// The whole value gets a pseudonym with this prefix.
    Name(&'static str),
    /// As [`Self::Name`], except for threads of the kernel and of tardy, and names that the user keeps.
    Task,
    /// Names of built-in loads and of programs stay; others are commands.
    Load,
    /// Targets that tardy itself names stay; others are boards of the user.
    Target,
    /// The version stays; what a builder added gets a pseudonym.
    Release,
    /// Emptied.
    Empty,
    /// As if it could not be read.
    Absent,
}

impl Action {
    /// The treatment in words, for the documents.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text => "unknown words get a pseudonym",
            Self::Name(_) => "pseudonym",
            Self::Task => "pseudonym, except for threads of the kernel and of tardy",
            Self::Load => "pseudonym, except for loads and programs that tardy knows",
            Self::Target => "pseudonym, except for `local` and virtual machines of tardy",
            Self::Release => "pseudonym for what follows the version",
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
    /// `Type.field`, or `message.field` for a message with fields of its own.
    pub fields: &'static [&'static str],
    /// Why, for the documents.
    pub reason: &'static str,
}

pub const HOSTS: &str = "host names";
pub const RELEASES: &str = "kernel releases";
pub const TASKS: &str = "names of threads and programs";

/// All rules. A field is in one of them.
pub const RULES: &[Rule] = &[
    Rule {
        kind: HOSTS,
        action: Action::Name("host"),
        fields: &["Environment.hostname"],
        reason: "a host name names a site, a product or a person",
    },
    Rule {
        kind: "names of runs",
        action: Action::Name("run"),
        fields: &["Manifest.id"],
        reason: "it has the host name; the time of the run stays in `started_unix_ns`",
    },
    Rule {
        kind: "names of boards",
        action: Action::Target,
        fields: &["Manifest.target", "PlannedStep.target", "RoleFigures.target"],
        reason: "the user chose it; `local` and the virtual machines of tardy stay",
    },
    Rule {
        kind: "command lines",
        action: Action::Empty,
        fields: &["Manifest.command", "WatchSettings.command"],
        reason: "they have paths, addresses and names; the settings that they led to stay",
    },
    Rule {
        kind: "kernel command lines",
        action: Action::Absent,
        fields: &["Environment.command_line"],
        reason: "it has file systems, serial numbers and addresses; isolated CPUs and mitigations have fields of their own",
    },
    Rule {
        kind: RELEASES,
        action: Action::Release,
        fields: &["Environment.kernel_release"],
        reason: "the version stays, as do `rt` and `rc` with their numbers; the name of a builder does not",
    },
    Rule {
        kind: "boots",
        action: Action::Name("boot"),
        fields: &["hello.boot_id", "RoleFigures.boot_id"],
        reason: "it names one boot of one machine in its logs",
    },
    Rule {
        kind: "loads",
        action: Action::Load,
        fields: &["LoadReport.name", "command.line", "program.name", "PlannedStep.load"],
        reason: "the user's own commands; equal ones stay equal",
    },
    Rule {
        kind: TASKS,
        action: Action::Task,
        fields: &[
            "RtTask.name",
            "WatchedSeries.name",
            "WatchSettings.comm",
            "TracedTask.name",
            "BusyThread.name",
            "TaskName.comm",
        ],
        reason: "they name products and users; threads of the kernel and of tardy stay",
    },
    Rule {
        kind: "paths and files",
        action: Action::Name("path"),
        fields: &["SettingChange.path", "ImportedFrom.file_name"],
        reason: "paths have names of users and products",
    },
    Rule {
        kind: "plans and variants",
        action: Action::Name("plan"),
        fields: &["PlannedStep.plan", "PlannedStep.kernel", "PlannedStep.variant"],
        reason: "the user chose them",
    },
    Rule {
        kind: "texts of users",
        action: Action::Empty,
        fields: &["PlannedStep.text", "ImportedFrom.stated", "CountedLine.line", "WatchSettings.count"],
        reason: "a plan has notes, contacts and commands; lines of output can have anything",
    },
    Rule {
        kind: "stimulus boards",
        action: Action::Name("board"),
        fields: &["StimulusRequest.address", "StimulusBoard.address"],
        reason: "the address of a board names a network",
    },
    Rule {
        kind: "fio jobs",
        action: Action::Absent,
        fields: &["RunSettings.fio_jobs"],
        reason: "a job file names devices and files",
    },
];

/// The rule for a field, if there is one.
pub fn rule_of(container: &str, field: &str) -> Option<&'static Rule> {
    let is_it = |name: &&str| name.strip_prefix(container).and_then(|rest| rest.strip_prefix('.')) == Some(field);
    RULES.iter().find(|rule| rule.fields.iter().any(is_it))
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
    }
}
