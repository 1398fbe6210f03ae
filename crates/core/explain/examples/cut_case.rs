//! Makes a corpus case out of a spike of a run: `cut_case RUN SPIKE DIRECTORY [CPU]`.
//! With a CPU, only its records are kept: others may be many and show nothing.
//!
//! Writes `spike.json` and a `trace.dat` with only the pages around the wake-up, the formats of the events in them, and
//! the names of the functions they mention: those of the trace itself, or, when it has none, those of this machine.

use archive::environment::VIRTUAL_TIME;
use archive::explanation::Explanation;
use archive::method::{Method, Stimulus};
use archive::reader::Run;
use archive::settings::Policy;
use archive::spike::SpikeReason;
use explain::{SpikeInput, explain_spike, explain_without_trace};
use ftrace::kernel_symbols;
use ftrace::metadata::MetadataText;
use ftrace::trace_dat::{CpuBytes, CpuRecords, TraceDat, TraceFile, TraceItem, cut_pages};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;

/// Kept on both sides of the window that is explained.
const MARGIN_NS: u64 = 50_000;
/// A longer margin makes large cases and shows nothing.
const QUARTER_NS_MAX: u64 = 5_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |name: &str| arguments.next().ok_or(format!("{name} is missing"));
    let run = Run::open(argument("RUN")?)?;
    let number: u32 = argument("SPIKE")?.parse()?;
    let directory = PathBuf::from(argument("DIRECTORY")?);
    let only_cpu: Option<u32> = arguments.next().map(|cpu| cpu.parse()).transpose()?;
    let spike = run.spikes.iter().find(|spike| spike.number == number).ok_or("the run has no such spike")?;
    let trace = run.spike_trace(number)?;
    let quarter = u64::try_from(spike.sample.latency_ns / 4)?.clamp(20_000, QUARTER_NS_MAX) + MARGIN_NS;
    let from_ns = u64::try_from(spike.sample.due_ns)?.saturating_sub(quarter);
    let to_ns = u64::try_from(spike.sample.seen_ns())? + quarter;
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("trace.dat"), cut(&trace, from_ns, to_ns, only_cpu))?;
    let threads = run.effective.iter().flat_map(|effective| &effective.threads);
    let measuring: Vec<(u32, i32)> = threads.filter_map(|thread| Some((*thread.cpus.first()?, thread.tid))).collect();
    let virtual_time = run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time);
    let environment = run.environment.as_ref().map(|environment| {
        serde_json::json!({
            "architecture": environment.architecture,
            "kernel_release": environment.kernel_release,
            "preemption": environment.preemption,
            "preempt_rt": environment.preempt_rt,
            "clocksource": environment.clocksource,
            "steal_clock": environment.steal_clock,
            "config": environment.config.iter().filter(|line| ["_TIME_ACCOUNTING", "CONFIG_HZ=", "CONFIG_RT_GROUP_SCHED="].iter().any(|part| line.contains(part))).collect::<Vec<_>>(),
            "virtualisation": if virtual_time { Some(VIRTUAL_TIME) } else { environment.virtualisation.as_deref() },
        })
    });
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let case = serde_json::json!({
        "spike": spike,
        "method": settings.map_or(Some(Method::default()), |settings| settings.method.method()),
        "median_ns": run.latency_ns_median(spike.thread),
        "interval_ns": settings.map_or(1_000_000, |settings| settings.interval_ns),
        "measuring_tids": measuring,
        "own_prio": run.effective.iter().flat_map(|effective| &effective.threads).find(|thread| thread.tid == spike.tid)
            .filter(|thread| matches!(thread.policy, Policy::Fifo | Policy::Rr) && spike.watched.is_none())
            .map(|thread| 99 - i32::from(thread.priority)),
        "tool_tids": run.effective.as_ref().map(|effective| effective.tool_tids.clone()).unwrap_or_default(),
        "environment": environment,
        "absences": run.absences.get(&number).map_or(&[][..], |seen| &seen.absences),
        "in_turns": run.absences.get(&number).is_some_and(|seen| seen.in_turns),
        "controls": controls(&run, &measuring),
    });
    std::fs::write(directory.join("spike.json"), serde_json::to_string_pretty(&case)? + "\n")?;
    Ok(())
}

