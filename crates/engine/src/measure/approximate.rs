//! Quantities for sentences: three significant figures and a unit that fits.

/// Bytes in binary units, for example `1.50 MiB`.
pub fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// A time in nanoseconds, for example `12.3 ms`.
pub fn time(ns: u64) -> String {
    scaled(ns as f64, 1000.0, &["ns", "µs", "ms", "s"])
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // 999.5 and more would print as 1000 of the smaller unit.
    while value >= step.min(999.5) && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_and_the_unit_that_fits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(47_008), "45.9 KiB");
        assert_eq!(bytes(1 << 41), "2.00 TiB");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(999_700), "1.00 ms");
        assert_eq!(time(123_400_000), "123 ms");
        assert_eq!(time(4_000_000_000_000), "4000 s");
    }
}
