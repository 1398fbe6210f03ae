//! Every call of an audit as a line of text, thread by thread.

use archive::audit::AuditDescription;
use audit::activity::{Activity, Call};
use audit::library::function;
use audit::read::Recorded;
use audit::system_calls::{name, of_other_machines};
use std::fmt::Write;
use words::figures::{counted, latency};

pub fn lay_out(description: &AuditDescription, recorded: &Recorded) -> String {
    let mut text = String::new();
    let others = of_other_machines(description);
    for thread in recorded.threads.values() {
        let machine = others.get(&thread.tid).copied().unwrap_or(&description.machine);
        let of_kernel = thread.calls.iter().map(|call| (call, of_system_call(machine, call.number)));
        let of_library =
            thread.function_calls.iter().filter_map(|call| Some((call, function(call)?.name().to_owned())));
        let mut calls: Vec<(&Call, String)> = of_kernel.collect();
        let system_calls = calls.len();
        calls.extend(of_library);
        if calls.len() > system_calls {
            calls.sort_by_key(|(call, _)| call.start_ns);
        }
        for (call, name) in calls {
            line(description, thread, call, &name, &mut text);
        }
    }
    text
}

fn of_system_call(machine: &str, number: i64) -> String {
    name(machine, number).map_or_else(|| format!("call_{number}"), str::to_owned)
}

fn line(description: &AuditDescription, thread: &Activity, call: &Call, name: &str, text: &mut String) {
    let arguments: Vec<String> = call.arguments.iter().map(|argument| format!("{argument:#x}")).collect();
    let seconds = call.start_ns.saturating_sub(description.started_ns) as f64 / 1e9;
    let _ = write!(text, "{} {seconds:.9} {name}({})", thread.tid, arguments.join(", "));
    let _ = match call.answer {
        Some(answer) => write!(text, " = {answer} in {}", latency(call.duration_ns())),
        None => write!(text, " = ?"),
    };
    let joined =
        if call.joined > 0 { format!(", and {} like it", counted(call.joined, "call")) } else { String::new() };
    let _ = writeln!(text, "{joined}");
}
