//! Checks whether a machine is set up for real-time work: rules over its kernel's settings.
//!
//! A [`Rule`] checks one thing and knows why it matters, the supporting document, and which value to write where to fix
//! it. It reads a [`Machine`], which combines the facts with the CPUs and the priority of the work. A fact that could
//! not be read gives no finding: the rule is listed as not known, with the reason. Each file contains one group of
//! rules. docs/how-to/readiness.md is for users, docs/reference/readiness-rules.md is generated from [`rules`].

#![deny(clippy::disallowed_methods)]

mod accepted;
mod answer;
mod checklist;
mod clocks;
mod command_line;
mod cpu_set;
mod debugging;
mod finding;
mod firmware;
mod interrupts;
mod isolation;
mod kernel;
mod machine;
mod memory;
mod noise;
mod parameters;
mod power;
mod remedy;
mod rtkit;
mod rule;
mod scheduler;
mod sessions;
mod surroundings;
mod suspects;
mod tasks;
mod tracing;
mod unknown;

pub use accepted::{Accepted, AcceptedError, acceptance_lines};
pub use answer::{NotKnown, Readiness};
pub use checklist::{Assertion, AssertionError, Checklist, checklist_text};
pub use finding::Finding;
pub use machine::{Profile, Subject};
pub use remedy::{KernelArguments, kernel_arguments, sysctl_text, writes};
pub use rule::{Fix, Rule, Severity};
pub use suspects::suspects;

use archive::facts::Facts;
use machine::Machine;

/// A group of rules.
pub struct RuleGroup {
    pub title: &'static str,
    pub rules: &'static [Rule],
}

/// All rules, in the order in which findings of equal severity are listed.
pub fn rules() -> [RuleGroup; 15] {
    [
        RuleGroup { title: "Kernel", rules: kernel::RULES },
        RuleGroup { title: "Debugging options", rules: debugging::RULES },
        RuleGroup { title: "Kernel command line", rules: parameters::RULES },
        RuleGroup { title: "Clocks and timers", rules: clocks::RULES },
        RuleGroup { title: "Scheduler", rules: scheduler::RULES },
        RuleGroup { title: "Isolation", rules: isolation::RULES },
        RuleGroup { title: "Interrupts", rules: interrupts::RULES },
        RuleGroup { title: "Power and processors", rules: power::RULES },
        RuleGroup { title: "Firmware and hypervisor", rules: firmware::RULES },
        RuleGroup { title: "Tasks", rules: tasks::RULES },
        RuleGroup { title: "Memory", rules: memory::RULES },
        RuleGroup { title: "Watchdogs and console", rules: noise::RULES },
        RuleGroup { title: "Tracing", rules: tracing::RULES },
        RuleGroup { title: "Containers and limits", rules: surroundings::RULES },
        RuleGroup { title: "Sessions and sound", rules: sessions::RULES },
    ]
}

/// Judges facts for the work of a subject, with all rules and the assertions of a checklist.
pub fn check(facts: &Facts, subject: &Subject, checklist: &Checklist, accepted: &[Accepted]) -> Readiness {
    let machine = Machine::new(facts, subject);
    let mut readiness = Readiness::of(&machine);
    for group in rules() {
        for rule in group.rules {
            readiness.take(rule, (rule.look)(&machine));
        }
    }
    checklist.check(&machine, &mut readiness);
    readiness.close(accepted);
    readiness
}
