//! The table of the rules.

use super::{Action, Rule};
use crate::own_word::OwnWord;

pub const HOSTS: &str = "host names";
pub const RELEASES: &str = "kernel releases";
pub const TASKS: &str = "names of threads and programs";
pub const INTERRUPTS: &str = "names of interrupts";
pub const FUNCTIONS: &str = "functions of the kernel";
pub const WORDS: &str = "texts of the kernel and the processor";
/// Texts that no rule names.
pub const UNNAMED: &str = "every other text";

const fn rule(kind: &'static str, action: Action, fields: &'static [&'static str], reason: &'static str) -> Rule {
    Rule { kind, action, fields, reason }
}

/// All rules. A field is in one of them.
pub const RULES: &[Rule] = &[
    rule(HOSTS, Action::Name("host"), &["Environment.hostname"], "a host name names a site, a product or a person"),
    rule(
        "names of runs",
        Action::Name("run"),
        &["Manifest.id"],
        "it has the host name; the time of the run stays in `started_unix_ns`",
    ),
    rule(
        "names of boards",
        Action::Target,
        &["Manifest.target", "PlannedStep.target", "RoleFigures.target"],
        "the user chose it; `local` and the virtual machines of tardy stay",
    ),
    rule(
        "command lines",
        Action::Empty,
        &["Manifest.command", "WatchSettings.command"],
        "they have paths, addresses and names; the settings that they led to stay",
    ),
    rule(
        "kernel command lines",
        Action::Absent,
        &["Environment.command_line"],
        "it has file systems, serial numbers and addresses; isolated CPUs and mitigations have fields of their own",
    ),
    rule(
        RELEASES,
        Action::Release,
        &["Environment.kernel_release"],
        "the version stays, as do `rt` and `rc` with their numbers; the name of a builder does not",
    ),
    rule(
        "boots",
        Action::Name("boot"),
        &["hello.boot_id", "RoleFigures.boot_id"],
        "it names one boot of one machine in its logs",
    ),
    rule(
        "loads",
        Action::Load,
        &["LoadReport.name", "builtin.name", "command.line", "program.name", "PlannedStep.load"],
        "the user's own commands; equal ones stay equal",
    ),
    rule(
        "options and their values",
        Action::LoadOption,
        &["MethodRequest.options", "LoadWord.key", "LoadWord.value", "SettingChange.value"],
        "they can name devices, files and addresses",
    ),
    rule(
        TASKS,
        Action::Task,
        &[
            "RtTask.name",
            "WatchedSeries.name",
            "WatchSettings.comm",
            "TracedTask.name",
            "BusyThread.name",
            "TaskName.comm",
        ],
        "they name products and users; threads of the kernel and of tardy stay",
    ),
    rule(
        "holders of a CPU",
        Action::Holder,
        &["Owner.name", "Segment.name", "HeldInFunction.name", "MaskedStretch.thread", "HeldLock.thread"],
        "threads, interrupts and functions stand in one text there",
    ),
    rule(
        FUNCTIONS,
        Action::Function,
        &[
            "KernelName",
            "HeldInFunction.chain",
            "HeldLock.taker",
            "HeldLock.by",
            "HeldLock.releaser",
            "MaskedStretch.first",
            "MaskedStretch.last",
            "TracedFunction.name",
            "TracedFunction.caller",
            "LatencyTrace.started_at",
            "LatencyTrace.ended_at",
            "kernel.function",
        ],
        "a module may be the user's own",
    ),
    rule(INTERRUPTS, Action::Device, &["Interrupt.name"], "a driver chooses them: `nvme0q1` and `eth0` stay"),
    rule("texts in a trace", Action::Name("text"), &["ForeignText"], "users, programs and drivers write them"),
    rule(
        "paths and files",
        Action::Name("path"),
        &["SettingChange.path", "ImportedFrom.file_name"],
        "paths have names of users and products",
    ),
    rule(
        "plans and variants",
        Action::Name("plan"),
        &["PlannedStep.plan", "PlannedStep.kernel", "PlannedStep.variant"],
        "the user chose them",
    ),
    rule(
        "texts of users",
        Action::Empty,
        &[
            "PlannedStep.text",
            "ImportedFrom.stated",
            "CountedLine.line",
            "WatchSettings.count",
            "unit.name",
            "below.path",
            "container.name",
            "file.path",
            "journal.unit",
            "TracerSettings.functions",
            "TracerSettings.functions_not",
        ],
        "a plan has notes, contacts and commands; lines of output can have anything",
    ),
    rule(
        "stimulus boards",
        Action::Name("board"),
        &["StimulusRequest.address", "StimulusBoard.address"],
        "the address of a board names a network",
    ),
    rule("fio jobs", Action::Absent, &["RunSettings.fio_jobs"], "a job file names devices and files"),
    rule(
        "ingredients of virtual machines",
        Action::Name("ingredient"),
        &["Manifest.ingredients", "FlightRecording.sha256"],
        "a checksum shows who has the same file; equal ones stay equal",
    ),
    rule(
        WORDS,
        Action::KernelText,
        &[
            "Environment.architecture",
            "Environment.kernel_version",
            "Environment.preemption",
            "Environment.cpu_model",
            "Environment.smt",
            "Environment.clocksource",
            "Environment.idle_driver",
            "Environment.idle_governor",
            "Environment.frequency_governors",
            "Environment.mitigations",
            "Environment.virtualisation",
            "Environment.container",
            "KernelSeries.name",
            "unknown.clocksource",
        ],
        "Linux and the firmware write them; words that Linux itself has there stay",
    ),
    rule(
        "figures in texts",
        Action::Figure,
        &[
            "Manifest.tool_version",
            "hello.meter_version",
            "ImportedFrom.version",
            "Environment.cpus_online",
            "Environment.cpus_isolated",
            "Environment.cpus_nohz_full",
            "Environment.fair_server_runtime",
            "Environment.fair_server_period",
            "Environment.load_average",
        ],
        "a figure names nobody",
    ),
    rule(
        "words of formats and measuring programs",
        Action::Name("tool"),
        &["ImportedFrom.tool", "ImportedFrom.format", "MethodRequest.name"],
        "an imported file states them",
    ),
    rule(
        "options of the kernel",
        Action::Own(OwnWord::KernelOption),
        &["Environment.config", "Environment.debug_options"],
        "`CONFIG_HZ=250` stays; a value that is a text does not",
    ),
    rule(
        "trace events",
        Action::Own(OwnWord::Event),
        &["EffectiveSettings.events", "EffectiveSettings.events_absent"],
        "tardy chooses them: `sched:sched_switch`",
    ),
    rule(
        "tracers",
        Action::Own(OwnWord::Tracer),
        &["EffectiveSettings.tracer", "TracerSettings.name", "LatencyTrace.tracer"],
        "the kernel's names: `function_graph`",
    ),
    rule(
        "clocks of a trace",
        Action::Own(OwnWord::TraceClock),
        &["EffectiveSettings.trace_clock"],
        "the kernel's names: `mono`",
    ),
    rule("scheduling policies", Action::Own(OwnWord::Policy), &["RtTask.policy"], "the kernel's names: `fifo`"),
    rule("softirqs", Action::Own(OwnWord::Softirq), &["NamedCount.name"], "the kernel's names: `NET_RX`"),
    rule("resources", Action::Own(OwnWord::Resource), &["Pressure.resource"], "the kernel's names: `memory`"),
    rule("units of loads", Action::Own(OwnWord::LoadUnit), &["LoadReport.unit"], "tardy's words: `messages`"),
    rule("kinds of losses", Action::Own(OwnWord::Loss), &["Loss.what"], "tardy's words: `snapshots`"),
    rule("culprits", Action::Own(OwnWord::Culprit), &["Finding.culprit"], "tardy's words: `blocking-task`"),
    rule(
        "codes of problems",
        Action::Own(OwnWord::Code),
        &["Problem.code", "Remark.code", "Caveat.code"],
        "tardy's words",
    ),
    rule("limits of plans", Action::Own(OwnWord::Limit), &["PlannedLimit.limit"], "what tardy reads as a limit stays"),
    rule("rates of plans", Action::Own(OwnWord::Rate), &["PlannedLimit.allow"], "what tardy reads as a rate stays"),
    rule("accepted doubts", Action::Own(OwnWord::Doubt), &["PlannedStep.accept"], "tardy's words: `virtual`"),
    rule(
        "sentences about problems",
        Action::Code,
        &["Problem.text", "Remark.text", "Caveat.text"],
        "they quote names; the page of problems says what a code means",
    ),
    rule(
        "sentences about late wake-ups",
        Action::Rewritten,
        &[
            "Finding.sentence",
            "Finding.evidence",
            "Finding.confirm",
            "Finding.fix",
            "Mark.text",
            "Explanation.elsewhere",
        ],
        "they quote names",
    ),
];
