//! Follows the calls of one CPU from its function records, and finds the function in which given stretches were spent.
//!
//! A function entry contains its caller, so every function above the caller on the stack has returned. The time of that
//! return is not recorded: until the next entry the time counts for the function entered last, unless that was the last
//! step of the exit from the kernel, or an interrupt that came in then returned to user space. Graph records contain
//! depth and return, stack traces all callers of an instant.

use super::path_tree::{PathTree, TOP};
use super::per_thread::{PerThread, Reset};
use super::running::{Continuity, Running};
use crate::read::event::{Event, EventKind, flag};
use crate::read::names::Names;
use crate::read::unwinding::{Role, thread_part};
use crate::replay::trace::CpuActivity;
use archive::functions::{ChainSource, USER_SPACE};
use std::collections::HashMap;

/// Minimum percentage of the time for a function with its callees to be named; the first is preferred.
const MOST_PERCENT: [i64; 2] = [80, 50];
/// Deeper calls are invalid: kernel stacks have 16 KB.
pub const FRAMES_MAX: usize = 256;
/// A frame below the first function that the trace shows.
const UNKNOWN: u32 = u32::MAX - 1;
/// Numbers from here on are threads.
const THREADS: u32 = 1 << 24;

/// The call path on which most of the time was spent, innermost first, and the time in the innermost function.
/// `stretches` ascend, do not overlap, and sum to `total_ns`.
pub fn most_of(
    activity: &CpuActivity,
    names: &Names,
    stretches: &[(i64, i64)],
    total_ns: i64,
    level: Level,
) -> Option<Most> {
    if !activity.events.iter().any(Event::is_function) {
        return None;
    }
    let mut follower = Follower::new(activity, names, stretches, level);
    for event in &activity.events {
        follower.feed(event);
    }
    follower.advance(i64::MAX);
    let shares = MOST_PERCENT.iter().map(|percent| total_ns / 100 * percent);
    let heaviest = shares.filter_map(|ns| follower.tree.heaviest(ns, |function| function < THREADS)).next()?;
    let ns = heaviest.ns;
    let source = if follower.graph { ChainSource::Graph } else { ChainSource::Entries };
    let name = |number: u32| follower.function_names.get(number as usize).cloned().unwrap_or_default();
    let chain: Vec<String> = heaviest.path.into_iter().map(name).collect();
    let in_user_space = chain.first().is_some_and(|name| name == USER_SPACE);
    let is_part = |part_ns: i64, percent: i64| part_ns.saturating_mul(100) >= ns.saturating_mul(percent);
    // A few long pauses are as doubtful as one; many short ones are a function that is called often.
    let paused = is_part(heaviest.own_ns, MOST_PERCENT[0]) && is_part(heaviest.longest_pause_ns, MOST_PERCENT[1]);
    let last_entered = source == ChainSource::Entries && paused && !in_user_space;
    Some(Most { ns, chain, source, last_entered })
}

/// The function in which most of some time was spent.
#[derive(Debug)]
pub struct Most {
    /// Time of the innermost function including its callees.
    pub ns: i64,
    /// Innermost first.
    pub chain: Vec<String>,
    pub source: ChainSource,
    /// Nothing was recorded for most of the time: it may have been spent where no function can be traced.
    pub last_entered: bool,
}

/// Selects whose calls are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Calls of the thread, without the calls of an interrupt on top of it.
    Thread,
    /// Calls of the interrupt.
    Interrupt,
    /// A softirq may run in a thread or at the end of an interrupt.
    Any,
}

/// The open calls of a thread, outermost first.
#[derive(Debug, Default, Clone)]
struct Frames {
    functions: Vec<u32>,
    /// Where the frames of an interrupt begin, while one is open.
    interrupt: Option<usize>,
    /// Frames that seemed to have returned because an unknown caller appeared: some functions cannot be traced.
    doubted: Vec<u32>,
    /// The same for the interrupt.
    doubted_of_interrupt: Vec<u32>,
    /// Time between the thread's last function and that interrupt, by node.
    before_interrupt: Option<(usize, i64)>,
}

