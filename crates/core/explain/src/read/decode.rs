//! Records of the ring buffer as typed events.
//!
//! Field positions are looked up by name once per event type; reading a record then takes a few loads.

use crate::read::event::{Event, EventKind, FileSystem, Vector};
use crate::read::names::Names;
use ftrace::byte_order::{ByteOrder, sign_extend};
use ftrace::format::{EventFormat, Field};
use ftrace::metadata::Metadata;
use ftrace::stack::StackFields;
use ftrace::trace_dat::Record;

/// Position of an integer in a record.
#[derive(Debug, Clone, Copy)]
struct Slot {
    offset: usize,
    size: usize,
    signed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Waking,
    Wakeup,
    Migrate,
    Runtime,
    PiSetPrio,
    Signal,
    Freeze { frozen: bool },
    FileSync(FileSystem),
    IrqEntry,
    IrqExit,
    VectorEntry(Vector),
    VectorExit(Vector),
    SoftirqEntry,
    SoftirqExit,
    SoftirqRaise,
    HrtimerStart,
    HrtimerCancel,
    HrtimerExpireEntry,
    HrtimerExpireExit,
    TimerExpireEntry,
    TimerExpireExit,
    WorkQueued,
    WorkStart,
    WorkEnd,
    CsdEntry,
    CsdExit,
    Idle,
    Frequency,
    Nmi,
    PageFault { user: bool },
    PageAllocated,
    MemoryCounted,
    Function,
    GraphEntry,
    GraphExit,
    Stack,
    Message,
    Marker,
}

/// Maximum number of callers read from a stack trace.
const STACK_MAX: usize = 128;

/// `migratetype` of pages for processes and files: `MIGRATE_MOVABLE` of the kernel's `enum migratetype`.
const MIGRATE_MOVABLE: i32 = 1;

/// How records of one event type are read.
#[derive(Debug)]
struct Recipe {
    kind: Kind,
    slots: [Option<Slot>; 5],
    /// Text fields that name things.
    texts: [Option<Field>; 2],
}

/// Reads the records of one trace.
#[derive(Debug)]
pub struct Decoder {
    byte_order: ByteOrder,
    by_id: Vec<Option<Recipe>>,
    stack: Option<StackFields>,
}

impl Decoder {
    pub fn new(metadata: &Metadata) -> Self {
        let mut by_id: Vec<Option<Recipe>> = Vec::new();
        for format in metadata.formats.iter() {
            let index = usize::from(format.id);
            if by_id.len() <= index {
                by_id.resize_with(index + 1, || None);
            }
            by_id[index] = Recipe::of(format);
        }
        let stack = metadata.formats.find("ftrace", "kernel_stack").and_then(StackFields::of);
        Self { byte_order: metadata.layout.byte_order, by_id, stack }
    }

