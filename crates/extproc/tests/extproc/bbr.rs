//! Body-based routing: sessions without IO, and the server on real sockets.

mod modes;
mod passed;
mod properties;
mod refused;
mod server;

use std::sync::Arc;

use arc_swap::ArcSwap;
use suimon_extproc::bbr::{BaseModels, Found, Session, Settings};
use suimon_extproc::message::{ProcessingRequest, ProcessingResponse};
use suimon_extproc::session::Next;

use crate::support::replies::{kinds, request_headers as mutation, streamed, value};
use crate::support::{request_body, request_headers, request_trailers};

const MODEL: &str = "x-gateway-model-name";
const BASE: &str = "x-gateway-base-model-name";

/// `llama` with the adapter `sql`.
fn models() -> BaseModels {
    let mut models = BaseModels::default();
    let llama = Arc::from("llama");
    models.insert("llama", &llama).unwrap();
    models.insert("sql", &llama).unwrap();
    models
}

fn settings() -> Settings {
    Settings {
        models: Arc::new(ArcSwap::from_pointee(models())),
        ..Settings::default()
    }
}

struct Talk {
    session: Session,
    replies: Vec<ProcessingResponse>,
    end: Option<Next>,
}

impl Talk {
    fn new() -> Self {
        Self::with(settings())
    }

    fn strict() -> Self {
        Self::with(Settings {
            strict: true,
            ..settings()
        })
    }

    fn with(settings: Settings) -> Self {
        Self {
            session: Session::new(Arc::new(settings)),
            replies: Vec::new(),
            end: None,
        }
    }

    /// Says `message`; gives the number of new replies.
    fn say(&mut self, message: ProcessingRequest) -> usize {
        let before = self.replies.len();
        match self.session.on(message, &mut self.replies) {
            Next::Wait => {}
            end => self.end = Some(end),
        }
        self.replies.len() - before
    }

    fn say_all(&mut self, messages: impl IntoIterator<Item = ProcessingRequest>) {
        for message in messages {
            self.say(message);
        }
    }

    fn ended_well(&self) -> bool {
        matches!(self.end, Some(Next::End))
    }

    fn found(&self) -> Option<Found> {
        self.session.ended().map(|end| end.found)
    }

    /// Values of the two headers.
    fn named(&self) -> (Option<&str>, Option<&str>) {
        let headers = mutation(&self.replies);
        (value(headers, MODEL), value(headers, BASE))
    }
}

#[test]
fn the_model_and_its_base_go_into_headers() {
    for (model, base) in [("sql", "llama"), ("llama", "llama"), ("other", "")] {
        let body = format!(r#"{{"messages":[],"model":"{model}"}}"#);
        let mut talk = Talk::new();
        assert_eq!(talk.say(request_headers(&[], false)), 0, "the head waits");
        assert_eq!(
            talk.say(request_body(body.as_bytes()[..20].to_vec(), false)),
            0
        );
        talk.say(request_body(body.as_bytes()[20..].to_vec(), true));
        assert_eq!(kinds(&talk.replies), ["request headers", "request body"]);
        assert_eq!(talk.named(), (Some(model), Some(base)));
        assert!(crate::support::replies::common(&talk.replies[0]).clear_route_cache);
        let (sent, end, _) = streamed(&talk.replies, true);
        assert_eq!((sent, end), (body.into_bytes(), Some(0)));
        assert!(talk.ended_well(), "nothing more is to be said");
        assert_eq!(talk.found(), Some(Found::Model));
    }
}

#[test]
fn copies_of_the_client_go() {
    let spoofed = [
        ("x-gateway-model-name", "a"),
        ("x-gateway-base-model-name", "b"),
        ("x_gateway_model_name", "c"),
        ("x-gateway-model-name", "d"),
        ("x-gateway-model-name-rewrite", "stays"),
    ];
    let mut talk = Talk::new();
    talk.say_all([
        request_headers(&spoofed, false),
        request_body(r#"{"model":"sql"}"#, true),
    ]);
    assert_eq!(talk.named(), (Some("sql"), Some("llama")));
    assert_eq!(mutation(&talk.replies).remove, ["x_gateway_model_name"]);
}

#[test]
fn trailers_end_a_body_too() {
    let mut talk = Talk::new();
    talk.say_all([
        request_headers(&[], false),
        request_body(r#"{"model":"sql"}"#, false),
        request_trailers(),
    ]);
    let want = ["request headers", "request body", "request trailers"];
    assert_eq!(kinds(&talk.replies), want);
    assert_eq!(streamed(&talk.replies, true).1, None);
    assert!(talk.ended_well());
}

#[test]
fn a_map_that_changes_counts_from_the_next_request() {
    let settings = Arc::new(settings());
    let ask = || {
        let mut talk = Talk {
            session: Session::new(Arc::clone(&settings)),
            replies: Vec::new(),
            end: None,
        };
        talk.say(request_headers(&[], false));
        talk.say(request_body(r#"{"model":"sql"}"#, true));
        talk.named().1.map(str::to_owned)
    };
    assert_eq!(ask().as_deref(), Some("llama"));
    settings.models.store(Arc::default());
    assert_eq!(ask().as_deref(), Some(""));
}
