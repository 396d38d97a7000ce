//! What happens when a picker fails (`failureMode` of an InferencePool's `endpointPickerRef`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use suimon_picker::{Endpoint, PickError};
use suimon_telemetry::Reason;

use crate::failure::Failure;
use crate::snapshot::Pool;

/// Endpoints to try without the picker, when the pool fails open; `why` is the picker's failure,
/// `None` when there is no picker.
///
/// # Errors
/// The pool fails closed, the failure is not the picker's, or no endpoint is ready.
pub(crate) fn without_picker(
    pool: &Pool,
    why: Option<PickError>,
    turn: &AtomicUsize,
) -> Result<Vec<Arc<Endpoint>>, Failure> {
    let failure = why.map_or_else(|| Failure::plain(Reason::PickerFailed), Failure::picking);
    if failure.reason != Reason::PickerFailed || !pool.fail_open {
        return Err(failure);
    }
    let round = round(pool, turn);
    if round.is_empty() {
        return Err(Failure::plain(Reason::NoEndpoints));
    }
    Ok(round)
}

/// All ready endpoints of a pool, in the order in which they take turns.
pub(crate) fn round(pool: &Pool, turn: &AtomicUsize) -> Vec<Arc<Endpoint>> {
    let ready = pool.ready.load();
    if ready.is_empty() {
        return Vec::new();
    }
    let first = turn.fetch_add(1, Ordering::Relaxed) % ready.len();
    let (before, from) = ready.split_at(first);
    from.iter().chain(before).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arc_swap::ArcSwap;
    use suimon_picker::EndpointSpec;
    use suimon_routing::table::BackendProtocol;

    fn pool(fail_open: bool, endpoints: u16) -> Pool {
        let ready = (0..endpoints).map(|n| {
            Arc::new(Endpoint::new(EndpointSpec {
                id: Arc::from(n.to_string()),
                address: ([127, 0, 0, 1], 8000 + n).into(),
                labels: std::collections::BTreeMap::new(),
            }))
        });
        Pool {
            name: Arc::from("a/b"),
            picker: None,
            fail_open,
            protocol: BackendProtocol::Http1,
            ready: Arc::new(ArcSwap::from_pointee(ready.collect())),
        }
    }

    #[test]
    fn open_goes_round() {
        let (pool, turn) = (pool(true, 3), AtomicUsize::new(0));
        let firsts: Vec<_> = (0..4)
            .map(|_| {
                without_picker(&pool, None, &turn).unwrap()[0]
                    .address()
                    .port()
            })
            .collect();
        assert_eq!(firsts, [8000, 8001, 8002, 8000]);
    }

    #[test]
    fn closed_refuses() {
        let failure = without_picker(&pool(false, 3), None, &AtomicUsize::new(0)).unwrap_err();
        assert_eq!(failure.reason, Reason::PickerFailed);
    }

    #[test]
    fn saturation_is_no_failure_of_the_picker() {
        let why = PickError::Saturated;
        let failure = without_picker(&pool(true, 3), Some(why), &AtomicUsize::new(0)).unwrap_err();
        assert_eq!(failure.reason, Reason::Saturated);
    }

    #[test]
    fn nothing_ready() {
        let failure = without_picker(&pool(true, 0), None, &AtomicUsize::new(0)).unwrap_err();
        assert_eq!(failure.reason, Reason::NoEndpoints);
    }
}
