//! A valid plan: its options are options of `tardy run`, its limits are limits, its steps can be started.

use crate::exit::UsageError;
use crate::measuring::arguments::declared::Contradiction;
use crate::measuring::arguments::{RoleSettings, RunArguments, planned};
use crate::measuring::machine::usage;
use crate::options::limits::confidence;
use crate::options::quantity::{positive_time_ns, time_ns};
use archive::planned::{PlannedLimit, PlannedStep};
use archive::roles::RunRole;
use archive::settings::RunSettings;
use claims::limit::{Limit, Rate};
use judge::machine::DoubtKind;
use judge::step::counted_ns;
use machines::target_file::{MissingTarget, TargetFileError};
use machines::{KnownTarget, local};
use runner::plan::document::{Problem, Written};
use runner::plan::options::over;
use runner::plan::step::Step;
use runner::plan::{Plan, PlanLimit, Variant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Default of how often a latency may be exceeded; the same as that of `tardy judge`.
const ALLOW_DEFAULT: &str = "1/h";
const CONFIDENCE_DEFAULT: f64 = 0.95;

/// Options of the command line that override those of each step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    pub duration: Option<String>,
    pub target: Option<String>,
}

/// The host that runs a plan: it has the targets that the plan names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanHost {
    This,
    /// Another one, or none any more. Its targets are not known here.
    Other,
}

/// The machine that a step names.
#[derive(Debug, Clone)]
pub enum StepTarget {
    Known(KnownTarget),
    /// The plan is sound, but does not run here.
    Missing(MissingTarget),
    OfAnotherHost,
}

impl StepTarget {
    fn find(name: &str, host: PlanHost) -> Result<Self, TargetFileError> {
        if host == PlanHost::Other {
            return Ok(Self::OfAnotherHost);
        }
        match KnownTarget::find(name) {
            Ok(target) => Ok(Self::Known(target)),
            Err(TargetFileError::Missing(missing)) => Ok(Self::Missing(missing)),
            Err(error) => Err(error),
        }
    }

    /// The target, where it is known.
    ///
    /// # Errors
    /// A [`UsageError`] that names the fix.
    pub fn known(&self) -> Result<&KnownTarget, UsageError> {
        match self {
            Self::Known(target) => Ok(target),
            Self::Missing(missing) => Err(usage(missing.clone().into())),
            Self::OfAnotherHost => Err(UsageError("this plan names targets of another host".into())),
        }
    }

    /// Whether its clock is known to count executed instructions.
    fn is_in_virtual_time(&self) -> bool {
        matches!(self, Self::Known(target) if target.is_in_virtual_time())
    }
}

/// A step that can be run.
#[derive(Debug, Clone)]
pub struct CheckedStep {
    pub step: Step,
    pub target: StepTarget,
    pub settings: RunSettings,
    pub silence: Duration,
    pub limits: Vec<Limit>,
    pub planned: PlannedStep,
    /// The other machine, if one gives the stimuli.
    pub stimulus: Option<CheckedRole>,
}

impl CheckedStep {
    /// Measurement time in ns, which is that of the stimuli where another machine gives them.
    pub fn duration_ns(&self) -> Option<u64> {
        duration_ns(self.stimulus.as_ref().map_or(&self.settings, |stimulus| &stimulus.settings))
    }

    /// Each limit as written and as read, of every machine.
    pub fn limits_as_read(&self) -> impl Iterator<Item = (&PlanLimit, &Limit)> {
        let of_role = |role| self.step.limits.iter().filter(move |limit| is_of_role(limit, role));
        let of_stimulus = self.stimulus.iter().flat_map(|stimulus| &stimulus.limits);
        of_role(RunRole::Target).zip(&self.limits).chain(of_role(RunRole::Stimulus).zip(of_stimulus))
    }
}

/// Whether a limit is for this machine of a step.
fn is_of_role(limit: &PlanLimit, role: RunRole) -> bool {
    if limit.roles.is_empty() { role == RunRole::Target } else { limit.roles.contains(&role) }
}

