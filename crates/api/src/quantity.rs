//! Kubernetes resource quantities: `1Gi`, `500M`, `1k`, plain numbers.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A count or a size, as text or number in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Quantity(pub u64);

// === impl Quantity ===

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Quantity;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a non-negative quantity such as `1Gi`, `500M`, `1k` or 5000")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
                Ok(Quantity(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
                parse(text)
                    .map(Quantity)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A Kubernetes quantity such as `1Gi`, `500M`, `1k` or 5000.",
            "type": ["string", "integer"],
        })
    }
}

/// Whole quantities only; a fraction is accepted when the unit makes it whole.
fn parse(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let unit: u128 = match suffix {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let scaled = digits.checked_mul(unit)?;
    // Kubernetes rounds a fraction of the smallest unit up.
    u64::try_from(scaled.div_ceil(scale)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_texts_or_numbers() {
        let read = |text: &str| serde_json::from_str::<Quantity>(text).map(|q| q.0).ok();
        assert_eq!(read("5000"), Some(5000));
        assert_eq!(read("\"1Gi\""), Some(1 << 30));
        assert_eq!(read("\"500M\""), Some(500_000_000));
        assert_eq!(read("\"1.5k\""), Some(1500));
        assert_eq!(read("\"0.1\""), Some(1));
        for bad in [
            "-1",
            "\"-1\"",
            "\"1x\"",
            "\"\"",
            "\".\"",
            "true",
            "\"1.2.3\"",
            "\"99999999Pi\"",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
