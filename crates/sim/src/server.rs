//! Connections and routes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::api::{self, Call, Reply, ReplyBody};
use crate::engine::Engine;
use crate::error::ApiError;
use crate::request_log::ReceivedRequest;

/// Pause after a failed accept, which mostly means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections and never returns. Dropping the future closes them all.
pub(crate) async fn run(listener: TcpListener, engine: Arc<Engine>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&engine)));
            }
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, engine: Arc<Engine>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "nodelay not set");
    }
    let service = service_fn(move |request| {
        let engine = Arc::clone(&engine);
        async move { Ok::<_, Infallible>(answer(engine, request).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    if let Err(error) = builder
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::debug!(%error, "connection ended");
    }
}

async fn answer(engine: Arc<Engine>, request: Request<Incoming>) -> Response<ReplyBody> {
    let request_id = request.headers().get("x-request-id").cloned();
    let is_anthropic = request.uri().path().starts_with("/v1/messages");
    let reply = receive_and_route(&engine, request).await;
    let mut response = reply.unwrap_or_else(|error| {
        let body = if is_anthropic {
            error.anthropic()
        } else {
            error.openai()
        };
        api::json(error.status, &body)
    });
    let headers = response.headers_mut();
    let port = engine.address.port();
    let pod = engine
        .config
        .pod_name
        .clone()
        .unwrap_or_else(|| format!("sim-{port}"));
    if let Ok(pod) = HeaderValue::from_str(&pod) {
        headers.insert("x-inference-pod", pod);
    }
    headers.insert("x-inference-port", HeaderValue::from(port));
    if let Some(id) = request_id.filter(|_| engine.config.enable_request_id_headers) {
        headers.insert("x-request-id", id);
    }
    response
}

async fn receive_and_route(engine: &Arc<Engine>, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let limit = usize::from(engine.config.max_request_body_size_mb) * 1024 * 1024;
    let body = match Limited::new(body, limit).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let text = format!("the request body is larger than {limit} bytes");
            return Err(ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "BadRequestError",
                text,
            ));
        }
        Err(error) => {
            return Err(ApiError::bad_request(format!(
                "the body is cut off: {error}"
            )));
        }
    };
    record(engine, &parts, &body);
    let call = Call {
        engine: Arc::clone(engine),
        headers: parts.headers,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body,
    };
    route(&call, &parts.method, parts.uri.path()).await
}

async fn route(call: &Call, method: &Method, path: &str) -> Reply {
    if *method == Method::GET {
        return match path {
            "/health" => api::admin::health(),
            "/health/ready" => api::admin::ready(call),
            "/version" => api::admin::version(),
            "/metrics" => api::admin::metrics(call, false),
            "/metrics/" => api::admin::metrics(call, true),
            "/v1/models" => api::models::list(call),
            "/admin/config" => api::admin::config(call),
            _ => Err(ApiError::not_found()),
        };
    }
    if *method != Method::POST {
        return Err(ApiError::not_found());
    }
    match path {
        "/admin/config" => api::admin::set_config(call),
        "/v1/load_lora_adapter" => api::models::load_adapter(call),
        "/v1/unload_lora_adapter" => api::models::unload_adapter(call),
        "/tokenize" => api::tokenize::tokenize(call),
        "/v1/messages/count_tokens" => api::messages::count_tokens(call),
        _ => infer(call, path).await,
    }
}

/// Endpoints that use the model, and can be made to fail.
async fn infer(call: &Call, path: &str) -> Reply {
    let fault = || call.engine.fault(&call.headers);
    match path {
        "/v1/chat/completions" => {
            fault()?;
            api::chat::chat(call).await
        }
        "/v1/completions" => {
            fault()?;
            api::completions::completions(call).await
        }
        "/v1/embeddings" => {
            fault()?;
            api::embeddings::embeddings(call).await
        }
        "/v1/messages" => {
            fault()?;
            api::messages::messages(call).await
        }
        "/inference/v1/generate" => {
            fault()?;
            api::generate::generate(call).await
        }
        _ => Err(ApiError::not_found()),
    }
}

fn record(engine: &Engine, parts: &http::request::Parts, body: &Bytes) {
    let path = parts.uri.path();
    let Some(log) = &engine.log else { return };
    // Scrapes and probes come many times a second and would push the rest out.
    if path.starts_with("/metrics") || path.starts_with("/health") {
        return;
    }
    log.lock().push(ReceivedRequest {
        method: parts.method.to_string(),
        path: parts
            .uri
            .path_and_query()
            .map_or(path, |path| path.as_str())
            .to_owned(),
        headers: parts.headers.clone(),
        body: body.clone(),
    });
}
