//! What a kernel cannot do that was asked of its tracers, told before anything is measured.

use super::catalogue::{self, Tracer};
use ftrace::tracefs::{Instance, Tracefs};

/// Why a tracer is not to be had, with the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}; {fix}")]
pub struct Refusal {
    pub text: String,
    pub fix: String,
}

impl Refusal {
    pub fn new(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { text: text.into(), fix: fix.into() }
    }
}

/// The tracer of that name, if this kernel has it.
///
/// # Errors
/// It has not: the option that brings it, and what there is instead.
pub fn available(tracefs: &Tracefs, name: &str) -> Result<&'static Tracer, Refusal> {
    among(name, &tracefs.capabilities().tracers)
}

fn among(name: &str, there: &[String]) -> Result<&'static Tracer, Refusal> {
    let usable: Vec<&str> =
        catalogue::TRACERS.iter().map(|tracer| tracer.name).filter(|name| there.iter().any(|it| it == name)).collect();
    let usable = if usable.is_empty() { "no tracer at all".into() } else { usable.join(", ") };
    let Some(tracer) = catalogue::find(name) else {
        return Err(Refusal::new(format!("there is no tracer {name:?}"), format!("this kernel has {usable}")));
    };
    if there.iter().any(|it| it == name) {
        return Ok(tracer);
    }
    Err(Refusal::new(
        format!("this kernel has no tracer {name}: {} is not set", tracer.config),
        format!("use a kernel that has it, or another tracer; this kernel has {usable}"),
    ))
}

/// Sets the tracer of an instance.
///
/// # Errors
/// The kernel runs it in its top-level buffer only, or somebody else runs it already.
pub fn set_in(instance: &Instance, tracer: &Tracer) -> Result<(), Refusal> {
    if !instance.tracers().iter().any(|there| there == tracer.name) {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        return Err(Refusal::new(
            format!(
                "Linux {release} runs the tracer {} in its top-level buffer only, which is not ours to take{}",
                tracer.name,
                reason(tracer.name)
            ),
            since(tracer.name),
        ));
    }
    instance.set_tracer(tracer.name).map_err(|error| {
        Refusal::new(
            format!("the kernel refused the tracer {}: failed to {error}", tracer.name),
            "somebody else may run a tracer that excludes it: `trace-cmd reset`, and rmdir instances that were left",
        )
    })
}

/// The kernel before the merge "ftrace updates for v6.11" has one variable for who follows returns, not one an instance.
fn reason(name: &str) -> &'static str {
    match name {
        "function_graph" => ": before 6.11 the whole kernel has room for one who follows functions to their return",
        _ => "",
    }
}

fn since(name: &str) -> &'static str {
    match name {
        "function_graph" => {
            "use Linux 6.11 or later (Debian has 6.12), or --tracer function, which records entries alone"
        }
        "hwlat" | "osnoise" | "timerlat" => "use Linux 5.17 or later",
        _ => "use a later kernel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_option_and_what_there_is() {
        let there = ["nop", "blk", "function", "wakeup_rt"].map(String::from);
        assert_eq!(among("function", &there).unwrap().name, "function");
        for (name, option) in [
            ("function_graph", "CONFIG_FUNCTION_GRAPH_TRACER"),
            ("irqsoff", "CONFIG_IRQSOFF_TRACER"),
            ("timerlat", "CONFIG_TIMERLAT_TRACER"),
        ] {
            let refusal = among(name, &there).unwrap_err();
            assert!(refusal.text.contains(name) && refusal.text.contains(option), "{refusal:?}");
            assert!(refusal.fix.contains("this kernel has function, wakeup_rt"), "{refusal:?}");
        }
        assert!(among("magic", &there).unwrap_err().text.contains("no tracer \"magic\""));
        assert!(among("hwlat", &[]).unwrap_err().fix.contains("no tracer at all"));
    }
}
