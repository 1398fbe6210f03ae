//! The kernel's own tracers during the measurement, each on a kernel that has it.

use super::lab::{KERNEL, Lab, ONE_THREAD, assert_ledgers_add_up, text};
use super::saved_state;
use super::traced::{self, Traced};
use archive::reader::Run;
use archive::spike::SpikeReason;
use archive::tracer::KernelSeries;

/// Linux runs function_graph in instances from 6.12 on.
const KERNEL_OF_GRAPHS: &str = "debian:6.12-rt";
/// An emulated processor needs seconds to patch every function of a kernel; these cover the load.
pub const FUNCTIONS: &str = "d_*,__d_*,*lookup*,path_*,shmem_*,vfs_*,do_sys*,hrtimer_*,*schedule*,try_to_wake_up";

/// No change is left: the journal compares every setting with its earlier value, and reports what it could not restore.
fn assert_restored(run: &Run) {
    let left: Vec<_> = run.problems.iter().filter(|problem| problem.text.contains("not put back")).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn series<'a>(run: &'a Run, name: &str) -> Vec<&'a KernelSeries> {
    run.kernel_series.values().filter(|series| series.name == name).collect()
}

/// Consistent figures, and enough of them.
fn assert_measured(run: &Run, name: &str, cpus: &[u32], least: u64) {
    let found = series(run, name);
    assert_eq!(found.iter().map(|series| series.cpu).collect::<Vec<_>>(), cpus, "{name}");
    for series in found {
        assert!(series.count >= least, "{name}: {series:?}");
        assert_eq!(series.histogram.total(), series.count, "{name}");
        assert_eq!(series.worst.first().map(|worst| worst.ns), series.max_ns, "{name}");
        assert!(series.min_ns <= series.max_ns && series.sum_ns >= series.max_ns.unwrap_or(0), "{name}: {series:?}");
    }
}

