//! Proposed chains as a file of chains, each with its arrivals as comments.

use crate::terminal::page::Page;
use archive::chain::ProposedChain;
use chains::discover::declared;
use std::slice;
use words::chain::{arrival_curve, proposal};

/// Lays out a file that `--chain` reads.
pub fn lay_out(proposed: &[ProposedChain], page: &mut Page) {
    for chain in proposed {
        page.line(&format!("# {}", proposal(chain)));
        page.line(&format!("# arrivals: {}", arrival_curve(chain)));
        declared(slice::from_ref(chain)).to_string().lines().for_each(|line| page.line(line));
        page.line("");
    }
}
