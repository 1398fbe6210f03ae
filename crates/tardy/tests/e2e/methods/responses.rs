//! Round trips whose stimulus comes from the host: a logger outside of the machine gives it, sees the answer and measures.

use super::{Case, SAMPLES_LEAST, losses};
use crate::lab::assert_ledgers_add_up;
use archive::loss::LossKind;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A stimulus without an answer for this time is lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// So long the logger waits before it gives the next stimulus: the machine counts an echo of the last one until then.
const PAUSE: Duration = Duration::from_millis(2);

/// The outside end of a wire.
trait Wire {
    fn stimulate(&mut self, number: u8);

    /// Waits for an answer; `false`: none came in time.
    fn is_answered(&mut self, number: u8) -> bool;
}

/// A socket of QEMU, which the machine has as soon as it runs.
fn socket(path: &Path) -> UnixStream {
    let line = UnixStream::connect(path).unwrap();
    line.set_read_timeout(Some(PATIENCE)).unwrap();
    line
}

struct Serial(UnixStream);

impl Wire for Serial {
    fn stimulate(&mut self, number: u8) {
        self.0.write_all(&[number]).unwrap();
    }

    fn is_answered(&mut self, number: u8) -> bool {
        let mut answer = [0];
        matches!(self.0.read(&mut answer), Ok(1)) && answer[0] == number
    }
}

/// QEMU's interface for tests, through which the host drives interrupt lines.
pub struct Qtest(BufReader<UnixStream>);

impl Qtest {
    fn send(&mut self, line: &str) {
        writeln!(self.0.get_mut(), "{line}").unwrap();
    }

    /// The next line that starts with these words.
    pub fn line(&mut self, start: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(1..) if line.starts_with(start) => return Some(line),
                Ok(1..) => {}
                _ => return None,
            }
        }
    }
}

/// Interrupt 7 in, the byte of the strobe out.
struct Parallel {
    qtest: Qtest,
    port: UnixStream,
}

impl Wire for Parallel {
    fn stimulate(&mut self, _number: u8) {
        for level in [1, 0] {
            self.qtest.send(&format!("set_irq_in /machine/q35/ioapic unnamed-gpio-in 7 {level}"));
            // QEMU waits where nobody reads its replies.
            self.qtest.line("OK").expect("QEMU drives the line");
        }
    }

    fn is_answered(&mut self, _number: u8) -> bool {
        matches!(self.port.read(&mut [0]), Ok(1))
    }
}

/// Line 0 of a PL061 in, line 1 out.
pub struct Gpio {
    pub qtest: Qtest,
    chip: String,
    high: bool,
}

