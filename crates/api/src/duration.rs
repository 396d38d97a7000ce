//! Durations as strings: the Gateway API's form and Go's.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration; accepted: {accepted}")]
pub struct DurationError {
    text: String,
    accepted: &'static str,
}

const GATEWAY_FORM: &str =
    "1 to 4 whole numbers of up to 5 digits with a unit h, m, s or ms, such as `10s` or `1m30s`";
const GO_FORM: &str =
    "numbers with a unit h, m, s, ms, us or ns, such as `50ms`, `1.5s` or `1m30s`; or `0`";

/// Reads a duration of the Gateway API: `^([0-9]{1,5}(h|m|s|ms)){1,4}$`.
///
/// # Errors
/// When the text is anything else.
pub fn parse_gateway(text: &str) -> Result<Duration, DurationError> {
    gateway(text).ok_or_else(|| DurationError {
        text: text.to_owned(),
        accepted: GATEWAY_FORM,
    })
}

/// Reads a duration as Go's `time.ParseDuration` does, without negative ones.
///
/// # Errors
/// When the text is anything else or is too long to count in nanoseconds.
pub fn parse_go(text: &str) -> Result<Duration, DurationError> {
    go(text).ok_or_else(|| DurationError {
        text: text.to_owned(),
        accepted: GO_FORM,
    })
}

fn gateway(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut parts = 0;
    while !rest.is_empty() {
        let (digits, unit, next) = part(rest, |c| c.is_ascii_digit())?;
        if !(1..=5).contains(&digits.len()) || matches!(unit, "us" | "µs" | "ns") {
            return None;
        }
        let nanos = u128::from(digits.parse::<u32>().ok()?) * nanos_of(unit)?;
        total = total.checked_add(nanos_to_duration(nanos)?)?;
        parts += 1;
        rest = next;
    }
    (1..=4).contains(&parts).then_some(total)
}

fn go(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u128;
    while !rest.is_empty() {
        let (number, unit, next) = part(rest, |c| c.is_ascii_digit() || c == '.')?;
        total = total.checked_add(scaled(number, nanos_of(unit)?)?)?;
        rest = next;
    }
    nanos_to_duration(total)
}

/// Splits `12ms34s` into `12`, `ms` and `34s`.
fn part(text: &str, is_number: impl Fn(char) -> bool) -> Option<(&str, &str, &str)> {
    let (number, rest) = text.split_at(text.find(|c| !is_number(c))?);
    let end = rest
        .find(|c: char| c.is_ascii_digit() || c == '.')
        .unwrap_or(rest.len());
    let (unit, next) = rest.split_at(end);
    (!number.is_empty()).then_some((number, unit, next))
}

/// `number × unit` in nanoseconds; the fraction is cut off after them.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let mut nanos = match whole {
        "" => 0,
        digits => u128::from(digits.parse::<u64>().ok()?) * unit,
    };
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        nanos += u128::from(digit.to_digit(10)?) * place;
    }
    Some(nanos)
}

fn nanos_of(unit: &str) -> Option<u128> {
    Some(match unit {
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" | "µs" | "μs" => 1_000,
        "ns" => 1,
        _ => return None,
    })
}

fn nanos_to_duration(nanos: u128) -> Option<Duration> {
    let limit = i64::MAX.unsigned_abs();
    u64::try_from(nanos)
        .ok()
        .filter(|nanos| *nanos <= limit)
        .map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateway_durations_have_whole_numbers_and_four_parts_at_most() {
        let ms = |n| Ok(Duration::from_millis(n));
        assert_eq!(parse_gateway("0s"), ms(0));
        assert_eq!(parse_gateway("1m30s"), ms(90_000));
        assert_eq!(parse_gateway("99999ms"), ms(99_999));
        assert_eq!(parse_gateway("1h1m1s1ms"), ms(3_661_001));
        for bad in [
            "",
            "1",
            "s",
            "1.5s",
            "100000s",
            "1us",
            "1ns",
            "1s1s1s1s1s",
            "-1s",
            " 1s",
            "1d",
        ] {
            assert!(parse_gateway(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn go_durations_have_fractions_and_small_units() {
        assert_eq!(parse_go("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(parse_go("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_go("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_go(".5s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_go("0"), Ok(Duration::ZERO));
        assert_eq!(parse_go("7µs"), Ok(Duration::from_micros(7)));
        for bad in [
            "",
            "+",
            "1",
            ".s",
            "1..s",
            "-1s",
            "1x",
            "9223372036855s",
            "s",
        ] {
            assert!(parse_go(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_error_says_what_is_accepted() {
        let error = parse_gateway("ten").unwrap_err().to_string();
        assert!(
            error.starts_with("`ten` is not a duration; accepted: "),
            "{error}"
        );
    }
}
