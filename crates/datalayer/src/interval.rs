//! Scrape intervals: Go's duration text with a floor.

use std::time::Duration;

use crate::error::SourceError;

/// Interval of a source that names none, and the least that any source gets.
pub const FLOOR: Duration = Duration::from_millis(50);

/// Reads the `interval` of a source. What lies under [`FLOOR`] is raised to it, with a warning.
///
/// # Errors
/// [`SourceError::Interval`] if `text` is no Go duration.
pub fn parse(text: &str) -> Result<Duration, SourceError> {
    if text.is_empty() {
        return Ok(FLOOR);
    }
    let seconds = go_seconds(text).ok_or_else(|| SourceError::Interval(text.to_owned()))?;
    // A day is longer than anybody waits for figures that are stale after two seconds.
    let interval = Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0));
    if interval < FLOOR {
        tracing::warn!(interval = text, floor = ?FLOOR, "scrape interval raised to the floor");
    }
    Ok(interval.max(FLOOR))
}

/// Go's `time.ParseDuration`: `[-+]` and then numbers with units, as in `1m30.5s`; or a bare `0`.
fn go_seconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0.0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (number, after) = rest.split_at_checked(end)?;
        let end = after
            .find(|char: char| char.is_ascii_digit() || char == '.')
            .unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(end)?;
        seconds += number.parse::<f64>().ok()? * unit_seconds(unit)?;
        rest = after;
    }
    Some(sign * seconds)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_durations() {
        for (text, millis) in [
            ("", 50),
            ("100ms", 100),
            ("1s", 1_000),
            ("1m30.5s", 90_500),
            (".5s", 500),
            ("+2s", 2_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(
                parse(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
    }

    #[test]
    fn raises_to_the_floor() {
        for text in ["0", "0s", "1ms", "-1s", "49ms", "10us", "10µs"] {
            assert_eq!(parse(text).unwrap(), FLOOR, "{text}");
        }
    }

    #[test]
    fn refuses_other_text() {
        for text in ["1", "s", "1 s", "1d", "ms1", "-", "1..s", "1s2", "\u{e9}"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("100ms"), "{error}");
        }
    }

    #[test]
    fn absurd_lengths_are_cut() {
        assert_eq!(
            parse("999999999999999h").unwrap(),
            Duration::from_secs(86_400)
        );
    }
}
