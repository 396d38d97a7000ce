//! Weighted backends that mix InferencePools and Services get their shares.

use suimon_testkit::{Answer, FakeServer, Gateway, documents, post};

const REQUESTS: usize = 2_000;

#[test]
fn pools_and_services_get_their_shares() {
    let servers: Vec<_> = (0..4)
        .map(|_| FakeServer::start(|_| Answer::json("{}")))
        .collect();
    let address = |number: usize| servers[number].address;
    let weighted = |name: &str, weight: usize| {
        format!(
            "{{group: inference.networking.k8s.io, kind: InferencePool, name: {name}, weight: {weight}}}"
        )
    };
    let rules = format!(
        "[{{backendRefs: [{}, {}, {{name: plain, port: 80, weight: 10}}, {}]}}]",
        weighted("large", 70),
        weighted("small", 20),
        weighted("off", 0)
    );
    let yaml = [
        documents::GATEWAY,
        &documents::route("split", &rules),
        &documents::pool("large", &[address(0)], ""),
        &documents::pool("small", &[address(1)], ""),
        &documents::service("plain", &[address(2)]),
        &documents::pool("off", &[address(3)], ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    let mut client = gateway.client();
    for _ in 0..REQUESTS {
        let answer = client.ask(post(
            "/v1/chat/completions",
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
            "",
        ));
        assert_eq!(answer.status(), 200);
    }
    let counts: Vec<_> = servers
        .iter()
        .map(|server| server.requests().len())
        .collect();
    assert_eq!(counts.iter().sum::<usize>(), REQUESTS);
    assert_eq!(counts[3], 0);
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let chi: f64 = counts
        .iter()
        .zip([0.7, 0.2, 0.1])
        .map(|(count, share)| {
            let want = share * REQUESTS as f64;
            (*count as f64 - want).powi(2) / want
        })
        .sum();
    // Two degrees of freedom: 18.4 has a chance of 1 in 10,000.
    assert!(chi < 18.4, "{counts:?}: {chi}");
    // Requests to Services have no pick and no decision.
    let decisions = gateway.api("/api/decisions?limit=1000");
    let pools: Vec<_> = decisions
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["pool"].clone())
        .collect();
    assert!(
        pools
            .iter()
            .all(|pool| pool == "default/large" || pool == "default/small")
    );
    assert!(
        servers[2]
            .last()
            .header("x-gateway-destination-endpoint")
            .is_none()
    );
}