impl Gpio {
    pub fn connect(lab: &Path) -> Self {
        let mut monitor = BufReader::new(socket(&lab.join("qmp")));
        let mut ask = |text: &str| {
            writeln!(monitor.get_mut(), "{text}").unwrap();
            let mut line = String::new();
            while !line.contains("\"return\"") {
                line.clear();
                monitor.read_line(&mut line).unwrap();
            }
            line
        };
        ask(r#"{"execute":"qmp_capabilities"}"#);
        let listed = ask(r#"{"execute":"qom-list","arguments":{"path":"/machine/unattached"}}"#);
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let devices = listed["return"].as_array().unwrap();
        let chip = devices.iter().find(|device| device["type"] == "child<pl061>").expect("the machine has a PL061");
        let chip = format!("/machine/unattached/{}", chip["name"].as_str().unwrap());
        let mut qtest = Qtest(BufReader::new(socket(&lab.join("qtest"))));
        qtest.send(&format!("irq_intercept_out {chip}"));
        qtest.line("OK").expect("the lines of the chip can be seen");
        Self { qtest, chip, high: false }
    }
}

impl Gpio {
    /// Sets the line that comes in.
    pub fn set(&mut self, high: bool) {
        self.high = high;
        self.qtest.send(&format!("set_irq_in {} unnamed-gpio-in 0 {}", self.chip, i32::from(high)));
    }
}

impl Wire for Gpio {
    fn stimulate(&mut self, _number: u8) {
        self.set(!self.high);
    }

    fn is_answered(&mut self, _number: u8) -> bool {
        self.qtest.line("IRQ ").is_some_and(|line| line.trim_end().ends_with(" 1"))
    }
}

/// A datagram of QEMU's network is one frame.
struct Ethernet(UnixDatagram);

impl Ethernet {
    fn connect(lab: &Path) -> Self {
        let wire = UnixDatagram::bind(lab.join("host")).unwrap();
        wire.connect(lab.join("guest")).unwrap();
        wire.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(wire)
    }
}

impl Wire for Ethernet {
    fn stimulate(&mut self, number: u8) {
        let mut frame = vec![0xff; 6];
        frame.extend([0x52, 0x54, 0, 0x12, 0x34, 0x57, 0x88, 0xb5, number, 0x12, 0x34]);
        frame.resize(60, 0);
        self.0.send(&frame).unwrap();
    }

    fn is_answered(&mut self, number: u8) -> bool {
        let mut frame = [0; 2048];
        while let Ok(bytes) = self.0.recv(&mut frame) {
            if bytes >= 17 && frame[12..17] == [0x88, 0xb6, number, 0x12, 0x34] {
                return true;
            }
        }
        false
    }
}

/// The round trips that the logger saw, in ascending order, and how many stimuli had no answer.
fn round_trips(wire: &mut dyn Wire, count: u64) -> (Vec<Duration>, u64) {
    let (mut times, mut silent) = (Vec::new(), 0);
    for number in 0..count {
        let started = Instant::now();
        wire.stimulate(number as u8);
        match wire.is_answered(number as u8) {
            true => times.push(started.elapsed()),
            false => silent += 1,
        }
        std::thread::sleep(PAUSE);
    }
    times.sort_unstable();
    (times, silent)
}

/// Nothing of the host delays this process but what has a higher real-time priority.
///
/// Round robin: of two machines that are busy at that priority each must go on.
pub fn in_front(pid: &str) {
    let _ = Command::new("chrt").args(["-a", "-r", "-p", "1", pid]).status();
}

/// Boots the machine of a case, stimulates it from outside, prints a line and returns what is wrong.
fn failures(case: &Case, connect: Connect) -> Vec<String> {
    let lab = super::lab(case);
    let slowness = super::slowness(&lab);
    let expected_us = super::expected_us(case, slowness);
    let words = [&["--method", case.method, "--duration", "25s"][..], case.run].concat();
    let (child, qemu) = lab.measuring(&words);
    in_front(&qemu.to_string());
    in_front(&std::process::id().to_string());
    let (times, silent) = round_trips(&mut *connect(&lab.path("")), SAMPLES_LEAST + 100);
    let (run, _) = lab.ended_well(child, &words);
    let explained = assert_ledgers_add_up(&run).iter().filter(|one| !one.phases.is_empty()).count();
    let answered: u64 = run.threads.values().map(|thread| thread.totals.cycles).sum();
    let stray = losses(&run, LossKind::StrayAnswers);
    let median_us = times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_nanos() as f64 / 1000.0);
    println!(
        "{:<46} {:<13} {:>7} {median_us:>9.1} {:>9.1} {slowness:>6.2} {:>7.0}..{:<6.0} {silent:>6} {stray:>5} {explained:>4}",
        case.method,
        case.kernel,
        times.len(),
        case.median_us,
        expected_us.start(),
        expected_us.end(),
    );
    let mut wrong = Vec::new();
    let mut fails = |holds: bool, text: String| {
        if !holds {
            wrong.push(format!("{} on {}: {text}", case.method, case.kernel));
        }
    };
    fails(times.len() as u64 >= SAMPLES_LEAST, format!("{} answers, {silent} stimuli without one", times.len()));
    fails(answered >= times.len() as u64, format!("the machine counts {answered} of {} answers", times.len()));
    fails(losses(&run, LossKind::Answers) == 0, "the machine had no signal".into());
    fails(expected_us.contains(&median_us), format!("the median is {median_us:.1} us"));
    fails(explained > 0, "no late answer is explained".into());
    wrong
}

/// Connects the outside end of a wire, below the directory of a lab.
type Connect = fn(&Path) -> Box<dyn Wire>;

fn to_serial(lab: &Path) -> Box<dyn Wire> {
    Box::new(Serial(socket(&lab.join("uart"))))
}

fn to_parallel(lab: &Path) -> Box<dyn Wire> {
    let qtest = Qtest(BufReader::new(socket(&lab.join("qtest"))));
    Box::new(Parallel { qtest, port: socket(&lab.join("port")) })
}

fn to_gpio(lab: &Path) -> Box<dyn Wire> {
    Box::new(Gpio::connect(lab))
}

fn to_ethernet(lab: &Path) -> Box<dyn Wire> {
    Box::new(Ethernet::connect(lab))
}

fn measure(cases: &[Case], connect: Connect) {
    println!(
        "\n{:<46} {:<13} {:>7} {:>9} {:>9} {:>6} {:>15} {:>6} {:>5} explained",
        "method", "kernel", "answers", "median us", "reference", "slower", "expected", "silent", "stray"
    );
    let wrong: Vec<String> = cases.iter().flat_map(|case| failures(case, connect)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const UART: &[&str] = &["--qemu-arg=-serial", "--qemu-arg=unix:{lab}/uart,server=on,wait=off"];

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn serial() {
    let on = |method, kernel, median_us| Case { method, kernel, median_us, machine: UART, ..Case::default() };
    let cases = [
        on("serial:role=answer,port=/dev/ttyS1", "debian:6.1-rt", 700.0),
        on("serial:role=answer,port=/dev/ttyS1,hops=1", "debian:6.1-rt", 899.0),
        on("serial:role=answer,port=/dev/ttyS1,hops=4", "debian:6.1-rt", 1088.0),
        on("serial:role=answer,port=/dev/ttyS1,hops=8", "debian:6.1-rt", 1354.0),
        on("serial:role=answer,port=/dev/ttyS1", "debian:6.1", 468.0),
    ];
    measure(&cases, to_serial);
}

const PARALLEL: &[&str] = &[
    "--qemu-arg=-chardev",
    "--qemu-arg=socket,id=pp,path={lab}/port,server=on,wait=off",
    "--qemu-arg=-device",
    "--qemu-arg=isa-parallel,chardev=pp",
    "--qemu-arg=-qtest",
    "--qemu-arg=unix:{lab}/qtest,server=on,wait=off",
    "--qemu-arg=-qtest-log",
    "--qemu-arg=none",
    "--load-module=parport_pc",
    "--load-module=ppdev",
];

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn parallel() {
    let on = |kernel, median_us| Case {
        method: "parallel:role=answer,echo_us=1000",
        kernel,
        median_us,
        machine: PARALLEL,
        ..Case::default()
    };
    measure(&[on("debian:6.1-rt", 271.0), on("debian:6.1", 260.0)], to_parallel);
}

pub const GPIO: &[&str] = &[
    "--arch=arm64",
    "--qemu-arg=-qmp",
    "--qemu-arg=unix:{lab}/qmp,server=on,wait=off",
    "--qemu-arg=-qtest",
    "--qemu-arg=unix:{lab}/qtest,server=on,wait=off",
    "--qemu-arg=-qtest-log",
    "--qemu-arg=none",
];

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn gpio() {
    let case = Case { method: "gpio:role=answer,in=0,out=1", median_us: 356.0, machine: GPIO, ..Case::default() };
    measure(&[case], to_gpio);
}

const NETWORK: &[&str] = &[
    "--qemu-arg=-netdev",
    "--qemu-arg=dgram,id=n1,local.type=unix,local.path={lab}/guest,remote.type=unix,remote.path={lab}/host",
    "--qemu-arg=-device",
    "--qemu-arg=virtio-net-pci,netdev=n1",
    "--load-module=virtio_net",
    "--load-module=af_packet",
];

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn ethernet() {
    let on = |kernel, median_us| Case {
        method: "ethernet:role=answer,interface=eth0,up",
        kernel,
        median_us,
        machine: NETWORK,
        ..Case::default()
    };
    measure(&[on("debian:6.1-rt", 263.0), on("debian:6.1", 230.0)], to_ethernet);
}

/// The wires of a machine: the method that answers on it, its machine, and the host's end.
const WIRES: [(&str, &[&str], Connect); 4] = [
    ("serial:role=answer,port=/dev/ttyS1", UART, to_serial),
    ("parallel:role=answer,echo_us=1000", PARALLEL, to_parallel),
    ("ethernet:role=answer,interface=eth0,up", NETWORK, to_ethernet),
    ("gpio:role=answer,in=0,out=1", GPIO, to_gpio),
];

/// The median of the round trips that the host sees, and of the times that the machine sees.
fn medians_us(method: &str, machine: &'static [&'static str], connect: Connect) -> (f64, f64) {
    let lab = super::lab(&Case { machine, ..Case::default() });
    let words = ["--method", method, "--duration", "12s", "--trace", "off"];
    let (child, qemu) = lab.measuring(&words);
    in_front(&qemu.to_string());
    in_front(&std::process::id().to_string());
    let (times, silent) = round_trips(&mut *connect(&lab.path("")), 101);
    let (run, _) = lab.ended_well(child, &words);
    assert_eq!(silent, 0, "{method}");
    (times[times.len() / 2].as_nanos() as f64 / 1000.0, super::median_us(&run))
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_known_delay_of_the_answer_shows_at_both_ends() {
    const DELAY_US: f64 = 40_000.0;
    for (method, machine, connect) in WIRES {
        let (outside_us, inside_us) = medians_us(method, machine, connect);
        let delayed = medians_us(&format!("{method},delay_us={DELAY_US}"), machine, connect);
        println!("{method}: {outside_us:.0} and {inside_us:.0} us become {:.0} and {:.0}", delayed.0, delayed.1);
        for added_us in [delayed.0 - outside_us, delayed.1 - inside_us] {
            assert!((added_us / DELAY_US - 1.0).abs() <= 0.05, "{method}: {added_us} us");
        }
    }
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn a_cut_wire_is_no_signal() {
    let cut: [(&str, &[&str]); 3] = [
        ("serial:role=stimulus,port=/dev/ttyS1", UART),
        ("ethernet:role=stimulus,interface=eth0,up", NETWORK),
        ("gpio:role=stimulus,in=0,out=1", GPIO),
    ];
    for (method, machine) in cut {
        let lab = super::lab(&Case { machine, ..Case::default() });
        let ended = lab.run(&["--method", method, "--duration", "4s", "--trace", "off"]);
        let run = lab.archive();
        let samples: u64 = run.threads.values().map(|thread| thread.totals.cycles).sum();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(samples == 0 && losses(&run, LossKind::Answers) > 0, "{method}: {samples} samples; {said}");
        assert!(said.contains("no signal"), "{method}: {said}");
    }
}
