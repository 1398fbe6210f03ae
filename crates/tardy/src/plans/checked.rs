//! A plan whose every word makes sense: options are those of `tardy run`, limits are limits, steps can be started.

use crate::measuring::arguments::RunArguments;
use crate::measuring::arguments::words::{is_about_a_value, reason};
use crate::measuring::machine::is_in_virtual_time;
use crate::options::limits::time_of_limit;
use crate::options::limits::{confidence, limits_of};
use archive::planned::{PlannedLimit, PlannedStep};
use archive::settings::RunSettings;
use judge::limit::{Limit, Rate};
use judge::machine::DoubtKind;
use judge::step::counted_ns;
use machines::local;
use runner::plan::Plan;
use runner::plan::document::{Problem, Written};
use runner::plan::options::PlanOption;
use runner::plan::step::Step;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How often a latency may be exceeded where a plan does not say so; that of `tardy judge`.
const ALLOW_DEFAULT: &str = "1/h";
const CONFIDENCE_DEFAULT: f64 = 0.95;

/// What was typed beside the plan and holds for each of its steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    pub duration: Option<String>,
    pub target: Option<String>,
}

/// A step that can be run.
#[derive(Debug, Clone)]
pub struct CheckedStep {
    pub step: Step,
    pub settings: RunSettings,
    pub silence: Duration,
    pub limits: Vec<Limit>,
    pub planned: PlannedStep,
}

/// A plan that can be run.
#[derive(Debug, Clone)]
pub struct CheckedPlan {
    pub plan: Plan,
    pub steps: Vec<CheckedStep>,
    /// In 0 .. 1.
    pub confidence: f64,
    pub accepted: Vec<DoubtKind>,
}

impl CheckedPlan {
    /// Reads a plan and checks every word of it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(name: &str, text: &str, overrides: &Overrides) -> Result<Self, Vec<Problem>> {
        let (plan, found) = Plan::read(name, text);
        let mut problems = Problems(found);
        let Some(mut plan) = plan else { return Err(problems.0) };
        if let Some(target) = &overrides.target {
            plan.targets = vec![target.clone()];
        }
        problems.check_options(&plan);
        let confidence = problems.confidence(&plan);
        let accepted = problems.accepted(&plan);
        problems.check_limits(&plan);
        problems.check_kernels(&plan);
        let checked: Vec<CheckedStep> = match problems.0.is_empty() {
            true => {
                let step = |step: Step| problems.step(&plan, step, overrides, confidence);
                plan.steps().into_iter().filter_map(step).collect()
            }
            false => Vec::new(),
        };
        if problems.0.is_empty() {
            return Ok(Self { plan, steps: checked, confidence, accepted });
        }
        problems.0.sort_by_key(|problem| problem.line);
        Err(problems.0)
    }

    /// Time that all steps measure together; `None` when one of them has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        self.steps.iter().map(|step| duration_ns(&step.settings)).sum()
    }
}

/// How long a run measures; of duration and cycles what ends first.
pub fn duration_ns(settings: &RunSettings) -> Option<u64> {
    let counted = settings.cycles.map(|cycles| cycles.saturating_mul(settings.interval_ns));
    settings.duration_ns.into_iter().chain(counted).min()
}

struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, line: Option<usize>, text: String) {
        let problem = Problem { line, text };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Each option by itself, so that what is wrong with a value is told with its line.
    fn check_options(&mut self, plan: &Plan) {
        let variants = plan.variants.iter().flat_map(|variant| &variant.options);
        let loads = plan.loads.iter().flat_map(|load| &load.options);
        for option in plan.options.iter().chain(variants).chain(loads) {
            let word = option.word();
            if let Err(error) = RunArguments::of_words([word.as_str()])
                && is_about_a_value(&error)
            {
                self.add(Some(option.line), format!("{}: {}", option.key, reason(&error)));
            }
        }
    }

    fn confidence(&mut self, plan: &Plan) -> f64 {
        let Some(written) = &plan.confidence else { return CONFIDENCE_DEFAULT };
        confidence(&written.text).unwrap_or_else(|why| {
            self.add(Some(written.line), format!("confidence is in percent; {why}"));
            CONFIDENCE_DEFAULT
        })
    }

    fn accepted(&mut self, plan: &Plan) -> Vec<DoubtKind> {
        let mut accepted = Vec::new();
        for written in &plan.accept {
            match DoubtKind::of_word(&written.text) {
                Some(kind) => accepted.push(kind),
                None => {
                    let words = DoubtKind::ALL.map(DoubtKind::word).join(", ");
                    self.add(Some(written.line), format!("accept: `{}` is not one of {words}", written.text));
                }
            }
        }
        accepted
    }

    fn check_limits(&mut self, plan: &Plan) {
        for written in plan.allow.iter().chain(plan.limits.iter().filter_map(|limit| limit.allow.as_ref())) {
            if let Err(why) = Rate::parse(&written.text) {
                self.add(Some(written.line), format!("allow: {why}"));
            }
        }
        let any = Rate::parse(ALLOW_DEFAULT).expect("the default is a rate");
        for Written { text, line } in plan.limits.iter().map(|limit| &limit.limit) {
            if let Err(why) = Limit::parse(text, &any, time_of_limit) {
                self.add(Some(*line), format!("limit: {why}"));
            }
        }
    }

    fn check_kernels(&mut self, plan: &Plan) {
        if let Some(kernel) = plan.kernels.first().filter(|_| plan.targets.iter().any(|name| name == local::NAME)) {
            let text = "this machine runs the kernel it was started with; kernels are for virtual machines, which `targets` \
                        names and `tardy target add` makes";
            self.add(Some(kernel.line), text.into());
        }
    }

    /// The step with all its options together.
    fn step(&mut self, plan: &Plan, step: Step, overrides: &Overrides, confidence: f64) -> Option<CheckedStep> {
        let mut words: Vec<String> = step.options.iter().filter(|option| option.said).map(PlanOption::word).collect();
        if let Some(duration) = &overrides.duration {
            words.retain(|word| !word.starts_with("--duration="));
            words.push(format!("--duration={duration}"));
        }
        let arguments = match RunArguments::of_words(words.iter().map(String::as_str)) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.add(None, reason(&error));
                return None;
            }
        };
        let mut settings = match arguments.settings(is_in_virtual_time(&step.target)) {
            Ok(settings) => settings,
            Err(error) => {
                self.add(None, error.to_string());
                return None;
            }
        };
        let default = plan.allow.as_ref().map_or(ALLOW_DEFAULT, |allow| &allow.text);
        let limits: Vec<PlannedLimit> = step.limits.iter().map(|limit| planned_limit(limit, default)).collect();
        let read = limits_of(&limits);
        match counted_ns(&read) {
            Ok(counted) => settings.limit_ns = counted,
            Err(why) => {
                self.add(step.limits.first().map(|limit| limit.limit.line), why.to_string());
                return None;
            }
        }
        let planned = PlannedStep {
            plan: plan.name.clone(),
            text: plan.text.clone(),
            step: step.number,
            steps: step.steps,
            target: step.target.clone(),
            kernel: step.kernel.as_ref().map(|kernel| kernel.name.clone()),
            load: step.load.name.clone(),
            variant: step.variant.clone(),
            repetition: step.repetition,
            limits,
            confidence_percent: confidence * 100.0,
            accept: plan.accept.iter().map(|written| written.text.clone()).collect(),
        };
        Some(CheckedStep { silence: arguments.silence(), step, settings, limits: read, planned })
    }
}