    /// The record as an event. A field reads as 0 if the format lacks it or the record is too short for it; a priority, of which 0
    /// is one, as unknown.
    #[inline]
    pub fn event<'a>(&self, record: &Record<'a>) -> Event<'a> {
        let what = match self.recipe(record.id) {
            Some(recipe) => self.what(recipe, record.payload),
            None => EventKind::Other,
        };
        Event {
            ts_ns: i64::try_from(record.ts_ns).unwrap_or(i64::MAX),
            cpu: record.cpu,
            tid: record.common_pid,
            flags: record.common_flags,
            depth: record.common_preempt_count,
            what,
            id: record.id,
            payload: record.payload,
        }
    }

    /// Stores the names in an event, and the priorities that threads had up to `seen_ns`: later priorities do not
    /// matter, unless there is no other source.
    pub fn learn(&self, event: &Event, names: &mut Names, metadata: &Metadata, seen_ns: i64) {
        let Some(recipe) = self.recipe(event.id) else { return };
        let text = |index: usize| recipe.texts[index].as_ref().and_then(|field| field.c_str(event.payload));
        let prio = |tid: i32, prio: Option<i32>, names: &Names| match names.prio(tid) {
            Some(_) if event.ts_ns > seen_ns => None,
            _ => prio,
        };
        match event.what {
            EventKind::Switch { prev, prev_prio, next, next_prio, .. } => {
                // It may have become less urgent while it was switched out: its CPU time was used at the earlier
                // priority.
                let most_urgent = prev_prio.map(|prio| names.prio(prev).map_or(prio, |known| known.min(prio)));
                names.learn_task(prev, text(0), prio(prev, most_urgent, names));
                names.learn_task(next, text(1), prio(next, next_prio, names));
            }
            EventKind::Waking { tid, prio: theirs, .. } | EventKind::Wakeup { tid, prio: theirs, .. } => {
                names.learn_task(tid, text(0), prio(tid, theirs, names));
            }
            EventKind::Migrate { tid, .. } | EventKind::Signal { tid, .. } => names.learn_task(tid, text(0), None),
            EventKind::Freeze { .. } => {
                if let Some(path) = text(0) {
                    names.learn_text(event.cpu, event.ts_ns, String::from_utf8_lossy(path).into_owned());
                }
            }
            EventKind::PiSetPrio { tid, new_prio, .. } => names.learn_task(tid, text(0), prio(tid, new_prio, names)),
            EventKind::IrqEntry { irq } => {
                if let Some(name) = text(0) {
                    names.learn_irq(irq, name);
                }
            }
            EventKind::HrtimerStart { function, .. }
            | EventKind::HrtimerExpireEntry { function, .. }
            | EventKind::TimerExpireEntry { function }
            | EventKind::WorkStart { function, .. }
            | EventKind::CsdEntry { function }
            | EventKind::Nmi { handler: function, .. }
            | EventKind::GraphEntry { function, .. }
            | EventKind::GraphExit { function, .. } => names.learn_function(function, metadata),
            EventKind::Function { function, caller } => {
                names.learn_function(function, metadata);
                names.learn_function(caller, metadata);
            }
            _ => {}
        }
    }

    /// Text that a program wrote to `trace_marker`, without its line end; `None` for any other event.
    pub fn marker<'e>(&self, event: &Event<'e>) -> Option<&'e str> {
        let recipe = self.recipe(event.id).filter(|_| event.what == EventKind::Marker)?;
        let text = recipe.texts[0].as_ref()?.c_str(event.payload)?;
        std::str::from_utf8(text).ok().map(|text| text.trim_end_matches('\n'))
    }

    /// Addresses in a stack trace, innermost first; empty for any other event.
    pub fn callers(&self, event: &Event) -> Vec<u64> {
        let stack = self.stack.as_ref().filter(|_| event.what == EventKind::Stack);
        stack.map_or_else(Vec::new, |stack| stack.callers(event.payload).take(STACK_MAX).collect())
    }

    #[inline]
    fn recipe(&self, id: u16) -> Option<&Recipe> {
        self.by_id.get(usize::from(id))?.as_ref()
    }

    #[inline]
    fn what(&self, recipe: &Recipe, payload: &[u8]) -> EventKind {
        let number = |index: usize| self.read(recipe.slots[index], payload);
        let long = |index: usize| number(index).unwrap_or(0);
        let prio = |index: usize| number(index).map(|prio| prio as i32);
        let address = |index: usize| long(index) as u64;
        let int = |index: usize| long(index) as i32;
        match recipe.kind {
            Kind::Switch => EventKind::Switch {
                prev: int(0),
                prev_prio: prio(1),
                prev_state: long(2),
                next: int(3),
                next_prio: prio(4),
            },
            Kind::Waking => EventKind::Waking { tid: int(0), prio: prio(1), target_cpu: int(2) },
            Kind::Wakeup => EventKind::Wakeup { tid: int(0), prio: prio(1), target_cpu: int(2) },
            Kind::Migrate => EventKind::Migrate { tid: int(0), from_cpu: int(1), to_cpu: int(2) },
            Kind::Runtime => EventKind::Runtime { tid: int(0), ran_ns: long(1) },
            Kind::PiSetPrio => EventKind::PiSetPrio { tid: int(0), old_prio: prio(1), new_prio: prio(2) },
            Kind::Signal => EventKind::Signal { signal: int(0), tid: int(1) },
            Kind::Freeze { frozen } => EventKind::Freeze { frozen },
            Kind::FileSync(file_system) => EventKind::FileSync { file_system, device: long(0) as u32 },
            Kind::IrqEntry => EventKind::IrqEntry { irq: int(0) },
            Kind::IrqExit => EventKind::IrqExit { irq: int(0) },
            Kind::VectorEntry(vector) => EventKind::VectorEntry { vector },
            Kind::VectorExit(vector) => EventKind::VectorExit { vector },
            Kind::SoftirqEntry => EventKind::SoftirqEntry { vec: long(0) as u32 },
            Kind::SoftirqExit => EventKind::SoftirqExit { vec: long(0) as u32 },
            Kind::SoftirqRaise => EventKind::SoftirqRaise { vec: long(0) as u32 },
            Kind::HrtimerStart => EventKind::HrtimerStart {
                timer: address(0),
                function: address(1),
                expires_ns: long(2),
                soft_expires_ns: long(3),
            },
            Kind::HrtimerCancel => EventKind::HrtimerCancel { timer: address(0) },
            Kind::HrtimerExpireEntry => EventKind::HrtimerExpireEntry { timer: address(0), function: address(1) },
            Kind::HrtimerExpireExit => EventKind::HrtimerExpireExit { timer: address(0) },
            Kind::TimerExpireEntry => EventKind::TimerExpireEntry { function: address(0) },
            Kind::TimerExpireExit => EventKind::TimerExpireExit,
            Kind::WorkQueued => EventKind::WorkQueued { work: address(0) },
            Kind::WorkStart => EventKind::WorkStart { function: address(0), work: address(1) },
            Kind::WorkEnd => EventKind::WorkEnd,
            Kind::CsdEntry => EventKind::CsdEntry { function: address(0) },
            Kind::CsdExit => EventKind::CsdExit,
            Kind::Idle => EventKind::Idle { state: long(0) as u32 },
            Kind::Frequency => EventKind::Frequency { khz: long(0) as u32, cpu: long(1) as u32 },
            Kind::Nmi => EventKind::Nmi { handler: address(0), delta_ns: long(1) },
            Kind::PageFault { user } => EventKind::PageFault { user, address: address(0) },
            Kind::PageAllocated => EventKind::PageAllocated { movable: int(0) == MIGRATE_MOVABLE },
            Kind::MemoryCounted => EventKind::MemoryCounted { own: int(0) != 0 },
            Kind::Function => EventKind::Function { function: address(0), caller: address(1) },
            Kind::GraphEntry => EventKind::GraphEntry { function: address(0), depth: int(1) },
            Kind::GraphExit => EventKind::GraphExit { function: address(0), depth: int(1) },
            Kind::Stack => EventKind::Stack,
            Kind::Message => EventKind::Message,
            Kind::Marker => EventKind::Marker,
        }
    }

    #[inline]
    fn read(&self, slot: Option<Slot>, payload: &[u8]) -> Option<i64> {
        let slot = slot?;
        let value = self.byte_order.uint_at(payload, slot.offset, slot.size)?;
        Some(if slot.signed { sign_extend(value, slot.size) } else { value as i64 })
    }
}

