//! The same hour in one virtual machine with Debian's kernel, as far as its rows make sense there. QEMU emulates the machine,
//! so the hour is the same on a host without KVM.

use crate::desk::Desk;
use prerequisites::Prerequisite::{Prepared, Program};
use prerequisites::met;
use std::path::Path;

/// A desk whose target `vm` is added; `None` if this machine cannot boot it. The meter there must be static.
fn desk() -> Option<Desk> {
    let meter = std::env::var_os("TARDY_METER").is_some_and(|meter| Path::new(&meter).is_file());
    let needs = [
        Program("qemu-system-x86_64"),
        Program("busybox"),
        Prepared("a static meter in TARDY_METER (make build; make e2e-first-hour sets it)", meter),
    ];
    let desk = Desk::new().filter(|_| met(&needs))?.with_meter_of_environment();
    let added = desk.shell("tardy target add vm --kernel debian:6.1-rt --accel tcg");
    assert_eq!(added.code, Some(0), "{}", added.shown());
    Some(desk)
}

#[test]
#[ignore = "downloads a kernel: make e2e-first-hour"]
fn vm_every_verb_shows_the_run_and_what_the_machine_is() {
    let Some(desk) = desk() else { return };
    let ran = desk.shell("tardy run --target vm -m -Sp90 -i1ms -D 3s --load messaging");
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.starts_with("EMULATED MACHINE"), "{}", ran.stdout);
    let shown = ran.shown();
    assert!(shown.contains("Conditions: load messaging; kernel 6.1"), "{shown}");
    assert!(shown.contains("preemption PREEMPT_RT"), "{shown}");
    let document = desk.shell("tardy explain --json").json();
    let late = document["spikes"].as_array().unwrap().iter().filter(|spike| spike["late"] == true).count();
    let listed = desk.shell("tardy list --json").json();
    let run = &listed["runs"][0];
    assert_eq!(
        (&run["spikes"], &run["target"], &run["load"]),
        (&late.into(), &"vm (emulated)".into(), &"messaging".into())
    );
    assert_eq!(run["emulated"], true);
    let explained = desk.shell("tardy explain");
    assert_eq!(explained.code, Some(0), "{}", explained.shown());
    assert!(explained.stderr.contains("latest is runs/") && explained.stdout.starts_with("EMULATED MACHINE"));
    assert_eq!(desk.shell("tardy report").code, Some(0));
    let judged = desk.shell("tardy judge latest --limit 'latency < 1ms' --allow 1/h");
    assert_eq!(judged.code, Some(3), "{}", judged.shown());
    assert!(judged.shown().contains("NO VERDICT"), "no limit is judged on an emulated machine: {}", judged.shown());
}

#[test]
#[ignore = "downloads a kernel: make e2e-first-hour"]
fn vm_mistakes_are_refused_and_leave_nothing() {
    let Some(desk) = desk() else { return };
    for (line, code, fix) in [
        ("tardy run --target vn -D 1s", 2, "`tardy target add vn` makes one"),
        ("tardy run --target vm -i 200", 2, "write 200us"),
        ("tardy run --target vm -p 100", 2, "real-time priorities are 1 to 99"),
        ("tardy watch --target vm -- ./absent", 127, "absent"),
        ("tardy watch --target vm -- /bin/sh", 125, "link the program statically"),
    ] {
        let ended = desk.shell(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.shown());
        assert!(ended.shown().contains(fix), "{line}: {fix:?} is not in {}", ended.shown());
        assert_eq!(desk.runs(), Vec::<String>::new(), "{line}");
    }
}

#[test]
#[ignore = "downloads a kernel: make e2e-first-hour"]
fn vm_a_command_is_watched_and_its_failure_passed_on() {
    let Some(desk) = desk() else { return };
    let loops = "for n in 1 2 3; do /busybox sleep 0.2; done; echo overrun; exit 7";
    let line = format!("tardy watch --target vm --count overrun -- \"$(command -v busybox)\" sh -c '{loops}'");
    let ended = desk.shell(&line);
    assert_eq!(ended.code, Some(125), "a failure on another machine: {}", ended.shown());
    assert!(ended.stdout.contains("overrun") && ended.shown().contains("1 line with overrun"), "{}", ended.shown());
}

#[test]
#[ignore = "downloads a kernel: make e2e-first-hour"]
fn vm_a_limit_is_not_judged_where_time_is_emulated() {
    let Some(desk) = desk() else { return };
    let ended = desk.shell("tardy run --target vm -D 1s -b 1us");
    assert_eq!(ended.code, Some(3), "{}", ended.shown());
    assert!(ended.shown().contains("must not be used"), "{}", ended.shown());
    assert!(desk.shell("tardy list").stdout.contains("invalid"));
}
