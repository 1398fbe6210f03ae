//! Options of the methods that measure the periodic interrupts of a clock.

use super::values::Number;

pub const HZ: &str = "interrupts per second; --interval has no meaning";
pub const DEVICE: &str = "the device; by default the first one";
pub const TO: &str = "the thread that reads the device reads the clock";

pub type Hz = Number<2, 8192, 1024>;
