//! The pictures as PNG files, for terminals, tickets and bare hosts: the font is part of the binary.

use super::plot::{self, Drawing};
use archive::summary::ReportData;
use judge::history::Series;
use resvg::{tiny_skia, usvg};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// IBM Plex Sans, SIL Open Font License 1.1, unmodified; its licence lies beside it.
const FONT: &[u8] = include_bytes!("fonts/IBMPlexSans-Regular.ttf");
/// Pixels of the file for each pixel of the drawing.
const ZOOM: f32 = 1.5;

#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("failed to draw {file}: {reason}; this is a defect of tardy, please report it")]
    Draw { file: String, reason: String },
    #[error("failed to write {}: {source}; choose a directory that can be written with --png", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes `histogram.png`, `latency.png` and `spike-<number>.png` of each spike with a trace into `directory`, which is made
/// when absent, and returns their paths. A picture without data is not written.
pub fn render_pngs(data: &ReportData, directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    write_pngs(plot::drawings(data), directory)
}

/// Writes `history-<number>.png` of each series into `directory`, which is made when absent, and returns their paths.
pub fn write_history_pngs(all: &[Series], directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    let drawn = all
        .iter()
        .enumerate()
        .filter_map(|(number, series)| Some((format!("history-{:02}.png", number + 1), plot::history::draw(series)?)));
    write_pngs(drawn.collect(), directory)
}

/// Writes drawings under their file names into `directory`, which is made when absent, and returns their paths.
fn write_pngs(drawings: Vec<(String, Drawing)>, directory: &Path) -> Result<Vec<PathBuf>, PngError> {
    fs::create_dir_all(directory).map_err(|source| PngError::Write { path: directory.to_owned(), source })?;
    let options = options();
    let mut paths = Vec::new();
    for (file, drawing) in drawings {
        let png = encode(&drawing, &options).map_err(|reason| PngError::Draw { file: file.clone(), reason })?;
        let path = directory.join(file);
        fs::write(&path, png).map_err(|source| PngError::Write { path: path.clone(), source })?;
        paths.push(path);
    }
    Ok(paths)
}

fn options() -> usvg::Options<'static> {
    let mut options = usvg::Options { font_family: "IBM Plex Sans".into(), ..usvg::Options::default() };
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(FONT)));
    fonts.set_sans_serif_family("IBM Plex Sans");
    options.fontdb = Arc::new(fonts);
    options
}

fn encode(drawing: &Drawing, options: &usvg::Options) -> Result<Vec<u8>, String> {
    let tree = usvg::Tree::from_str(&drawing.standalone(), options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(ZOOM).ok_or("the picture has no size")?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(ZOOM, ZOOM), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}
