//! The dashboard in a real browser: what it shows after a conversation.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by it, in its helpers too"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use suimon_testkit::{Gateway, Sims, chat_body, documents, post};

/// Real time after which a browser that hangs is ended, in seconds.
const LIMIT: &str = "60";

/// Runs headless Chromium on a page for five virtual seconds; gives its standard output.
fn chromium(url: &str, flags: &[&str]) -> String {
    let binary = std::env::var("CHROMIUM").expect("CHROMIUM names the browser's binary");
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .args([LIMIT, &binary])
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg("--disable-dev-shm-usage")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--virtual-time-budget=5000", "--window-size=1400,1500"])
        .args(flags)
        .arg(url)
        .stdin(Stdio::null())
        .output()
        .expect("the browser starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("a page of UTF-8")
}

/// The text of a piece of HTML: tags become spaces, runs of spaces one.
fn text(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for c in html.chars() {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            c if !in_tag => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands between two marks, the first that follows `from`.
fn between<'a>(page: &'a str, from: &str, until: &str) -> &'a str {
    let (_, rest) = page
        .split_once(from)
        .unwrap_or_else(|| panic!("`{from}` is not in\n{page}"));
    rest.split_once(until)
        .unwrap_or_else(|| panic!("`{until}` does not follow `{from}`"))
        .0
}

/// Talks three turns; gives the name of the endpoint that has the conversation.
fn converse(gateway: &Gateway) -> String {
    let opening: String = (0..200).map(|word| format!("word{word} ")).collect();
    let mut talk = vec![opening];
    let mut pod = String::new();
    for turn in 0..3 {
        let messages: Vec<&str> = talk.iter().map(String::as_str).collect();
        let answer = gateway.ask(post(
            "/v1/chat/completions",
            &chat_body("llama", &messages),
            "",
        ));
        assert_eq!(answer.status(), 200);
        pod = answer.need("x-inference-pod");
        assert!(gateway.decision(&answer.need("x-request-id"))["outcome"]["served"].is_string());
        talk.extend(["an answer".to_owned(), format!("question {turn}")]);
    }
    let number = pod.trim_start_matches("sim-");
    format!("models-{number}-rank-{number}")
}

fn target_folder() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_suimon"));
    binary
        .ancestors()
        .nth(2)
        .expect("target/<profile>/suimon")
        .to_owned()
}

#[test]
fn the_dashboard_explains_a_conversation_needs_chromium() {
    let sims = Sims::start(3);
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    let winner = converse(&gateway);
    let url = format!("http://{}/", gateway.admin);

    let page = chromium(&url, &["--dump-dom"]);
    assert_eq!(
        text(
            between(&page, "id=\"connection\"", "</p>")
                .split_once('>')
                .unwrap()
                .1
        ),
        "live"
    );
    assert!(
        page.contains("class=\"connection live\""),
        "the page has lost its server"
    );
    let pools = text(between(&page, "id=\"pools\"", "</section>"));
    for part in [
        "default/models",
        "models-0-rank-0",
        "models-1-rank-1",
        "models-2-rank-2",
    ] {
        assert!(pools.contains(part), "`{part}` is not in `{pools}`");
    }
    let sentence = text(
        between(&page, "id=\"sentence\"", "</p>")
            .split_once('>')
            .unwrap()
            .1,
    );
    assert!(
        sentence.contains(&winner),
        "`{sentence}` does not name {winner}"
    );
    assert!(sentence.contains("prefix"), "`{sentence}` does not say why");
    let board = between(&page, "class=\"board\"", "</table>");
    let words = text(board);
    for part in ["models-0-rank-0", "models-1-rank-1", "models-2-rank-2"] {
        assert!(words.contains(part), "`{part}` is not in `{words}`");
    }
    let detail = text(between(&page, "id=\"detail\"", "</article>"));
    for scorer in [
        "queue-scorer",
        "kv-cache-utilization-scorer",
        "prefix-cache-scorer",
    ] {
        assert!(detail.contains(scorer), "`{scorer}` is not in `{detail}`");
    }
    assert!(
        detail.contains("default/all") && detail.contains("llama"),
        "`{detail}`"
    );
    let chosen = board
        .split("<tr")
        .find(|row| row.contains("chosen"))
        .expect("a row is chosen");
    assert!(text(&format!("<{chosen}")).contains(&winner), "{chosen}");
    let list = between(&page, "id=\"list\"", "id=\"picture\"");
    assert!(
        list.split("<tr").any(|row| row.contains("selected")),
        "no decision is selected"
    );

    let picture = target_folder().join("dashboard.png");
    // An older picture must not pass for this one.
    let _ = std::fs::remove_file(&picture);
    let screenshot = chromium(&url, &[&format!("--screenshot={}", picture.display())]);
    let bytes = std::fs::read(&picture).unwrap_or_else(|error| panic!("{error}: {screenshot}"));
    assert!(bytes.starts_with(b"\x89PNG"), "{}", picture.display());
    assert!(
        bytes.len() > 20_000,
        "{} has only {} bytes",
        picture.display(),
        bytes.len()
    );
}
