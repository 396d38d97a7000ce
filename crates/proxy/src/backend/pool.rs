//! A pool: the body is read, the picker decides, the decision is carried out.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::ACCEPT_ENCODING;
use http::request::Parts;
use smallvec::SmallVec;
use suimon_llm::ApiKind;
use suimon_picker::{Decision, Endpoint, Follow, PickRequest, Unreadable};

use super::{Departure, Following, Served};
use crate::body::Inbound;
use crate::failure::Failure;
use crate::retry::{self, Plan, Stops};
use crate::snapshot::Pool;
use crate::{fail_mode, head};
use suimon_llm::{Restore, splice};

type Endpoints = SmallVec<[Arc<Endpoint>; 4]>;

/// What a decision means for the way back.
struct Route {
    endpoints: Endpoints,
    api: ApiKind,
    restore: Option<Restore>,
    follow: Option<Box<dyn Follow>>,
}

/// Asks the pool's picker and sends the request where it says.
///
/// # Errors
/// The body cannot be read, nothing was picked, or no endpoint answers.
pub(super) async fn send(pool: &Pool, mut departure: Departure<'_>) -> Result<Served, Failure> {
    departure.exchange.backend(&pool.name, true);
    let limits = &departure.snapshot.limits;
    departure
        .body
        .hold(&mut departure.parts.headers, limits)
        .await?;
    let held = departure.body.held().map_or(0, Bytes::len);
    departure.exchange.body_read(held);
    departure.body.scan();
    let route = pick(pool, &mut departure).await?;
    let plan = Plan {
        upstream: &departure.worker.upstream,
        protocol: pool.protocol,
        limits: departure.try_limits(),
        upgrades: false,
    };
    // The share is given back once the answer's head is here: nothing sends the body again then.
    let (mut body, share) = departure.body.into_outgoing();
    let stops = Stops::Members(route.endpoints.iter());
    let sent = retry::send(
        plan,
        stops,
        &mut departure.parts,
        &mut body,
        departure.exchange,
    )
    .await;
    drop(share);
    let sent = sent?;
    let following = route.follow.map(|follow| Following {
        follow,
        served: sent.address,
        fail_open: pool.fail_open,
    });
    Ok(Served {
        answer: sent.answer,
        tried: sent.tried,
        api: route.api,
        restore: route.restore,
        following,
        upgrade: None,
    })
}

async fn pick(pool: &Pool, departure: &mut Departure<'_>) -> Result<Route, Failure> {
    let turn = &departure.worker.turn;
    let endpoints = match &pool.picker {
        None => fail_mode::without_picker(pool, None, turn)?,
        Some(picker) => {
            let began = Instant::now();
            let picked = picker
                .pick(PickRequest {
                    id: departure.exchange.id(),
                    route: &departure.rule.route,
                    method: &departure.parts.method,
                    path: departure.parts.uri.path(),
                    query: departure.parts.uri.query(),
                    headers: &departure.parts.headers,
                    body: departure.body.scanned(),
                    bytes: departure.body.held().unwrap_or(&NO_BODY),
                    // The model server says best what is wrong with a body.
                    unreadable: Unreadable::Pass,
                    received: departure.exchange.started,
                    subset: None,
                })
                .await;
            departure.exchange.picked_within(began.elapsed());
            match picked {
                Ok(decision) => return Ok(carry_out(decision, pool, departure)),
                Err(error) => {
                    tracing::debug!(pool = %pool.name, %error, "pick");
                    fail_mode::without_picker(pool, Some(error), turn)?
                }
            }
        }
    };
    Ok(Route {
        endpoints: endpoints.into(),
        api: ApiKind::Opaque,
        restore: None,
        follow: None,
    })
}

static NO_BODY: Bytes = Bytes::new();

/// Applies what a decision changes in the request, and keeps its account.
fn carry_out(mut decision: Decision, pool: &Pool, departure: &mut Departure<'_>) -> Route {
    let Departure { parts, body, .. } = departure;
    for name in &decision.remove_headers {
        parts.headers.remove(name);
    }
    head::set_all(&mut parts.headers, &decision.set_headers);
    if let Some(other) = decision.body.take() {
        body.replace(other);
    }
    let restore = rename(&decision, parts, body);
    let mut endpoints = std::mem::take(&mut decision.endpoints);
    let follow = decision.follow.take();
    if follow.is_some() && pool.fail_open {
        // A foreign picker can name endpoints that are dead. That is a failure of its too.
        let round = fail_mode::round(pool, &departure.worker.turn);
        let others = round
            .into_iter()
            .filter(|other| endpoints.iter().all(|known| known.slot() != other.slot()));
        let others: Endpoints = others.collect();
        endpoints.extend(others);
    }
    let route = Route {
        endpoints,
        api: decision.api,
        restore,
        follow,
    };
    departure.exchange.picked(decision);
    route
}

/// Puts the target model into the body. Gives what to put back into the response.
fn rename(decision: &Decision, parts: &mut Parts, body: &mut Inbound) -> Option<Restore> {
    let model = &decision.model;
    let range = model.replace.as_ref()?;
    let renamed = splice(body.held()?, range, &model.target);
    body.replace(renamed);
    if model.incoming.is_empty() {
        return None;
    }
    // Names can only be put back into a response that can be read.
    parts.headers.remove(ACCEPT_ENCODING);
    Some(Restore {
        target: Arc::clone(&model.target),
        incoming: Arc::clone(&model.incoming),
    })
}
