//! Requested and granted settings of the run, and the state of the loads.

use super::super::number;
use super::{facts, said};
use crate::account::measured_by;
use archive::effective::EffectiveSettings;
use archive::manifest::ImportedFrom;
use archive::method::Role;
use archive::settings::{LoadRequest, RunSettings};
use archive::summary::RunSummary;
use maud::{Markup, html};
use words::vocabulary;

pub fn section(summary: &RunSummary) -> Markup {
    html! {
        section #settings aria-labelledby="settings-title" {
            h2 #settings-title { "Settings and loads" }
            @if !summary.command.is_empty() {
                p { "Command: " code { (said(archive::shell::line(&summary.command))) } }
            }
            @if let Some(imported) = &summary.imported { (stated(imported)) }
            h3 { "Asked" }
            @match &summary.settings {
                Some(settings) => (asked(settings, !summary.roles.is_empty())),
                None if summary.imported.is_some() => p.empty { "The source does not say." },
                None => p.empty { "The archive does not say what was asked." },
            }
            h3 { "Granted, as read back from the kernel" }
            @match &summary.effective {
                Some(effective) => (granted(effective)),
                None if summary.imported.is_some() => p.empty { "The source does not say." },
                None => p.empty { "The meter ended before it reported the granted settings." },
            }
            h3 { "Loads" }
            (loads(summary))
        }
    }
}

/// Statements of an imported run's source about the run.
fn stated(imported: &ImportedFrom) -> Markup {
    let time = |ns: Option<i64>| ns.map(|ns| html! { (words::calendar::utc(ns)) });
    html! {
        h3 { "As the source states" }
        (facts(&[
            ("File", Some(html! { (said(&imported.file_name)) " (" (said(&imported.format)) ")" })),
            ("Measured by", Some(said(measured_by(imported)))),
            ("Begun", time(imported.started_unix_ns)),
            ("Ended", time(imported.ended_unix_ns)),
            ("Values rounded down to", Some(html! { (number::axis_time(imported.resolution_ns as f64)) })),
            ("Imported", time(Some(imported.imported_unix_ns))),
        ]))
        @if !imported.stated.is_empty() { ul.plain { @for line in &imported.stated { li { (said(line)) } } } }
    }
}

fn ns(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn cpu_list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// `has_other_machine`: another one gave the stimuli, or answered them.
fn asked(settings: &RunSettings, has_other_machine: bool) -> Markup {
    let trace = &settings.trace;
    html! {
        (facts(&[
            ("Interval", Some(html! { (number::micros_unit(ns(settings.interval_ns))) })),
            ("Duration", Some(match settings.duration_ns {
                Some(most) if has_other_machine && settings.method.end() == Some(Role::Answer) => {
                    html! {
                        span data-duration="of-the-other-machine" { "until the other machine had measured; at most " }
                        (number::duration(ns(most)))
                    }
                }
                Some(duration) => html! { (number::duration(ns(duration))) },
                None => html! { "until stopped" },
            })),
            ("Cycles", settings.cycles.map(|cycles| html! { (number::grouped(cycles)) })),
            ("Settling time", Some(html! { (number::duration(ns(settings.settle_ns))) })),
            ("CPUs", Some(match &settings.cpus {
                Some(cpus) => html! { (cpu_list(cpus)) },
                None => html! { "all allowed" },
            })),
            ("Scheduling", Some(html! { (vocabulary::policy(settings.policy)) ", priority " (settings.priority) })),
            ("Memory locked", Some(yes_no(settings.lock_memory))),
            ("cpu_dma_latency", Some(dma_latency(settings.cpu_dma_latency_us))),
            ("Limit", Some(match settings.limit_ns {
                Some(limit) => html! { (number::micros_unit(limit)) },
                None => html! { "none" },
            })),
            ("Snapshots", Some(html! {
                (vocabulary::snapshot_mode(trace.mode)) ", at most " (trace.snapshots_max) ", " (trace.controls) " for comparison, "
                (number::grouped(trace.budget_bytes >> 20)) " MiB together"
            })),
            ("Stretch kept", Some(html! {
                (number::micros_unit(ns(trace.margin_before_ns))) " before due, " (number::micros_unit(ns(trace.margin_after_ns))) " after seen"
            })),
            ("Snapshot from", Some(html! { (number::micros_unit(trace.threshold_ns)) })),
        ]))
        @if !settings.settings.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby="changed-settings" {
                table {
                    caption #changed-settings { "Kernel settings changed for the run and put back" }
                    thead { tr { th scope="col" { "file" } th scope="col" { "value" } } }
                    tbody { @for change in &settings.settings { tr { th scope="row" { code { (said(&change.path)) } } td { code { (said(&change.value)) } } } } }
                }
            }
        }
    }
}

