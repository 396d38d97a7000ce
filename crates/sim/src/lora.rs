//! Which adapters run and wait, as the metrics page tells it.

use crate::clock::unix_seconds;

/// Distinct label sets kept; vLLM keeps all of them for ever.
const MAX_SETS: usize = 256;

/// History of running and waiting adapters. Each distinct pair of sets is one series whose value is
/// the time it was last seen, so a reader takes the series with the greatest value.
#[derive(Debug, Default)]
pub(crate) struct LoraLog {
    sets: Vec<LoraSet>,
}

/// One series of `vllm:lora_requests_info`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoraSet {
    /// Running adapters, sorted, joined by commas.
    pub(crate) running: String,
    /// Waiting adapters, sorted, joined by commas.
    pub(crate) waiting: String,
    /// Last time this was the state, in seconds since the Unix epoch.
    pub(crate) seen: f64,
}

// === impl LoraLog ===

impl LoraLog {
    /// Notes that these adapters run and wait now.
    pub(crate) fn note<'a>(
        &mut self,
        running: impl Iterator<Item = &'a str>,
        waiting: impl Iterator<Item = &'a str>,
    ) {
        let (running, waiting) = (join(running), join(waiting));
        let seen = unix_seconds();
        let known = self
            .sets
            .iter()
            .position(|set| set.running == running && set.waiting == waiting);
        match known {
            // The latest is kept last.
            Some(at) => {
                let set = self.sets.remove(at);
                self.sets.push(LoraSet { seen, ..set });
            }
            None => {
                if self.sets.len() == MAX_SETS {
                    self.sets.remove(0);
                }
                self.sets.push(LoraSet {
                    running,
                    waiting,
                    seen,
                });
            }
        }
    }

    /// All series, the current state last.
    pub(crate) fn sets(&self) -> &[LoraSet] {
        &self.sets
    }
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_comes_back_is_the_same_series() {
        let mut log = LoraLog::default();
        log.note(["b", "a", "b"].into_iter(), std::iter::empty());
        log.note(std::iter::empty(), ["a"].into_iter());
        log.note(["a", "b"].into_iter(), std::iter::empty());
        let sets: Vec<_> = log
            .sets()
            .iter()
            .map(|s| (&*s.running, &*s.waiting))
            .collect();
        assert_eq!(sets, [("", "a"), ("a,b", "")]);
        assert!(log.sets()[1].seen >= log.sets()[0].seen);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut log = LoraLog::default();
        for at in 0..1000 {
            log.note([at.to_string().as_str()].into_iter(), std::iter::empty());
        }
        assert_eq!(log.sets().len(), MAX_SETS);
        assert_eq!(log.sets()[MAX_SETS - 1].running, "999");
    }
}
