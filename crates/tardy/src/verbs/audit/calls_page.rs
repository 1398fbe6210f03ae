//! Every system call of an audit as a line of text, thread by thread.

use archive::audit::AuditDescription;
use audit::activity::{Activity, Call};
use audit::read::Recorded;
use audit::system_calls::{name, of_other_machines};
use std::fmt::Write;
use words::figures::{counted, latency};

pub fn lay_out(description: &AuditDescription, recorded: &Recorded) -> String {
    let mut text = String::new();
    let others = of_other_machines(description);
    for thread in recorded.threads.values() {
        let machine = others.get(&thread.tid).copied().unwrap_or(&description.machine);
        for call in &thread.calls {
            line(description, machine, thread, call, &mut text);
        }
    }
    text
}

fn line(description: &AuditDescription, machine: &str, thread: &Activity, call: &Call, text: &mut String) {
    let name = name(machine, call.number).map_or_else(|| format!("call_{}", call.number), str::to_owned);
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
