//! The conditions of a measurement, shown with every result, on the terminal, on the page and in lists.

use archive::environment::Environment;
use archive::message::Severity;
use archive::settings::LoadRequest;
use archive::summary::RunSummary;
use words::figures::counted;

/// Longest command of a load that is shown in full.
const COMMAND_LETTERS_MAX: usize = 40;

/// The conditions of a run, each a name and a phrase; unknown ones are marked as such.
pub fn conditions(summary: &RunSummary) -> Vec<(&'static str, String)> {
    let mut conditions =
        vec![("load", load(summary)), ("kernel", kernel(summary)), ("preemption", preemption(summary).into())];
    if let Some(method) = method(summary) {
        conditions.insert(0, ("method", method));
    }
    if let Some(machine) = machine(summary) {
        conditions.push(("machine", machine));
    }
    if let Some(reservations) = reservations(summary) {
        conditions.push(("degraded", reservations));
    }
    conditions
}

/// Whether anything of them is known: a file of another tool need not name its machine.
pub fn are_known(summary: &RunSummary) -> bool {
    let named = |environment: &Environment| !environment.kernel_release.is_empty();
    summary.imported.is_none() || summary.environment.as_ref().is_some_and(named)
}

/// The same as one line.
pub fn conditions_line(summary: &RunSummary) -> String {
    let parts = conditions(summary).into_iter().map(|(name, phrase)| format!("{name} {phrase}"));
    format!("Conditions: {}.", parts.collect::<Vec<_>>().join("; "))
}

/// The measured path, unless it is the wake-up by a timer.
pub fn method(summary: &RunSummary) -> Option<String> {
    let settings = summary.settings.as_ref().filter(|_| summary.imported.is_none())?;
    if settings.audit.is_some() {
        return Some("audit".into());
    }
    (!settings.method.is_default()).then(|| settings.method_text())
}

/// The loads of a run by their names.
pub fn load(summary: &RunSummary) -> String {
    let Some(settings) = summary.settings.as_ref().filter(|_| summary.imported.is_none()) else {
        return "not known".into();
    };
    match settings.loads.as_slice() {
        [] => "none".into(),
        loads => loads.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

fn name(load: &LoadRequest) -> String {
    match load {
        LoadRequest::Builtin { name, .. } | LoadRequest::Program { name, .. } => name.clone(),
        LoadRequest::Command { line, .. } if line.chars().count() <= COMMAND_LETTERS_MAX => format!("`{line}`"),
        LoadRequest::Command { line, .. } => {
            format!("`{}…`", line.chars().take(COMMAND_LETTERS_MAX - 1).collect::<String>())
        }
    }
}

/// The release of the kernel.
pub fn kernel(summary: &RunSummary) -> String {
    let release = summary.environment.as_ref().map(|environment| environment.kernel_release.clone());
    release.filter(|release| !release.is_empty()).unwrap_or_else(|| "not known".into())
}

/// The kernel's preemption model.
pub fn preemption(summary: &RunSummary) -> &str {
    let environment = summary.environment.as_ref();
    if environment.and_then(|environment| environment.preempt_rt) == Some(true) {
        return "PREEMPT_RT";
    }
    match environment.and_then(|environment| environment.preemption.as_deref()) {
        Some("preempt_rt") => "PREEMPT_RT",
        Some("preempt" | "full") => "full (not PREEMPT_RT)",
        Some("voluntary") => "voluntary",
        Some("lazy") => "lazy",
        Some("none") => "none",
        Some(other) if !other.is_empty() => other,
        _ => "not known",
    }
}

/// The kind of machine, unless it is plain hardware.
fn machine(summary: &RunSummary) -> Option<String> {
    if summary.virtual_time {
        return Some("virtual time".into());
    }
    if summary.emulated {
        return Some("emulated".into());
    }
    let environment = summary.environment.as_ref()?;
    let named = |value: &Option<String>| value.clone().filter(|name| !name.is_empty() && name != "none");
    let hypervisor = named(&environment.virtualisation).map(|name| format!("virtual ({name})"));
    let container = named(&environment.container).map(|name| format!("container ({name})"));
    let known: Vec<String> = hypervisor.into_iter().chain(container).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// Number of things that were not as requested; `None` if there are none.
pub fn reservations(summary: &RunSummary) -> Option<String> {
    let count = summary.problems.iter().filter(|problem| problem.severity == Severity::Degraded).count();
    (count > 0).then(|| format!("{} not as requested", counted(count as u64, "condition")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::MethodRequest;
    use archive::reader::Run;
    use archive::settings::RunSettings;
    use fixtures::assert_sentence;

    fn summary(settings: RunSettings, environment: Environment) -> RunSummary {
        RunSummary { settings: Some(settings), environment: Some(environment), ..RunSummary::of(&Run::default(), &[]) }
    }

    #[test]
    fn conditions_name_load_kernel_and_hypervisor() {
        let settings = RunSettings {
            loads: vec![LoadRequest::Builtin { name: "dentry".into(), workers: 2 }],
            ..RunSettings::default()
        };
        let environment = Environment {
            kernel_release: "6.1.0-rt".into(),
            preempt_rt: Some(true),
            virtualisation: Some("kvm".into()),
            ..Environment::default()
        };
        assert_sentence!("conditions", conditions_line(&summary(settings, environment)));
    }

    #[test]
    fn a_method_that_is_no_timer_is_the_first_condition_and_part_of_the_verdict() {
        let of = |words: &str| {
            let method = MethodRequest::parse(words).unwrap();
            summary(RunSettings { method, ..RunSettings::default() }, Environment::default())
        };
        assert!(
            conditions_line(&of("mutex:protocol=none")).starts_with("Conditions: method mutex:protocol=none; load")
        );
        assert!(!conditions_line(&of("timer")).contains("method"));
        let measured = |words: &str| {
            let mut summary = of(words);
            summary.all_cpus.max = Some(7_000);
            let cpus = serde_json::json!([{ "thread": 0, "cpu": 1, "cycles": 9, "missed": 0, "over_limit": 0,
                "clock_anomalies": 0, "records_dropped": 0, "latency_ns": summary.all_cpus, "worst": null }]);
            summary.cpus = serde_json::from_value(cpus).unwrap();
            crate::account::verdict(&summary)
        };
        assert_sentence!("verdict-of-hand-overs", measured("mutex"));
        assert_sentence!("verdict-of-wake-ups", measured("timer"));
    }

    #[test]
    fn unknown_conditions_are_called_so_and_long_commands_are_cut() {
        let line = "x".repeat(100);
        let settings =
            RunSettings { loads: vec![LoadRequest::Command { line, once: false }], ..RunSettings::default() };
        let shown = conditions_line(&summary(settings, Environment::default()));
        assert!(shown.chars().count() < 120, "{shown}");
        assert_sentence!("conditions-unknown", shown);
    }
}
