//! Names that stand alone in some field: with them the same name is found in sentences.

use crate::rules::TASKS;
use crate::rules::{HOSTS, RELEASES};
use crate::text::Names;
use archive::explanation::{Explanation, OwnerKind};
use archive::reader::Run;
use std::path::Path;

/// Adds the names of a run.
pub fn known_names(run: &Run, explanations: &[Explanation], names: &mut Names) {
    let mut task = |name: &str| names.add(name, "task", TASKS);
    if let Some(environment) = &run.environment {
        environment.rt_tasks.iter().for_each(|known| task(&known.name));
    }
    run.watched.values().for_each(|series| task(&series.name));
    run.latency_traces.iter().filter_map(|trace| trace.task.as_ref()).for_each(|traced| task(&traced.name));
    for explanation in explanations {
        let owners = explanation.phases.iter().flat_map(|phase| &phase.owners).map(|owner| (owner.kind, &owner.name));
        let segments = explanation.lanes.iter().flat_map(|lane| &lane.segments).map(|part| (part.kind, &part.name));
        let functions = explanation.functions.iter();
        let held = functions.clone().flat_map(|account| &account.held).map(|held| (held.kind, &held.name));
        let tasks = owners.chain(segments).chain(held).filter(|(kind, _)| is_task(*kind));
        tasks.filter_map(|(_, name)| comm(name)).for_each(&mut task);
        let masked = functions.clone().flat_map(|account| account.irqs_off.iter().chain(&account.preempt_off));
        let locks = functions.flat_map(|account| &account.lock).flat_map(|lock| [&lock.by, &lock.thread]);
        masked.map(|masked| &masked.thread).chain(locks).filter_map(|name| comm(name)).for_each(&mut task);
    }
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let watch = settings.and_then(|settings| settings.watch.as_ref());
    watch.iter().flat_map(|watch| &watch.comm).for_each(|comm| task(comm));
    let program = watch.and_then(|watch| watch.command.first()).and_then(|command| Path::new(command).file_name());
    program.iter().for_each(|program| task(&program.to_string_lossy()));
    let method = settings.into_iter().flat_map(|settings| settings.method.threads());
    method.for_each(|thread| task(&thread.name));
    if let Some(environment) = &run.environment {
        names.add(&environment.hostname, "host", HOSTS);
        names.add(&environment.kernel_release, "kernel", RELEASES);
    }
}

fn is_task(kind: OwnerKind) -> bool {
    matches!(kind, OwnerKind::Task | OwnerKind::RtTask | OwnerKind::Own | OwnerKind::Tool)
}

/// The name in `NAME-TID` or `NAME-TID (WORK)`.
fn comm(text: &str) -> Option<&str> {
    let name = text.rfind(" (").map_or(text, |end| &text[..end]);
    let (name, tid) = name.rsplit_once('-')?;
    (!tid.is_empty() && tid.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_stands_before_the_number_of_the_thread() {
        assert_eq!(comm("acme drive-12"), Some("acme drive"));
        assert_eq!(comm("kworker/0:1-31 (acme_work)"), Some("kworker/0:1"));
        assert_eq!(comm("local_timer (hrtimer_wakeup)"), None);
    }
}
