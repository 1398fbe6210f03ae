//! Wrong or impossible commands are rejected before anything starts, with a fix, and leave nothing behind.

use crate::desk::Desk;

#[test]
fn mistakes_are_refused_at_once_and_leave_nothing() {
    let Some(desk) = Desk::new() else { return };
    for (line, code, fix) in [
        ("tardy run --cpus 7000", 2, "this process may use 0"),
        ("tardy run --cpus 0-99,5000", 2, "cannot be measured here"),
        ("tardy run -i 1ns", 2, "1us to 1h"),
        ("tardy run -i 100h", 2, "1us to 1h"),
        ("tardy run -i 200", 2, "write 200us"),
        ("tardy run -p 100", 2, "real-time priorities are 1 to 99"),
        ("tardy run --target nowhere", 2, "tardy target add"),
        ("mkdir full; touch full/file; tardy run --out full", 2, "choose another --out"),
        ("tardy watch --pid 999999999", 2, "ps -e lists the processes"),
        ("tardy watch --comm no-such-thread --duration 1s --beside-others", 2, "no thread is called no-such-thread"),
        ("tardy list nowhere", 2, "there is no such directory"),
        ("tardy explain", 2, "there is no run below runs/"),
        ("tardy report", 2, "there is no run below runs/"),
    ] {
        let ended = desk.shell(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.shown());
        assert!(ended.shown().replace('`', "").contains(fix), "{line}: {fix:?} is not in {}", ended.shown());
        assert_eq!(desk.runs(), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn without_root_a_run_is_refused_before_it_measures() {
    let Some(desk) = Desk::new() else { return };
    // A copy that every user may run.
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_tardy")).parent().unwrap().display().to_string();
    let line = format!(
        "chmod 755 . && mkdir -m 777 open && cp {programs}/tardy {programs}/tardy-meter open/ && cd open && \
         TARDY_STATE_DIR=$PWD setpriv --reuid 65534 --clear-groups ./tardy run -D 1h"
    );
    let ended = desk.shell(&line);
    assert_eq!(ended.code, Some(3), "{}", ended.shown());
    let shown = ended.shown();
    assert!(shown.contains("root") && shown.contains("there is no archive"), "{shown}");
}

#[test]
fn errors_are_documents_where_results_are() {
    let Some(desk) = Desk::new() else { return };
    for (line, code) in [
        ("tardy run --json --cpus 7000", "usage.refused"),
        ("tardy run --json --nonsense", "usage.command-line"),
        ("tardy explain nowhere --json", "usage.no-such-archive"),
        ("tardy watch --json --comm no-such-thread --duration 1s --beside-others", "meter.no-such-thread"),
    ] {
        let ended = desk.shell(line);
        assert_eq!((ended.code, &ended.json()["error"]["code"]), (Some(2), &code.into()), "{line}: {}", ended.shown());
    }
}

#[test]
fn a_virtual_machine_is_sent_no_program_that_cannot_run_there() {
    let Some(desk) = Desk::new() else { return };
    assert_eq!(desk.shell("tardy target add vm --kernel debian:6.1-rt").code, Some(0));
    let ended = desk.shell("tardy watch --target vm -- /bin/sh");
    assert_eq!(ended.code, Some(125), "{}", ended.shown());
    assert!(ended.shown().contains("link the program statically"), "{}", ended.shown());
}