fn granted(effective: &EffectiveSettings) -> Markup {
    html! {
        (facts(&[
            ("Memory locked", Some(html! { (number::grouped(effective.memory_locked_kb)) " kB" })),
            ("cpu_dma_latency", Some(dma_latency(effective.cpu_dma_latency_us))),
            ("Smallest clock step", Some(html! { (number::micros_unit(ns(effective.clock_step_ns))) })),
            ("Snapshots", Some(html! { (vocabulary::snapshot_mode(effective.snapshot_mode)) })),
            ("Trace clock", effective.trace_clock.as_ref().map(said)),
            ("Trace buffer", Some(html! { (number::grouped(effective.trace_buffer_kb_per_cpu.into())) " kB per CPU and instance" })),
        ]))
        @if !effective.threads.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby="threads" {
                table {
                    caption #threads { "Measuring threads" }
                    thead {
                        tr {
                            th scope="col" { "thread" } th scope="col" { "thread id" } th scope="col" { "CPUs" }
                            th scope="col" { "policy" } th.number scope="col" { "priority" } th.number scope="col" { "timer slack in ns" }
                        }
                    }
                    tbody {
                        @for thread in &effective.threads {
                            tr {
                                th scope="row" { (thread.thread) }
                                td { (thread.tid) }
                                td { (cpu_list(&thread.cpus)) }
                                td { (vocabulary::policy(thread.policy)) }
                                td.number { (thread.priority) }
                                td.number { (number::grouped(thread.timer_slack_ns)) }
                            }
                        }
                    }
                }
            }
        }
        (events("Events recorded", &effective.events))
        (events("Events this kernel does not have", &effective.events_absent))
    }
}

fn events(title: &str, events: &[String]) -> Markup {
    html! {
        @if !events.is_empty() {
            details { summary { (title) " (" (events.len()) ")" } ul.plain { @for event in events { li { code { (said(event)) } } } } }
        }
    }
}

fn loads(summary: &RunSummary) -> Markup {
    let asked = summary.settings.as_ref().map_or(&[][..], |settings| &settings.loads);
    html! {
        @if asked.is_empty() && summary.loads.is_empty() {
            p.empty {
                @if summary.imported.is_some() { "The source does not say." } @else { "None: the machine was left as it was." }
            }
        }
        @if !asked.is_empty() {
            p {
                "Asked: "
                @for (index, load) in asked.iter().enumerate() {
                    @if index > 0 { ", " }
                    @match load {
                        LoadRequest::Builtin { name, workers: 0 } => (said(name)),
                        LoadRequest::Builtin { name, workers } => { (said(name)) " with " (workers) " workers" },
                        LoadRequest::Command { line, .. } => code { (said(line)) },
                        LoadRequest::Program { .. } => code { (said(load.text())) },
                    }
                }
            }
        }
        @if !summary.loads.is_empty() {
            div.scroll tabindex="0" role="region" aria-labelledby="loads-caption" {
                table {
                    caption #loads-caption { "How the loads did" }
                    thead { tr { th scope="col" { "load" } th.number scope="col" { "progress" } th scope="col" { "unit" } th scope="col" { "alive to the end" } } }
                    tbody {
                        @for load in &summary.loads {
                            tr {
                                th scope="row" { (said(&load.name)) }
                                td.number { (number::grouped(load.progress)) }
                                td { (said(&load.unit)) }
                                td.nonzero[!load.alive] { @if load.alive { "yes" } @else { "no" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn yes_no(value: bool) -> Markup {
    html! { @if value { "yes" } @else { "no" } }
}

fn dma_latency(value: Option<i32>) -> Markup {
    html! { @match value { Some(us) => { "held at " (us) " µs" }, None => "left alone" } }
}
