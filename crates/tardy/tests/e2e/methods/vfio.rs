//! A device with message-signalled interrupts, which VFIO gives to user space: QEMU's ivshmem-doorbell with a server of its own.

use super::{Case, measure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const IVSHMEM: &[&str] = &[
    "--qemu-arg=-device",
    "--qemu-arg=intel-iommu",
    "--qemu-arg=-chardev",
    "--qemu-arg=socket,id=peers,path={lab}/ivshmem",
    "--qemu-arg=-device",
    "--qemu-arg=ivshmem-doorbell,vectors=1,chardev=peers,addr=0x6",
    "--append=intel_iommu=on",
    "--load-module=vfio_pci",
    "--load-module=vfio_iommu_type1",
];

/// The other end of the device; QEMU does not start without it.
fn server(lab: &Path) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ivshmem_server.py");
    let mut command = Command::new("python3");
    let mut server = command.arg(script).arg(lab.join("ivshmem")).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "listening\n");
    server
}

#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn uio_over_vfio() {
    let case = Case {
        method: "uio:kind=ivshmem",
        kernel: "debian:6.1-rt",
        median_us: 69.0,
        machine: IVSHMEM,
        beside: Some(server),
        ..Case::default()
    };
    // The reference has no figure of the stock kernel, whose handler is no thread: this one was measured here.
    measure(&[case, Case { kernel: "debian:6.1", median_us: 29.0, ..case }]);
}
