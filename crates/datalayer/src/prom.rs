//! Line scanner over Prometheus exposition text that sees wanted families only.
//!
//! It allocates nothing, keeps nothing, and never fails: a line that it cannot read is skipped, as a
//! page with one bad family still tells the load.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The families that a scan visits, prepared for comparison on their first bytes.
#[derive(Debug, Clone, Default)]
pub struct Families {
    names: Vec<Family>,
}

#[derive(Debug, Clone)]
struct Family {
    name: Box<str>,
    /// First eight bytes of the name, and which of them count.
    head: u64,
    mask: u64,
}

/// One line of a wanted family that has a finite value.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// Place of the family in the list that [`Families::new`] got.
    pub family: usize,
    /// Name of the family.
    pub name: &'a str,
    /// Labels, read when iterated.
    pub labels: Labels<'a>,
    /// Never NaN and never infinite: such a line has no value and is not visited.
    pub value: f64,
}

/// Labels of one line, in the order of the page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Labels<'a> {
    rest: &'a [u8],
}

/// Value of one label as it stands on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelValue<'a> {
    raw: &'a [u8],
}

// === impl Families ===

impl Families {
    /// Prepares `names`. A name that occurs twice is visited at its first place.
    #[must_use]
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = names.into_iter().map(Family::new).collect();
        Self { names }
    }

    /// Names in the order that [`Families::new`] got.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|family| &*family.name)
    }

    /// Calls `visit` for each line of a wanted family that can be read and has a finite value.
    pub fn scan<'a>(&'a self, page: &'a [u8], visit: &mut impl FnMut(Sample<'a>)) {
        let mut rest = page;
        while !rest.is_empty() {
            let (line, after) = match memchr(b'\n', rest) {
                Some(end) => split_after(rest, end),
                None => (rest, [].as_slice()),
            };
            rest = after;
            let line = line.trim_ascii_start();
            let head = head_of(line);
            for (index, family) in self.names.iter().enumerate() {
                if head & family.mask == family.head
                    && let Some((labels, value)) = family.read(line)
                {
                    visit(Sample {
                        family: index,
                        name: &family.name,
                        labels,
                        value,
                    });
                    break;
                }
            }
        }
    }
}

/// Calls `visit` for each readable line of the families `wanted`, which are prepared for this call
/// only: keep a [`Families`] where pages come often.
pub fn scan(page: &[u8], wanted: &[&str], visit: &mut impl FnMut(Sample<'_>)) {
    Families::new(wanted.iter().copied()).scan(page, &mut |sample| visit(sample));
}

// === impl Family ===

impl Family {
    fn new(name: &str) -> Self {
        let mut mask = [0_u8; 8];
        for (byte, _) in mask.iter_mut().zip(name.bytes()) {
            *byte = 0xff;
        }
        Self {
            name: Box::from(name),
            head: head_of(name.as_bytes()),
            mask: u64::from_le_bytes(mask),
        }
    }

    /// Labels and value of `line` if it is a line of this family.
    fn read<'a>(&self, line: &'a [u8]) -> Option<(Labels<'a>, f64)> {
        let rest = line.strip_prefix(self.name.as_bytes())?;
        if !matches!(rest.first()?, b'{' | b' ' | b'\t') {
            return None;
        }
        let rest = rest.trim_ascii_start();
        let (labels, rest) = match rest.strip_prefix(b"{") {
            Some(inside) => Labels::split(inside)?,
            None => (Labels::default(), rest),
        };
        Some((labels, value_of(rest)?))
    }
}

// === impl Labels ===

impl<'a> Labels<'a> {
    /// Value of the label `name`.
    #[must_use]
    pub fn get(mut self, name: &str) -> Option<LabelValue<'a>> {
        self.find_map(|(key, value)| (key == name.as_bytes()).then_some(value))
    }

    /// The bytes after the opening brace, up to and with the closing one.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.rest
    }

    /// Splits what follows an opening brace into labels and the text after the closing brace.
    fn split(inside: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut rest = inside;
        loop {
            rest = rest.trim_ascii_start();
            if let Some(after) = rest.strip_prefix(b"}") {
                // The brace stays: the last pair ends by it as the others by their comma.
                let labels = inside.get(..inside.len() - after.len())?;
                return Some((Self { rest: labels }, after));
            }
            (_, _, rest) = pair(rest)?;
        }
    }
}

impl<'a> Iterator for Labels<'a> {
    type Item = (&'a [u8], LabelValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value, rest) = pair(self.rest.trim_ascii_start())?;
        self.rest = rest;
        Some((name, value))
    }
}

// === impl LabelValue ===

impl<'a> LabelValue<'a> {
    /// The value with its escapes resolved and invalid UTF-8 replaced. Borrowed when it has neither.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        let text = String::from_utf8_lossy(self.raw);
        if memchr(b'\\', self.raw).is_none() {
            return text;
        }
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            plain.push(match (char, char == '\\') {
                (char, false) => char,
                (_, true) => match chars.next() {
                    Some('n') => '\n',
                    Some(other) => other,
                    None => break,
                },
            });
        }
        Cow::Owned(plain)
    }

    /// Whether the resolved value is `text`.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        if memchr(b'\\', self.raw).is_none() {
            return self.raw == text.as_bytes();
        }
        self.text() == text
    }
}

/// The line before the newline at `end`, and what follows it.
fn split_after(rest: &[u8], end: usize) -> (&[u8], &[u8]) {
    let (line, after) = rest.split_at(end.min(rest.len()));
    (line, after.get(1..).unwrap_or_default())
}

/// First eight bytes, padded by zeroes.
fn head_of(line: &[u8]) -> u64 {
    if let Some(head) = line.first_chunk::<8>() {
        return u64::from_le_bytes(*head);
    }
    let mut head = [0_u8; 8];
    for (to, from) in head.iter_mut().zip(line) {
        *to = *from;
    }
    u64::from_le_bytes(head)
}

/// Reads `name = "value"` and the comma after it. The name may not be empty or quoted.
fn pair(text: &[u8]) -> Option<(&[u8], LabelValue<'_>, &[u8])> {
    let length = text.iter().position(|byte| !is_name_byte(*byte))?;
    let (name, rest) = text.split_at(length);
    if name.is_empty() || name.first()?.is_ascii_digit() {
        return None;
    }
    let rest = rest.trim_ascii_start().strip_prefix(b"=")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let length = quoted_length(rest)?;
    let raw = rest.get(..length)?;
    let rest = rest.get(length + 1..)?.trim_ascii_start();
    let rest = match rest.first()? {
        b',' => rest.get(1..)?,
        b'}' => rest,
        _ => return None,
    };
    Some((name, LabelValue { raw }, rest))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Bytes before the closing quote. `None`: there is none, or an escape that the format does not know.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let found = at + memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(found) == Some(&b'"') {
            return Some(found);
        }
        if !matches!(text.get(found + 1)?, b'\\' | b'"' | b'n') {
            return None;
        }
        at = found + 2;
    }
}

/// The finite value in `value [timestamp] [# exemplar]`.
fn value_of(text: &[u8]) -> Option<f64> {
    let mut words = text
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let value = number(words.next()?)?;
    match words.next() {
        Some(word) if !word.starts_with(b"#") => {
            number(word)?;
            if words.next().is_some_and(|word| !word.starts_with(b"#")) {
                return None;
            }
        }
        _ => {}
    }
    value.is_finite().then_some(value)
}

fn number(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
