//! A replica over real connections.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test"
)]

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use suimon_sim::{Config, Delay, LoraModule, Mode, Replica, Tuning};
use tokio::net::TcpStream;

fn config() -> Config {
    Config {
        port: 0,
        model: "tiny".to_owned(),
        seed: Some(1),
        ..Config::default()
    }
}

fn request(replica: &Replica, path: &str, body: Option<&Value>) -> Request<Full<Bytes>> {
    let method = if body.is_some() { "POST" } else { "GET" };
    let body = body.map(Value::to_string).unwrap_or_default();
    Request::builder()
        .method(method)
        .uri(format!("http://{}{path}", replica.address()))
        .header("host", replica.address().to_string())
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}

/// Sends one request on a connection of its own; the connection closes when the task is aborted.
async fn send(
    replica: &Replica,
    request: Request<Full<Bytes>>,
) -> (Response<Incoming>, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(replica.address()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let task = tokio::spawn(async move {
        let _ = connection.await;
    });
    (sender.send_request(request).await.unwrap(), task)
}

async fn text(replica: &Replica, path: &str, body: Option<&Value>) -> (StatusCode, String) {
    let (response, _task) = send(replica, request(replica, path, body)).await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn post(replica: &Replica, path: &str, body: Value) -> (StatusCode, Value) {
    let (status, text) = text(replica, path, Some(&body)).await;
    (status, serde_json::from_str(&text).unwrap())
}

fn chat(content: &str, max_tokens: usize) -> Value {
    json!({
        "model": "tiny",
        "messages": [{"role": "user", "content": content}],
        "max_tokens": max_tokens,
        "ignore_eos": true,
    })
}

/// Waits for a state that other tasks bring about; fails after five seconds.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_chat_answer_has_the_fields_of_vllm_in_order() {
    let replica = Replica::start(config()).await.unwrap();
    let (response, _task) = send(
        &replica,
        request(&replica, "/v1/chat/completions", Some(&chat("hi", 3))),
    )
    .await;
    assert_eq!(response.headers()["content-type"], "application/json");
    let port = replica.address().port();
    assert_eq!(response.headers()["x-inference-port"], port.to_string());
    assert_eq!(response.headers()["x-inference-pod"], format!("sim-{port}"));
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "object",
            "created",
            "model",
            "choices",
            "service_tier",
            "system_fingerprint",
            "usage",
            "prompt_logprobs",
            "prompt_token_ids",
            "prompt_text",
            "kv_transfer_params",
            "ec_transfer_params",
            "metrics",
        ]
    );
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 3);
    assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    let stats = replica.stats();
    assert_eq!((stats.started, stats.finished, stats.running), (1, 1, 0));
}

#[tokio::test]
async fn a_stream_ends_with_usage_and_done() {
    let replica = Replica::start(config()).await.unwrap();
    let mut body = chat("hi", 3);
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let (status, stream) = text(&replica, "/v1/chat/completions", Some(&body)).await;
    assert_eq!(status, StatusCode::OK);
    let mut data: Vec<&str> = stream
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| event.strip_prefix("data: ").unwrap())
        .collect();
    assert_eq!(data.pop(), Some("[DONE]"));
    let chunks: Vec<Value> = data
        .iter()
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(chunks.len(), 5);
    assert_eq!(
        chunks[0]["choices"][0]["delta"],
        json!({"role": "assistant", "content": ""})
    );
    assert_eq!(chunks[2]["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "length");
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["completion_tokens"], 3);
}