struct Follower<'s> {
    activity: &'s CpuActivity<'s>,
    names: &'s Names,
    tree: PathTree,
    level: Level,
    /// Stretches that are not over yet.
    stretches: &'s [(i64, i64)],
    cursor_ns: i64,
    running: Running<'s>,
    /// Time since the last record about calls: thread, node, ns.
    since: (i32, usize, i64),
    threads: PerThread<Frames>,
    threads_met: HashMap<i32, u32>,
    /// The path that the last time was assigned to.
    path: Path,
    /// Own numbers of the functions of [`Names`], by their numbers there; [`UNKNOWN`] until first use.
    by_number: Vec<u32>,
    /// Own numbers of the addresses that are not among them.
    by_address: HashMap<u64, u32>,
    by_name: HashMap<String, u32>,
    function_names: Vec<String>,
    roles: Vec<Role>,
    /// Number of [`USER_SPACE`].
    user: u32,
    graph: bool,
}

/// A path in the tree, so that the search for the next one starts only where it differs.
#[derive(Debug, Default)]
struct Path {
    /// Thread and its node.
    thread: Option<(i32, usize)>,
    /// Functions with their nodes, the outermost first.
    calls: Vec<(u32, usize)>,
}

impl Reset for Frames {
    fn reset(&mut self) {
        self.functions.clear();
        self.interrupt = None;
        self.doubted.clear();
        self.doubted_of_interrupt.clear();
        self.before_interrupt = None;
    }
}

impl Frames {
    fn of(&self, level: Level) -> &[u32] {
        let begin = self.interrupt.unwrap_or(self.functions.len()).min(self.functions.len());
        match level {
            Level::Thread => &self.functions[..begin],
            Level::Interrupt => &self.functions[begin..],
            Level::Any => &self.functions,
        }
    }
}

impl<'s> Follower<'s> {
    fn new(activity: &'s CpuActivity<'s>, names: &'s Names, stretches: &'s [(i64, i64)], level: Level) -> Self {
        let mut follower = Self {
            activity,
            names,
            tree: PathTree::new(),
            level,
            stretches,
            cursor_ns: i64::MIN,
            running: Running::new(activity),
            since: (0, TOP, 0),
            threads: PerThread::default(),
            threads_met: HashMap::new(),
            path: Path::default(),
            by_number: vec![UNKNOWN; names.functions().count()],
            by_address: HashMap::new(),
            by_name: HashMap::new(),
            function_names: Vec::new(),
            roles: Vec::new(),
            user: 0,
            graph: false,
        };
        follower.user = follower.number_of_name(USER_SPACE);
        follower.find_open_calls();
        follower
    }

    /// Functions that were open when the record began are found by their returns.
    fn find_open_calls(&mut self) {
        let mut shallowest: PerThread<Shallowest> = PerThread::default();
        for event in &self.activity.events {
            match event.what {
                EventKind::GraphEntry { depth, .. } => {
                    let Shallowest(known) = shallowest.of(event.tid);
                    *known = (*known).min(depth_of(depth));
                }
                EventKind::GraphExit { function, depth } => {
                    let depth = depth_of(depth);
                    let Shallowest(known) = shallowest.of(event.tid);
                    if depth < *known && depth < FRAMES_MAX {
                        *known = depth;
                        let number = self.number(function);
                        let frames = &mut self.threads.of(event.tid).functions;
                        if frames.len() <= depth {
                            frames.resize(depth + 1, UNKNOWN);
                        }
                        frames[depth] = number;
                    }
                }
                _ => {}
            }
        }
    }

