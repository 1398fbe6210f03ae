//! Methods of measuring that need a device: sound cards, clocks, devices of user space, and lines to another machine.
//!
//! Each module implements [`MeasuringMethod`] for the options of its methods. [`method`] is the only way in: the program gives it to
//! the meter, which knows none of them. [`kernel`] wraps the system calls and registers of the devices.

pub mod audio;
mod device;
pub mod interrupt;
pub mod kernel;
pub mod response;
pub mod uio;

use archive::method::MethodOptions;
use meter::methods::MeasuringMethod;
use std::ops::Deref;

/// Options of a method that needs a device.
#[derive(Debug, Clone, Copy)]
pub struct OnDevice<'a, T>(&'a T);

impl<T> Deref for OnDevice<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

/// The implementation of a method; `None` for one that needs no device.
pub fn method(options: &MethodOptions) -> Option<Box<dyn MeasuringMethod + '_>> {
    Some(match options {
        MethodOptions::Rtc(options) => Box::new(OnDevice(options)),
        MethodOptions::Hpet(options) => Box::new(OnDevice(options)),
        MethodOptions::Uio(options) => Box::new(OnDevice(options)),
        MethodOptions::Udp(options) => Box::new(OnDevice(options)),
        MethodOptions::Serial(options) => Box::new(OnDevice(options)),
        MethodOptions::Ethernet(options) => Box::new(OnDevice(options)),
        MethodOptions::Gpio(options) => Box::new(OnDevice(options)),
        MethodOptions::Parallel(options) => Box::new(OnDevice(options)),
        MethodOptions::Audio(options) => Box::new(OnDevice(options)),
        _ => return None,
    })
}

/// Hindrances of a run with the method of this text.
#[cfg(test)]
fn obstacles_of(request: &str, root: &std::path::Path) -> Vec<archive::method::state::Obstacle> {
    let request = archive::method::MethodRequest::parse(request).unwrap();
    method(&request.options).unwrap().obstacles(root)
}
