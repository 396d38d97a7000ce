use std::collections::BTreeMap;

use suimon_picker::{EndpointSpec, Metrics};

use super::*;
use crate::testing::build;

fn params(value: serde_json::Value) -> Params {
    serde_json::from_value(value).unwrap()
}

fn producer(value: serde_json::Value) -> ApproxPrefixCacheProducer {
    build(params(value)).unwrap()
}

fn endpoint(port: u16, block_size: u32, num_blocks: u32) -> Arc<Endpoint> {
    let endpoint = Endpoint::new(EndpointSpec {
        id: Arc::from(format!("test/{port}")),
        address: ([127, 0, 0, 1], port).into(),
        labels: BTreeMap::new(),
    });
    endpoint.begin_scrape();
    endpoint.finish_scrape(Metrics {
        block_size,
        num_blocks,
        ..Metrics::default()
    });
    Arc::new(endpoint)
}

#[test]
fn tokens_bound_a_prompt_before_blocks_do() {
    for (given, tokens, blocks) in [
        (serde_json::json!({}), Some(131_072), None),
        (
            serde_json::json!({"maxPrefixTokensToMatch": 0}),
            None,
            Some(2048),
        ),
        (
            serde_json::json!({"maxPrefixTokensToMatch": 0, "maxPrefixBlocksToMatch": 0}),
            None,
            None,
        ),
        (
            serde_json::json!({"maxPrefixTokensToMatch": 64, "maxPrefixBlocksToMatch": 9}),
            Some(64),
            None,
        ),
    ] {
        let limits = params(given).check().unwrap();
        assert_eq!((limits.max_tokens, limits.max_blocks), (tokens, blocks));
    }
}

#[test]
fn the_former_name_counts_while_the_present_one_has_its_default() {
    for (given, tokens) in [
        (serde_json::json!({}), 16),
        (serde_json::json!({"blockSize": 32}), 32),
        (
            serde_json::json!({"blockSize": 32, "blockSizeTokens": 16}),
            32,
        ),
        (
            serde_json::json!({"blockSize": 32, "blockSizeTokens": 128}),
            128,
        ),
    ] {
        assert_eq!(params(given).check().unwrap().block_tokens, tokens);
    }
    for wrong in [-1, i64::MAX] {
        let given = params(serde_json::json!({"blockSize": wrong}));
        assert!(given.check().is_err(), "{wrong}");
    }
}

#[test]
fn capacities_are_turned_into_blocks_of_the_size_that_is_hashed() {
    let tuned = producer(serde_json::json!({"lruCapacityPerServer": 1000}));
    let fixed = producer(serde_json::json!({"lruCapacityPerServer": 1000, "autoTune": false}));
    for (block_size, num_blocks, by_engine) in [
        (16, 27_000, 6750),
        (128, 100, 200),
        (16, 1, 1),
        (0, 27_000, 250),
        (16, 0, 250),
    ] {
        let endpoint = endpoint(1, block_size, num_blocks);
        assert_eq!(tuned.capacity(&endpoint, 64), by_engine);
        assert_eq!(fixed.capacity(&endpoint, 64), 250);
    }
}

#[test]
fn endpoints_that_are_gone_are_forgotten_when_another_one_comes() {
    let producer = producer(serde_json::json!({}));
    let all: Vec<_> = (1..=3).map(|port| endpoint(port, 0, 0)).collect();
    let [stays, goes, comes] = &*all else {
        panic!("three endpoints")
    };
    for endpoint in [stays, goes] {
        producer.note_endpoint(endpoint);
        let mut index = producer.index.write();
        index.insert(endpoint.slot(), &[1, 2, 3], 10);
    }
    goes.mark_gone();
    producer.note_endpoint(stays);
    assert_eq!(producer.index.read().held(goes.slot()), 3, "nothing is new");
    producer.note_endpoint(comes);
    assert_eq!(producer.index.read().held(goes.slot()), 0);
    assert_eq!(producer.index.read().held(stays.slot()), 3);
    let known: Vec<u32> = producer.known.lock().iter().map(|one| one.slot()).collect();
    assert_eq!(known, [stays.slot(), comes.slot()]);
}
