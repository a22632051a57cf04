//! Rates: measured, so printed to three significant digits, always with their unit.

use std::fmt;

use crate::about::three_digits;

/// A unit that rates are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateUnit {
    /// 10^9 bytes per second.
    GigabytesPerSecond,
    /// 10^6 bytes per second.
    MegabytesPerSecond,
    /// 2^30 bytes per second.
    GibibytesPerSecond,
    /// 2^20 bytes per second, as IOR prints.
    MebibytesPerSecond,
    /// 10^3 operations per second.
    ThousandOperationsPerSecond,
    /// Operations per second.
    OperationsPerSecond,
}

impl RateUnit {
    /// Every unit.
    pub const ALL: [Self; 6] = [
        Self::GigabytesPerSecond,
        Self::MegabytesPerSecond,
        Self::GibibytesPerSecond,
        Self::MebibytesPerSecond,
        Self::ThousandOperationsPerSecond,
        Self::OperationsPerSecond,
    ];

    /// How many bytes, or operations, per second it stands for.
    pub fn factor(self) -> f64 {
        match self {
            Self::GigabytesPerSecond => 1e9,
            Self::MegabytesPerSecond => 1e6,
            Self::GibibytesPerSecond => 1_073_741_824.0,
            Self::MebibytesPerSecond => 1_048_576.0,
            Self::ThousandOperationsPerSecond => 1e3,
            Self::OperationsPerSecond => 1.0,
        }
    }

    /// Prints a rate in bytes, or operations, per second: `12.3 GB/s`.
    pub fn format(self, per_second: f64) -> String {
        format!("{} {self}", three_digits(per_second / self.factor()))
    }
}

impl fmt::Display for RateUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GigabytesPerSecond => "GB/s",
            Self::MegabytesPerSecond => "MB/s",
            Self::GibibytesPerSecond => "GiB/s",
            Self::MebibytesPerSecond => "MiB/s",
            Self::ThousandOperationsPerSecond => "kIOPS",
            Self::OperationsPerSecond => "IOPS",
        })
    }
}
