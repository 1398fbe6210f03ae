//! Expands a plan into its steps: one run each, in order.

use super::axes::{KernelChoice, LoadChoice};
use super::options::{PlanOption, over};
use super::{Plan, PlanLimit};

/// Most characters of a step's directory name.
const SLUG_LETTERS_MAX: usize = 60;

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// From 1.
    pub number: u32,
    /// Total number of steps.
    pub steps: u32,
    pub target: String,
    pub kernel: Option<KernelChoice>,
    pub load: LoadChoice,
    pub variant: Option<String>,
    /// From 1, with the total.
    pub repetition: u32,
    pub repetitions: u32,
    /// Measurement options.
    pub options: Vec<PlanOption>,
    /// Limits of this step.
    pub limits: Vec<PlanLimit>,
}

impl Step {
    /// Its title: `vm, debian:6.1-rt, messaging`.
    pub fn title(&self) -> String {
        let kernel = self.kernel.as_ref().map(|kernel| kernel.name.as_str());
        let load = if self.load.is_nothing() { "no load" } else { &self.load.name };
        let parts = [Some(self.target.as_str()), kernel, self.variant.as_deref(), Some(load)];
        let mut title = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if self.repetitions > 1 {
            title.push_str(&format!(", {} of {}", self.repetition, self.repetitions));
        }
        title
    }

    /// Name of its archive's directory. A retry appends its number.
    pub fn directory(&self, attempt: u32) -> String {
        let mut slug = String::new();
        for letter in self.title().chars() {
            match letter.is_ascii_alphanumeric() {
                true => slug.push(letter.to_ascii_lowercase()),
                false if !slug.ends_with('-') => slug.push('-'),
                false => {}
            }
        }
        slug.truncate(SLUG_LETTERS_MAX);
        let digits = self.steps.to_string().len().max(2);
        let name = format!("{:0digits$}-{}", self.number, slug.trim_matches('-'));
        if attempt > 1 { format!("{name}.{attempt}") } else { name }
    }

    /// Whether a limit of the plan is for this step.
    fn has(&self, limit: &PlanLimit) -> bool {
        let among = |names: &[String], name: Option<&str>| {
            names.is_empty() || name.is_some_and(|name| names.iter().any(|other| other == name))
        };
        among(&limit.targets, Some(&self.target))
            && among(&limit.kernels, self.kernel.as_ref().map(|kernel| kernel.name.as_str()))
            && among(&limit.loads, Some(&self.load.name))
            && among(&limit.variants, self.variant.as_deref())
    }
}

impl Plan {
    /// All steps. Each repetition runs all of them before the next one starts, so that drift affects all alike.
    pub fn steps(&self) -> Vec<Step> {
        let kernels: Vec<Option<&KernelChoice>> =
            if self.kernels.is_empty() { vec![None] } else { self.kernels.iter().map(Some).collect() };
        let variants: Vec<Option<&super::Variant>> =
            if self.variants.is_empty() { vec![None] } else { self.variants.iter().map(Some).collect() };
        let mut steps = Vec::new();
        for repetition in 1..=self.repetitions {
            for target in &self.targets {
                for kernel in &kernels {
                    for variant in &variants {
                        for load in &self.loads {
                            let part = variant.map_or(&[][..], |variant| &variant.options);
                            let options = over(&self.options, part);
                            steps.push(Step {
                                number: steps.len() as u32 + 1,
                                steps: 0,
                                target: target.clone(),
                                kernel: kernel.cloned(),
                                load: load.clone(),
                                variant: variant.map(|variant| variant.name.clone()),
                                repetition,
                                repetitions: self.repetitions,
                                options,
                                limits: Vec::new(),
                            });
                        }
                    }
                }
            }
        }
        let number = steps.len() as u32;
        for step in &mut steps {
            step.steps = number;
            step.limits = self.limits.iter().filter(|limit| step.has(limit)).cloned().collect();
        }
        steps
    }
}
