//! In place of the encoder where the feature `png` is off, as in `make demo`.

use crate::plot::Drawing;

pub struct Encoder;

impl Encoder {
    pub fn new() -> Self {
        Self
    }

    pub fn encode(&self, _drawing: &Drawing) -> Result<Vec<u8>, String> {
        Err("there is no encoder".to_owned())
    }
}
