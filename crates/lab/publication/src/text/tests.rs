//! The part of a text that its rule keeps.

use super::*;
use crate::rules::{RULES, rule_of, rule_of_type};
use ftrace::kernel_symbols::KernelSymbols;

const SECRETS: [&str; 14] = [
    "10.0.0.1",
    "192.168.17.20:22",
    "00:1b:21:3c:9d:f8",
    "fe80::1",
    "/srv/alice/robot",
    "alice@example.org",
    "0xffff888012345678",
    "RPI-00000000d34db33f",
    "https://example.org/secret",
    "geheimer-böser-Name",
    "acme_isr",
    "do_idle [acme]",
    "acme:acme_event_2 x",
    "kworker/0:1-acme",
];

fn with<T>(kept: &[&str], made: impl FnOnce(&mut Anonymiser) -> T) -> T {
    let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let key = PseudonymKey::from_secret(b"of the test");
    let mut functions = KernelFunctions::default();
    functions.add_symbols(&KernelSymbols::parse("1000 T do_idle\n2000 T net_rx_action\n3000 t acme_isr [acme]\n"));
    let own_tids = BTreeSet::from([7]);
    made(&mut Anonymiser { key: &key, kept: &kept, functions: &functions, own_tids, changes: Changes::default() })
}

fn shown(field: &str, text: &str) -> String {
    let rule = match field.split_once('.') {
        Some((container, name)) => rule_of(container, name),
        None => rule_of_type(field),
    };
    with(&[], |anonymiser| anonymiser.value(rule, text).unwrap_or_default())
}

#[test]
fn no_rule_shows_an_address_a_path_or_a_name() {
    for rule in RULES {
        for secret in SECRETS {
            for text in
                [secret.to_owned(), format!("{secret}-41"), format!("irq 45 {secret}"), format!("do_idle ({secret})")]
            {
                let shown = with(&[], |anonymiser| anonymiser.value(Some(rule), &text)).unwrap_or_default();
                assert!(!shown.contains(secret) && !shown.contains("acme"), "{}: {text} became {shown}", rule.kind);
            }
        }
    }
}

#[test]
fn a_text_without_a_rule_is_emptied() {
    assert_eq!(shown("Unheard.of", "anything"), "");
}

#[test]
fn holders_keep_what_the_kernel_and_tardy_chose() {
    for text in [
        "no data",
        "nmi",
        "idle state 2",
        "local_timer (do_idle)",
        "irq 24 nvme0q1",
        "NET_RX in ksoftirqd/1-22",
        "NET_RX in ksoftirqd/1-22 (net_rx_action)",
        "kworker/u8:2-events_unbound-31",
        "tardy-cpu1-19466",
        "tardy-meter-7",
        "load-dentry-9",
        "messaging-recv-26921",
        "interrupt not delivered to ksoftirqd/1-22",
    ] {
        assert_eq!(shown("Owner.name", text), text);
    }
    let key = PseudonymKey::from_secret(b"of the test");
    let (drive, isr) = (key.pseudonym("task", "acme drive"), key.pseudonym("function", "acme_isr"));
    assert_eq!(shown("Owner.name", "acme drive-41 (acme_isr)"), format!("{drive}-41 ({isr})"));
    assert_eq!(shown("Owner.name", "stood still in acme drive-41"), format!("stood still in {drive}-41"));
    // The thread is not one that the run lists as tardy's.
    assert!(shown("Owner.name", "tardy-meter-8").starts_with("task-"));
}

#[test]
fn a_thread_has_one_pseudonym_in_every_field() {
    let (alone, holder) = (shown("WatchedSeries.name", "acmed"), shown("Owner.name", "acmed-7"));
    assert_eq!(format!("{alone}-7"), holder);
}

#[test]
fn a_kept_name_stays_in_every_field() {
    let shown = |field: (&str, &str), text: &str| {
        with(&["acme*"], |anonymiser| anonymiser.value(rule_of(field.0, field.1), text)).unwrap()
    };
    assert_eq!(shown(("Owner", "name"), "acmed-8 (acme_isr)"), "acmed-8 (acme_isr)");
    assert_eq!(shown(("RtTask", "name"), "acmed"), "acmed");
}

#[test]
fn functions_of_the_kernel_stay_and_those_of_modules_do_not() {
    assert_eq!(shown("KernelName", "do_idle"), "do_idle");
    assert_eq!(shown("TracedFunction.name", "net_rx_action"), "net_rx_action");
    for other in ["acme_isr", "unheard_of", "0xffffffff81000000"] {
        assert!(shown("KernelName", other).starts_with("function-"), "{other}");
    }
}

#[test]
fn texts_of_the_kernel_stay() {
    for (field, text) in [
        ("Environment.cpu_model", "AMD EPYC 7763 Processor"),
        ("Environment.mitigations", "spectre_v1: usercopy/swapgs barriers and __user pointer sanitization"),
        ("Environment.frequency_governors", "cpu0=performance"),
        ("Environment.config", "CONFIG_HZ=250"),
        ("Environment.cpus_online", "0-3,5"),
        ("Environment.preemption", "preempt_rt"),
        ("Environment.kernel_version", "#1 SMP PREEMPT_RT Debian 6.1.8"),
        ("EffectiveSettings.events", "sched:sched_switch"),
        ("PlannedLimit.limit", "latency < 100us"),
        ("PlannedLimit.allow", "1/h"),
        ("Loss.what", "snapshots"),
        ("Problem.code", "meter.clock-stepped"),
        ("LoadReport.name", "messaging:4"),
    ] {
        assert_eq!(shown(field, text), text, "{field}");
    }
}

#[test]
fn a_release_keeps_its_version_and_loses_the_name_of_its_builder() {
    let acme = PseudonymKey::from_secret(b"of the test").pseudonym("kernel", "acme-robot");
    let release = |text: &str| shown("Environment.kernel_release", text);
    assert_eq!(release("6.12.8-rt5-acme-robot"), format!("6.12.8-rt5-{acme}"));
    for stays in ["6.1.0-25-amd64", "6.13.0-rc3", "5.10"] {
        assert_eq!(release(stays), stays);
    }
    assert!(release("10.0.0.1.acme").starts_with("kernel-"));
}
