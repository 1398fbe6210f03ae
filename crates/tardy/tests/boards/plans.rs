//! Plans on boards: from new software to a verdict.

use crate::bench::Bench;
use std::fs;

const PLAN: &str = "targets = [\"board\"]\nrepetitions = 2\n[measurement]\nduration = \"300ms\"\ninterval = \"50ms\"\n[trace]\nmode = \"off\"\n\
                    [[limits]]\nlimit = \"latency < 5s\"\n";

#[test]
fn a_plan_deploys_once_and_measures_nothing_on_a_board_that_did_not_get_it() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.path("update.toml"), PLAN).unwrap();
    let file = bench.target_file("board");
    let board = fs::read_to_string(&file).unwrap();
    let deploy = "echo \"$TARDY_IMAGE\" >> deployed; [ ! -e broken ] || { echo no card there; exit 3; }";
    fs::write(&file, format!("{board}\n[deploy]\nreboots = false\ncommand = '{deploy}'\n")).unwrap();
    fs::write(bench.path("broken"), "").unwrap();
    let run = ["run", "update.toml", "--deploy", "new.wic", "--out", "round"];
    let failed = bench.tardy(&run);
    assert_eq!(failed.code, Some(3), "{}", failed.stderr);
    assert!(failed.stdout.contains("not measured") && failed.stdout.contains("no card there"), "{}", failed.stdout);
    let archives =
        || fs::read_dir(bench.path("round")).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(archives(), 0, "the old software is not what was asked about");
    let log = fs::read_to_string(bench.path("round/deploy-board.log")).unwrap();
    assert!(log.contains("no card there"), "{log}");
    fs::remove_file(bench.path("broken")).unwrap();
    let resumed = bench.tardy(&["run", "--resume", "round"]);
    assert_eq!(resumed.code, Some(4), "half a second shows nothing: {}{}", resumed.stdout, resumed.stderr);
    assert_eq!(fs::read_to_string(bench.path("deployed")).unwrap(), "new.wic\nnew.wic\n", "once for both steps");
    assert_eq!(archives(), 2);
    assert_eq!(bench.tardy(&["run", "--resume", "round"]).code, Some(4));
    assert_eq!(fs::read_to_string(bench.path("deployed")).unwrap().lines().count(), 2, "a board that has it keeps it");
    fs::write(bench.path("here.toml"), PLAN.replace("\"board\"", "\"local\"")).unwrap();
    let refused = bench.tardy(&["run", "here.toml", "--deploy", "new.wic", "--out", "elsewhere"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("--deploy"), "{}", refused.stderr);
}
