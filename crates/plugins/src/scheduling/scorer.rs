//! Scorers.

pub mod kv_cache_utilization;
pub mod lora_affinity;
pub mod prefix_cache;
pub mod queue;
pub mod running_requests_size;

use suimon_picker::{Load, View};

/// Scores by a load figure: the lowest gets 1, the highest 0, the rest in proportion; all equal get
/// 1. An endpoint whose figures are unknown gets 0, since unknown is not idle.
fn least_is_best(
    view: &View<'_>,
    candidates: &[u32],
    scores: &mut [f32],
    figure: impl Fn(&Load) -> u32,
) {
    let known = |place: &u32| {
        let load = view.load_of(*place);
        load.fresh.then(|| figure(&load))
    };
    let (mut min, mut max) = (u32::MAX, 0);
    for value in candidates.iter().filter_map(known) {
        min = min.min(value);
        max = max.max(value);
    }
    for (place, score) in candidates.iter().zip(scores) {
        *score = match known(place) {
            None => 0.0,
            Some(_) if max == min => 1.0,
            #[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
            Some(value) => (max - value) as f32 / (max - min) as f32,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pool, metrics};

    #[test]
    fn scores_by_the_place_between_least_and_most() {
        let rows: [(&[Option<u32>], &[f32]); 6] = [
            (&[Some(0), Some(5), Some(10)], &[1.0, 0.5, 0.0]),
            (&[Some(0), Some(0)], &[1.0, 1.0]),
            (&[Some(7), Some(7)], &[1.0, 1.0]),
            (&[Some(9)], &[1.0]),
            (&[Some(1), None, Some(1)], &[1.0, 0.0, 1.0]),
            (&[None, None], &[0.0, 0.0]),
        ];
        for (waiting, expected) in rows {
            let pool = Pool::of(waiting.iter().map(|w| w.map(|w| metrics().waiting(w))));
            let scores = pool.score(|view, candidates, scores| {
                least_is_best(view, candidates, scores, |load| load.waiting);
            });
            assert_eq!(scores, expected, "{waiting:?}");
        }
    }
}
