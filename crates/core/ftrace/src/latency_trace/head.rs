//! Parses the lines that start with `#`.

use super::LatencyTrace;

/// The thread of the head: the woken one, or the one that ran at the end of the stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub comm: String,
    pub pid: i32,
    pub uid: u32,
    pub nice: i32,
    /// 0 other, 1 FIFO, 2 RR, 6 deadline.
    pub policy: u32,
    pub rt_priority: u32,
}

impl LatencyTrace {
    /// Parses a line of the head, given without its `#`.
    pub(super) fn take_head(&mut self, remark: &str) {
        let remark = remark.trim();
        if let Some((tracer, rest)) = remark.split_once(" latency trace v") {
            self.tracer = tracer.to_owned();
            self.release = rest.split_once(" on ").map(|(_, release)| release.to_owned()).unwrap_or_default();
        } else if let Some(figures) = remark.strip_prefix("latency: ") {
            self.take_figures(figures);
        } else if let Some(task) = remark.strip_prefix("| task: ") {
            self.task = task_of(task);
        } else if let Some(place) = remark.strip_prefix("=> started at:") {
            self.started_at = Some(place.trim().to_owned());
        } else if let Some(place) = remark.strip_prefix("=> ended at:") {
            self.ended_at = Some(place.trim().to_owned());
        }
    }

    /// `21776 us, #349/349, CPU#1 | (M:preempt_rt VP:0, KP:0, SP:0 HP:0 #P:2)`
    fn take_figures(&mut self, figures: &str) {
        let (left, right) = figures.split_once('|').unwrap_or((figures, ""));
        for part in left.split(',').map(str::trim) {
            if let Some(latency) = part.strip_suffix(" us") {
                self.latency_us = latency.parse().ok();
            } else if let Some(cpu) = part.strip_prefix("CPU#") {
                self.cpu = cpu.parse().ok();
            } else if let Some((entries, written)) = part.strip_prefix('#').and_then(|part| part.split_once('/')) {
                self.entries = entries.parse().unwrap_or(0);
                self.entries_written = written.parse().unwrap_or(0);
            }
        }
        for word in right.split([' ', '(', ')', ',']) {
            if let Some(model) = word.strip_prefix("M:") {
                self.preemption = model.to_owned();
            } else if let Some(count) = word.strip_prefix("#P:") {
                self.cpu_count = count.parse().ok();
            }
        }
    }
}

/// `rcuc/1-27 (uid:0 nice:0 policy:1 rt_prio:1)`; a name may contain anything, so it is parsed from the right.
fn task_of(text: &str) -> Option<Task> {
    let (name, figures) = text.rsplit_once(" (")?;
    let (comm, pid) = name.rsplit_once('-')?;
    let mut task = Task { comm: comm.to_owned(), pid: pid.parse().ok()?, ..Task::default() };
    for (key, value) in figures.trim_end_matches(')').split(' ').filter_map(|word| word.split_once(':')) {
        match key {
            "uid" => task.uid = value.parse().unwrap_or(0),
            "nice" => task.nice = value.parse().unwrap_or(0),
            "policy" => task.policy = value.parse().unwrap_or(0),
            "rt_prio" => task.rt_priority = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    Some(task)
}
