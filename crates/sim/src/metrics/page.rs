//! The text format, with the habits of the Python client that vLLM uses.

use std::fmt::Write as _;

use super::Histogram;

/// A page being written.
pub(crate) struct Page<'a> {
    out: String,
    model: String,
    created: f64,
    /// Names of the samples to write; all when empty.
    only: &'a [String],
}

// === impl Page ===

impl<'a> Page<'a> {
    pub(crate) fn new(model: &str, created: f64, only: &'a [String]) -> Self {
        let model = escape(model);
        Self {
            out: String::with_capacity(32 * 1024),
            model,
            created,
            only,
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// `model_name="…"`.
    pub(crate) fn model_label(&self) -> String {
        format!("model_name=\"{}\"", self.model)
    }

    /// The labels of most series.
    pub(crate) fn base_labels(&self) -> String {
        format!("engine=\"0\",model_name=\"{}\"", self.model)
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        let labels = self.base_labels();
        self.family(name, "gauge", help, &[(labels, value)]);
    }

    /// A counter family; `name` is without `_total`.
    pub(crate) fn counter(&mut self, name: &str, help: &str, rows: &[(String, f64)]) {
        self.family(&format!("{name}_total"), "counter", help, rows);
        self.created(name, help, rows.iter().map(|(labels, _)| labels.clone()));
    }

    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        let [bucket, count, sum] = ["bucket", "count", "sum"].map(|part| format!("{name}_{part}"));
        if !(self.wants(&bucket) || self.wants(&count) || self.wants(&sum)) {
            return;
        }
        self.head(name, "histogram", help);
        let edges = histogram.edges.iter().map(|edge| number(*edge));
        let mut total = 0;
        for (edge, own) in edges.chain(["+Inf".to_owned()]).zip(&histogram.counts) {
            total += own;
            let labels = format!("engine=\"0\",le=\"{edge}\",model_name=\"{}\"", self.model);
            self.sample(&bucket, &labels, total as f64);
        }
        let labels = self.base_labels();
        self.sample(&count, &labels, total as f64);
        self.sample(&sum, &labels, histogram.sum);
        self.created(name, help, [labels].into_iter());
    }

    /// A family whose samples have its own name.
    pub(crate) fn family(&mut self, name: &str, kind: &str, help: &str, rows: &[(String, f64)]) {
        if !self.wants(name) {
            return;
        }
        self.head(name, kind, help);
        for (labels, value) in rows {
            self.sample(name, labels, *value);
        }
    }

    fn created(&mut self, name: &str, help: &str, labels: impl Iterator<Item = String>) {
        let rows: Vec<_> = labels.map(|labels| (labels, self.created)).collect();
        self.family(&format!("{name}_created"), "gauge", help, &rows);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        if self.wants(name) {
            let _ = writeln!(self.out, "{name}{{{labels}}} {}", number(value));
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// A label value with the escapes of the text format.
pub(crate) fn escape(value: &str) -> String {
    value
        .replace('\\', r"\\")
        .replace('\n', r"\n")
        .replace('"', "\\\"")
}

/// A number as the Python client writes it: `128.0`, and from 10^6 on `1.234567e+06`.
fn number(value: f64) -> String {
    let plain = format!("{value:?}");
    let Some(dot) = plain.find('.') else {
        return plain;
    };
    if value <= 0.0 || dot <= 6 || plain.contains('e') {
        return plain;
    }
    let digits = plain.replace('.', "");
    let (first, rest) = digits.split_at(1);
    let mantissa = format!("{first}.{rest}");
    format!("{}e+{:02}", mantissa.trim_end_matches(['0', '.']), dot - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_python_client() {
        for (value, text) in [
            (0.0, "0.0"),
            (128.0, "128.0"),
            (0.015_992_187_023_133_764, "0.015992187023133764"),
            (54_753.0, "54753.0"),
            (999_999.0, "999999.0"),
            (1_000_000.0, "1e+06"),
            (2_097_152.0, "2.097152e+06"),
            (1_796_057_397.456_576, "1.796057397456576e+09"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn label_values_are_escaped() {
        assert_eq!(escape("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
