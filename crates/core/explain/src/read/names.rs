//! Names for the numbers in events: threads with their priorities, interrupts, functions.

use crate::read::function_table::FunctionTable;
use archive::culprit::{ForeignText, KernelName, TaskName};
use archive::trace_event::Interrupt;
pub use archive::trace_event::softirq;
use ftrace::metadata::Metadata;
use std::collections::HashMap;

/// The most urgent priority of ordinary threads; those below are real-time or deadline.
pub const ORDINARY_PRIO: i32 = 100;

/// Thread ids from here on are assigned to the threads of a record without thread ids.
pub const NAMELESS_TIDS: i32 = TaskName::NAMELESS_TIDS;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct KnownTask {
    comm: String,
    /// Kernel priority, if an event contained it.
    prio: Option<i32>,
}

/// The names of one trace.
#[derive(Debug, Default)]
pub struct Names {
    tasks: HashMap<i32, KnownTask>,
    irqs: HashMap<i32, String>,
    functions: FunctionTable,
    /// By CPU and time.
    texts: HashMap<(u32, i64), String>,
}

impl Names {
    /// Stores a thread; an empty name or an unknown priority does not replace the stored one.
    pub fn learn_task(&mut self, tid: i32, comm: Option<&[u8]>, prio: Option<i32>) {
        let task = self.tasks.entry(tid).or_default();
        if let Some(comm) = comm
            && task.comm.as_bytes() != comm
            && !comm.is_empty()
        {
            task.comm = String::from_utf8_lossy(comm).into_owned();
        }
        if prio.is_some() {
            task.prio = prio;
        }
    }

    pub fn learn_irq(&mut self, irq: i32, name: &[u8]) {
        self.irqs.entry(irq).or_insert_with(|| String::from_utf8_lossy(name).into_owned());
    }

    pub fn learn_function(&mut self, address: u64, metadata: &Metadata) {
        if address != 0 {
            self.functions.learn(address, || metadata.symbols.find(address).map(|(name, _)| name));
        }
    }

    /// Stores a function whose name is known.
    pub fn name_function(&mut self, address: u64, name: &str) {
        self.functions.insert(address, Some(name));
    }

    /// Fills in threads that are not named by an event of the window.
    pub fn learn_from_command_lines(&mut self, tids: impl Iterator<Item = i32>, metadata: &Metadata) {
        for tid in tids {
            if self.tasks.get(&tid).is_none_or(|task| task.comm.is_empty())
                && let Some(name) = metadata.command_lines.name(tid)
            {
                self.learn_task(tid, Some(name.as_bytes()), None);
            }
        }
    }

    /// `hackbench-4711`; `thread-4711` if its name is unknown.
    pub fn task(&self, tid: i32) -> String {
        words::holders::task(&self.task_name(tid))
    }

    pub fn task_name(&self, tid: i32) -> TaskName {
        TaskName { tid, comm: self.comm(tid).to_owned() }
    }

    pub fn comm(&self, tid: i32) -> &str {
        self.tasks.get(&tid).map_or("", |task| &task.comm)
    }

    pub fn prio(&self, tid: i32) -> Option<i32> {
        self.tasks.get(&tid).and_then(|task| task.prio)
    }

    /// Whether a thread is known to have a real-time or deadline priority.
    pub fn is_rt(&self, tid: i32) -> bool {
        self.prio(tid).is_some_and(|prio| prio < ORDINARY_PRIO)
    }

    /// `irq 24 virtio0-input`.
    pub fn irq(&self, irq: i32) -> String {
        words::holders::interrupt(&self.interrupt(irq))
    }

    pub fn interrupt(&self, irq: i32) -> Interrupt {
        Interrupt { number: irq, name: self.irqs.get(&irq).cloned().map(ForeignText) }
    }

    /// Name of a function, or its address if the trace has no symbol for it.
    pub fn function(&self, address: u64) -> String {
        self.functions.name(address).map_or_else(|| format!("{address:#x}"), str::to_owned)
    }

    /// The same as a fact.
    pub fn function_name(&self, address: u64) -> KernelName {
        KernelName(self.function(address))
    }

    /// Names of functions, innermost first.
    pub fn functions_text(&self, addresses: &[u64]) -> String {
        let mut text = String::new();
        for &address in addresses {
            if !text.is_empty() {
                text.push_str(" < ");
            }
            match self.functions.name(address) {
                Some(name) => text.push_str(name),
                None => text.push_str(&self.function(address)),
            }
        }
        text
    }

    /// Name of a function, if the trace has one.
    pub fn function_known(&self, address: u64) -> Option<&str> {
        self.functions.name(address)
    }

    /// The functions of the trace by number.
    pub fn functions(&self) -> &FunctionTable {
        &self.functions
    }

    /// Stores the text of an event without built-in words.
    pub fn learn_text(&mut self, cpu: u32, ts_ns: i64, text: String) {
        self.texts.insert((cpu, ts_ns), text);
    }

    pub fn text(&self, cpu: u32, ts_ns: i64) -> Option<&str> {
        self.texts.get(&(cpu, ts_ns)).map(String::as_str)
    }
}
