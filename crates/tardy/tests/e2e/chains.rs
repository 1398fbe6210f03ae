//! `tardy watch --chain` in virtual machines: the interrupt of a device begins a chain.

use crate::lab::{KERNEL, Lab, text};
use archive::chain::{ChainAccount, ChainInstance, Segment};
use archive::culprit::Culprit;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Each byte whose number is a multiple of this makes the reader late.
const LATE_EVERY: usize = 20;
const BETWEEN_BYTES: Duration = Duration::from_millis(60);

/// Sends bytes to a device of the machine until its end.
fn feed(socket: PathBuf) {
    thread::spawn(move || {
        let mut device = loop {
            match UnixStream::connect(&socket) {
                Ok(device) => break device,
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        };
        for number in 0.. {
            let byte: &[u8] = if number % LATE_EVERY == LATE_EVERY - 1 { b"L" } else { b"x" };
            if device.write_all(byte).is_err() {
                return;
            }
            thread::sleep(BETWEEN_BYTES);
        }
    });
}

/// Watches a chain from an interrupt with this name to the reader of the device. `device`: arguments of QEMU for the character device
/// `bytes`.
fn is_followed_from(interrupt: &str, device: &[&str], reads: &str) {
    let lab = Lab::with(KERNEL, &[]);
    let socket = lab.path("bytes");
    let character = format!("socket,id=bytes,path={},server=on,wait=off", socket.display());
    let words: Vec<&str> = ["-chardev", &character].iter().chain(device).copied().collect();
    let reader = format!("{} {reads}", lab.program("byte_reader").display());
    let file = lab.path("targets/vm.toml");
    let device = format!("qemu_arguments = {words:?}");
    let described = text(&file).replace("qemu_arguments = []", &device);
    assert!(described.contains(&device), "{described}");
    // Before its own lines: it is of no table.
    fs::write(&file, format!("start_programs = [{reader:?}]\n{described}")).unwrap();
    let chain = format!(
        "[[chain]]\nname = \"bytes\"\ndeadline = \"15ms\"\nperiod = \"20ms\"\nstages = [\"byte-reader\"]\n\
         stimulus = {{ interrupt = \"{interrupt}\" }}\n"
    );
    fs::write(lab.path("chains.toml"), chain).unwrap();
    feed(socket);
    let words = ["--comm", "byte-reader", "--chain", "chains.toml", "--duration", "20s"];
    let (_, said) = lab.measured("watch", &words);
    let explained = lab.tardy(&["explain", "run", "--chain", "chains.toml", "--json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let account: ChainAccount = serde_json::from_value(document["chains"][0].clone()).unwrap();
    let with_ledger = || account.instances.iter().filter(|instance| !instance.segments.is_empty());
    assert!(account.instances.len() >= 20, "{} instances: {:?}; {said}", account.instances.len(), account.limits);
    let sum_ns = |instance: &ChainInstance| instance.segments.iter().map(Segment::ns).sum::<i64>();
    assert!(with_ledger().count() > 0 && with_ledger().all(|of| sum_ns(of) == of.latency_ns()), "{said}");
    let by_itself = |culprit: &Option<Culprit>| *culprit == Some(Culprit::OwnWork);
    assert!(account.findings.iter().any(|finding| by_itself(&finding.culprit)), "{:?}; {said}", account.findings);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_chain_begins_with_the_interrupt_of_a_serial_line() {
    // The first serial line is the console.
    is_followed_from("ttyS*", &["-serial", "chardev:bytes"], "/dev/ttyS1");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_chain_begins_with_the_interrupt_of_a_virtio_console() {
    is_followed_from("virtio*", &["-device", "virtserialport,chardev=bytes,name=bytes"], "bytes");
}
