//! The list of all series, for the reference docs.

use super::{BbrMetrics, Metrics};

/// What one line of the reference says.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Name as scraped; of a histogram without `_bucket`, `_sum` and `_count`.
    pub name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: String,
    /// Names of the labels.
    pub labels: Vec<String>,
    /// What is counted.
    pub help: String,
}

// === impl Metrics ===

impl Metrics {
    /// All series, sorted by name, read off a page on which each has a sample.
    #[must_use]
    pub fn catalogue(version: &'static str) -> Vec<Series> {
        let metrics = Self::new(version);
        metrics.touch();
        rows(&metrics.page())
    }
}

// === impl BbrMetrics ===

impl BbrMetrics {
    /// All series, sorted by name, read off a page on which each has a sample.
    #[must_use]
    pub fn catalogue(version: &'static str) -> Vec<Series> {
        let metrics = Self::new(version);
        metrics.touch();
        rows(&metrics.page())
    }
}

fn rows(page: &str) -> Vec<Series> {
    let mut rows: Vec<Series> = Vec::new();
    for line in page.lines() {
        match line.strip_prefix("# ") {
            Some(comment) => take_comment(&mut rows, comment),
            None => {
                if let Some(row) = rows.last_mut() {
                    row.take_sample(line);
                }
            }
        }
    }
    rows.sort();
    rows
}

/// `HELP name text`, then `TYPE name kind`.
fn take_comment(rows: &mut Vec<Series>, comment: &str) {
    let mut words = comment.splitn(3, ' ');
    match (words.next(), words.next(), words.next()) {
        (Some("HELP"), Some(name), Some(help)) => rows.push(Series {
            name: name.to_owned(),
            help: help.trim_end_matches('.').to_owned(),
            ..Series::default()
        }),
        (Some("TYPE"), Some(_), Some(kind)) => {
            if let Some(row) = rows.last_mut() {
                kind.clone_into(&mut row.kind);
            }
        }
        _ => {}
    }
}

// === impl Series ===

impl Series {
    /// Completes the row from its first sample. Labels of these samples have no commas or quotes in
    /// their values: `touch` sets them.
    fn take_sample(&mut self, line: &str) {
        if !self.labels.is_empty() {
            return;
        }
        let end = line.find(['{', ' ']).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        if self.kind != "histogram" {
            name.clone_into(&mut self.name);
        }
        let labels = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let labels = labels.map_or("", |(labels, _)| labels);
        let names = labels.split(',').filter_map(|label| label.split_once('='));
        let names = names.map(|(name, _)| name).filter(|name| *name != "le");
        self.labels = names.map(str::to_owned).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_has_a_kind_and_a_help_text() {
        let catalogue = Metrics::catalogue("1");
        assert!(catalogue.len() > 20, "{catalogue:?}");
        let bbr = BbrMetrics::catalogue("1");
        assert_eq!(bbr.len(), 7, "{bbr:?}");
        for series in catalogue.into_iter().chain(bbr) {
            assert!(
                !series.kind.is_empty() && !series.help.is_empty(),
                "{series:?}"
            );
        }
    }

    #[test]
    fn names_and_labels_are_those_of_the_page() {
        let catalogue = Metrics::catalogue("1");
        let labels = |name: &str| {
            let found = catalogue.iter().find(|series| series.name == name);
            found.map(|series| (series.kind.as_str(), series.labels.join(" ")))
        };
        let responses = Some(("counter", "route status outcome".to_owned()));
        assert_eq!(labels("suimon_responses_total"), responses);
        assert_eq!(labels("suimon_connections"), Some(("gauge", String::new())));
        let pick = Some(("histogram", String::new()));
        assert_eq!(labels("llm_d_epp_scheduler_e2e_duration_seconds"), pick);
        let ttft = "model_name target_model_name fairness_id priority streaming";
        assert_eq!(
            labels("llm_d_epp_request_ttft_seconds"),
            Some(("histogram", ttft.to_owned()))
        );
    }
}
