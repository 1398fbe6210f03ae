//! The fingerprint of the run's machine.

use super::super::number;
use super::{facts, said};
use archive::summary::{ReportData, RunSummary};
use maud::{Markup, html};
use words::printable::short_name;

/// The name of the target: the one in the plan or command, or the host name of this machine.
pub fn target_name(data: &ReportData) -> String {
    let summary = &data.summary;
    short_name(match &summary.environment {
        _ if summary.other_machine().is_some() => &summary.target,
        Some(environment) if !environment.hostname.is_empty() => &environment.hostname,
        _ if !summary.target.is_empty() => &summary.target,
        _ => "this machine",
    })
}

pub fn section(summary: &RunSummary) -> Markup {
    html! {
        section #machine aria-labelledby="machine-title" {
            h2 #machine-title { "Machine" }
            p { "Runs are comparable where these agree. An absent line could not be read on the machine." }
            @match &summary.environment {
                Some(environment) => (fingerprint(summary, environment)),
                None => p.empty { "The archive holds no description of the machine." },
            }
        }
    }
}

fn fingerprint(summary: &RunSummary, e: &archive::environment::Environment) -> Markup {
    let text = |text: &str| (!text.is_empty()).then(|| said(text));
    let option = |value: &Option<String>| {
        value.as_deref().map(|value| {
            if value.is_empty() {
                html! { "none" }
            } else {
                said(value)
            }
        })
    };
    let list = |items: &[String]| {
        (!items.is_empty()).then(|| html! { ul.plain { @for item in items { li { (said(item)) } } } })
    };
    let code = |value: &Option<String>| value.as_ref().map(|value| html! { code { (said(value)) } });
    html! {
        (facts(&[
            ("Host", text(&e.hostname)),
            ("Target", text(&summary.target)),
            ("Processor", option(&e.cpu_model)),
            ("Architecture", text(&e.architecture)),
            ("CPUs online", option(&e.cpus_online)),
            ("CPUs isolated", option(&e.cpus_isolated)),
            ("CPUs without tick (nohz_full)", option(&e.cpus_nohz_full)),
            ("Simultaneous multithreading", e.smt.as_deref().map(multithreading)),
            ("Memory", e.memory_total_kb.map(|kb| html! { (number::grouped(kb / 1024)) " MiB" })),
            ("Kernel", text(&e.kernel_release)),
            ("Kernel build", text(&e.kernel_version)),
            ("Preemption", option(&e.preemption)),
            ("PREEMPT_RT", e.preempt_rt.map(|rt| html! { @if rt { "yes" } @else { "no" } })),
            ("Kernel command line", code(&e.command_line)),
            ("Clock source", option(&e.clocksource)),
            ("Idle driver", option(&e.idle_driver)),
            ("Idle governor", option(&e.idle_governor)),
            ("Frequency governors", list(&e.frequency_governors)),
            ("Real-time throttling", rt_throttling(e.rt_runtime_us, e.rt_period_us)),
            ("Fair server", list(&e.fair_server_runtime)),
            ("Fair server's period", list(&e.fair_server_period)),
            ("Virtualisation", option(&e.virtualisation)),
            ("Container", option(&e.container)),
            ("Load average", option(&e.load_average)),
            ("Options that ruin latency", list(&e.debug_options)),
        ]))
        @if !e.rt_tasks.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby="rt-tasks" {
                table {
                    caption #rt-tasks { "Tasks that could hold a CPU against the measuring threads" }
                    thead { tr { th scope="col" { "task" } th scope="col" { "thread id" } th scope="col" { "policy" } th.number scope="col" { "priority" } } }
                    tbody {
                        @for task in &e.rt_tasks {
                            tr {
                                th scope="row" { (said(&task.name)) }
                                td { (task.tid) }
                                td { (said(&task.policy)) }
                                td.number { (task.priority) }
                            }
                        }
                    }
                }
            }
        }
        @if !e.mitigations.is_empty() {
            details { summary { "Mitigations (" (e.mitigations.len()) ")" } ul.plain { @for line in &e.mitigations { li { (said(line)) } } } }
        }
        @if !e.config.is_empty() {
            details {
                summary {
                    "Kernel configuration (" (e.config.len()) " lines"
                    @if let Some(source) = &e.config_source { " from " (said(source)) }
                    ")"
                }
                ul.plain { @for line in &e.config { li { code { (said(line)) } } } }
            }
        }
    }
}

fn rt_throttling(runtime_us: Option<i64>, period_us: Option<i64>) -> Option<Markup> {
    let runtime_us = runtime_us?;
    let micros = |us: i64| number::duration(us.saturating_mul(1000));
    Some(match period_us {
        _ if runtime_us < 0 => html! { "off" },
        Some(period_us) => html! { (micros(runtime_us)) " of each " (micros(period_us)) },
        None => html! { (micros(runtime_us)) " of each period" },
    })
}

/// Whether threads of a core run at the same time: the kernel's word for it, in words.
fn multithreading(state: &str) -> Markup {
    said(match state {
        "notsupported" => "not supported by the processor",
        "notimplemented" => "not known to the kernel",
        "forceoff" => "off until the next boot",
        other => other,
    })
}
