//! The verbs in groups, as `tardy --help` shows them, and which judging verb answers which question.

use crate::terminal::page::Page;
use crate::terminal::screen;
use clap::Command;

/// More columns than any sentence about a verb has.
const COLUMNS_UNLIMITED: usize = 1000;

/// Related verbs, what they have in common, and an example to start with.
struct Group {
    title: &'static str,
    verbs: &'static [&'static str],
    example: &'static str,
}

const GROUPS: &[Group] = &[
    Group {
        title: "Measure",
        verbs: &["check", "run", "watch", "plan", "load", "methods", "observe", "cyclictest"],
        example: "tardy run --duration 20s --load messaging",
    },
    Group {
        title: "Understand",
        verbs: &["explain", "audit", "report", "list", "virtual"],
        example: "tardy explain latest",
    },
    Group {
        title: "Prove",
        verbs: &["judge", "compare", "experiment", "history", "bisect"],
        example: "tardy judge latest --horizon 10d",
    },
    Group {
        title: "Machines",
        verbs: &["target", "collect", "restore"],
        example: "tardy target add board --ssh root@192.168.1.7",
    },
    #[cfg(feature = "lab")]
    Group { title: "Lab", verbs: &["serve", "store", "queue", "worker"], example: "tardy serve runs" },
    Group {
        title: "Exchange",
        verbs: &["import", "export", "publish", "verify", "completions", "man"],
        example: "tardy export latest --format perfetto",
    },
];

/// Verbs that are easily confused; the help of each has this text.
const WHICH_ONE: [&str; 4] = ["judge", "compare", "experiment", "history"];
const WHICH_ONE_TEXT: &str = "\
Which one?
  judge       one run: does it show that a limit holds?
  compare     two runs that exist: what differs between them?
  experiment  two variants, measured in turns: is B worse than A?
  history     a series of runs: when did their figures change?";

/// The definition with its verbs in groups.
pub fn arranged(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command, screen::width().unwrap_or(COLUMNS_UNLIMITED))
    );
    let mut command = command.help_template(template);
    for verb in WHICH_ONE {
        command = command.mut_subcommand(verb, |verb| {
            let own = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            verb.after_help(format!("{own}\n\n{WHICH_ONE_TEXT}"))
        });
    }
    command
}

fn grouped(command: &Command, columns: usize) -> String {
    let width = command.get_subcommands().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let mut page = Page::new(false).with_columns(columns);
    for group in GROUPS {
        page.line(&format!("{}:", group.title));
        for verb in group.verbs.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            page.wrapped(&format!("  {:width$}  ", verb.get_name()), &about);
        }
        page.line(&format!("  $ {}", group.example));
        page.blank();
    }
    page.text().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::definition;
    use super::*;
    use std::collections::BTreeSet;

    /// A terminal of 80 columns fits a verb and its sentence.
    const ABOUT_MAX: usize = 80 - 2 - 11 - 2;

    #[test]
    fn every_verb_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.verbs.iter().copied()).collect();
        let known: BTreeSet<String> = definition().get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        assert_eq!(grouped.iter().map(|verb| (*verb).to_owned()).collect::<BTreeSet<_>>(), known);
        assert_eq!(grouped.len(), known.len(), "a verb stands in two groups");
    }

    #[test]
    fn every_verb_has_one_sentence_that_fits() {
        for verb in definition().get_subcommands() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.chars().count() <= ABOUT_MAX, "{}: {about}", verb.get_name());
        }
    }

    #[test]
    fn examples_of_groups_are_understood() {
        for group in GROUPS {
            let words = group.example.split_whitespace();
            assert!(group.verbs.contains(&words.clone().nth(1).unwrap()), "{}", group.example);
            let parsed = definition().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{}: {}", group.example, parsed.unwrap_err());
        }
    }

    #[test]
    fn the_groups_fit_narrow_terminals() {
        let text = grouped(&definition(), 50);
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(
            text.contains("\n  check        Check real-time settings and show\n               how to fix each\n"),
            "{text}"
        );
    }

    #[test]
    fn help_shows_every_group() {
        let help = definition().render_help().to_string();
        for group in GROUPS {
            assert!(help.contains(&format!("\n{}:\n", group.title)) && help.contains(group.example), "{help}");
        }
    }
}
