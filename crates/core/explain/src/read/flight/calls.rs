//! Follows the calls of every thread through the blocks.
//!
//! A block that begins a function was called, or jumped to, which returns together. A block in the middle of another
//! function is a return to it. A function that is returned to without having been entered was entered before the record
//! began: the first pass collects those, so that the second knows all callers from the start.
//!
//! Threads have no names here. After every switch the processor belongs to a new thread; the last of all is the
//! measuring thread, because it ends the record.

use super::blocks::{Blocks, Function, Place};
use super::role::Role;
use crate::read::event::{Vector, flag};
use std::collections::HashMap;

/// Deeper calls are invalid: kernel stacks have 16 KB.
const FRAMES_MAX: usize = 256;
const PREEMPT_DEPTH_MAX: i32 = 4;

/// A call that has not returned.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub function: u32,
    broke_in: Option<BrokeIn>,
}

/// State that an interrupt or a fault restores when it returns.
#[derive(Debug, Clone, Copy)]
struct BrokeIn {
    masked_before: bool,
    /// The interrupt, until its own work is done.
    interrupt: Option<Option<Vector>>,
}

/// Action of the code at an instant. Calls are reported before they are entered, returns before they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEvent {
    Enter {
        function: u32,
    },
    Exit {
        function: u32,
    },
    InterruptEnter(Option<Vector>),
    InterruptExit(Option<Vector>),
    PageFault {
        user: bool,
    },
    /// Reported twice: with the frames of the previous thread, and with those of the next.
    Leaves {
        to: u32,
        waits: bool,
    },
    Comes,
}

/// An instant of the record.
#[derive(Debug)]
pub struct Instant<'f> {
    pub position: u64,
    /// Number of switches before it, which identifies the thread.
    pub thread: u32,
    /// Outermost first.
    pub frames: &'f [Frame],
    /// The kernel's event flags.
    pub flags: u8,
    pub preempt_depth: u8,
    pub what: CallEvent,
}

/// State at the beginning, as determined by the first pass.
#[derive(Debug, Default)]
struct Beginning {
    /// Functions that were open, by thread, the innermost first.
    open: HashMap<u32, Vec<u32>>,
    preempt_depth: i32,
    masked: bool,
}

/// Reports all events, in order.
pub fn follow(blocks: &Blocks, report: &mut dyn FnMut(&Instant)) {
    let first = Follower::new(blocks, Beginning::default()).go(&mut |_| ());
    Follower::new(blocks, first).go(report);
}

struct Follower<'b> {
    blocks: &'b Blocks,
    beginning: Beginning,
    thread: u32,
    frames: Vec<Frame>,
    masked: bool,
    preempt_depth: i32,
    /// Facts found about the beginning.
    learnt: Beginning,
    knows_masked: bool,
    knows_depth: bool,
}

impl<'b> Follower<'b> {
    fn new(blocks: &'b Blocks, beginning: Beginning) -> Self {
        Self {
            blocks,
            thread: 0,
            frames: Vec::new(),
            masked: beginning.masked,
            preempt_depth: beginning.preempt_depth,
            learnt: Beginning::default(),
            knows_masked: false,
            knows_depth: false,
            beginning,
        }
    }

    fn go(mut self, report: &mut dyn FnMut(&Instant)) -> Beginning {
        self.frames = self.frames_at_first();
        let mut resumes = false;
        for step in &self.blocks.steps {
            let kind = &self.blocks.kinds[step.kind as usize];
            if resumes {
                self.return_from_interrupt(step.position, report);
            }
            match kind.place {
                Place::User => self.be_in_user_space(step.position, report),
                Place::Nameless => {}
                Place::Function(function) => self.be_in(function, kind.begins, step.position, report),
            }
            if let Some(masks) = kind.masks {
                // Redundant masking is rarer than masking by the first code that does it.
                self.know_masked(!masks);
                self.masked = masks;
            }
            self.preempt_depth = (self.preempt_depth + kind.preempt).min(PREEMPT_DEPTH_MAX);
            if !self.knows_depth {
                self.learnt.preempt_depth = self.learnt.preempt_depth.max(-self.preempt_depth);
            }
            resumes = kind.returns_from_interrupt;
            if self.frames.last().is_some_and(|last| kind.begins && self.function(last.function).role == Role::Switches)
            {
                self.switch(step.position, report);
            }
        }
        self.learnt
    }

