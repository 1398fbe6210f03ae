//! Assigns every nanosecond between due and seen to exactly one phase and one owner.

use crate::cut::phases::Span;
use crate::read::names::Names;
use crate::replay::context::{Context, ToolThreads};
use crate::replay::trace::{CpuActivity, Trace};
use archive::explanation::{Owner, OwnerKind, Phase, PhaseName};
use archive::owner::Standstill;
use std::collections::HashMap;

/// Named owners of one phase; the rest is combined into one owner per kind.
const OWNERS_NAMED_MAX: usize = 40;

/// The owner of a stretch: the context that held the CPU, or nothing that the kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    Held(Context),
    /// The CPU could have been interrupted and was not; the context it was in.
    SilenceThisCpu(Context),
    /// No CPU recorded anything.
    SilenceAllCpus(Context),
    /// The CPU recorded nothing in the middle of code that never takes this long.
    StoodStill(Context),
    /// The hypervisor did not execute this CPU, according to its host or the steal clock; the context that would have
    /// run.
    NotExecuted(Context),
    /// The tool recorded a stack trace in this context.
    StackRecorded(Context),
}

impl Answer {
    pub fn context(self) -> Context {
        match self {
            Self::Held(context)
            | Self::SilenceThisCpu(context)
            | Self::SilenceAllCpus(context)
            | Self::StoodStill(context)
            | Self::NotExecuted(context)
            | Self::StackRecorded(context) => context,
        }
    }

    pub fn kind(self, tool_threads: &ToolThreads, names: &Names) -> OwnerKind {
        match self {
            Self::Held(context) => tool_threads.kind(context, names),
            Self::SilenceThisCpu(_) | Self::StoodStill(_) => OwnerKind::SilenceThisCpu,
            Self::NotExecuted(_) => OwnerKind::Steal,
            Self::StackRecorded(_) => OwnerKind::Tool,
            Self::SilenceAllCpus(_) => OwnerKind::SilenceAllCpus,
        }
    }

    pub fn name(self, names: &Names) -> String {
        let holder = self.context().name(names);
        let why = match self {
            Self::Held(_) => return holder,
            Self::SilenceThisCpu(_) => Standstill::NotInterrupted,
            Self::StoodStill(_) => Standstill::InCode,
            Self::NotExecuted(_) => Standstill::NotExecuted,
            Self::StackRecorded(_) => Standstill::StackRecorded,
            Self::SilenceAllCpus(_) => Standstill::AllCpus,
        };
        words::holders::standstill(why, &holder)
    }
}

/// A stretch of the wake-up with one phase and one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub phase: PhaseName,
    pub cpu: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub answer: Answer,
}

impl Piece {
    /// A state at an instant in the middle holds for most of the piece, if it changes once.
    pub fn middle_ns(&self) -> i64 {
        i64::midpoint(self.start_ns, self.end_ns)
    }

    pub fn ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

/// Intersects the spans with the activity of their CPUs. The pieces partition the spans.
pub fn pieces(spans: &[Span], trace: &Trace) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for span in spans {
        walk(span, trace.cpu(span.cpu), &mut pieces);
    }
    pieces
}

fn walk(span: &Span, activity: Option<&CpuActivity>, pieces: &mut Vec<Piece>) {
    let mut cursor_ns = span.start_ns;
    let mut push = |until_ns: i64, context: Context, cursor_ns: &mut i64| {
        let end_ns = until_ns.clamp(*cursor_ns, span.end_ns);
        if end_ns > *cursor_ns {
            let answer = Answer::Held(context);
            pieces.push(Piece { phase: span.phase, cpu: span.cpu, start_ns: *cursor_ns, end_ns, answer });
            *cursor_ns = end_ns;
        }
    };
    for interval in activity.map_or(&[][..], |activity| activity.overlapping(span.start_ns, span.end_ns)) {
        push(interval.start_ns, Context::Untraced, &mut cursor_ns);
        push(interval.end_ns, interval.context, &mut cursor_ns);
    }
    push(span.end_ns, Context::Untraced, &mut cursor_ns);
}

/// Sums the pieces into phases in their order of time, owners largest first.
pub fn phases(pieces: &[Piece], tool_threads: &ToolThreads, names: &Names) -> Vec<Phase> {
    let mut sums: HashMap<(PhaseName, Answer), i64> = HashMap::new();
    for piece in pieces {
        *sums.entry((piece.phase, piece.answer)).or_default() += piece.ns();
    }
    let mut phases: Vec<Phase> = Vec::new();
    let mut rows: Vec<((PhaseName, Answer), i64)> = sums.into_iter().collect();
    rows.sort_by_key(|&((phase, answer), ns)| (phase, std::cmp::Reverse(ns), answer));
    for ((name, answer), ns) in rows {
        if phases.last().is_none_or(|phase| phase.name != name) {
            phases.push(Phase { name, ns: 0, owners: Vec::new() });
        }
        let Some(phase) = phases.last_mut() else { continue };
        phase.ns += ns;
        let kind = answer.kind(tool_threads, names);
        let mut owner = Owner { kind, name: answer.name(names), ns };
        if phase.owners.len() >= OWNERS_NAMED_MAX {
            owner.name = "others".into();
        }
        match phase.owners.iter_mut().find(|known| known.kind == kind && known.name == owner.name) {
            Some(known) => known.ns += ns,
            None => phase.owners.push(owner),
        }
    }
    for phase in &mut phases {
        phase.owners.sort_by_key(|owner| std::cmp::Reverse(owner.ns));
    }
    phases
}