impl Recipe {
    fn of(format: &EventFormat) -> Option<Self> {
        let (kind, slots, texts): (Kind, &[&str], &[&str]) = match (format.system.as_str(), format.name.as_str()) {
            ("sched", "sched_switch") => (
                Kind::Switch,
                &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"],
                &["prev_comm", "next_comm"],
            ),
            ("sched", "sched_waking") => (Kind::Waking, &["pid", "prio", "target_cpu"], &["comm"]),
            ("sched", "sched_wakeup" | "sched_wakeup_new") => (Kind::Wakeup, &["pid", "prio", "target_cpu"], &["comm"]),
            ("sched", "sched_migrate_task") => (Kind::Migrate, &["pid", "orig_cpu", "dest_cpu"], &["comm"]),
            ("sched", "sched_stat_runtime") => (Kind::Runtime, &["pid", "runtime"], &[]),
            ("sched", "sched_pi_setprio") => (Kind::PiSetPrio, &["pid", "oldprio", "newprio"], &["comm"]),
            ("signal", "signal_generate") => (Kind::Signal, &["sig", "pid"], &["comm"]),
            ("cgroup", "cgroup_freeze") => (Kind::Freeze { frozen: true }, &[], &["path"]),
            ("cgroup", "cgroup_unfreeze") => (Kind::Freeze { frozen: false }, &[], &["path"]),
            ("ext4", "ext4_sync_file_enter") => (Kind::FileSync(FileSystem::Ext4), &["dev"], &[]),
            ("xfs", "xfs_file_fsync") => (Kind::FileSync(FileSystem::Xfs), &["dev"], &[]),
            ("btrfs", "btrfs_sync_file") => (Kind::FileSync(FileSystem::Btrfs), &[], &[]),
            ("f2fs", "f2fs_sync_file_enter") => (Kind::FileSync(FileSystem::F2fs), &["dev"], &[]),
            ("irq", "irq_handler_entry") => (Kind::IrqEntry, &["irq"], &["name"]),
            ("irq", "irq_handler_exit") => (Kind::IrqExit, &["irq"], &[]),
            ("irq", "softirq_entry") => (Kind::SoftirqEntry, &["vec"], &[]),
            ("irq", "softirq_exit") => (Kind::SoftirqExit, &["vec"], &[]),
            ("irq", "softirq_raise") => (Kind::SoftirqRaise, &["vec"], &[]),
            ("timer", "hrtimer_start") => (Kind::HrtimerStart, &["hrtimer", "function", "expires", "softexpires"], &[]),
            ("timer", "hrtimer_cancel") => (Kind::HrtimerCancel, &["hrtimer"], &[]),
            ("timer", "hrtimer_expire_entry") => (Kind::HrtimerExpireEntry, &["hrtimer", "function"], &[]),
            ("timer", "hrtimer_expire_exit") => (Kind::HrtimerExpireExit, &["hrtimer"], &[]),
            ("timer", "timer_expire_entry") => (Kind::TimerExpireEntry, &["function"], &[]),
            ("timer", "timer_expire_exit") => (Kind::TimerExpireExit, &[], &[]),
            ("workqueue", "workqueue_queue_work") => (Kind::WorkQueued, &["work"], &[]),
            ("workqueue", "workqueue_execute_start") => (Kind::WorkStart, &["function", "work"], &[]),
            ("workqueue", "workqueue_execute_end") => (Kind::WorkEnd, &[], &[]),
            ("csd", "csd_function_entry") => (Kind::CsdEntry, &["func"], &[]),
            ("csd", "csd_function_exit") => (Kind::CsdExit, &[], &[]),
            ("power", "cpu_idle") => (Kind::Idle, &["state"], &[]),
            ("power", "cpu_frequency") => (Kind::Frequency, &["state", "cpu_id"], &[]),
            ("nmi", "nmi_handler") => (Kind::Nmi, &["handler", "delta_ns"], &[]),
            ("exceptions", "page_fault_user") => (Kind::PageFault { user: true }, &["address"], &[]),
            ("exceptions", "page_fault_kernel") => (Kind::PageFault { user: false }, &["address"], &[]),
            ("kmem", "mm_page_alloc") => (Kind::PageAllocated, &["migratetype"], &[]),
            ("kmem", "rss_stat") => (Kind::MemoryCounted, &["curr"], &[]),
            ("printk", "console") => (Kind::Message, &[], &[]),
            ("ftrace", "function") => (Kind::Function, &["ip", "parent_ip"], &[]),
            ("ftrace", "funcgraph_entry") => (Kind::GraphEntry, &["func", "depth"], &[]),
            ("ftrace", "funcgraph_exit") => (Kind::GraphExit, &["func", "depth"], &[]),
            ("ftrace", "kernel_stack") => (Kind::Stack, &[], &[]),
            ("ftrace", "print") => (Kind::Marker, &[], &["buf"]),
            ("ftrace", "raw_data" | "bprint" | "bputs") => (Kind::Marker, &[], &[]),
            ("irq_vectors" | "ipi", name) => {
                let (vector, entry) = match name.strip_suffix("_entry") {
                    Some(vector) => (vector, true),
                    None => (name.strip_suffix("_exit")?, false),
                };
                let vector = Vector::from_name(vector)?;
                (if entry { Kind::VectorEntry(vector) } else { Kind::VectorExit(vector) }, &[], &[])
            }
            _ => return None,
        };
        let slot = |name: Option<&&str>| {
            let field = format.field(name?)?;
            Some(Slot { offset: field.offset, size: field.size, signed: field.signed })
        };
        let text = |name: Option<&&str>| format.field(name?).cloned();
        Some(Self {
            kind,
            slots: std::array::from_fn(|index| slot(slots.get(index))),
            texts: std::array::from_fn(|index| text(texts.get(index))),
        })
    }
}
