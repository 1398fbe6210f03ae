//! Records a trace in its own instance while a command runs: `record OUT.dat KB_PER_CPU COMMAND...`.
//!
//! The buffers are read once at the end, so they must hold everything; losses are printed per CPU.

#![allow(clippy::disallowed_methods, reason = "a program, not the pure half of the crate")]

use std::error::Error;
use std::process::Command;

use ftrace::byte_order::ByteOrder;
use ftrace::kernel_addresses::kernel_addresses;
use ftrace::kernel_symbols;
use ftrace::trace_dat::{CpuBytes, CpuRecords, TraceDat};
use ftrace::tracefs::{Instance, Tracefs};

const EVENTS: [(&str, &str); 15] = [
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("sched", "sched_wakeup"),
    ("sched", "sched_migrate_task"),
    ("irq", "irq_handler_entry"),
    ("irq", "irq_handler_exit"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
    ("timer", "hrtimer_start"),
    ("timer", "hrtimer_expire_entry"),
    ("timer", "hrtimer_expire_exit"),
    ("power", "cpu_idle"),
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("workqueue", "workqueue_execute_start"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [out, size_kb, command, rest @ ..] = arguments.as_slice() else {
        return Err("usage: record OUT.dat KB_PER_CPU COMMAND...".into());
    };
    let tracefs = Tracefs::find()?;
    let instance = tracefs.create_instance(&format!("ftrace_record_{}", std::process::id()))?;
    let recorded = record(&tracefs, &instance, size_kb.parse()?, Command::new(command).args(rest), out);
    instance.remove()?;
    recorded
}

fn record(
    tracefs: &Tracefs,
    instance: &Instance,
    size_kb: u32,
    command: &mut Command,
    out: &str,
) -> Result<(), Box<dyn Error>> {
    instance.set_tracing_on(false)?;
    instance.set_clock("mono")?;
    instance.set_buffer_size_kb(size_kb)?;
    for (system, name) in EVENTS {
        instance.enable_event(system, name)?;
    }
    instance.set_tracing_on(true)?;
    let status = command.status();
    instance.set_tracing_on(false)?;
    println!("command: {}", status?);

    let mut pages = Vec::new();
    for cpu in instance.cpus() {
        let stats = instance.cpu_stats(cpu)?;
        let mut bytes = Vec::new();
        instance.open_raw(cpu)?.drain_into(&mut bytes, usize::MAX)?;
        println!("CPU {cpu}: {} events, {} lost, {} bytes", stats.entries, stats.lost(), bytes.len());
        pages.push((cpu, stats, bytes));
    }
    let mut metadata = tracefs.metadata(&EVENTS)?;
    let layout = instance.page_layout()?;
    let formats = metadata.parse(ByteOrder::NATIVE).formats;
    let items = pages.iter().flat_map(|(cpu, _, bytes)| CpuRecords::new(*cpu, bytes, &layout));
    let addresses = kernel_addresses(&formats, items);
    metadata.kallsyms = kernel_symbols::excerpt(&std::fs::read_to_string("/proc/kallsyms")?, &addresses);
    let cpus = pages.iter().map(|(cpu, stats, bytes)| CpuBytes { cpu: *cpu, pages: bytes, stats: Some(*stats) });
    let trace = TraceDat {
        metadata: &metadata,
        layout,
        clock: "mono",
        uname: "",
        version: "ftrace example",
        cpu_count: pages.len() as u32,
        cpus: cpus.collect(),
    };
    trace.write_to(&mut std::fs::File::create(out)?)?;
    Ok(())
}
