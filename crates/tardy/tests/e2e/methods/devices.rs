//! Methods whose stimulus is the interrupt of a device, and the timer beside them.

use super::{Case, measure};

/// The machine itself: a host that is too busy for the other cases fails here.
#[test]
#[ignore = "boots virtual machines: make e2e-methods"]
fn timer() {
    let case = Case { median_us: 83.0, ..Case::default() };
    measure(&[case, Case { kernel: "debian:6.1", median_us: 83.0, ..case }]);
}
