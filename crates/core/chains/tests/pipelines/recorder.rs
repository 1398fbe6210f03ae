//! Records the scheduler's events of this machine in a trace instance of its own.

use chains::recorded::Recorded;
use ftrace::header::PageLayout;
use ftrace::trace_dat::{CpuBytes, PagedTrace, TraceDat};
use ftrace::tracefs::{Instance, Tracefs};
use std::collections::BTreeSet;

const EVENTS: [(&str, &str); 23] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup"),
    ("sched", "sched_wakeup_new"),
    ("sched", "sched_migrate_task"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_raise"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("irq_vectors", "local_timer_entry"),
    ("irq_vectors", "local_timer_exit"),
    ("irq_vectors", "reschedule_entry"),
    ("irq_vectors", "reschedule_exit"),
    ("irq_vectors", "call_function_single_entry"),
    ("irq_vectors", "call_function_single_exit"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_cancel"),
    ("timer", "hrtimer_expire_entry"),
    ("timer", "hrtimer_expire_exit"),
    ("workqueue", "workqueue_queue_work"),
    ("workqueue", "workqueue_execute_start"),
    ("workqueue", "workqueue_execute_end"),
];
const BUFFER_KB: u32 = 24 << 10;
const BYTES_MAX: usize = 64 << 20;

/// A recording that runs. The instance vanishes with it.
pub struct Recorder {
    instance: Option<Instance>,
}

impl Recorder {
    pub fn start(name: &str) -> Self {
        let tracefs = Tracefs::find().unwrap();
        let instance = tracefs.create_instance(&format!("chains_{}_{name}", std::process::id())).unwrap();
        instance.set_tracing_on(false).unwrap();
        instance.set_clock("mono").unwrap();
        instance.set_buffer_size_kb(BUFFER_KB).unwrap();
        for (system, event) in EVENTS {
            instance.enable_event(system, event).unwrap();
        }
        instance.set_tracing_on(true).unwrap();
        Self { instance: Some(instance) }
    }

    pub fn recorded(mut self) -> Recorded {
        let instance = self.instance.take().unwrap();
        instance.set_tracing_on(false).unwrap();
        let layout: PageLayout = instance.page_layout().unwrap();
        let metadata = instance.metadata(&EVENTS).unwrap();
        let mut pages: Vec<(u32, Vec<u8>)> = Vec::new();
        for cpu in instance.cpus() {
            let mut of_cpu = Vec::new();
            instance.open_raw(cpu).unwrap().drain_into(&mut of_cpu, BYTES_MAX).unwrap();
            pages.push((cpu, of_cpu));
        }
        instance.remove().unwrap();
        let cpus = pages.iter().map(|(cpu, pages)| CpuBytes { cpu: *cpu, pages, stats: None }).collect();
        let cpu_count = pages.len() as u32;
        let file =
            TraceDat { metadata: &metadata, layout, clock: "mono", uname: "", version: "", cpu_count, cpus }.to_vec();
        if let Some(kept) = std::env::var_os("KEEP_RECORDING") {
            std::fs::write(kept, &file).unwrap();
        }
        Recorded::of(&mut PagedTrace::open(&file[..]), &BTreeSet::new())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            let _ = instance.remove();
        }
    }
}
