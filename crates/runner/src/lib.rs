//! Targets in, finished archives out.
