//! What tests of sessions and of the server share.

pub(crate) mod envoy;
pub(crate) mod replies;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use suimon_extproc::message::{
    BodyMode, Header, HttpBody, HttpHeaders, HttpTrailers, Metadata, Part, ProcessingRequest,
    ProcessingResponse, ProtocolConfig, Struct, Value,
};
use suimon_extproc::session::{Next, Session, Settings};
use suimon_llm::{ApiKind, ModelField};
use suimon_picker::{
    Body, Clock as _, Decision, DirectAnswer, Endpoint, EndpointPicker, EndpointSpec, InFlight,
    ModelNames, PickError, PickRequest, Picking, SystemClock,
};
use tokio::sync::mpsc;

/// Decides the same for all, of the endpoints that the subset allows.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    pub(crate) endpoints: Vec<Arc<Endpoint>>,
    /// Model to ask for instead.
    pub(crate) target: Option<&'static str>,
    pub(crate) saturated: bool,
    /// Whether it never decides.
    pub(crate) silent: bool,
    /// Told when it is asked.
    pub(crate) asked: Option<mpsc::UnboundedSender<()>>,
    /// Body to send instead.
    pub(crate) body: Option<Bytes>,
    /// Answers in place of an endpoint.
    pub(crate) answer: Option<DirectAnswer>,
    pub(crate) set_headers: HeaderMap,
    pub(crate) remove_headers: Vec<HeaderName>,
}

pub(crate) fn endpoint(number: u8) -> Arc<Endpoint> {
    Arc::new(Endpoint::new(EndpointSpec {
        id: Arc::from(format!("test/{number}")),
        address: ([10, 0, 0, number], 8000).into(),
        labels: BTreeMap::new(),
    }))
}