    fn feed(&mut self, event: &Event) {
        self.advance(event.ts_ns);
        let continuity = self.running.pass(event);
        if continuity == Continuity::Broken {
            // It is unknown which calls returned meanwhile, and in which thread.
            self.threads.clear();
        }
        match event.what {
            _ if continuity == Continuity::SwitchTail => {}
            EventKind::Function { function, caller } => {
                let (function, caller) = (self.number(function), self.number(caller));
                self.enter(event, function, caller);
            }
            EventKind::GraphEntry { function, depth } => {
                self.graph = true;
                let function = self.number(function);
                let in_interrupt =
                    event.flags & (flag::HARDIRQ | flag::NMI) != 0 || self.role(function).interrupt_entry;
                let depth = depth_of(depth).min(FRAMES_MAX);
                let frames = self.threads.of(event.tid);
                frames.functions.resize(depth, UNKNOWN);
                frames.functions.push(function);
                frames.interrupt = match frames.interrupt.filter(|&begin| begin < depth) {
                    None if in_interrupt => Some(depth),
                    begin => begin,
                };
            }
            EventKind::GraphExit { depth, .. } => {
                self.graph = true;
                let depth = depth_of(depth);
                let frames = self.threads.of(event.tid);
                frames.functions.truncate(depth);
                frames.interrupt = frames.interrupt.filter(|&begin| begin < depth);
            }
            EventKind::Stack => self.take_stack(event),
            EventKind::Switch { .. } => {}
            _ if continuity == Continuity::Broken => {}
            _ => return,
        }
        self.since = (self.running.tid(), TOP, 0);
    }

    fn enter(&mut self, event: &Event, function: u32, caller: u32) {
        let role = self.role(caller);
        let leaves = self.role(function).exit_to_user || role.exit_to_user;
        let (from_exception, from_interrupt) = (role.exception_entry, role.interrupt_entry);
        let frames = self.threads.of(event.tid);
        let in_interrupt = from_interrupt
            || event.flags & (flag::HARDIRQ | flag::NMI) != 0
            || event.flags & flag::SOFTIRQ != 0 && frames.interrupt.is_some();
        match (in_interrupt, frames.interrupt) {
            (true, None) => {
                frames.interrupt = Some(frames.functions.len());
                frames.doubted_of_interrupt.clear();
                let (tid, node, ns) = self.since;
                frames.before_interrupt = (tid == event.tid && ns > 0).then_some((node, ns));
            }
            (false, Some(begin)) => {
                frames.functions.truncate(begin);
                frames.interrupt = None;
                let interrupted = frames.before_interrupt.take();
                if let Some((node, ns)) = interrupted.filter(|_| leaves) {
                    let thread = self.tree.root_of(node);
                    let user = self.tree.child(thread, self.user);
                    self.tree.spend(node, -ns);
                    self.tree.spend(user, ns);
                }
            }
            _ => {}
        }
        let floor = frames.interrupt.unwrap_or(0).min(frames.functions.len());
        let doubted = match frames.interrupt {
            Some(_) => &mut frames.doubted_of_interrupt,
            None => &mut frames.doubted,
        };
        let known = frames.functions[floor..].iter().rposition(|&known| known == caller);
        let known_before = match known {
            Some(_) => None,
            None => doubted.iter().rposition(|&known| known == caller),
        };
        match (known, known_before) {
            (Some(index), _) => frames.functions.truncate(floor + index + 1),
            (None, Some(index)) => {
                frames.functions.truncate(floor);
                frames.functions.extend(doubted.drain(..).take(index + 1));
            }
            (None, None) if from_exception => frames.functions.push(caller),
            // All known calls have returned, or the caller is not recorded.
            (None, None) => {
                if frames.functions.len() - floor > doubted.len() {
                    *doubted = frames.functions.split_off(floor);
                }
                frames.functions.truncate(floor);
                frames.functions.push(caller);
            }
        }
        if frames.functions.len() >= FRAMES_MAX {
            frames.functions.truncate(floor);
        }
        frames.functions.push(function);
    }

    fn take_stack(&mut self, event: &Event) {
        let activity = self.activity;
        let stacks = &activity.stacks;
        let first = stacks.partition_point(|stack| stack.ts_ns < event.ts_ns);
        let mut at_once = stacks[first..].iter().take_while(|stack| stack.ts_ns == event.ts_ns);
        let Some(stack) = at_once.find(|stack| stack.tid == event.tid) else { return };
        let calls: Vec<u32> = stack.callers.iter().map(|&caller| self.number(caller)).collect();
        let thread: Vec<u32> = thread_part(&calls, |call| self.role(*call)).iter().rev().copied().collect();
        let frames = self.threads.of(event.tid);
        let in_interrupt = event.flags & (flag::HARDIRQ | flag::NMI) != 0;
        // The calls of the interrupt are already followed.
        let begin = frames.interrupt.unwrap_or(usize::MAX).min(frames.functions.len());
        let of_interrupt = frames.functions.split_off(if in_interrupt { begin } else { frames.functions.len() });
        frames.interrupt = in_interrupt.then_some(thread.len());
        frames.functions = thread;
        frames.functions.extend(of_interrupt);
    }

