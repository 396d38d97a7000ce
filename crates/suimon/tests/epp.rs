//! Flags of `suimon epp`: what cannot work ends at once, with a line that says why.

use suimon_testkit::gateway::run;

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

/// It fails, and its last line begins like this.
#[track_caller]
fn assert_fails(flags: &[&str], start: &str) {
    let ended = run(BINARY, &[&["epp"], flags].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", ended.err);
    let last = ended.err.lines().last().unwrap_or_default();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    assert!(
        last.starts_with(start),
        "`{start}` is not how this begins:\n{}",
        ended.err
    );
}

#[test]
fn errors_are_in_the_words_of_the_peer() {
    let pool = "--pool-name=p";
    let neither = "either pool-name or endpoint-selector must be set";
    assert_fails(&[], neither);
    assert_fails(&[pool, "--endpoint-selector=a=b"], neither);
    let by_labels = |ports| {
        [
            "--endpoint-selector",
            "a=b",
            "--endpoint-target-ports",
            ports,
        ]
    };
    assert_fails(
        &by_labels("1,2,3,4,5,6,7,8,9"),
        "flag \"endpoint-target-ports\" should have length from 1 to 8",
    );
    assert_fails(
        &by_labels("1,70000"),
        "invalid port number 70000 in \"endpoint-target-ports\"",
    );
    assert_fails(
        &[pool, "--config-file=a", "--config-text=b"],
        "both the \"config-file\" and \"config-text\" flags cannot be set at the same time",
    );
    for flag in [
        "total-queued-requests-metric",
        "total-running-requests-metric",
        "kv-cache-usage-percentage-metric",
        "lora-info-metric",
        "cache-info-metric",
    ] {
        let said = format!(
            "flag \"{flag}\" is deprecated and cannot be used; configure metrics via engineConfigs in \
             EndpointPickerConfig instead"
        );
        assert_fails(&[pool, &format!("--{flag}=x")], &said);
    }
    assert_fails(
        &[pool, "--metrics-client-ca-file=ca"],
        "\"metrics-client-ca-file\" requires \"metrics-cert-dir\"",
    );
    assert_fails(
        &[
            pool,
            "--metrics-cert-dir=d",
            "--metrics-endpoint-auth=false",
        ],
        "\"metrics-cert-dir\" enables metrics TLS without authentication; set ",
    );
    let size = |text| format!("--grpc-max-recv-msg-size={text}");
    assert_fails(&[pool, &size("ten")], "invalid grpc-max-recv-msg-size");
    assert_fails(
        &[pool, &size("-5")],
        "grpc-max-recv-msg-size must be non-negative, got -5",
    );
}

#[test]
fn what_is_not_there_yet_is_said_with_what_is() {
    let selector = ["--endpoint-selector=a=b", "--endpoint-target-ports=8000"];
    assert_fails(
        &selector,
        "endpoint-selector needs a Kubernetes cluster, which is not supported yet; ",
    );
    assert_fails(
        &["--pool-name=p", "--metrics-cert-dir=d"],
        "\"metrics-cert-dir\": TLS on the metrics port is not supported yet; ",
    );
    assert_fails(&["--pool-name=p"], "no configuration: --config-file or ");
    assert_fails(
        &[
            "--pool-name=p",
            "--config-text={}",
            "--secure-serving=false",
        ],
        "--config-text: nothing says where the endpoints are; ",
    );
    assert_fails(
        &["--pool-name=p", "--config-file=/nowhere.yaml"],
        "/nowhere.yaml cannot be read <- ",
    );
    let typed = run(BINARY, &["epp", "--pool-nam=p"]);
    assert_eq!(typed.status.code(), Some(2));
    assert!(typed.err.contains("'--pool-name'"), "{}", typed.err);
}

#[test]
fn versions_suites_and_files_of_tls_are_checked() {
    let flags = |flag: &'static str| ["--pool-name=p", "--config-text={}", flag];
    assert_fails(
        &flags("--tls-min-version=TLS1.2"),
        "unknown TLS version \"TLS1.2\"; ",
    );
    assert_fails(
        &flags("--tls-cipher-suites=TLS_NULL"),
        "unknown cipher suite \"TLS_NULL\"",
    );
    assert_fails(
        &flags("--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA"),
        "--tls-cipher-suites: none of these is there; accepted are ",
    );
    assert_fails(
        &flags("--cert-path=/nowhere"),
        "`/nowhere/tls.crt`: no certificate chain in PEM form",
    );
}
