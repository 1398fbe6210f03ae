//! Which threads of a watched program decide its figures, its spikes and its verdict.

use super::Run;
use crate::watched::{WatchSettings, WatchedSeries};

impl Run {
    /// Whether the samples of a thread count. Of a watched program the threads with a real-time or deadline policy count,
    /// unless the user asked for all threads, or none has such a policy.
    pub fn decides(&self, thread: u32) -> bool {
        let Some(watched) = self.watched.get(&thread) else { return true };
        let asked_for_all = self.watch_settings().is_some_and(|watch| watch.all_threads);
        asked_for_all || is_real_time(watched) || !self.watched.values().any(is_real_time)
    }

    fn watch_settings(&self) -> Option<&WatchSettings> {
        self.manifest.as_ref()?.settings.as_ref()?.watch.as_ref()
    }
}

fn is_real_time(series: &WatchedSeries) -> bool {
    series.policy.is_some_and(|policy| policy.is_real_time())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;
    use crate::policy::Policy;
    use crate::settings::RunSettings;
    use crate::watched::WatchedKind;

    fn run(policies: &[Option<Policy>], all_threads: bool) -> Run {
        let series = |thread: u32, policy| WatchedSeries {
            thread,
            kind: WatchedKind::Timer,
            tid: 1,
            name: "loop".into(),
            policy,
            priority: 0,
            slack_ns_max: 0,
            late_arms: 0,
            page_faults: None,
            ended: false,
        };
        let watched = policies.iter().zip(0u32..).map(|(policy, thread)| (thread, series(thread, *policy))).collect();
        let watch = Some(WatchSettings { all_threads, ..WatchSettings::default() });
        let settings = Some(RunSettings { watch, ..RunSettings::default() });
        let manifest = Manifest { settings, ..Manifest::new("x", "1", "local") };
        Run { manifest: Some(manifest), watched, ..Run::default() }
    }

    #[test]
    fn threads_without_a_real_time_policy_decide_only_where_there_is_no_other_or_the_user_asked() {
        let mixed = [Some(Policy::Fifo), Some(Policy::Other), None];
        let deciding = |run: &Run| (0..3).map(|thread| run.decides(thread)).collect::<Vec<_>>();
        assert_eq!(deciding(&run(&mixed, false)), [true, false, false]);
        assert_eq!(deciding(&run(&mixed, true)), [true, true, true]);
        assert_eq!(deciding(&run(&[Some(Policy::Other), None], false)), [true, true, true]);
        assert!(run(&[], false).decides(7), "a measuring thread always counts");
    }
}
