//! Encodes drawings as PNG.

use crate::plot::Drawing;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// IBM Plex Sans, SIL Open Font License 1.1, unmodified; its licence is next to it.
const FONT: &[u8] = include_bytes!("../fonts/IBMPlexSans-Regular.ttf");
/// Pixels of the file per pixel of the drawing.
const ZOOM: f32 = 1.5;

pub struct Encoder(usvg::Options<'static>);

impl Encoder {
    pub fn new() -> Self {
        let mut options = usvg::Options { font_family: "IBM Plex Sans".into(), ..usvg::Options::default() };
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(FONT)));
        fonts.set_sans_serif_family("IBM Plex Sans");
        options.fontdb = Arc::new(fonts);
        Self(options)
    }

    pub fn encode(&self, drawing: &Drawing) -> Result<Vec<u8>, String> {
        let tree = usvg::Tree::from_str(&drawing.standalone(), &self.0).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size().scale_by(ZOOM).ok_or("the picture has no size")?;
        let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(ZOOM, ZOOM), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }
}
