//! A pick allocates no more for a large pool than for a small one.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::sync::Arc;
    use std::time::Duration;

    use bytes::Bytes;
    use http::HeaderMap;
    use suimon_llm::Fields;
    use suimon_picker::{
        Body, Clock as _, EndpointSpec, Metrics, PickRequest, PickerParts, PoolPicker, Recorder,
        Registry, Resources, Subset, SystemClock, Unreadable,
    };

    const STANDARD: &str = include_str!("data/standard.yaml");

    /// A pool of idle endpoints, scraped at a time that does not become old while the test runs.
    fn picker(endpoints: u16) -> PoolPicker {
        let config = suimon_api::parse_picker_config(STANDARD).unwrap();
        let registry =
            Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]).unwrap();
        let parts = PickerParts {
            name: Arc::from("test/pool"),
            engine: suimon_picker::build(&config, &registry, &Resources::default()).unwrap(),
            recorder: Arc::new(Recorder::new(0)),
            seed: 1,
        };
        let picker = PoolPicker::new(parts, Arc::new(SystemClock));
        let spec = |port: u16| EndpointSpec {
            id: Arc::from(format!("test/{port:04}")),
            address: ([127, 0, 0, 1], port).into(),
            labels: BTreeMap::new(),
        };
        let pool = picker.set_members((1..=endpoints).map(spec).collect());
        let updated = SystemClock.now() + Duration::from_secs(3600);
        for endpoint in pool.endpoints.iter() {
            endpoint.begin_scrape();
            endpoint.finish_scrape(Metrics {
                updated: Some(updated),
                ..Metrics::default()
            });
        }
        picker
    }

    /// A conversation of `turns` turns of a kilobyte.
    fn conversation(turns: usize) -> Fields {
        let mut body = r#"{"model":"m","messages":["#.to_owned();
        for turn in 0..turns {
            let comma = if turn == 0 { "" } else { "," };
            let text = format!("turn {turn:03} ").repeat(100);
            let _ = write!(body, r#"{comma}{{"role":"user","content":"{text}"}}"#);
        }
        body.push_str("]}");
        Fields::scan(Bytes::from(body)).unwrap()
    }

    fn pick(picker: &PoolPicker, fields: &Fields, headers: &HeaderMap, only: Option<&Subset>) {
        let decision = picker.pick_now(&PickRequest {
            id: "request-1",
            route: "test/route",
            method: &http::Method::POST,
            query: None,
            bytes: &Bytes::new(),
            path: "/v1/chat/completions",
            headers,
            body: Body::Fields(fields),
            unreadable: Unreadable::Pass,
            received: SystemClock.now(),
            subset: only,
        });
        assert!(decision.is_ok(), "{decision:?}");
    }

    #[test]
    fn the_number_of_allocations_does_not_depend_on_the_number_of_endpoints() {
        let (whole, headers) = (conversation(40), HeaderMap::new());
        let part = conversation(10);
        let count = |endpoints: u16| {
            let picker = picker(endpoints);
            let pool = picker.pool();
            let addresses = pool.endpoints.iter().map(|endpoint| endpoint.address());
            // Half of the endpoints hold a part of the prompt.
            for address in addresses.step_by(2) {
                pick(
                    &picker,
                    &part,
                    &headers,
                    Some(&Subset::from_iter([address])),
                );
            }
            // What is reused from pick to pick has grown to its size.
            (0..20).for_each(|_| pick(&picker, &whole, &headers, None));
            let counted = allocation_counter::measure(|| pick(&picker, &whole, &headers, None));
            (counted.count_total, counted.bytes_total)
        };
        let small = count(8);
        assert_eq!(count(100), small);
        assert_eq!(count(1000), small);
        assert!(small.0 < 64, "{small:?}");
    }
}
