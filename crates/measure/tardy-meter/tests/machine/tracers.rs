//! Features that the machine's kernel lacks are reported before anything is measured.

use super::process::{Meter, short, traced};
use archive::message::{Ending, Message, Severity};
use archive::settings::RunSettings;
use archive::tracer::{KernelSource, TracerSettings};
use prerequisites::require;

fn with_tracer(name: &str) -> RunSettings {
    let mut settings = traced(200);
    settings.trace.tracer = Some(TracerSettings { name: name.into(), ..TracerSettings::default() });
    settings
}

fn with_source(source: KernelSource) -> RunSettings {
    RunSettings { sources: vec![source], ..short(200) }
}

#[test]
fn a_missing_tracer_ends_the_run_with_the_name_of_its_option() {
    require!(Root, Tracefs);
    let tracefs = prerequisites::tracefs().unwrap();
    let there = std::fs::read_to_string(tracefs.join("available_tracers")).unwrap();
    let cases = [
        (with_tracer("irqsoff"), "irqsoff", "CONFIG_IRQSOFF_TRACER"),
        (with_tracer("function"), "function", "CONFIG_FUNCTION_TRACER"),
        (with_source(KernelSource::Timerlat), "timerlat", "CONFIG_TIMERLAT_TRACER"),
    ];
    let lacks = |name: &str| !there.split_whitespace().any(|tracer| tracer == name);
    let lacking: Vec<_> = cases.into_iter().filter(|(_, name, _)| lacks(name)).collect();
    require!(Kernel("a kernel that lacks one of the tracers", !lacking.is_empty()));
    for (settings, name, option) in lacking {
        let state = tempfile::tempdir().unwrap();
        let finished = Meter::start(&settings, state.path()).finish();
        assert_eq!((finished.ending(), finished.status.code()), (Some(Ending::Failed), Some(3)), "{name}");
        let reported = finished.problems(Severity::Invalid);
        assert!(
            reported.iter().any(|text| text.contains(option) && text.starts_with("[meter.tracer-not-built]")),
            "{reported:?}"
        );
        let measured = finished.messages.iter().any(|message| matches!(message, Message::Thread { .. }));
        assert!(!measured, "nothing is measured without what was asked for");
    }
}
