//! Prometheus: an exporter that it asks, and remote write. Both say the same series.

pub mod exporter;
pub mod remote_write;
mod series;
