//! One line a request, target `suimon::access`.

use std::fmt;

use crate::events::RequestEnd;
use crate::exchange::Exchange;

/// Writes the line. Values of the client are escaped and cut; bodies, queries and credentials are
/// never written.
pub(crate) fn write(exchange: &Exchange, end: &RequestEnd<'_>) {
    if !tracing::enabled!(target: "suimon::access", tracing::Level::INFO) {
        return;
    }
    tracing::info!(
        target: "suimon::access",
        id = %Escaped(end.id),
        peer = %exchange.peer(),
        method = %Escaped(end.method),
        host = %Escaped(&exchange.host),
        path = %Escaped(exchange.uri.path()),
        status = end.status,
        outcome = end.outcome,
        duration_ms = end.duration.as_secs_f64() * 1e3,
        first_byte_ms = end.first_byte.map(|t| t.as_secs_f64() * 1e3),
        pick_us = end.pick.map(|t| u64::try_from(t.as_micros()).unwrap_or(u64::MAX)),
        request_bytes = end.request_bytes,
        response_bytes = end.response_bytes,
        route = end.route,
        backend = end.backend,
        endpoint = end.endpoint,
        tries = end.tries,
        model = %Escaped(end.model),
        target_model = %Escaped(end.target_model),
        prompt_tokens = end.prompt_tokens,
        cached_tokens = end.cached_tokens,
        completion_tokens = end.completion_tokens,
    );
}

/// Longest value that is written, in bytes of the original.
const MAX_LEN: usize = 512;

/// A value of the client without control characters, so that no line can be forged.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.floor_char_boundary(MAX_LEN);
        let (shown, rest) = self.0.split_at(end);
        for c in shown.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                write!(f, "{}", c.escape_default())?;
            } else {
                fmt::Write::write_char(f, c)?;
            }
        }
        if rest.is_empty() {
            Ok(())
        } else {
            f.write_str("…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_can_be_forged() {
        let forged = Escaped("a\r\nstatus=200\u{1b}[2J").to_string();
        assert_eq!(forged, "a\\r\\nstatus=200\\u{1b}[2J");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        for lead in 0..8 {
            let long = format!("{}{}", "a".repeat(lead), "×数😀".repeat(200));
            assert!(Escaped(&long).to_string().len() <= MAX_LEN + '…'.len_utf8());
        }
    }
}
