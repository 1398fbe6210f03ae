//! Parts of sentences that stay, and parts that do not.

use super::*;

fn shown(text: &str, tasks: &[&str], kept: &[&str]) -> String {
    let mut names = Names::default();
    tasks.iter().for_each(|task| names.add(task, "task", TASKS));
    let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let key = PseudonymKey::from_secret(b"of the test");
    Anonymiser { key: &key, kept: &kept, names: &names, changes: Changes::default() }.text(text)
}

#[test]
fn sentences_of_tardy_stay_as_they_are() {
    for text in [
        "no CPU recorded anything (45.0 us, 45 % of the latency): the hypervisor (kvm) or firmware had the CPU",
        "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
        "    +49.941 us cpu1 dNh. tardy-meter-19460: local_timer left",
        "  -1174.628 us cpu1 d..2 ksoftirqd/1-22: switch from ksoftirqd/1-22 (prio 120, asleep) to tardy-cpu1-7 (prio 120)",
        "steal time since the snapshot before: 0 ns (in steps of 10 ms)",
        "  +125.026 us cpu1 ...3 tardy-cpu1-9: ipi_send_cpu cpu=1 callsite=irq_work_queue+0x29 callback=0x0",
        "   +10.496 us cpu1 d.H. load-dentry-7: local_timer entered",
        "latency < 100us",
        "0.1.0",
        "",
    ] {
        assert_eq!(shown(text, &[], &[]), text);
    }
}

#[test]
fn names_are_replaced_wherever_they_stand() {
    let key = PseudonymKey::from_secret(b"of the test");
    let (task, name) = (key.pseudonym("task", "acme drive"), key.pseudonym("task", "hypervisor"));
    let text = "switch from acme drive-41 (prio 120, runnable) to hypervisor-42; the hypervisor (kvm) was late; acme drive ran";
    let expected =
        format!("switch from {task}-41 (prio 120, runnable) to {name}-42; the hypervisor (kvm) was late; {task} ran");
    assert_eq!(shown(text, &["acme drive", "hypervisor"], &[]), expected);
    assert!(shown("a virtual-machine-17860 ran", &[], &[]).starts_with("a task-"));
    // The same name has the same pseudonym where only its number shows that it is one.
    let task = key.pseudonym("task", "acmed");
    assert_eq!(shown("acmed-7 ran", &[], &[]), format!("{task}-7 ran"));
    assert_eq!(shown("acmed-7 ran", &[], &["acme*"]), "acmed-7 ran");
}

#[test]
fn addresses_paths_and_secrets_do_not_stay() {
    for secret in [
        "10.0.0.1",
        "192.168.17.20:22",
        "00:1b:21:3c:9d:f8",
        "12:34:56:78:90:12",
        "fe80::1",
        "/srv/alice/robot",
        "alice@example.org",
        "0xffff888012345678",
        "RPI-00000000d34db33f",
        "https://example.org/secret",
        "geheimer-böser-Name",
    ] {
        for text in [
            secret.to_owned(),
            format!("the interrupt of {secret}, late"),
            format!("({secret})"),
            format!("x={secret};"),
        ] {
            let shown = shown(&text, &[], &[]);
            assert!(!shown.contains(secret), "{text} became {shown}");
        }
    }
}

#[test]
fn threads_of_the_kernel_keep_what_the_kernel_chose() {
    assert_eq!(shown("kworker/u8:2-events_unbound-31 ran", &[], &[]), "kworker/u8:2-events_unbound-31 ran");
    let motor = shown("irq/45-acme_motor-88 ran", &["irq/45-acme_motor"], &[]);
    assert!(motor.starts_with("irq/45-name-") && motor.ends_with("-88 ran"), "{motor}");
    assert_eq!(shown("messaging-recv-26921", &["messaging-recv"], &[]), "messaging-recv-26921");
}

#[test]
fn names_that_every_linux_has_stay() {
    for text in [
        "interrupts were masked in ext4_end_io_rsv_work, called by process_one_work",
        "callsite=nvme_irq+0x1c/0x40 callback=nvme_pci_complete_rq.isra.0",
        "workqueue:workqueue_execute_start function=btrfs_work_helper",
        "block_rq_complete nvme0n1p2 on mmcblk0, ext4 and xfs on sda1",
        "kworker/u8:2-ext4-rsv-conversion-31 ran do_writepages",
        "irq/45-nvme0q1-88 ran",
        "kworker/0:1-31 (blk_mq_run_work_fn) [nvme_core]",
        "__x64_sys_futex < do_syscall_64 < entry_SYSCALL_64_after_hwframe",
    ] {
        assert_eq!(shown(text, &[], &[]), text);
    }
}

#[test]
fn names_that_resemble_the_kernels_do_not_stay() {
    let secrets = [
        // Functions of a module that Linux does not have.
        "acme_isr",
        "acme_isr+0x1c/0x40",
        "acme_isr.isra.0",
        "acme_isr.constprop.0+0x1c",
        "nvme_irq_acme",
        "acme:acme_event",
        "[acme_motor]",
        // Threads that a user called like those of the kernel.
        "kworker/0:1-acme",
        "kworker/acme",
        "kworker/u8:2-acme_work-31",
        "ksoftirqd/acme",
        "irq/45-acme",
        "jbd2/acme-8",
        "migration/0acme",
        "nvme_irq-77",
        "ext4-31",
        "sda-31",
        // Devices, addresses and numbers.
        "nvme49301234567",
        "sdacme",
        "mmcblk0acme",
        "nvme_irq.10.0.0.1",
        "kworker/192.168.17.20",
        "kswapd4930123456",
    ];
    for secret in secrets {
        for text in [secret.to_owned(), format!("interrupts were masked in {secret}, late"), format!("by={secret};")] {
            let shown = shown(&text, &[], &[]);
            assert!(!shown.contains(secret) && !shown.contains("acme"), "{text} became {shown}");
        }
    }
}

#[test]
fn a_thread_that_is_called_like_a_function_or_device_is_replaced_wherever_it_stands() {
    let key = PseudonymKey::from_secret(b"of the test");
    for name in ["nvme_irq", "squashfs", "nvme0n1p2", "futex_wait_queue"] {
        let task = key.pseudonym("task", name);
        let text = format!("switch to {name}-41; {name} held the CPU in ({name}:{name}) [{name}]");
        let expected = format!("switch to {task}-41; {task} held the CPU in ({task}:{task}) [{task}]");
        assert_eq!(shown(&text, &[name], &[]), expected);
        assert!(!shown(&format!("in {name}+0x1c"), &[name], &[]).contains(name));
        assert_eq!(shown(&format!("in {name}+0x1c"), &[], &[]), format!("in {name}+0x1c"));
    }
}

#[test]
fn a_release_keeps_its_version_and_loses_the_name_of_its_builder() {
    let mut names = Names::default();
    names.add("6.12.8-rt5-acme-robot", "kernel", RELEASES);
    let key = PseudonymKey::from_secret(b"of the test");
    let mut rules = Anonymiser { key: &key, kept: &[], names: &names, changes: Changes::default() };
    let acme = key.pseudonym("kernel", "acme-robot");
    assert_eq!(rules.release("6.12.8-rt5-acme-robot"), format!("6.12.8-rt5-{acme}"));
    assert_eq!(rules.text("kernel 6.12.8-rt5-acme-robot"), format!("kernel 6.12.8-rt5-{acme}"));
    for release in ["6.1.0-25-amd64", "6.13.0-rc3", "5.10"] {
        assert_eq!(rules.release(release), release);
    }
    assert!(rules.release("10.0.0.1.acme").starts_with("kernel-"));
}
