//! The one form of a request path that is matched and sent on.
//!
//! Policies and routes that look at different spellings of one path can be walked around, so there
//! is one form (RFC 3986 §6.2.2): percent-encoded unreserved characters are decoded, other encodings
//! are upper case, dot segments are resolved and repeated slashes are one. What different servers
//! read differently is refused.

use std::borrow::Cow;

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path does not start with `/`.
    #[error("the path does not start with `/`")]
    NotAbsolute,
    /// `..` leads above the root.
    #[error("the path has a `..` that leads above the root")]
    AboveRoot,
    /// An encoded slash, or a backslash in any form.
    #[error("the path has an encoded slash or a backslash")]
    AmbiguousSlash,
    /// A control character or a byte that is not ASCII, encoded control characters included.
    #[error("the path has a control character or a byte that is not ASCII")]
    Control,
    /// `%` without two hexadecimal digits.
    #[error("the path has a `%` without two hexadecimal digits")]
    BadEncoding,
}

/// Brings the path of a request into the one form. Borrows when it already is.
///
/// # Errors
/// When the path could be read in different ways; see [`PathError`].
pub fn normalize(path: &str) -> Result<Cow<'_, str>, PathError> {
    if !path.starts_with('/') {
        return Err(PathError::NotAbsolute);
    }
    let decoded = decode(path)?;
    if is_plain(&decoded) {
        return Ok(decoded);
    }
    resolve(&decoded).map(Cow::Owned)
}

/// Whether there is no empty, `.` or `..` segment, the last one apart.
fn is_plain(path: &str) -> bool {
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => return false,
            "" if !last => return false,
            _ => {}
        }
    }
    true
}

/// Decodes what need not be encoded and refuses what is ambiguous.
fn decode(path: &str) -> Result<Cow<'_, str>, PathError> {
    let mut out: Option<String> = None;
    let mut bytes = path.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        let (decoded, keep) = match byte {
            b'\\' => return Err(PathError::AmbiguousSlash),
            0..=0x20 | 0x7f.. => return Err(PathError::Control),
            b'%' => {
                let high = bytes.next().and_then(|(_, digit)| hex(digit));
                let low = bytes.next().and_then(|(_, digit)| hex(digit));
                let (Some(high), Some(low)) = (high, low) else {
                    return Err(PathError::BadEncoding);
                };
                match high * 16 + low {
                    b'/' | b'\\' => return Err(PathError::AmbiguousSlash),
                    0..0x20 | 0x7f => return Err(PathError::Control),
                    value if is_unreserved(value) => (char::from(value), false),
                    value => {
                        let canonical =
                            path.as_bytes().get(at + 1..at + 3) == Some(&format_hex(value));
                        if !canonical || out.is_some() {
                            let out = out.get_or_insert_with(|| head(path, at));
                            out.push('%');
                            out.extend(format_hex(value).map(char::from));
                        }
                        continue;
                    }
                }
            }
            other => (char::from(other), true),
        };
        match &mut out {
            Some(out) => out.push(decoded),
            None if keep => {}
            None => out.insert(head(path, at)).push(decoded),
        }
    }
    Ok(out.map_or(Cow::Borrowed(path), Cow::Owned))
}

/// What stands before `at`, with room for the rest.
fn head(path: &str, at: usize) -> String {
    let mut out = String::with_capacity(path.len());
    out.extend(path.bytes().take(at).map(char::from));
    out
}

fn resolve(path: &str) -> Result<String, PathError> {
    let mut kept: Vec<&str> = Vec::new();
    let mut directory = false;
    for segment in path.split('/').skip(1) {
        directory = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => {
                kept.pop().ok_or(PathError::AboveRoot)?;
            }
            other => kept.push(other),
        }
    }
    let mut out = String::with_capacity(path.len());
    for segment in kept {
        out.push('/');
        out.push_str(segment);
    }
    if directory || out.is_empty() {
        out.push('/');
    }
    Ok(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

fn format_hex(value: u8) -> [u8; 2] {
    let digit = |nibble: u8| match nibble {
        0..=9 => b'0' + nibble,
        _ => b'A' + nibble - 10,
    };
    [digit(value >> 4), digit(value & 15)]
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests;