    fn function(&self, number: u32) -> &'b Function {
        &self.blocks.functions[number as usize]
    }

    fn know_masked(&mut self, masked: bool) {
        if !self.knows_masked {
            self.learnt.masked = masked;
            self.knows_masked = true;
        }
    }

    fn frames_at_first(&self) -> Vec<Frame> {
        let open = self.beginning.open.get(&self.thread).map_or(&[][..], Vec::as_slice);
        open.iter().rev().map(|&function| Frame { function, broke_in: None }).collect()
    }

    fn report(&self, position: u64, what: CallEvent, report: &mut dyn FnMut(&Instant)) {
        let mut flags = if self.masked { flag::IRQS_OFF } else { 0 };
        for frame in &self.frames {
            if frame.broke_in.is_some_and(|broke_in| broke_in.interrupt.is_some()) {
                flags |= flag::HARDIRQ;
            }
            if matches!(self.function(frame.function).role, Role::Softirq(_)) {
                flags |= flag::SOFTIRQ;
            }
        }
        let preempt_depth = self.preempt_depth.clamp(0, PREEMPT_DEPTH_MAX) as u8;
        report(&Instant { position, thread: self.thread, frames: &self.frames, flags, preempt_depth, what });
    }

    fn be_in(&mut self, number: u32, begins: bool, position: u64, report: &mut dyn FnMut(&Instant)) {
        let role = self.function(number).role;
        if role == Role::Passage {
            return;
        }
        if begins {
            return self.enter(number, role, position, report);
        }
        if self.frames.last().is_some_and(|last| last.function == number) {
            return;
        }
        let floor = self.frames.iter().rposition(|frame| frame.broke_in.is_some()).unwrap_or(0);
        let known = self.frames.get(floor..).unwrap_or(&[]).iter().rposition(|frame| frame.function == number);
        match known {
            Some(index) => self.leave_down_to(floor + index + 1, position, report),
            None => {
                let keeps =
                    if self.frames.get(floor).is_some_and(|frame| frame.broke_in.is_some()) { floor + 1 } else { 0 };
                self.leave_down_to(keeps, position, report);
                if keeps == 0 {
                    self.learnt.open.entry(self.thread).or_default().push(number);
                }
                self.push(Frame { function: number, broke_in: None });
            }
        }
    }

    fn enter(&mut self, number: u32, role: Role, position: u64, report: &mut dyn FnMut(&Instant)) {
        let mut broke_in = None;
        match role {
            Role::Interrupt(vector) => {
                self.know_masked(false);
                broke_in = Some(BrokeIn { masked_before: self.masked, interrupt: Some(vector) });
                self.masked = true;
                self.report(position, CallEvent::InterruptEnter(vector), report);
            }
            Role::Fault { of_page } => {
                broke_in = Some(BrokeIn { masked_before: self.masked, interrupt: None });
                self.masked = true;
                if of_page {
                    self.report(position, CallEvent::PageFault { user: self.frames.is_empty() }, report);
                }
            }
            Role::InterruptDone => self.finish_interrupt(position, report),
            Role::LocksSoftirqs => {
                let name = &self.function(number).name;
                self.preempt_depth += if name.contains("unlock") { 0 } else { 1 };
            }
            _ => {}
        }
        if self.frames.is_empty() && broke_in.is_none() {
            // A system call starts with interrupts masked.
            self.masked |= self.function(number).name.starts_with("entry_SYSCALL");
        }
        self.report(position, CallEvent::Enter { function: number }, report);
        self.push(Frame { function: number, broke_in });
    }

    fn push(&mut self, frame: Frame) {
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(frame);
        }
    }

    /// The open interrupt has done its own work.
    fn finish_interrupt(&mut self, position: u64, report: &mut dyn FnMut(&Instant)) {
        let open = self.frames.iter_mut().rev().find_map(|frame| frame.broke_in.as_mut());
        if let Some(vector) = open.and_then(|broke_in| broke_in.interrupt.take()) {
            self.report(position, CallEvent::InterruptExit(vector), report);
        }
    }

    fn leave_down_to(&mut self, count: usize, position: u64, report: &mut dyn FnMut(&Instant)) {
        while self.frames.len() > count {
            if self.frames.last().is_some_and(|frame| frame.broke_in.is_some()) {
                self.finish_interrupt(position, report);
            }
            if let Some(&last) = self.frames.last() {
                self.report(position, CallEvent::Exit { function: last.function }, report);
            }
            let left = self.frames.pop();
            if let Some(broke_in) = left.and_then(|frame| frame.broke_in) {
                self.masked = broke_in.masked_before;
            }
        }
    }

    fn return_from_interrupt(&mut self, position: u64, report: &mut dyn FnMut(&Instant)) {
        if let Some(broke_in) = self.frames.iter().rposition(|frame| frame.broke_in.is_some()) {
            self.leave_down_to(broke_in, position, report);
        }
    }

    fn be_in_user_space(&mut self, position: u64, report: &mut dyn FnMut(&Instant)) {
        self.leave_down_to(0, position, report);
        (self.masked, self.preempt_depth) = (false, 0);
        (self.knows_depth, self.knows_masked) = (true, true);
    }

    fn switch(&mut self, position: u64, report: &mut dyn FnMut(&Instant)) {
        let waits = self.waits();
        self.report(position, CallEvent::Leaves { to: self.thread + 1, waits }, report);
        self.thread += 1;
        self.frames = self.frames_at_first();
        self.report(position, CallEvent::Comes, report);
    }

    /// Whether the previous thread has to wait, or is still runnable.
    fn waits(&self) -> bool {
        let role = |at: usize| self.frames.get(at).map(|frame| self.function(frame.function).role);
        let Some(chooses) = self.frames.iter().rposition(|frame| self.function(frame.function).role == Role::Schedules)
        else {
            return false;
        };
        let caller = chooses.checked_sub(1).and_then(role);
        let before = chooses.checked_sub(2).and_then(role);
        caller == Some(Role::MayWait) && !matches!(before, Some(Role::LeavesKernel | Role::GivesWay))
    }
}

/// Number of threads that can be distinguished in a record.
pub fn threads(blocks: &Blocks) -> u32 {
    let switches = blocks.steps.iter().filter(|step| {
        let kind = &blocks.kinds[step.kind as usize];
        let place = kind.place;
        kind.begins
            && matches!(place, Place::Function(number) if blocks.functions[number as usize].role == Role::Switches)
    });
    switches.count() as u32 + 1
}
