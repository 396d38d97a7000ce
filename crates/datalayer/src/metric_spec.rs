//! Selectors of series, written as in PromQL: `name{label=value,...}`.

use std::str::FromStr;

use crate::error::SpecError;
use crate::prom::Labels;

/// A selector of series: a family, and labels that a series must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricSpec {
    name: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
}

// === impl MetricSpec ===

impl MetricSpec {
    /// Series of `name` that have all of `labels`.
    pub(crate) fn new(name: &str, labels: Vec<(Box<str>, Box<str>)>) -> Self {
        Self {
            name: Box::from(name),
            labels,
        }
    }

    /// Name of the family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.name
    }

    /// Whether a series with `labels` is selected.
    #[must_use]
    pub fn matches(&self, labels: Labels<'_>) -> bool {
        self.labels
            .iter()
            .all(|(name, want)| labels.get(name).is_some_and(|value| value.is(want)))
    }
}

impl FromStr for MetricSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let fail = |problem| SpecError {
            spec: text.to_owned(),
            problem,
        };
        let trimmed = text.trim();
        let (name, inside) = match trimmed.split_once('{') {
            Some((name, rest)) => {
                let inside = rest
                    .strip_suffix('}')
                    .ok_or_else(|| fail("the brace is not closed at the end"))?;
                (name.trim_end(), inside)
            }
            None => (trimmed, ""),
        };
        if !is_name(name, true) {
            return Err(fail(
                "the name has other characters than letters, digits, `_` and `:`, or is empty",
            ));
        }
        let mut labels = Vec::new();
        let mut rest = inside.trim();
        while !rest.is_empty() {
            let (label, after) = rest
                .split_once('=')
                .ok_or_else(|| fail("a label has no `=`"))?;
            let label = label.trim();
            if label.ends_with('!') || after.starts_with('~') {
                return Err(fail("`!=`, `=~` and `!~` are not supported, only `=`"));
            }
            if !is_name(label, false) {
                return Err(fail(
                    "a label name has other characters than letters, digits and `_`, or is empty",
                ));
            }
            let (value, after) = label_value(after.trim_start()).map_err(fail)?;
            labels.push((Box::from(label), value));
            rest = after;
        }
        Ok(Self {
            name: Box::from(name),
            labels,
        })
    }
}

fn is_name(text: &str, colon: bool) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || (colon && char == ':');
    text.chars().all(plain)
        && text
            .chars()
            .next()
            .is_some_and(|char| !char.is_ascii_digit())
}

/// Splits the value, quoted or not, from what follows its comma.
fn label_value(text: &str) -> Result<(Box<str>, &str), &'static str> {
    let quote = text
        .chars()
        .next()
        .filter(|char| matches!(char, '"' | '\''));
    let (value, after) = match quote {
        None => match text.split_once(',') {
            Some((value, after)) => return Ok((Box::from(value.trim_end()), after.trim_start())),
            None => return Ok((Box::from(text.trim_end()), "")),
        },
        Some(quote) => {
            let inside = text.strip_prefix(quote).unwrap_or(text);
            inside.split_once(quote).ok_or("a quote is not closed")?
        }
    };
    match after.trim_start() {
        "" => Ok((Box::from(value), "")),
        after => {
            let after = after
                .strip_prefix(',')
                .ok_or("a label is followed by something else than a comma")?;
            Ok((Box::from(value), after.trim_start()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_selectors() {
        let spec: MetricSpec = "a:b{c=d, e = \"f,}\" , g='h'}".parse().unwrap();
        assert_eq!(&*spec.name, "a:b");
        let labels = [("c", "d"), ("e", "f,}"), ("g", "h")];
        assert_eq!(
            spec.labels,
            labels.map(|(name, value)| (Box::<str>::from(name), Box::<str>::from(value)))
        );
        assert_eq!("a{}".parse::<MetricSpec>().unwrap(), "a".parse().unwrap());
    }

    #[test]
    fn a_selector_that_cannot_be_read_says_why() {
        for (text, problem) in [
            ("", "empty"),
            ("a b", "other characters"),
            ("a{b=c", "not closed"),
            ("a{b}", "no `=`"),
            ("a{b!=c}", "only `=`"),
            ("a{b=~c}", "only `=`"),
            ("a{=c}", "label name"),
            ("a{b=\"c}", "quote"),
            ("a{b=\"c\" d=e}", "comma"),
        ] {
            let error = text.parse::<MetricSpec>().unwrap_err().to_string();
            assert!(
                error.contains(problem) && error.contains("name{label=value"),
                "{text}: {error}"
            );
        }
    }
}
