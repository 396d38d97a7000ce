//! What cannot work ends at once, with a line that says why.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use suimon_testkit::gateway::{Finished, run};
use suimon_testkit::ports::free_port;
use suimon_testkit::{Gateway, GatewayOptions, documents};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

fn gateway(config: &Path, admin_port: u16) -> Finished {
    let (config, port) = (config.display().to_string(), admin_port.to_string());
    run(
        BINARY,
        &["gateway", "--config", &config, "--admin-port", &port],
    )
}

/// It failed, and its last line begins like this.
#[track_caller]
fn assert_fails(finished: &Finished, start: &str) {
    assert_eq!(finished.status.code(), Some(1), "{}", finished.err);
    let last = finished.err.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(start),
        "`{start}` is not how this begins:\n{}",
        finished.err
    );
}

fn documents(port: u16) -> String {
    let address = ([127, 0, 0, 1], 9).into();
    let parts = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &[address], ""),
    ];
    parts.concat().replace("@PORT@", &port.to_string())
}

#[test]
fn a_port_that_is_taken_ends_the_process() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.yaml");
    std::fs::write(&file, documents(port)).unwrap();
    let ended = gateway(&file, free_port());
    assert_fails(
        &ended,
        &format!("error: cannot listen on `127.0.0.1:{port}` <- Address already in use"),
    );

    std::fs::write(&file, documents(free_port())).unwrap();
    let ended = gateway(&file, port);
    let said = format!(
        "error: the admin server cannot listen on `127.0.0.1:{port}`; --admin-port takes another <- "
    );
    assert_fails(&ended, &said);

    let (port, admin) = (port.to_string(), free_port().to_string());
    let ended = run(
        BINARY,
        &[
            "up",
            "--replicas",
            "1",
            "--port",
            &port,
            "--admin-port",
            &admin,
        ],
    );
    assert_fails(
        &ended,
        &format!(
            "error: --port and --address choose another socket <- cannot listen on `127.0.0.1:{port}` <- "
        ),
    );
}

#[test]
fn a_configuration_that_is_not_there_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing.yaml");
    let shown = file.display().to_string();
    assert_fails(
        &gateway(&file, free_port()),
        &format!("error: {shown}: cannot be read: No such file"),
    );

    std::fs::write(&file, "# nothing yet\n").unwrap();
    let said =
        format!("error: {shown}: has no documents; at least a Gateway and an HTTPRoute are needed");
    assert_fails(&gateway(&file, free_port()), &said);

    std::fs::rename(&file, folder.path().join("readme.txt")).unwrap();
    let said = format!(
        "error: {}: has no .yaml, .yml or .json file",
        folder.path().display()
    );
    assert_fails(&gateway(folder.path(), free_port()), &said);
}

#[test]
fn broken_documents_end_the_process_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.yaml");
    std::fs::write(&file, documents(1).replace("targetPorts", "ports")).unwrap();
    let said = format!(
        "error: {}: document 3: InferencePool `models`: line ",
        file.display()
    );
    assert_fails(&gateway(&file, free_port()), &said);

    let picker = documents::picker_ref("p");
    let yaml = documents(free_port()).replace("targetPorts", &format!("{picker}\n  targetPorts"));
    std::fs::write(
        &file,
        yaml + &documents::picker("p", "plugins: [{type: nonsense}]"),
    )
    .unwrap();
    let said = "error: pool `default/models`: picker configuration `default/p#picker.yaml`: plugins[0]: plugin \
                type `nonsense` is not registered";
    assert_fails(&gateway(&file, free_port()), said);
}

#[test]
fn no_usable_listener_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.yaml");
    let port = free_port();
    let twice = format!("port: {port}}}, {{name: b, protocol: HTTP, port: {port}}}]");
    std::fs::write(
        &file,
        documents(port).replace(&format!("port: {port}}}]"), &twice),
    )
    .unwrap();
    let ended = gateway(&file, free_port());
    assert_fails(
        &ended,
        "error: no listener to bind: a Gateway with a listener of protocol HTTP or HTTPS",
    );
    let conflict =
        format!("`spec.listeners[1]`: listener `http` has the same hostname on port {port}");
    assert!(ended.err.contains(&conflict), "{}", ended.err);
}

#[test]
fn a_listener_that_cannot_be_served_leaves_the_others() {
    let other = free_port();
    let more = format!("port: @PORT@}}, {{name: raw, protocol: TCP, port: {other}}}]");
    let address = ([127, 0, 0, 1], 9).into();
    let parts = [
        documents::GATEWAY.replace("port: @PORT@}]", &more),
        documents::route_to_pool("models"),
        documents::pool("models", &[address], ""),
    ];
    let gateway = Gateway::start_with(BINARY, &parts.concat(), &GatewayOptions::default());
    gateway.await_log(
        "protocol `TCP` is not supported; accepted: `HTTP`, `HTTPS`",
        1,
    );
    assert!(std::net::TcpStream::connect(("127.0.0.1", other)).is_err());
    assert_eq!(gateway.ask(suimon_testkit::get("/", "")).status(), 503);
}

#[test]
fn flags_without_value_or_with_a_wrong_one_are_told() {
    let cases: [(&[&str], &str); 6] = [
        (&["gateway"], "--config <PATH>"),
        (
            &["gateway", "--config"],
            "a value is required for '--config <PATH>'",
        ),
        (
            &["gateway", "--config", "x", "--admin-port", "x"],
            "invalid value 'x' for '--admin-port <PORT>'",
        ),
        (&["up", "--replicas", "0"], "0 is not in 1..=64"),
        (
            &["up", "--endpoint", "10.0.0.5:8000"],
            "accepted is http://HOST:PORT, as in http://10.0.0.5:8000",
        ),
        (
            &["up", "--picker-config", "/nowhere.yaml"],
            "/nowhere.yaml cannot be read",
        ),
    ];
    for (arguments, said) in cases {
        let ended = run(BINARY, arguments);
        assert!(!ended.status.success(), "{arguments:?}");
        assert!(
            ended.err.contains(said),
            "`{said}` is not in:\n{}",
            ended.err
        );
    }
}