impl Fixed {
    pub(crate) fn new(endpoints: u8) -> Self {
        Self {
            endpoints: (1..=endpoints).map(endpoint).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn renaming(target: &'static str) -> Self {
        Self {
            target: Some(target),
            ..Self::new(2)
        }
    }

    pub(crate) fn in_flight(&self) -> Vec<u32> {
        let endpoints = self.endpoints.iter();
        endpoints.map(|e| e.in_flight_requests()).collect()
    }

    fn decide(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        if let Some(answer) = &self.answer {
            return Err(PickError::Answered(Box::new(answer.clone())));
        }
        if self.saturated {
            return Err(PickError::Saturated);
        }
        let allowed = |e: &&Arc<Endpoint>| request.subset.is_none_or(|s| s.allows(e.address()));
        let endpoints: Vec<_> = self.endpoints.iter().filter(allowed).cloned().collect();
        let first = endpoints.first().ok_or(PickError::NoEndpoints)?;
        let (incoming, range) = match request.body {
            Body::Invalid(_) => return Err(PickError::ModelMissing),
            Body::Absent => ("", None),
            Body::Fields(fields) => match fields.model() {
                ModelField::Name { name, range } => (name, Some(range)),
                _ => ("", None),
            },
        };
        Ok(Decision {
            chosen: 1,
            api: ApiKind::ChatCompletions,
            model: ModelNames {
                incoming: Arc::from(incoming),
                target: Arc::from(self.target.unwrap_or(incoming)),
                replace: range.filter(|_| self.target.is_some()),
            },
            priority: 0,
            set_headers: self.set_headers.clone(),
            remove_headers: self.remove_headers.clone(),
            body: self.body.clone(),
            follow: None,
            in_flight: InFlight::new(first, 10),
            record: None,
            endpoints: endpoints.into(),
        })
    }
}

impl EndpointPicker for Fixed {
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a> {
        Box::pin(async move {
            if let Some(asked) = &self.asked {
                asked.send(()).unwrap();
            }
            if self.silent {
                std::future::pending::<()>().await;
            }
            self.decide(&request)
        })
    }
}

pub(crate) fn now() -> Instant {
    SystemClock.now()
}

pub(crate) fn head(headers: &[(&str, &str)], end_of_stream: bool) -> HttpHeaders {
    let headers = headers.iter().map(|(n, v)| Header::new(*n, v.to_string()));
    HttpHeaders {
        headers: headers.collect(),
        end_of_stream,
    }
}

pub(crate) fn request_headers(more: &[(&str, &str)], end: bool) -> ProcessingRequest {
    let mut headers = vec![
        (":method", "POST"),
        (":path", "/v1/chat/completions?a=b"),
        ("content-type", "application/json"),
        ("x-request-id", "r-1"),
    ];
    headers.extend(more);
    ProcessingRequest::of(Part::RequestHeaders(head(&headers, end)))
}

pub(crate) fn request_body(bytes: impl Into<Bytes>, end_of_stream: bool) -> ProcessingRequest {
    ProcessingRequest::of(Part::RequestBody(HttpBody {
        body: bytes.into(),
        end_of_stream,
    }))
}

pub(crate) fn request_trailers() -> ProcessingRequest {
    ProcessingRequest::of(Part::RequestTrailers(HttpTrailers::default()))
}

pub(crate) fn response_headers(kind: &str, end: bool) -> ProcessingRequest {
    let headers = [(":status", "200"), ("content-type", kind)];
    ProcessingRequest::of(Part::ResponseHeaders(head(&headers, end)))
}

pub(crate) fn response_body(bytes: impl Into<Bytes>, end_of_stream: bool) -> ProcessingRequest {
    ProcessingRequest::of(Part::ResponseBody(HttpBody {
        body: bytes.into(),
        end_of_stream,
    }))
}

pub(crate) fn response_trailers() -> ProcessingRequest {
    ProcessingRequest::of(Part::ResponseTrailers(HttpTrailers::default()))
}

/// With metadata of one value.
pub(crate) fn with(
    mut message: ProcessingRequest,
    (namespace, key): (&str, &str),
    value: Value,
) -> ProcessingRequest {
    message.metadata = Some(Metadata {
        filter: vec![(namespace.to_owned(), Struct::of(key, value))],
    });
    message
}

/// As the first message of a stream whose bodies come so.
pub(crate) fn modes(
    mut message: ProcessingRequest,
    request: BodyMode,
    response: BodyMode,
) -> ProcessingRequest {
    message.protocol = Some(ProtocolConfig {
        request_body: request,
        response_body: response,
        body_without_waiting: false,
    });
    message
}

/// A session whose picker decides at once.
pub(crate) struct Talk {
    pub(crate) session: Session,
    pub(crate) picker: Arc<Fixed>,
    pub(crate) replies: Vec<ProcessingResponse>,
    pub(crate) ended: bool,
}

impl Talk {
    pub(crate) fn new(picker: Fixed) -> Self {
        Self::with(picker, Settings::default())
    }

    pub(crate) fn with(picker: Fixed, settings: Settings) -> Self {
        Self {
            session: Session::new(Arc::new(settings)),
            picker: Arc::new(picker),
            replies: Vec::new(),
            ended: false,
        }
    }

    /// Says `message`; gives the number of new replies.
    pub(crate) fn say(&mut self, message: ProcessingRequest) -> usize {
        let before = self.replies.len();
        let mut next = self.session.on(message, now(), &mut self.replies);
        if let Next::Pick(question) = next {
            let picker = Arc::clone(&self.picker);
            let mut picking = picker.pick(question.request());
            let polled = picking
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(decided) = polled else {
                return self.replies.len() - before;
            };
            next = self.session.picked(decided, now(), &mut self.replies);
        }
        self.ended |= !matches!(next, Next::Wait | Next::Pick(_));
        self.replies.len() - before
    }

    pub(crate) fn say_all(&mut self, messages: impl IntoIterator<Item = ProcessingRequest>) {
        for message in messages {
            self.say(message);
        }
    }
}
