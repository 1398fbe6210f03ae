//! The events that an explanation uses, with the few fields it needs.
//!
//! Names (threads, functions, interrupts) are not included: most events never need one, see [`crate::read::names`].

pub use archive::trace_event::{FileSystem, Vector, flag};

/// Bits of `prev_state` in `sched_switch`.
pub mod state {
    /// Asleep, and no signal ends it.
    pub const BLOCKED: i64 = 0x02;
    /// Stopped by a signal.
    pub const STOPPED: i64 = 0x04;
    /// Stopped by a debugger.
    pub const TRACED: i64 = 0x08;
    /// It ended, and its parent may still ask how.
    pub const ENDED: i64 = 0x30;
}

/// State that `cpu_idle` reports when the CPU leaves idle.
pub const IDLE_EXIT: u32 = u32::MAX;

/// The event. Addresses are of kernel functions and objects, 0 if the trace lacks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// `prio` is the kernel's: below 100 is real-time, lower is more urgent; `None` if the event does not contain it.
    Switch {
        prev: i32,
        prev_prio: Option<i32>,
        prev_state: i64,
        next: i32,
        next_prio: Option<i32>,
    },
    Waking {
        tid: i32,
        prio: Option<i32>,
        target_cpu: i32,
    },
    Wakeup {
        tid: i32,
        prio: Option<i32>,
        target_cpu: i32,
    },
    Migrate {
        tid: i32,
        from_cpu: i32,
        to_cpu: i32,
    },
    /// Charge of a thread since its previous charge, or since it got the CPU, by the kernel's task clock.
    Runtime {
        tid: i32,
        ran_ns: i64,
    },
    PiSetPrio {
        tid: i32,
        old_prio: Option<i32>,
        new_prio: Option<i32>,
    },
    /// A signal was sent to a thread, or to the process that it leads.
    Signal {
        signal: i32,
        tid: i32,
    },
    /// A control group was frozen, or thawed.
    Freeze {
        frozen: bool,
    },
    /// The thread requested that a file is written out; `device` is the kernel's number, 0 if the event does not
    /// contain it.
    FileSync {
        file_system: FileSystem,
        device: u32,
    },
    IrqEntry {
        irq: i32,
    },
    IrqExit {
        irq: i32,
    },
    VectorEntry {
        vector: Vector,
    },
    VectorExit {
        vector: Vector,
    },
    SoftirqEntry {
        vec: u32,
    },
    SoftirqExit {
        vec: u32,
    },
    SoftirqRaise {
        vec: u32,
    },
    HrtimerStart {
        timer: u64,
        function: u64,
        expires_ns: i64,
        soft_expires_ns: i64,
    },
    HrtimerCancel {
        timer: u64,
    },
    HrtimerExpireEntry {
        timer: u64,
        function: u64,
    },
    HrtimerExpireExit {
        timer: u64,
    },
    TimerExpireEntry {
        function: u64,
    },
    TimerExpireExit,
    /// A work item was queued. `work`: its address.
    WorkQueued {
        work: u64,
    },
    WorkStart {
        work: u64,
        function: u64,
    },
    WorkEnd,
    CsdEntry {
        function: u64,
    },
    CsdExit,
    /// `state` is [`IDLE_EXIT`] on leaving.
    Idle {
        state: u32,
    },
    Frequency {
        khz: u32,
        cpu: u32,
    },
    /// Recorded after the handler ran.
    Nmi {
        handler: u64,
        delta_ns: i64,
    },
    PageFault {
        user: bool,
        address: u64,
    },
    /// A page was allocated. `movable`: for a process or a file, not for the kernel itself.
    PageAllocated {
        movable: bool,
    },
    /// The page count of a process changed. `own`: of the running process.
    MemoryCounted {
        own: bool,
    },
    /// A kernel function was entered, called from inside another.
    Function {
        function: u64,
        caller: u64,
    },
    /// The same with its depth in the thread's calls, from 0.
    GraphEntry {
        function: u64,
        depth: i32,
    },
    GraphExit {
        function: u64,
        depth: i32,
    },
    /// The callers at this instant, see [`crate::replay::trace::CpuActivity::stacks`].
    Stack,
    /// The kernel logged a message. Consoles of kernels that print synchronously write it next, in the same thread.
    Message,
    /// Text written to `trace_marker`.
    Marker,
    /// Any other event: it proves that the CPU was running, and which thread.
    Other,
}

/// One event of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// CLOCK_MONOTONIC, in ns.
    pub ts_ns: i64,
    pub cpu: u32,
    /// Thread that was running; 0 is idle.
    pub tid: i32,
    pub flags: u8,
    /// Preemption-disable depth in the low four bits.
    pub depth: u8,
    pub what: EventKind,
    /// Number of the event's format and the whole record; for rendering only. Empty in synthetic events.
    pub id: u16,
    pub payload: &'a [u8],
}

impl Event<'_> {
    pub fn irqs_on(&self) -> bool {
        self.flags & (flag::IRQS_OFF | flag::HARDIRQ | flag::NMI) == 0
    }

    pub fn needs_resched(&self) -> bool {
        self.flags & (flag::NEED_RESCHED | flag::PREEMPT_RESCHED) != 0
    }

    pub fn is_interrupt_entry(&self) -> bool {
        matches!(self.what, EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. })
    }

    /// Whether the function tracer recorded it.
    pub fn is_function(&self) -> bool {
        matches!(self.what, EventKind::Function { .. } | EventKind::GraphEntry { .. } | EventKind::GraphExit { .. })
    }

    pub fn preempt_off(&self) -> bool {
        self.depth & 0x0f != 0
    }
}
