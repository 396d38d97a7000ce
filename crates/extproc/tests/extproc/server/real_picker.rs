//! The picker that the embedded path calls, behind the server.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use suimon_api::parse_picker_config;
use suimon_extproc::{Options, Parts, Server, Serving, Silent};
use suimon_picker::{
    EndpointSpec, PickerParts, PoolPicker, Recorder, Registry, Resources, SystemClock,
};

use crate::support::envoy::{PROCESS, Proxy};
use crate::support::replies::{immediate, request_headers as headers_of, value};
use crate::support::{request_body, request_headers, response_headers};

const CONFIG: &str = r"
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: random-picker
";

fn picker(recorder: &Arc<Recorder>) -> PoolPicker {
    let config = parse_picker_config(CONFIG).unwrap();
    let registry =
        Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]).unwrap();
    let parts = PickerParts {
        name: Arc::from("test/pool"),
        engine: suimon_picker::build(&config, &registry, &Resources::default()).unwrap(),
        recorder: Arc::clone(recorder),
        seed: 7,
    };
    let picker = PoolPicker::new(parts, Arc::new(SystemClock));
    picker.set_members(vec![EndpointSpec {
        id: Arc::from("test/a"),
        address: "[fd00::1]:8000".parse().unwrap(),
        labels: BTreeMap::new(),
    }]);
    picker
}

#[tokio::test]
async fn a_pool_is_picked_from_and_its_records_are_completed() {
    let recorder = Arc::new(Recorder::new(8));
    let picker = Arc::new(picker(&recorder));
    let parts = Parts {
        picker: Arc::clone(&picker) as Arc<_>,
        observer: Arc::new(Silent),
        health: Arc::new(Serving),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::start_plain(listener, parts, Options::default()).unwrap();
    let proxy = Proxy::connect(server.address()).await;

    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    call.say(&request_body(body, true)).await;
    let replies = [call.next().await.unwrap()];
    let told = value(headers_of(&replies), "x-gateway-destination-endpoint");
    assert_eq!(told, Some("[fd00::1]:8000"));
    let endpoint = Arc::clone(&picker.pool().endpoints[0]);
    assert_eq!(endpoint.in_flight_requests(), 1);
    call.say(&response_headers("application/json", true)).await;
    assert_eq!(call.rest().await.1, "0");

    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    call.say(&request_body(r#"{"messages":[]}"#, true)).await;
    let (replies, _) = call.rest().await;
    assert_eq!(immediate(&replies).status, 400);

    server.drain(std::time::Duration::ZERO).await;
    assert_eq!(endpoint.in_flight_requests(), 0);
    let records = recorder.newest(8);
    let outcome = records.iter().find_map(|r| r.outcome.get()).unwrap();
    assert_eq!((outcome.status, outcome.end), (200, "completed"));
}