/// Another machine of a step.
#[derive(Debug, Clone)]
pub struct CheckedRole {
    pub machine: String,
    pub target: StepTarget,
    pub settings: RunSettings,
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
    /// Reads a plan for a host and checks all of it.
    ///
    /// # Errors
    /// All problems of the plan, and of the files of its targets.
    pub fn read(name: &str, text: &str, overrides: &Overrides, host: PlanHost) -> Result<Self, Vec<Problem>> {
        let (plan, found) = Plan::read(name, text, planned::keys());
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
                let mut targets = Targets { host, found: BTreeMap::new() };
                let step = |step: Step| problems.step(&plan, step, overrides, confidence, &mut targets);
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

    /// Measurement time of all steps together in ns; `None` if one of them has no end.
    pub fn duration_ns(&self) -> Option<u64> {
        self.steps.iter().map(CheckedStep::duration_ns).sum()
    }
}

/// Measurement time of a run in ns: the shorter of its duration and its cycles.
fn duration_ns(settings: &RunSettings) -> Option<u64> {
    let counted = settings.cycles.map(|cycles| cycles.saturating_mul(settings.interval_ns));
    settings.duration_ns.into_iter().chain(counted).min()
}

/// The targets of a plan, each read once.
struct Targets {
    host: PlanHost,
    found: BTreeMap<String, StepTarget>,
}

impl Targets {
    fn find(&mut self, name: &str) -> Result<StepTarget, TargetFileError> {
        if let Some(target) = self.found.get(name) {
            return Ok(target.clone());
        }
        let target = StepTarget::find(name, self.host)?;
        self.found.insert(name.to_owned(), target.clone());
        Ok(target)
    }
}

/// Limits of one machine: as written, as read, and the latency above which its run counts samples.
type Limits = (Vec<PlannedLimit>, Vec<Limit>, Option<i64>);

struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, line: Option<usize>, text: String) {
        let problem = Problem { line, text };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// Checks each part of the plan separately: a wrong value is reported once, with its line, even if several steps
    /// use it.
    fn check_options(&mut self, plan: &Plan) {
        let variants: Vec<Option<&Variant>> =
            if plan.variants.is_empty() { vec![None] } else { plan.variants.iter().map(Some).collect() };
        for variant in variants {
            let options = over(&plan.options, variant.map_or(&[], |variant| &variant.options));
            for load in &plan.loads {
                let found = RunArguments::planned(&options, load).err().unwrap_or_default();
                found.into_iter().for_each(|Problem { line, text }| self.add(line, text));
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
            if let Err(why) = Limit::parse(text, &any, time_ns) {
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

    fn target(&mut self, name: &str, targets: &mut Targets) -> Option<StepTarget> {
        targets.find(name).inspect_err(|error| self.add(None, error.to_string())).ok()
    }

    /// The step with all its options combined.
    fn step(
        &mut self,
        plan: &Plan,
        step: Step,
        overrides: &Overrides,
        confidence: f64,
        targets: &mut Targets,
    ) -> Option<CheckedStep> {
        // Its problems were reported with those of the whole plan.
        let mut arguments = RunArguments::planned(&step.options, &step.load).ok()?;
        if let Some(duration) = &overrides.duration {
            match positive_time_ns(duration) {
                Ok(ns) => arguments.replace_duration(ns),
                Err(why) => {
                    self.add(None, format!("--duration: {why}"));
                    return None;
                }
            }
        }
        let target = self.target(&step.target, targets)?;
        let virtual_time = target.is_in_virtual_time();
        let mut settings = match arguments.settings(virtual_time) {
            Ok(settings) => settings,
            Err(contradiction) => {
                self.add_to_step(&step, &contradiction);
                return None;
            }
        };
        let role = match arguments.stimulus_machine(&step.target, virtual_time) {
            Ok(role) => role,
            Err(contradiction) => {
                self.add_to_step(&step, &contradiction);
                return None;
            }
        };
        self.check_roles_of_limits(&step, role.is_some())?;
        let default = plan.allow.as_ref().map_or(ALLOW_DEFAULT, |allow| &allow.text);
        let (limits, read, counted) = self.limits(&step, RunRole::Target, default)?;
        settings.limit_ns = counted;
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
        let stimulus = match role {
            Some(role) => Some(self.role(role, &step, &planned, default, targets)?),
            None => None,
        };
        Some(CheckedStep { silence: arguments.silence(), step, target, settings, limits: read, planned, stimulus })
    }

    /// The machine that gives the stimuli of a step, with its own limits.
    fn role(
        &mut self,
        role: RoleSettings,
        step: &Step,
        planned: &PlannedStep,
        default: &str,
        targets: &mut Targets,
    ) -> Option<CheckedRole> {
        let RoleSettings { machine, mut settings } = role;
        let target = self.target(&machine, targets)?;
        let (limits, read, counted) = self.limits(step, RunRole::Stimulus, default)?;
        settings.limit_ns = counted;
        // The kernel that the plan chooses is the target's.
        let planned = PlannedStep { target: machine.clone(), kernel: None, limits, ..planned.clone() };
        Some(CheckedRole { machine, target, settings, limits: read, planned })
    }

    /// The limits of one machine of a step, as written and as read, and the latency that its run counts.
    fn limits(&mut self, step: &Step, role: RunRole, default: &str) -> Option<Limits> {
        let of_role = |limit: &&PlanLimit| is_of_role(limit, role);
        let limits: Vec<PlannedLimit> =
            step.limits.iter().filter(of_role).map(|limit| planned_limit(limit, default)).collect();
        let read = account::planned::limits(&limits);
        match counted_ns(&read) {
            Ok(counted) => Some((limits, read, counted)),
            Err(why) => {
                self.add(step.limits.iter().find(of_role).map(|limit| limit.limit.line), why.to_string());
                None
            }
        }
    }

    /// Two machines have two kinds of latency, and only the plan knows which one is limited.
    fn check_roles_of_limits(&mut self, step: &Step, has_roles: bool) -> Option<()> {
        let Some(wrong) = step.limits.iter().find(|limit| limit.roles.is_empty() == has_roles) else { return Some(()) };
        let text = match has_roles {
            true => {
                "this limit needs a `role`: \"stimulus\" for the round trips that the stimulus machine measures, \"target\" for \
                 what the target itself measures"
            }
            false => "a limit has a `role` only where `stimulus` in [measurement] names a machine",
        };
        self.add(Some(wrong.limit.line), text.into());
        None
    }

    /// A mistake that shows where the options of a step meet, at the line of one of them.
    fn add_to_step(&mut self, step: &Step, contradiction: &Contradiction) {
        let at_fault = step.options.iter().find(|option| planned::sets(option, contradiction.option));
        let what = at_fault
            .map_or_else(|| contradiction.to_string(), |option| format!("{}: {}", option.name, contradiction.why));
        self.add(at_fault.map(|option| option.line), format!("step {} ({}): {what}", step.number, step.title()));
    }
}

fn planned_limit(limit: &PlanLimit, default: &str) -> PlannedLimit {
    let allow = limit.allow.as_ref().map_or(default, |allow| &allow.text);
    PlannedLimit { limit: limit.limit.text.clone(), allow: allow.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::settings::{LoadRequest, SettingChange, SnapshotMode};

    fn checked(text: &str) -> Result<CheckedPlan, Vec<String>> {
        let reported = |problem: Problem| format!("{}: {}", problem.line.unwrap_or(0), problem.text);
        CheckedPlan::read("x", text, &Overrides::default(), PlanHost::This)
            .map_err(|found| found.into_iter().map(reported).collect())
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
        let short = CheckedPlan::read("x", text, &short, PlanHost::This).unwrap();
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
            "1: loads: `x` is not a number of workers",
            "1: loads: there is no load called `messagin`",
            "2: this machine runs the kernel it was started with",
            "4: interval: `100` has no unit",
            "5: priority: real-time priorities are 1 to 99",
            "6: cpus: `x` is not a CPU",
            "8: mode: `flyp` is unknown; did you mean `flip`?",
            "10: etc/../x: `etc/../x` is not a file below",
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
        assert_eq!(reported, ["2: functions: needs `tracer` in [trace]"]);
        let reported = checked("[trace]\ntracer = \"hwlat\"\nfunctions = [\"x\"]").unwrap_err();
        assert!(reported[0].starts_with("2: step 1 (local, no load): tracer: "), "{reported:?}");
        let reported = checked("[[limits]]\nlimit = \"p99 < 1ms\"\n[[limits]]\nlimit = \"p99.9 < 2ms\"").unwrap_err();
        assert!(reported.len() == 1 && reported[0].starts_with("2: "), "{reported:?}");
    }
}
