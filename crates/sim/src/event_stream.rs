//! A response body of server-sent events, driven by a generation.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use serde_json::Value;

use crate::sequence::{Generation, Step};

/// Writes the events of one wire format.
pub(crate) trait Render: Send {
    /// Events for a step.
    fn step(&mut self, step: Step, out: &mut Events);

    /// Events after the last step.
    fn end(&mut self, out: &mut Events);
}

/// Events to be sent as one body frame.
#[derive(Debug, Default)]
pub(crate) struct Events(String);

/// The body. It owns the generation, so a client that goes away ends it.
pub(crate) struct EventStream {
    generation: Generation,
    render: Box<dyn Render>,
    is_ended: bool,
}

// === impl Events ===

impl Events {
    /// An event without a name.
    pub(crate) fn data(&mut self, data: &Value) {
        self.line("data: ", &data.to_string());
        self.0.push('\n');
    }

    /// An event with a name.
    pub(crate) fn named(&mut self, event: &str, data: &Value) {
        self.line("event: ", event);
        self.data(data);
    }

    /// The end mark of the OpenAI streams.
    pub(crate) fn done(&mut self) {
        self.0.push_str("data: [DONE]\n\n");
    }

    fn line(&mut self, field: &str, value: &str) {
        self.0.push_str(field);
        self.0.push_str(value);
        self.0.push('\n');
    }
}

// === impl EventStream ===

impl EventStream {
    pub(crate) fn new(generation: Generation, render: impl Render + 'static) -> Self {
        Self {
            generation,
            render: Box::new(render),
            is_ended: false,
        }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let mut events = Events::default();
        while events.0.is_empty() {
            if this.is_ended {
                return Poll::Ready(None);
            }
            match ready!(this.generation.poll_next(cx)) {
                Some(step) => this.render.step(step, &mut events),
                None => {
                    this.is_ended = true;
                    this.render.end(&mut events);
                }
            }
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(events.0)))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_ended
    }
}
