//! Disks and memory cards: their interrupts, softirqs and workers.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::named::Named;
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the interrupt of a storage device, a worker of the block layer or a journal thread holds the CPU",
    events: &["irq_handler_entry|sched_switch"],
    shows: "the interrupt, worker or thread by name",
    reading: &["SMP IRQ affinity", "Workqueue"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
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

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    NAMED.look(case)
}
