//! The command that confirms or refutes a difference between two runs.

use archive::settings::LoadRequest;
use archive::summary::RunSummary;
use words::shell::quoted;

const ROUNDS: u32 = 12;

/// An experiment of the state before against the state after, with the settings that both runs share. If the kernels
/// differ, the user has to say how each is started.
pub fn experiment_command(before: &RunSummary, after: &RunSummary) -> String {
    let mut command = vec!["tardy experiment".to_owned()];
    if before.target != after.target {
        command.push(format!("--a '--target {}' --b '--target {}'", word(&before.target), word(&after.target)));
    } else {
        let kernel = |summary: &RunSummary| {
            summary.environment.as_ref().map(|environment| environment.kernel_release.clone()).unwrap_or_default()
        };
        let (old, new) = (kernel(before), kernel(after));
        let (old, new) = if old == new { ("the state before".into(), "the state after".into()) } else { (old, new) };
        command.push(format!("--a-before 'START {}' --b-before 'START {}'", word(&old), word(&new)));
    }
    command.push(format!("--rounds {ROUNDS} --"));
    if before.target == after.target && after.other_machine().is_some() {
        command.push(format!("--target {}", quoted(&after.target)));
    }
    if let Some(settings) = &after.settings {
        command.extend(settings.duration_ns.map(|ns| format!("--duration {}", time(ns))));
        command.push(format!("--interval {}", time(settings.interval_ns)));
        command.extend(settings.loads.iter().map(|load| match load {
            LoadRequest::Command { line, once: false } => format!("--load-cmd {}", quoted(line)),
            LoadRequest::Command { line, once: true } => format!("--load-once {}", quoted(line)),
            other => format!("--load {}", quoted(&other.text())),
        }));
    }
    command.join(" ")
}

/// Text for use inside quotes: quotes are removed.
fn word(text: &str) -> String {
    text.replace('\'', "")
}

/// A time in the longest unit that gives a whole number.
fn time(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = units.into_iter().find(|(unit, _)| ns.is_multiple_of(*unit));
    whole.map_or(format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::environment::Environment;
    use archive::reader::Run;
    use archive::settings::RunSettings;

    fn summary(target: &str, kernel: &str) -> RunSummary {
        let loads = vec![LoadRequest::Builtin { name: "messaging".into(), workers: 0 }];
        RunSummary {
            target: target.into(),
            environment: Some(Environment { kernel_release: kernel.into(), ..Environment::default() }),
            settings: Some(RunSettings { loads, ..RunSettings::default() }),
            ..RunSummary::of(&Run::default(), &[])
        }
    }

    #[test]
    fn the_command_has_what_both_share() {
        assert_eq!(
            experiment_command(&summary("pi", "6.1.1"), &summary("pi", "6.1'2")),
            "tardy experiment --a-before 'START 6.1.1' --b-before 'START 6.12' --rounds 12 -- --target pi --duration 60s \
             --interval 1ms --load messaging"
        );
        let targets = experiment_command(&summary("vm-old", "6.1"), &summary("vm-new", "6.1"));
        assert!(
            targets.starts_with("tardy experiment --a '--target vm-old' --b '--target vm-new' --rounds 12 -- --dur")
        );
    }
}
