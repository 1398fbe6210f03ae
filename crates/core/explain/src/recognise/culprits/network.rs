//! Network cards: their interrupts, and the softirqs that these raise.

use super::about::{About, Proof};
use crate::account::ledger::Piece;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::named::{Named, claim};
use crate::replay::context::Context;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the interrupt of a network card, its thread or a NAPI thread is served, with the NET_RX and NET_TX softirqs beside it",
    events: &["irq_handler_entry|softirq_entry|sched_switch"],
    shows: "the interrupt, softirq or thread by name",
    reading: &["NAPI", "Scaling in the Linux Networking Stack", "SMP IRQ affinity"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

/// Numbers of the softirqs for sending and receiving.
const NET_VECS: [u32; 2] = [2, 3];

const NAMED: Named = Named {
    threads: &["napi/*"],
    functions: &["flush_backlog", "netstamp_clear", "napi_*"],
    interrupts: &[
        "eth*",
        "eno*",
        "ens*",
        "enp*",
        "enx*",
        "end*",
        "wlan*",
        "wlp*",
        "igb*",
        "igc*",
        "e1000*",
        "r8169*",
        "stmmac*",
        "*.ethernet",
        "fec*",
        "macb*",
        "bcmgenet*",
        "cpsw*",
        "mlx5*",
        "ixgbe*",
        "i40e*",
        "ice-*",
        "bnxt*",
        "iwlwifi*",
        "ath*",
        "virtio*-input.*",
        "virtio*-output.*",
        "can*",
        "*mcan*",
        "*flexcan*",
    ],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    let device = |piece: &Piece| NAMED.holds(case, piece);
    case.pieces.iter().any(device).then_some(())?;
    let softirq = |piece: &Piece| matches!(held(piece), Some(Context::Softirq { vec, .. }) if NET_VECS.contains(&vec));
    let pieces = case.claim(|piece| device(piece) || softirq(piece))?;
    Some(claim(case, pieces))
}
