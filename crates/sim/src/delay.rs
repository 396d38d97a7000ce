//! A duration as it is written on the command line and in `/admin/config`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A simulated delay, written as `250us`, `12ms`, `1.5s` or a bare number of milliseconds.
/// Resolution is one microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delay(Duration);

/// The longest delay that is accepted, so that sums of delays stay far from overflow.
const MAX_SECONDS: f64 = 86_400.0;

// === impl Delay ===

impl Delay {
    /// A delay of `value` microseconds.
    #[must_use]
    pub const fn from_micros(value: u64) -> Self {
        Self(Duration::from_micros(value))
    }

    /// A delay of `value` milliseconds.
    #[must_use]
    pub const fn from_millis(value: u64) -> Self {
        Self(Duration::from_millis(value))
    }

    /// The delay as a standard duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// The delay in seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// Whether the delay is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }

    fn from_seconds(seconds: f64, text: &str) -> Result<Self, String> {
        if !(0.0..=MAX_SECONDS).contains(&seconds) {
            return Err(format!(
                "delay `{text}` is out of range; accepted: 0 to 24 hours"
            ));
        }
        Ok(Self(Duration::from_micros((seconds * 1e6).round() as u64)))
    }
}

impl From<Duration> for Delay {
    fn from(value: Duration) -> Self {
        Self(value)
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        if micros.is_multiple_of(1000) {
            write!(f, "{}ms", micros / 1000)
        } else {
            write!(f, "{micros}us")
        }
    }
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        // `us` and `ms` end in `s`, so they are tried first.
        let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
        let (number, scale) = units
            .iter()
            .find_map(|(unit, scale)| trimmed.strip_suffix(unit).map(|rest| (rest, *scale)))
            .unwrap_or((trimmed, 1e-3));
        let value: f64 = number.trim().parse().map_err(|_| {
            format!("`{text}` is not a delay; accepted: `250us`, `12ms`, `1.5s` or milliseconds")
        })?;
        Self::from_seconds(value * scale, text)
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Millis(f64),
            Text(String),
        }
        match Form::deserialize(deserializer)? {
            Form::Millis(millis) => Self::from_seconds(millis * 1e-3, &millis.to_string()),
            Form::Text(text) => text.parse(),
        }
        .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_unit_and_prints_what_it_reads() {
        for (text, micros) in [
            ("250us", 250),
            ("12ms", 12_000),
            ("1.5s", 1_500_000),
            ("7", 7_000),
            ("0.2", 200),
        ] {
            let delay: Delay = text.parse().unwrap();
            assert_eq!(delay, Delay::from_micros(micros), "{text}");
            assert_eq!(delay.to_string().parse::<Delay>().unwrap(), delay);
        }
    }

    #[test]
    fn refuses_what_is_no_delay() {
        for text in ["", "ms", "-1ms", "NaN", "inf", "1e99s", "5 minutes"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }

    #[test]
    fn json_takes_numbers_and_texts() {
        let delays: Vec<Delay> = serde_json::from_str(r#"[5, 0.5, "3us"]"#).unwrap();
        let micros: Vec<u128> = delays.iter().map(|d| d.duration().as_micros()).collect();
        assert_eq!(micros, [5_000, 500, 3]);
    }
}