/// Ordinary wake-ups: their phases, which is all that comparisons use.
fn controls(run: &Run, measuring: &[(u32, i32)]) -> Vec<Explanation> {
    let settings = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref());
    let controls = run.spikes.iter().filter(|other| other.reason == SpikeReason::Control);
    let phases = controls.filter_map(|control| {
        let trace = run.spike_trace(control.number).ok()?;
        let explanation = explain_spike(&SpikeInput {
            spike: control,
            trace: (&trace).into(),
            median_ns: run.latency_ns_median(control.thread).unwrap_or(0),
            interval_ns: settings.map_or(1_000_000, |settings| settings.interval_ns),
            measuring_tids: measuring,
            own_prio: None,
            tool_tids: run.effective.as_ref().map_or(&[][..], |effective| &effective.tool_tids),
            environment: run.environment.as_ref(),
            absences: &[],
            in_turns: false,
            stimulus: settings.map_or(Stimulus::Timer, |settings| settings.method.stimulus()),
            sample: settings.map(|settings| settings.method.sample()).unwrap_or_default(),
            recorder: explain::recorder::Recorder::Own,
            stacks: None,
            controls: &[],
        });
        Some(Explanation { phases: explanation.phases, ..explain_without_trace(control, explanation.median_ns) })
    });
    phases.collect()
}

fn cut(trace: &[u8], from_ns: u64, to_ns: u64, only_cpu: Option<u32>) -> Vec<u8> {
    let file = TraceFile::parse(trace);
    let layout = file.layout();
    let mut pages: Vec<(u32, &[u8])> = Vec::new();
    let (mut formats, mut threads, mut addresses) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for buffer in file.buffers.iter().take(1) {
        for cpu in buffer.cpus.iter().filter(|cpu| only_cpu.is_none_or(|only| only == cpu.cpu)) {
            let kept = cut_pages(&cpu.pages, &layout, from_ns, to_ns);
            for item in CpuRecords::new(cpu.cpu, kept, &layout) {
                let TraceItem::Record(record) = item else { continue };
                threads.insert(record.common_pid);
                let Some(format) = file.metadata.formats.by_id(record.id) else { continue };
                formats.insert(format.id, format);
                let functions = ["function", "func", "handler", "callsite", "callback", "ip", "parent_ip"];
                let fields = functions.iter().filter_map(|name| format.field(name));
                addresses.extend(fields.filter_map(|field| field.uint(record.payload)));
                if let Some(callers) = format.field("caller") {
                    // A stack goes on to the end of the record, whatever its declared length.
                    let stack = record.payload.get(callers.offset..).unwrap_or(&[]).chunks_exact(8);
                    addresses.extend(stack.map(|caller| u64::from_le_bytes(caller.try_into().unwrap_or_default())));
                }
            }
            pages.push((cpu.cpu, kept));
        }
    }
    let addresses: Vec<u64> = addresses.into_iter().filter(|&address| address != 0).collect();
    let symbols: BTreeMap<u64, &str> = addresses
        .iter()
        .filter_map(|&address| file.metadata.symbols.find(address).map(|(name, distance)| (address - distance, name)))
        .collect();
    let kallsyms = match file.metadata.symbols.is_empty() {
        true => kernel_symbols::excerpt(&std::fs::read_to_string("/proc/kallsyms").unwrap_or_default(), &addresses),
        false => symbols.iter().map(|(address, name)| format!("{address:016x} T {name}\n")).collect(),
    };
    let name = |tid: &i32| file.metadata.command_lines.name(*tid).map(|name| format!("{tid} {name}\n"));
    let metadata = MetadataText {
        header_page: layout.text(),
        header_event: "# compressed entry header\n".into(),
        event_formats: formats.values().map(|format| (format.system.clone(), format.text())).collect(),
        saved_cmdlines: threads.iter().filter(|tid| **tid != 0).filter_map(name).collect(),
        printk_formats: String::new(),
        kallsyms,
    };
    let stats = |cpu| file.metadata.cpu_stats.iter().find(|(known, _)| *known == cpu).map(|(_, stats)| *stats);
    TraceDat {
        metadata: &metadata,
        layout,
        clock: "mono",
        uname: "",
        version: "cut_case",
        cpu_count: pages.len() as u32,
        cpus: pages.iter().map(|&(cpu, pages)| CpuBytes { cpu, pages, stats: stats(cpu) }).collect(),
    }
    .to_vec()
}
