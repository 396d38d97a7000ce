//! The walk: what happens to one request, step by step.

use std::pin::pin;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use smallvec::SmallVec;
use suimon_routing::table::{Rule, WeightedBackend};
use suimon_telemetry::Reason;

use crate::backend::{self, Departure, Served};
use crate::body::Inbound;
use crate::connection::Client;
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::filter::{self, Filtering, Origin, Redirection};
use crate::route_request::{self, Entry};
use crate::snapshot::Snapshot;
use crate::stream::ResponseBody;
use crate::upgrade::{self, Upgrade};
use crate::{head, respond, timeouts};
use suimon_picker::request_id;
use suimon_routing::split::choose;

/// How the walk ends when nothing fails.
#[expect(
    clippy::large_enum_variant,
    reason = "moved once a request; a box would cost an allocation"
)]
pub(crate) enum End {
    /// An endpoint answered.
    Served {
        served: Served,
        rule: Arc<Rule>,
        /// Place of the backend in the rule, whose filters change the response too.
        backend: usize,
    },
    /// A redirect answers.
    Redirected(Redirection),
}

/// Serves one request. Dropping the future ends everything that was begun for it.
pub(crate) async fn serve(
    request: Request<Incoming>,
    client: &Arc<Client>,
) -> Response<ResponseBody> {
    let current = client.worker.shared.current.load_full();
    let (mut parts, body) = request.into_parts();
    let (version, id) = (parts.version, request_id::establish(&mut parts.headers));
    let mut exchange = Exchange::open(client, &parts, id);
    let body = Inbound::new(body, client.worker.shared.budget.share());
    if !body.is_unread() {
        exchange.body_read(0);
    }
    let snapshot = &current.snapshot;
    match walk(parts, body, client, snapshot, &mut exchange).await {
        Ok(End::Served {
            served,
            rule,
            backend,
        }) => respond::served(served, &rule, backend, exchange, &snapshot.limits).await,
        Ok(End::Redirected(to)) => respond::redirect(to, *exchange, version),
        Err(failure) => respond::failure(&failure, *exchange, version),
    }
}

async fn walk(
    mut parts: http::request::Parts,
    mut body: Inbound,
    client: &Client,
    snapshot: &Snapshot,
    exchange: &mut Exchange,
) -> Result<End, Failure> {
    let limits = &snapshot.limits;
    let upgrade = upgrade::wish(&mut parts);
    let host = head::check(&mut parts, limits)?;
    exchange.host = host.as_str().into();
    let bind = snapshot
        .bind(client.bind)
        .ok_or_else(|| Failure::plain(Reason::NoRoute))?;
    let entry = Entry {
        bind,
        sni: client.sni.as_deref(),
        host: &host,
    };
    let routed = route_request::route(entry, &mut parts, &mut body, limits).await?;
    exchange.routed(&routed.listener, &routed.rule);
    let rule = Arc::clone(&routed.rule);
    let (limit, started) = (rule.timeouts.request, exchange.started);
    let onward = Onward {
        upgrade,
        parts,
        body,
        rule: &rule,
        prefix: routed.prefix,
        host: &host,
    };
    let passed = {
        let rest = pin!(onward.go(client, snapshot, exchange));
        timeouts::within(limit, started, rest).await?
    };
    let (served, backend) = match passed {
        Passed::Redirected(to) => return Ok(End::Redirected(to)),
        Passed::Served(served, backend) => (served, backend),
    };
    Ok(End::Served {
        served,
        rule,
        backend,
    })
}

/// A request with its rule.
struct Onward<'a> {
    upgrade: Option<Upgrade>,
    parts: http::request::Parts,
    body: Inbound,
    rule: &'a Rule,
    prefix: usize,
    host: &'a str,
}

#[expect(
    clippy::large_enum_variant,
    reason = "moved once a request; a box would cost an allocation"
)]
enum Passed {
    Served(Served, usize),
    Redirected(Redirection),
}

// === impl Onward ===

impl Onward<'_> {
    /// Filters, choice of a backend, its filters, mirrors, and off.
    async fn go(
        self,
        client: &Client,
        snapshot: &Snapshot,
        exchange: &mut Exchange,
    ) -> Result<Passed, Failure> {
        let Self {
            upgrade,
            mut parts,
            mut body,
            rule,
            prefix,
            host,
        } = self;
        let worker = &client.worker;
        let mut mirrors = SmallVec::new();
        let origin = Origin {
            tls: client.tls,
            host,
            port: client.port,
        };
        let mut cx = Filtering {
            parts: &mut parts,
            prefix,
            origin,
            mirrors: &mut mirrors,
        };
        if let Some(to) = filter::run(&rule.filters, &mut cx)? {
            return Ok(Passed::Redirected(to));
        }
        let (place, chosen) = choose_backend(rule)?;
        if let Some(to) = filter::run(&chosen.filters, &mut cx)? {
            return Ok(Passed::Redirected(to));
        }
        if !mirrors.is_empty() {
            body.hold(&mut parts.headers, &snapshot.limits).await?;
            let bytes = body.held().cloned().unwrap_or_default();
            filter::send_mirrors(&mirrors, worker, snapshot, &parts, &bytes);
        }
        let departure = Departure {
            upgrade,
            worker,
            snapshot,
            rule,
            parts,
            body,
            exchange,
        };
        let served = backend::send(&chosen.backend, departure).await?;
        Ok(Passed::Served(served, place))
    }
}

/// By weight, at random, anew for each request.
fn choose_backend(rule: &Rule) -> Result<(usize, &WeightedBackend), Failure> {
    let chosen =
        choose(rule, rand::random()).ok_or_else(|| Failure::plain(Reason::BackendInvalid))?;
    let place = rule.backends.iter().position(|b| std::ptr::eq(b, chosen));
    Ok((place.unwrap_or_default(), chosen))
}