/// Functions were recorded, named, and read: an account of a spike has some.
fn assert_functions_found(run: &Run, tracer: &str) {
    assert_eq!(run.effective.as_ref().unwrap().tracer.as_deref(), Some(tracer));
    let explanations = assert_ledgers_add_up(run);
    let chains = explanations.iter().filter_map(|explanation| explanation.functions.as_ref());
    let named = chains.flat_map(|functions| &functions.held).any(|held| !held.chain.is_empty());
    assert!(named, "{tracer}: no function is named in any account");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn functions_and_stacks_are_in_the_snapshots() {
    let lab = Lab::with(KERNEL, ONE_THREAD);
    let words = ["--duration", "3s", "--load", "dentry", "--tracer", "function", "--functions", FUNCTIONS, "--stack"];
    let (run, _) = lab.measured("run", &words);
    assert_functions_found(&run, "function");
    assert_restored(&run);
    let with_trace = |spike: &&archive::spike::Spike| spike.reason != SpikeReason::Control && spike.snapshot.is_some();
    let traces: Vec<Vec<u8>> =
        run.spikes.iter().filter(with_trace).map(|spike| run.spike_trace(spike.number).unwrap()).collect();
    let has = |word: &str| traces.iter().any(|trace| trace.windows(word.len()).any(|at| at == word.as_bytes()));
    // The names in a trace are those of the addresses in it.
    for word in ["name: function\n", "name: kernel_stack\n", "hrtimer_wakeup\n", "asm_sysvec_apic_timer_interrupt\n"] {
        assert!(has(word), "{word:?} is in no trace");
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_graph_of_functions_is_recorded_where_an_instance_can_and_refused_elsewhere() {
    let words = ["--duration", "3s", "--load", "dentry", "--tracer", "function_graph", "--functions", FUNCTIONS];
    let lab = Lab::with(KERNEL_OF_GRAPHS, ONE_THREAD);
    let (run, _) = lab.measured("run", &words);
    assert_functions_found(&run, "function_graph");
    assert_restored(&run);

    let refused = Lab::with(KERNEL, &[]).run(&words);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("function_graph in its top-level buffer only") && said.contains("6.12"), "{said}");
    assert!(said.contains("room for one tracer of function returns"), "it says why: {said}");
}

/// Beginnings of the names of virtio_console functions that the kernel calls while a guest sends and receives.
const OF_VIRTIO_CONSOLE: [&str; 10] = [
    "port_fops_",
    "__send_to_port",
    "reclaim_dma_bufs",
    "alloc_buf",
    "free_buf",
    "wait_port_writable",
    "in_intr",
    "out_intr",
    "fill_readbuf",
    "discard_port_data",
];

/// The functions in the traces of all spikes, with the threads that called them.
fn functions(lab: &Lab, run: &Run) -> Vec<Traced> {
    let spikes = run.spikes.iter().filter(|spike| spike.snapshot.is_some());
    let traces = spikes.map(|spike| lab.path(&format!("run/spikes/{:04}/trace.dat", spike.number)));
    traces.flat_map(|trace| traced::events(&trace)).filter(|event| event.text.starts_with("function: ")).collect()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn functions_of_chosen_threads_of_what_they_start_and_of_modules_are_recorded_and_no_others() {
    // Machines that continue from one state assign the same numbers to the threads started next.
    saved_state::with_lab("chosen", chosen_functions);
}

fn chosen_functions(lab: &Lab) {
    let load = ["--duration", "2s", "--load", "dentry"];
    let (first, _) = lab.measured("run", &load);
    let own = first.effective.unwrap().tool_tids;
    assert!(!own.is_empty());

    let own_words: Vec<String> = own.iter().flat_map(|tid| ["--trace-pid".into(), tid.to_string()]).collect();
    let mut words = [&load[..], &["--tracer", "function", "--trace-children", "--functions", FUNCTIONS]].concat();
    words.extend(own_words.iter().map(String::as_str));
    let (run, _) = lab.measured_again("run", &words);
    let found = functions(lab, &run);
    assert!(found.iter().any(|event| event.thread == "load-dentry" && !own.contains(&event.tid)), "no child: {own:?}");
    // Everything that the meter starts is a child, including the measuring threads.
    let ours = |event: &&Traced| ["tardy", "load-"].iter().any(|beginning| event.thread.starts_with(beginning));
    let foreign = found.iter().find(|event| !own.contains(&event.tid) && !ours(event));
    assert!(foreign.is_none(), "nobody asked for {foreign:?}");

    let words = [&load[..], &["--tracer", "function", "--functions", ":mod:virtio_console"]].concat();
    let (run, _) = lab.measured_again("run", &words);
    let found = functions(lab, &run);
    // All output of the guest goes through this module, also while it waits for the next spike.
    assert!(!found.is_empty(), "no function of the module");
    let is_of_module = |event: &Traced| {
        let name = event.text.trim_start_matches("function: ");
        OF_VIRTIO_CONSOLE.iter().any(|beginning| name.starts_with(beginning))
    };
    let foreign = found.iter().find(|event| !is_of_module(event));
    assert!(foreign.is_none(), "not of the module: {foreign:?}");
    assert_restored(&run);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn wake_ups_above_a_threshold_and_those_of_deadline_threads_are_kept() {
    saved_state::with_lab("wake-ups", chosen_wake_ups);
}

fn chosen_wake_ups(lab: &Lab) {
    // Some emulated wake-ups take less than this, but none of the kept ones.
    let words = ["--duration", "2s", "--tracer", "wakeup", "--tracer-threshold", "20us", "--functions", FUNCTIONS];
    let (run, said) = lab.measured("run", &words);
    assert_restored(&run);
    assert!(!run.latency_traces.is_empty(), "{said}");
    assert!(run.latency_traces.iter().all(|trace| trace.tracer == "wakeup" && trace.latency_ns > 20_000), "{said}");
    let shorter = run.latency_traces.windows(2).any(|pair| pair[1].latency_ns <= pair[0].latency_ns);
    assert!(shorter, "each is kept that is above the threshold, not new maxima alone: {:?}", run.latency_traces);

    let words = ["--duration", "2s", "--policy", "deadline", "--tracer", "wakeup_dl", "--functions", FUNCTIONS];
    let (run, said) = lab.measured_again("run", &words);
    assert_restored(&run);
    assert!(!run.latency_traces.is_empty(), "{said}");
    for trace in &run.latency_traces {
        // The kernel's number of SCHED_DEADLINE.
        assert!(trace.task.as_ref().is_some_and(|task| task.policy == 6), "{trace:?}");
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn the_longest_wake_ups_and_the_noise_are_kept_beside_the_measurement() {
    let lab = Lab::with(KERNEL, &[]);
    // Unusual values first: the previous values are restored, not the defaults of a fresh kernel.
    let odd = "/sys/kernel/tracing/osnoise/stop_tracing_us=987654";
    let words = [
        "--more",
        "--duration",
        "4s",
        "--tracer",
        "wakeup_rt",
        "--functions",
        FUNCTIONS,
        "--source",
        "osnoise",
        "--set",
        odd,
    ];
    let (run, said) = lab.measured("run", &words);
    assert_restored(&run);

    assert!(!run.latency_traces.is_empty(), "{said}");
    for (at, trace) in run.latency_traces.iter().enumerate() {
        assert_eq!((trace.number as usize, trace.tracer.as_str()), (at + 1, "wakeup_rt"));
        assert!(trace.latency_ns > 0 && trace.entries > 0 && trace.cpu.is_some(), "{trace:?}");
        assert!(trace.task.as_ref().is_some_and(|task| task.priority > 0), "{trace:?}");
        let kept = text(&lab.path(&format!("run/tracer/{:04}.txt", trace.number)));
        assert!(kept.starts_with("# tracer: wakeup_rt\n"), "{kept}");
    }
    let growing = run.latency_traces.windows(2).all(|pair| pair[0].latency_ns < pair[1].latency_ns);
    assert!(growing, "each is longer than the one before: {:?}", run.latency_traces);
    assert!(said.contains("tracer wakeup_rt kept"), "{said}");

    assert_measured(&run, "osnoise noise", &[0, 1], 1);
    assert_measured(&run, "osnoise irq", &[0, 1], 100);
    for (noise, longest) in series(&run, "osnoise noise").iter().zip(series(&run, "osnoise longest")) {
        assert!(noise.count == longest.count && noise.sum_ns >= longest.sum_ns, "a whole and its part: {noise:?}");
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn timerlat_and_hwlat_measure_beside_ours() {
    let lab = Lab::with(KERNEL, &[]);
    let odd = "/sys/kernel/tracing/osnoise/timerlat_period_us=777";
    let words =
        ["--more", "--duration", "4s", "--cpus", "0", "--tracer", "timerlat", "--source", "hwlat", "--set", odd];
    let (run, said) = lab.measured("run", &words);
    assert_restored(&run);

    assert_measured(&run, "timerlat irq", &[0], 300);
    assert_measured(&run, "timerlat thread", &[0], 300);
    let [irq, thread] = ["timerlat irq", "timerlat thread"].map(|name| series(&run, name)[0].min_ns.unwrap());
    assert!(irq < thread, "a thread cannot be woken before its timer's interrupt: {irq} {thread}");
    assert!(said.contains("timerlat thread"), "{said}");
    // It stops the CPU that it samples, so it samples where nothing is measured.
    assert!(run.problems.iter().any(|problem| problem.text.contains("on CPU 1, which is not measured")));
    assert_measured(&run, "hwlat inner", &[1], 1);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_tracer_the_kernel_lacks_is_named_with_its_option() {
    let refused = Lab::with(KERNEL, &[]).run(&["--duration", "1s", "--tracer", "irqsoff"]);
    assert_eq!(refused.status.code(), Some(3));
    let said = String::from_utf8_lossy(&refused.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("CONFIG_IRQSOFF_TRACER") && said.contains("wakeup_rt"), "{said}");
}
