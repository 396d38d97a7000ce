//! From documents to the decision for a request.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod attachment;
mod backends;
mod filters;
mod matching;
mod pools;
mod precedence;
mod render;
mod snapshots;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use suimon_api::parse_documents;
use suimon_routing::status::{Condition, ParentStatus};
use suimon_routing::{
    Head, Key, Model, Outcome, Severity, TranslateOptions, Translation, World, translate,
};

/// A Gateway `default/g` with one HTTP listener on port 80 for routes of all namespaces.
const GATEWAY: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g}
spec:
  gatewayClassName: suimon
  listeners:
  - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
";

fn world(text: &str) -> World {
    let mut world = World::default();
    for document in parse_documents("test.yaml", text) {
        let document = document.unwrap_or_else(|error| panic!("{error}"));
        world.insert(document.object).unwrap();
    }
    world
}

fn translated(text: &str) -> Translation {
    translate(&world(text), &TranslateOptions::default())
}

/// Documents with a line of `---` between them.
fn join(texts: &[&str]) -> String {
    texts.join("\n---\n")
}

/// An HTTPRoute `default/NAME` of `default/g`; `spec` in flow style, without braces.
fn route(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: {name}}}, \
         spec: {{parentRefs: [{{name: g}}], {spec}}}}}"
    )
}

/// Route and index of the rule for a request, or what else comes out.
fn ask(
    translation: &Translation,
    method: &str,
    host: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> String {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let (path, query) = path
        .split_once('?')
        .map_or((path, None), |(path, query)| (path, Some(query)));
    let head = Head {
        method: &method,
        host,
        path,
        query,
        headers: &map,
    };
    match translation.table.binds[0].route(&head, None, Model::Unread) {
        Outcome::Matched(found) => format!("{}#{}", found.rule.route, found.rule.index),
        Outcome::NeedsModel => "needs model".to_owned(),
        Outcome::NotFound => "404".to_owned(),
        Outcome::Misdirected => "421".to_owned(),
    }
}

fn get(translation: &Translation, host: &str, path: &str) -> String {
    ask(translation, "GET", host, path, &[])
}

/// `Accepted=True/Accepted` and so on.
fn conditions(all: &[Condition]) -> Vec<String> {
    all.iter()
        .map(|one| {
            let status = if one.status { "True" } else { "False" };
            format!("{}={status}/{}", one.kind, one.reason)
        })
        .collect()
}

fn parents(all: &[ParentStatus]) -> Vec<Vec<String>> {
    all.iter()
        .map(|parent| conditions(&parent.conditions))
        .collect()
}

/// Conditions of all parents of `default/NAME`.
fn route_status(translation: &Translation, name: &str) -> Vec<Vec<String>> {
    parents(&translation.statuses.routes[&Key::new("default", name)])
}

fn errors(translation: &Translation) -> Vec<String> {
    translation
        .problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(ToString::to_string)
        .collect()
}