    /// Assigns the time since the last event to the innermost known function.
    fn advance(&mut self, until_ns: i64) {
        let mut wanted_ns = 0i64;
        while let Some(&(start_ns, end_ns)) = self.stretches.first() {
            let from_ns = start_ns.max(self.cursor_ns);
            wanted_ns = wanted_ns.saturating_add((end_ns.min(until_ns).saturating_sub(from_ns)).max(0));
            if end_ns > until_ns {
                break;
            }
            self.stretches = &self.stretches[1..];
        }
        self.cursor_ns = self.cursor_ns.max(until_ns);
        if wanted_ns > 0 {
            let tid = self.running.tid();
            let node = self.node(tid);
            self.tree.spend(node, wanted_ns);
            let spent_ns = if self.since.1 == node { self.since.2.saturating_add(wanted_ns) } else { wanted_ns };
            self.tree.note_pause(node, spent_ns);
            self.since = (tid, node, spent_ns);
        }
    }

    /// The node of a thread's innermost open call.
    fn node(&mut self, tid: i32) -> usize {
        let thread = match self.path.thread {
            Some((known, node)) if known == tid => node,
            _ => {
                let next = THREADS + self.threads_met.len() as u32;
                let thread = *self.threads_met.entry(tid).or_insert(next);
                let node = self.tree.child(TOP, thread);
                self.path = Path { thread: Some((tid, node)), calls: std::mem::take(&mut self.path.calls) };
                self.path.calls.clear();
                node
            }
        };
        let Some(frames) = self.threads.get(tid) else { return thread };
        let functions = frames.of(self.level);
        let role = |number: &u32| self.roles.get(*number as usize).copied().unwrap_or_default();
        let last_step = functions.last().is_some_and(|last| role(last).last_step);
        if last_step && functions.iter().any(|function| role(function).exit_to_user) {
            return self.tree.child(thread, self.user);
        }
        let calls = &mut self.path.calls;
        let same = calls.iter().zip(functions).take_while(|((known, _), function)| known == *function).count();
        calls.truncate(same);
        let mut node = calls.last().map_or(thread, |(_, node)| *node);
        for &function in &functions[same..] {
            node = self.tree.child(node, function);
            calls.push((function, node));
        }
        node
    }

    #[inline]
    fn role(&self, number: u32) -> Role {
        self.roles.get(number as usize).copied().unwrap_or_default()
    }

    /// Number of the function that contains an address.
    #[inline]
    fn number(&mut self, address: u64) -> u32 {
        let place = self.names.functions().number(address);
        match place.and_then(|place| self.by_number.get(place as usize)) {
            Some(&number) if number != UNKNOWN => number,
            _ => self.number_of_new(address, place),
        }
    }

    #[cold]
    fn number_of_new(&mut self, address: u64, place: Option<u32>) -> u32 {
        if let Some(&number) = self.by_address.get(&address) {
            return number;
        }
        let number = self.number_of_name(&self.names.function(address));
        match place.and_then(|place| self.by_number.get_mut(place as usize)) {
            Some(known) => *known = number,
            None => {
                self.by_address.insert(address, number);
            }
        }
        number
    }

    fn number_of_name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.by_name.get(name) {
            return number;
        }
        let number = (self.function_names.len() as u32).min(THREADS - 1);
        self.function_names.push(name.to_owned());
        self.roles.push(Role::of(name));
        self.by_name.insert(name.to_owned(), number);
        number
    }
}

/// Smallest depth at which a thread was seen.
struct Shallowest(usize);

impl Default for Shallowest {
    fn default() -> Self {
        Self(usize::MAX)
    }
}

impl Reset for Shallowest {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

pub fn depth_of(depth: i32) -> usize {
    usize::try_from(depth).unwrap_or(0)
}
