//! The events that a synthetic trace can contain, with the layouts of a recent x86-64 kernel.

use super::{Functions, Line};

#[derive(Debug)]
pub struct Definition {
    pub system: &'static str,
    pub name: &'static str,
    pub id: u16,
    /// (C declaration, size, signed), in order; offsets follow from natural alignment.
    fields: &'static [(&'static str, usize, bool)],
}

const COMMON: usize = 8;

const WAKE: &[(&str, usize, bool)] =
    &[("char comm[16]", 16, false), ("pid_t pid", 4, true), ("int prio", 4, true), ("int target_cpu", 4, true)];
const CGROUP: &[(&str, usize, bool)] =
    &[("int root", 4, true), ("int level", 4, true), ("u64 id", 8, false), ("__data_loc char[] path", 4, false)];
const VECTOR: &[(&str, usize, bool)] = &[("int vector", 4, true)];
const VEC: &[(&str, usize, bool)] = &[("unsigned int vec", 4, false)];

const fn event(
    system: &'static str,
    name: &'static str,
    id: u16,
    fields: &'static [(&'static str, usize, bool)],
) -> Definition {
    Definition { system, name, id, fields }
}

static EVENTS: &[Definition] = &[
    event(
        "sched",
        "sched_switch",
        300,
        &[
            ("char prev_comm[16]", 16, false),
            ("pid_t prev_pid", 4, true),
            ("int prev_prio", 4, true),
            ("long prev_state", 8, true),
            ("char next_comm[16]", 16, false),
            ("pid_t next_pid", 4, true),
            ("int next_prio", 4, true),
        ],
    ),
    event("sched", "sched_waking", 301, WAKE),
    event("sched", "sched_wakeup", 302, WAKE),
    event(
        "sched",
        "sched_migrate_task",
        303,
        &[
            ("char comm[16]", 16, false),
            ("pid_t pid", 4, true),
            ("int prio", 4, true),
            ("int orig_cpu", 4, true),
            ("int dest_cpu", 4, true),
        ],
    ),
    event(
        "sched",
        "sched_pi_setprio",
        304,
        &[("char comm[16]", 16, false), ("pid_t pid", 4, true), ("int oldprio", 4, true), ("int newprio", 4, true)],
    ),
    event(
        "signal",
        "signal_generate",
        305,
        &[
            ("int sig", 4, true),
            ("int errno", 4, true),
            ("int code", 4, true),
            ("char comm[16]", 16, false),
            ("pid_t pid", 4, true),
            ("int group", 4, true),
            ("int result", 4, true),
        ],
    ),
    event("cgroup", "cgroup_freeze", 306, CGROUP),
    event("cgroup", "cgroup_unfreeze", 307, CGROUP),
    event(
        "sched",
        "sched_stat_runtime",
        306,
        &[("__data_loc char[] comm", 4, false), ("pid_t pid", 4, true), ("u64 runtime", 8, false)],
    ),
    event("irq", "irq_handler_entry", 310, &[("int irq", 4, true), ("__data_loc char[] name", 4, false)]),
    event("irq", "irq_handler_exit", 311, &[("int irq", 4, true), ("int ret", 4, true)]),
    event("irq", "softirq_entry", 312, VEC),
    event("irq", "softirq_exit", 313, VEC),
    event("irq", "softirq_raise", 314, VEC),
    event("irq_vectors", "local_timer_entry", 320, VECTOR),
    event("irq_vectors", "local_timer_exit", 321, VECTOR),
    event("irq_vectors", "reschedule_entry", 322, VECTOR),
    event("irq_vectors", "reschedule_exit", 323, VECTOR),
    event("irq_vectors", "call_function_entry", 324, VECTOR),
    event("irq_vectors", "call_function_exit", 325, VECTOR),
    event("irq_vectors", "irq_work_entry", 326, VECTOR),
    event("irq_vectors", "irq_work_exit", 327, VECTOR),
    event("irq_vectors", "thermal_apic_entry", 328, VECTOR),
    event("irq_vectors", "thermal_apic_exit", 329, VECTOR),
    event(
        "timer",
        "hrtimer_start",
        330,
        &[
            ("void * hrtimer", 8, false),
            ("void * function", 8, false),
            ("s64 expires", 8, true),
            ("s64 softexpires", 8, true),
        ],
    ),
    event("timer", "hrtimer_cancel", 331, &[("void * hrtimer", 8, false)]),
    event(
        "timer",
        "hrtimer_expire_entry",
        332,
        &[("void * hrtimer", 8, false), ("s64 now", 8, true), ("void * function", 8, false)],
    ),
    event("timer", "hrtimer_expire_exit", 333, &[("void * hrtimer", 8, false)]),
    event("timer", "timer_expire_entry", 334, &[("void * timer", 8, false), ("void * function", 8, false)]),
    event("timer", "timer_expire_exit", 335, &[("void * timer", 8, false)]),
    event("workqueue", "workqueue_execute_start", 340, &[("void * work", 8, false), ("void * function", 8, false)]),
    event("workqueue", "workqueue_execute_end", 341, &[("void * work", 8, false), ("void * function", 8, false)]),
    event("power", "cpu_idle", 350, &[("u32 state", 4, false), ("u32 cpu_id", 4, false)]),
    event(
        "nmi",
        "nmi_handler",
        360,
        &[("void * handler", 8, false), ("s64 delta_ns", 8, true), ("int handled", 4, true)],
    ),
    event(
        "exceptions",
        "page_fault_user",
        370,
        &[("unsigned long address", 8, false), ("unsigned long ip", 8, false), ("unsigned long error_code", 8, false)],
    ),
    event(
        "kmem",
        "mm_page_alloc",
        371,
        &[
            ("unsigned long pfn", 8, false),
            ("unsigned int order", 4, false),
            ("unsigned long gfp_flags", 8, false),
            ("int migratetype", 4, true),
        ],
    ),
    event(
        "kmem",
        "rss_stat",
        372,
        &[
            ("unsigned int mm_id", 4, false),
            ("unsigned int curr", 4, false),
            ("int member", 4, true),
            ("long size", 8, true),
        ],
    ),
    event(
        "ipi",
        "ipi_send_cpu",
        375,
        &[("unsigned int cpu", 4, false), ("void * callsite", 8, false), ("void * callback", 8, false)],
    ),
    event("printk", "console", 376, &[("__data_loc char[] msg", 4, false)]),
    event("csd", "csd_function_entry", 380, &[("void * func", 8, false), ("void * csd", 8, false)]),
    event("csd", "csd_function_exit", 381, &[("void * func", 8, false), ("void * csd", 8, false)]),
    event("ftrace", "function", 1, &[("unsigned long ip", 8, false), ("unsigned long parent_ip", 8, false)]),
    event("ftrace", "kernel_stack", 4, &[("int size", 4, true), ("unsigned long caller[8]", 64, false)]),
    event("ftrace", "funcgraph_exit", 10, &[("unsigned long func", 8, false), ("int depth", 4, true)]),
    event("ftrace", "funcgraph_entry", 11, &[("unsigned long func", 8, false), ("int depth", 4, true)]),
    event("syscalls", "sys_exit_clock_nanosleep", 390, &[("int __syscall_nr", 4, true), ("long ret", 8, true)]),
];