#[tokio::test]
async fn a_repeated_prefix_is_cached() {
    let replica = Replica::start(config()).await.unwrap();
    let long = "one two three four five six seven eight ".repeat(10);
    let (_, first) = post(&replica, "/v1/chat/completions", chat(&long, 2)).await;
    assert_eq!(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    let (_, second) = post(&replica, "/v1/chat/completions", chat(&long, 2)).await;
    let cached = second["usage"]["prompt_tokens_details"]["cached_tokens"]
        .as_u64()
        .unwrap();
    let prompt = second["usage"]["prompt_tokens"].as_u64().unwrap();
    assert_eq!(cached, prompt / 16 * 16);
    assert_eq!(replica.stats().kv_hits, cached);
    let (_, page) = text(
        &replica,
        "/metrics/?name[]=vllm:prefix_cache_hits_total",
        None,
    )
    .await;
    let sample =
        format!("vllm:prefix_cache_hits_total{{engine=\"0\",model_name=\"tiny\"}} {cached}.0");
    assert_eq!(
        page.lines()
            .filter(|line| !line.starts_with('#'))
            .collect::<Vec<_>>(),
        [sample]
    );
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_slot() {
    let tuning = Tuning {
        inter_token_latency: Delay::from_millis(60_000),
        ..Tuning::default()
    };
    let replica = Replica::start(Config { tuning, ..config() }).await.unwrap();
    for stream in [true, false] {
        let aborted = replica.stats().aborted;
        let mut body = chat("hi", 100);
        body["stream"] = stream.into();
        let request = request(&replica, "/v1/chat/completions", Some(&body));
        let tcp = TcpStream::connect(replica.address()).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(tcp)).await.unwrap();
        let connection = tokio::spawn(async move {
            let _ = connection.await;
        });
        let answer = tokio::spawn(async move {
            let response = sender.send_request(request).await;
            if let Ok(response) = response {
                let _ = response.into_body().collect().await;
            }
        });
        eventually("the sequence runs", || replica.stats().running == 1).await;
        connection.abort();
        eventually("the slot is free", || replica.stats().running == 0).await;
        assert_eq!(replica.stats().aborted, aborted + 1);
        answer.abort();
    }
}

#[tokio::test]
async fn a_full_queue_refuses() {
    let limits = Config {
        max_num_seqs: 1,
        max_waiting_queue_length: 0,
        ..config()
    };
    let replica = Replica::start(limits).await.unwrap();
    replica.set_stalled(true);
    let mut body = chat("hi", 2);
    body["stream"] = true.into();
    let (held, _task) = send(
        &replica,
        request(&replica, "/v1/chat/completions", Some(&body)),
    )
    .await;
    let (status, error) = post(&replica, "/v1/chat/completions", chat("hi", 2)).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(error["error"]["code"], 429);
    replica.set_stalled(false);
    let stream = held.into_body().collect().await.unwrap().to_bytes();
    assert!(stream.ends_with(b"data: [DONE]\n\n"));
    let (status, _) = post(&replica, "/v1/chat/completions", chat("hi", 2)).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn completions_give_a_choice_for_each_prompt() {
    let replica = Replica::start(Config {
        mode: Mode::Echo,
        ..config()
    })
    .await
    .unwrap();
    let body = json!({"model": "tiny", "prompt": ["alpha beta", "delta"], "max_tokens": 4});
    let (_, answer) = post(&replica, "/v1/completions", body).await;
    let texts: Vec<&Value> = answer["choices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|choice| &choice["text"])
        .collect();
    assert_eq!(texts, ["alpha beta", "delta"]);
    assert_eq!(answer["usage"]["prompt_tokens"], 3);
    let body = json!({"model": "tiny", "prompt": [[1, 2, 3], [4]]});
    let (_, answer) = post(&replica, "/v1/completions", body).await;
    assert_eq!(answer["choices"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn adapters_come_and_go() {
    let loras = vec![LoraModule::named("medical")];
    let replica = Replica::start(Config {
        lora_modules: loras,
        ..config()
    })
    .await
    .unwrap();
    let ids = async || -> Vec<String> {
        let (_, page) = text(&replica, "/v1/models", None).await;
        let page: Value = serde_json::from_str(&page).unwrap();
        let cards = page["data"].as_array().unwrap();
        cards
            .iter()
            .map(|card| card["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids().await, ["tiny", "medical"]);
    let load = json!({"lora_name": "law", "lora_path": "/law"});
    assert_eq!(
        text(&replica, "/v1/load_lora_adapter", Some(&load)).await.0,
        StatusCode::OK
    );
    let again = text(&replica, "/v1/load_lora_adapter", Some(&load)).await;
    assert_eq!(again.0, StatusCode::BAD_REQUEST);
    let mut body = chat("hi", 1);
    body["model"] = "law".into();
    let (_, answer) = post(&replica, "/v1/chat/completions", body.clone()).await;
    assert_eq!(answer["model"], "law");
    let (_, page) = text(&replica, "/metrics", None).await;
    assert!(
        page.contains("running_lora_adapters=\"law\",waiting_lora_adapters=\"\"}"),
        "{page}"
    );
    let unload = json!({"lora_name": "law"});
    assert_eq!(
        text(&replica, "/v1/unload_lora_adapter", Some(&unload))
            .await
            .0,
        StatusCode::OK
    );
    let (status, _) = post(&replica, "/v1/chat/completions", body).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(ids().await, ["tiny", "medical"]);
}

#[tokio::test]
async fn messages_answer_in_the_anthropic_form() {
    let replica = Replica::start(Config {
        mode: Mode::Echo,
        ..config()
    })
    .await
    .unwrap();
    let mut body = json!({
        "model": "tiny",
        "system": "be brief",
        "messages": [{"role": "user", "content": "hi there"}],
        "max_tokens": 8,
    });
    let (_, answer) = post(&replica, "/v1/messages", body.clone()).await;
    assert_eq!(
        answer["content"],
        json!([{"type": "text", "text": "hi there"}])
    );
    assert_eq!(answer["stop_reason"], "end_turn");
    body["stream"] = true.into();
    let (_, stream) = text(&replica, "/v1/messages", Some(&body)).await;
    let events: Vec<&str> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(
        events,
        [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    body["model"] = "nope".into();
    let (status, error) = post(&replica, "/v1/messages", body).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(error["error"]["type"], "not_found_error");
}

#[tokio::test]
async fn admin_config_changes_all_or_nothing() {
    let replica = Replica::start(config()).await.unwrap();
    let (status, error) = post(
        &replica,
        "/admin/config",
        json!({"inter-token-latency": "1ms", "oops": 1}),
    )
    .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`oops`"),
        "{error}"
    );
    assert_eq!(replica.tuning(), Tuning::default());
    let (_, config) = post(
        &replica,
        "/admin/config",
        json!({"inter-token-latency": 0.25}),
    )
    .await;
    assert_eq!(config["inter-token-latency"], "250us");
    assert_eq!(
        replica.tuning().inter_token_latency,
        Delay::from_micros(250)
    );
}

#[tokio::test]
async fn faults_are_made_by_header_knob_and_rate() {
    let replica = Replica::start(config()).await.unwrap();
    let mut asked = request(&replica, "/v1/chat/completions", Some(&chat("hi", 1)));
    asked
        .headers_mut()
        .insert("x-return-error", "418".parse().unwrap());
    assert_eq!(
        send(&replica, asked).await.0.status(),
        StatusCode::IM_A_TEAPOT
    );
    replica.set_failure(Some(StatusCode::BAD_GATEWAY));
    let (status, _) = post(&replica, "/v1/chat/completions", chat("hi", 1)).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    replica.set_failure(None);
    replica.set_tuning(Tuning {
        failure_injection_rate: 100,
        ..Tuning::default()
    });
    let (status, _) = post(&replica, "/v1/chat/completions", chat("hi", 1)).await;
    assert!(status.is_client_error() || status.is_server_error());
    assert_eq!(replica.received().len(), 3);
    assert_eq!(replica.received()[0].path, "/v1/chat/completions");
}

#[tokio::test]
async fn http2_without_tls_is_spoken_on_the_same_port() {
    let replica = Replica::start(config()).await.unwrap();
    let stream = TcpStream::connect(replica.address()).await.unwrap();
    let io = TokioIo::new(stream);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let mut request = request(&replica, "/v1/chat/completions", Some(&chat("hi", 2)));
    request.headers_mut().remove("host");
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_stopped_replica_refuses_connections() {
    let replica = Replica::start(config()).await.unwrap();
    let address = replica.address();
    replica.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
}
