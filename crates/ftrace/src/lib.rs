//! Kernel tracing: switch it on and off, read its bytes.