pub fn definition(name: &str) -> Option<&'static Definition> {
    EVENTS.iter().find(|definition| definition.name == name)
}

/// Names of all events, for generating invalid traces.
pub fn names() -> Vec<&'static str> {
    EVENTS.iter().map(|definition| definition.name).collect()
}

impl Definition {
    /// (declaration, name, offset, size, signed) of each field.
    fn layout(&self) -> Vec<(&'static str, &'static str, usize, usize, bool)> {
        let mut offset = COMMON;
        let mut placed = Vec::new();
        for &(declaration, size, signed) in self.fields {
            let aligned = match declaration {
                _ if declaration.starts_with("char ") => 1,
                _ if declaration.contains("long ") && declaration.contains('[') => 8,
                _ => size,
            };
            offset = offset.next_multiple_of(aligned);
            let name = declaration.rsplit(' ').next().unwrap_or(declaration);
            let name = name.split('[').next().unwrap_or(name);
            placed.push((declaration, name, offset, size, signed));
            offset += size;
        }
        placed
    }

    pub fn encode(&self, line: &Line, functions: &mut Functions) -> Vec<u8> {
        let layout = self.layout();
        let fixed = layout.last().map_or(COMMON, |(_, _, offset, size, _)| offset + size);
        let mut bytes = vec![0u8; fixed];
        bytes[..2].copy_from_slice(&self.id.to_le_bytes());
        bytes[2] = line.flags;
        bytes[3] = line.depth;
        bytes[4..8].copy_from_slice(&line.tid.to_le_bytes());
        for (name, value) in &line.fields {
            let Some(&(declaration, _, offset, size, _)) = layout.iter().find(|(_, known, ..)| known == name) else {
                panic!("{} has no field {name}", self.name)
            };
            if declaration.starts_with("__data_loc") {
                let place = bytes.len() as u32 | ((value.len() as u32 + 1) << 16);
                bytes[offset..offset + 4].copy_from_slice(&place.to_le_bytes());
                bytes.extend_from_slice(value.as_bytes());
                bytes.push(0);
            } else if declaration.contains("long ") && declaration.contains('[') {
                // Functions with commas between them.
                for (index, function) in value.split(',').take(size / 8).enumerate() {
                    let address = functions.address(function).to_le_bytes();
                    bytes[offset + index * 8..offset + index * 8 + 8].copy_from_slice(&address);
                }
            } else if declaration.contains('[') {
                let text = &value.as_bytes()[..value.len().min(size - 1)];
                bytes[offset..offset + text.len()].copy_from_slice(text);
            } else {
                let number = number(value).unwrap_or_else(|| functions.address(value) as i64);
                bytes[offset..offset + size].copy_from_slice(&number.to_le_bytes()[..size]);
            }
        }
        bytes
    }
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => text.parse().ok(),
    }
}

/// As in `events/SYSTEM/NAME/format`.
pub fn format_text(definition: &Definition) -> String {
    let mut text = format!(
        "name: {}\nID: {}\nformat:\n\
         \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
        definition.name, definition.id
    );
    let (mut print, mut arguments) = (Vec::new(), String::new());
    for (declaration, name, offset, size, signed) in definition.layout() {
        text += &format!("\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(signed));
        if declaration.starts_with("__data_loc") {
            print.push(format!("{name}=%s"));
            arguments += &format!(", __get_str({name})");
        } else {
            let conversion = match (declaration, name) {
                (_, "function" | "func" | "handler" | "callsite" | "callback" | "ip" | "parent_ip") => "%ps",
                (text, _) if text.contains("char") => "%s",
                (text, _) if text.contains('*') => "%p",
                _ if size == 8 => "%ld",
                _ => "%d",
            };
            print.push(format!("{name}={conversion}"));
            arguments += &format!(", REC->{name}");
        }
    }
    text + &format!("\nprint fmt: \"{}\"{arguments}\n", print.join(" "))
}
