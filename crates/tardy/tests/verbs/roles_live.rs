//! One plan starts both ends of a cable, which is a pair of virtual interfaces of this machine.

use crate::fake_meter::Ended;
use crate::real_meter::real_meter;
use archive::reader::Run;
use archive::summary::RunSummary;
use prerequisites::Prerequisite::{Prepared, Program};
use prerequisites::met;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two interfaces joined by a wire.
struct Cable {
    near: String,
    far: String,
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

impl Cable {
    /// `None` where the kernel has no such interfaces.
    fn lay() -> Option<Self> {
        let own = std::process::id();
        let cable = Self { near: format!("tdrn{own}"), far: format!("tdrf{own}") };
        ip(&["link", "add", &cable.near, "type", "veth", "peer", "name", &cable.far]).then_some(())?;
        for name in [&cable.near, &cable.far] {
            assert!(ip(&["link", "set", name, "up"]));
        }
        Some(cable)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        ip(&["link", "del", &self.near]);
    }
}

fn tardy(folder: &Path, meter: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder).env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.join("state"));
    Ended::of(command.output().unwrap())
}

/// What both machines measured by a plan with these options of the answering end.
fn measured(folder: &Path, meter: &Path, cable: &Cable, options: &str, round: &str) -> (RunSummary, RunSummary) {
    let plan = format!(
        "[measurement]\nmethod = \"ethernet:interface={}{options}\"\nstimulus = \"local:interface={}\"\n\
         duration = \"1s\"\ninterval = \"10ms\"\nsettle = \"100ms\"\n[trace]\nbeside_others = true\n",
        cable.far, cable.near
    );
    fs::write(folder.join("p.toml"), plan).unwrap();
    let ended = tardy(folder, meter, &["run", "p.toml", "--out", round, "--json"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let archive = folder.join(ended.json()["steps"][0]["archive"].as_str().unwrap());
    let summary = |path: &Path| RunSummary::of(&Run::open(path).unwrap(), &[]);
    (summary(&archive), summary(&archive.join("stimulus")))
}

#[test]
fn one_plan_measures_both_ends_of_a_cable() {
    let Some(meter) = real_meter().filter(|_| met(&[Program("ip")])) else { return };
    let Some(cable) = Cable::lay() else {
        met(&[Prepared("veth interfaces", false)]);
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (target, stimulus) = measured(folder.path(), &meter, &cable, ",hops=1", "plain");
    assert!(target.valid && stimulus.valid, "{:?} {:?}", target.invalid_because, stimulus.invalid_because);
    let (answered, sent) = (target.cpus[0].cycles, stimulus.cpus[0].cycles);
    assert!(sent > 0 && answered >= sent, "{sent} round trips, {answered} answers");
    assert!(stimulus.losses.is_empty(), "{:?}", stimulus.losses);
    assert!(target.all_cpus.p50 < stimulus.all_cpus.p50, "the residence is a part of the round trip");
    let shown = &target.roles[0];
    assert!(shown.same_clock, "both ends are on this machine");
    assert_eq!((shown.samples, shown.unanswered, shown.latency_ns.max), (sent, 0, stimulus.all_cpus.max));
    assert_eq!(stimulus.roles[0].samples, answered);

    // A known delay of the answer is in the figures of both ends.
    const DELAY_NS: i64 = 20_000_000;
    let (target, stimulus) = measured(folder.path(), &meter, &cable, ",delay_us=20000", "delayed");
    for least in [target.all_cpus.min, stimulus.all_cpus.min] {
        assert!(least.is_some_and(|least| (DELAY_NS..DELAY_NS + DELAY_NS / 20).contains(&least)), "{least:?}");
    }
}
