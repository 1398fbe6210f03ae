//! What a run is, and how it lies on disk and on the wire.
