//! The context on a CPU at an instant, and its name in a ledger.

use crate::read::event::{IDLE_EXIT, Vector};
use crate::read::names::Names;
use archive::culprit::Holder;
use archive::explanation::OwnerKind;

/// The innermost context of a CPU. `function` is the function it executes, 0 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// The recorder has no data.
    Untraced,
    Nmi {
        handler: u64,
    },
    Vector {
        vector: Vector,
        function: u64,
    },
    Irq {
        irq: i32,
        function: u64,
    },
    Softirq {
        vec: u32,
        tid: i32,
        function: u64,
    },
    Task {
        tid: i32,
        function: u64,
    },
    /// `state` is [`IDLE_EXIT`] if the idle task runs without being in a sleep state.
    Idle {
        state: u32,
    },
}

impl Context {
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Idle { .. })
    }

    pub fn is_hardirq(self) -> bool {
        matches!(self, Self::Vector { .. } | Self::Irq { .. })
    }

    /// Whether it runs on top of a thread, without asking the scheduler.
    pub fn is_interrupting(self) -> bool {
        matches!(self, Self::Nmi { .. } | Self::Vector { .. } | Self::Irq { .. } | Self::Softirq { .. })
    }

    /// Thread on whose behalf or on top of which this runs, if the context contains it.
    pub fn tid(self) -> Option<i32> {
        match self {
            Self::Task { tid, .. } | Self::Softirq { tid, .. } => Some(tid),
            _ => None,
        }
    }

    /// The function it executes, if known.
    pub fn function(self) -> Option<u64> {
        match self {
            Self::Nmi { handler: function }
            | Self::Vector { function, .. }
            | Self::Irq { function, .. }
            | Self::Softirq { function, .. }
            | Self::Task { function, .. } => (function != 0).then_some(function),
            Self::Idle { .. } | Self::Untraced => None,
        }
    }

    /// The same without the function it executes.
    #[must_use]
    pub fn holder(mut self) -> Self {
        match &mut self {
            Self::Vector { function, .. }
            | Self::Irq { function, .. }
            | Self::Softirq { function, .. }
            | Self::Task { function, .. } => *function = 0,
            Self::Nmi { .. } | Self::Idle { .. } | Self::Untraced => {}
        }
        self
    }

    /// Its name in a ledger.
    pub fn name(self, names: &Names) -> String {
        words::holders::holder(&self.named(names))
    }

    /// The same as a fact.
    pub fn named(self, names: &Names) -> Holder {
        let function = self.function().map(|function| names.function_name(function));
        match self {
            Self::Untraced => Holder::Untraced,
            Self::Nmi { .. } => Holder::Nmi { function },
            Self::Vector { vector, .. } => Holder::Vector { vector, function },
            Self::Irq { irq, .. } => Holder::Irq { irq: names.interrupt(irq), function },
            Self::Softirq { vec, tid, .. } => {
                Holder::Softirq { softirq: vec, on: (tid != 0).then(|| names.task_name(tid)), function }
            }
            Self::Task { tid, .. } => Holder::Task { task: names.task_name(tid), function },
            Self::Idle { state } => Holder::Idle { state: (state != IDLE_EXIT).then_some(state) },
        }
    }
}

/// Threads of the tool: the measuring thread and the others.
#[derive(Debug, Clone, Default)]
pub struct ToolThreads {
    pub own_tid: i32,
    /// Kernel priority of the measuring thread, if an event contained it.
    pub own_prio: Option<i32>,
    pub tool_tids: Vec<i32>,
}

impl ToolThreads {
    pub fn kind(&self, context: Context, names: &Names) -> OwnerKind {
        match context {
            Context::Untraced => OwnerKind::Untraced,
            Context::Nmi { .. } => OwnerKind::Nmi,
            Context::Vector { .. } | Context::Irq { .. } => OwnerKind::Hardirq,
            Context::Softirq { .. } => OwnerKind::Softirq,
            Context::Idle { .. } => OwnerKind::Idle,
            Context::Task { tid, .. } if tid == self.own_tid => OwnerKind::Own,
            Context::Task { tid, .. } if self.tool_tids.contains(&tid) => OwnerKind::Tool,
            Context::Task { tid, .. } if names.is_rt(tid) => OwnerKind::RtTask,
            Context::Task { .. } => OwnerKind::Task,
        }
    }
}
