//! Disks and memory cards: their interrupts, softirqs and workers.

use super::about::{About, Proof};
use super::named::Named;
use crate::recognise::case::{Case, Claim};

pub const ABOUT: About = About {
    recognised: "the interrupt of a storage device, a worker of the block layer or a journal thread holds the CPU",
    confirm: "the events block:block_rq_issue and block:block_rq_complete name device and writer",
    fix: "move its interrupt (smp_affinity_list) and its workers (/sys/devices/virtual/workqueue/cpumask) to another CPU; write logs and measurements to a tmpfs",
    reading: &["SMP IRQ affinity", "Workqueue"],
    proof: Proof::Real,
};

const NAMED: Named = Named {
    threads: &["jbd2/*", "mmcqd/*", "kmmcd"],
    functions: &["blk_mq_*", "blk_done_softirq", "nvme_*", "mmc_*", "scsi_*", "ata_*", "ext4_*", "xfs_*", "wb_workfn"],
    interrupts: &[
        "nvme*",
        "ahci*",
        "ata_piix",
        "mmc*",
        "sdhci*",
        "virtio*-req*",
        "megasas*",
        "mpt*",
        "ufshcd",
        "*.mmc",
        "*.sdhci",
        "*.ufshc",
        "scsi*",
    ],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    NAMED.look(case, &ABOUT, "a storage device needed the CPU")
}