fn planned_limit(limit: &runner::plan::PlanLimit, default: &str) -> PlannedLimit {
    let allow = limit.allow.as_ref().map_or(default, |allow| &allow.text);
    PlannedLimit { limit: limit.limit.text.clone(), allow: allow.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::settings::{LoadRequest, SettingChange, SnapshotMode};

    fn checked(text: &str) -> Result<CheckedPlan, Vec<String>> {
        let reported = |problem: Problem| format!("{}: {}", problem.line.unwrap_or(0), problem.text);
        CheckedPlan::read("x", text, &Overrides::default()).map_err(|found| found.into_iter().map(reported).collect())
    }

    #[test]
    fn an_empty_plan_measures_as_run_does() {
        let plan = checked("").unwrap();
        assert_eq!(plan.steps[0].settings, RunSettings::default());
        assert_eq!((plan.confidence, plan.steps[0].limits.len()), (0.95, 0));
    }

    #[test]
    fn a_step_is_what_its_words_ask_of_run() {
        let text = "loads = [\"dentry:8 + cpu\"]\n[measurement]\ninterval = \"10ms\"\nduration = \"1h\"\n\
                    [trace]\nmode = \"off\"\n[set]\n\"kernel.sched_rt_runtime_us\" = -1\n\
                    [[limits]]\nlimit = \"latency < 1ms\"\n[verdict]\nallow = \"2/day\"\nconfidence = 99";
        let plan = checked(text).unwrap();
        let CheckedStep { settings, limits, planned, .. } = &plan.steps[0];
        assert_eq!((settings.interval_ns, settings.duration_ns), (10_000_000, Some(3_600_000_000_000)));
        let builtin = |name: &str, workers| LoadRequest::Builtin { name: name.into(), workers };
        assert_eq!(settings.loads, [builtin("dentry", 8), builtin("cpu", 0)]);
        let path = "/proc/sys/kernel/sched_rt_runtime_us".into();
        assert_eq!(settings.settings, [SettingChange { path, value: "-1".into() }]);
        assert_eq!((settings.trace.mode, settings.limit_ns), (SnapshotMode::Off, Some(999_999)));
        assert_eq!(limits[0].allow.as_ref().unwrap().text, "2/day");
        assert_eq!((planned.limits[0].allow.as_str(), planned.confidence_percent), ("2/day", 99.0));
        assert_eq!(plan.duration_ns(), Some(3_600_000_000_000));
        let short = Overrides { duration: Some("2s".into()), target: None };
        let short = CheckedPlan::read("x", text, &short).unwrap();
        assert_eq!(short.steps[0].settings.duration_ns, Some(2_000_000_000));
    }

    #[test]
    fn values_are_refused_with_their_line() {
        let reported = checked(
            "loads = [\"cpu:x\", \"messagin\"]\nkernels = [\"debian:6.1\"]\n[measurement]\ninterval = 100\npriority = 100\ncpus = \"x\"\n\
             [trace]\nmode = \"flyp\"\n[set]\n\"etc/../x\" = 1\n[[limits]]\nlimit = \"max < 1ms\"\nallow = \"often\"\n\
             [verdict]\nconfidence = 0.95\naccept = [\"qemu\"]",
        )
        .unwrap_err();
        let expected = [
            "1: loads: `x` is no number of workers",
            "1: loads: there is no load called `messagin`",
            "2: this machine runs the kernel it was started with",
            "4: interval: `100` has no unit",
            "5: priority: real-time priorities are 1 to 99",
            "6: cpus: `x` is no CPU",
            "8: mode: `flyp` is not one of auto,",
            "10: etc/../x: `etc/../x` is neither",
            "12: limit: no test shows that a maximum stays below a limit",
            "13: allow: `often` is not a rate",
            "15: confidence is in percent",
            "16: accept: `qemu` is not one of emulated, virtual",
        ];
        for sentence in expected {
            assert!(reported.iter().any(|text| text.starts_with(sentence)), "{sentence:?} is not in {reported:#?}");
        }
        assert_eq!(reported.len(), expected.len(), "{reported:#?}");
    }

    #[test]
    fn settings_that_contradict_are_refused() {
        let reported = checked("[trace]\nfunctions = [\"ext4_*\"]").unwrap_err();
        assert!(reported[0].contains("--tracer"), "{reported:?}");
        let reported = checked("[[limits]]\nlimit = \"p99 < 1ms\"\n[[limits]]\nlimit = \"p99.9 < 2ms\"").unwrap_err();
        assert!(reported[0].starts_with("2: a run counts the samples over one latency"), "{reported:?}");
    }

    #[test]
    fn every_option_of_run_has_a_key_or_a_reason_to_have_none() {
        use clap::Args;
        use runner::plan::options::{LOAD, LOAD_COMMAND, MEASUREMENT, SET, TRACE};
        // Chosen by the plan in another way, for virtual time alone, of one process only, or about one command.
        let without = [
            LOAD,
            LOAD_COMMAND,
            "load-once",
            "stop-at-limit",
            SET,
            "limit",
            "target",
            "seeds",
            "trace-pid",
            "trace-children",
            "out",
            "json",
            "quiet",
        ];
        let keys: Vec<&str> = MEASUREMENT.iter().chain(&TRACE).map(|key| key.option).collect();
        let command = RunArguments::augment_args(clap::Command::new("run"));
        let options: Vec<&str> = command.get_arguments().filter_map(|option| option.get_long()).collect();
        for option in &options {
            let known = keys.contains(option) || without.contains(option);
            assert!(known, "--{option} of `tardy run` has no key in a plan; see runner/src/plan/options.rs");
        }
        assert_eq!(keys.iter().find(|key| !options.contains(key)), None);
    }
}
