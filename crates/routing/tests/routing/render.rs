//! A table in a form that is easy to review.

use std::fmt::Write as _;

use suimon_routing::table::{
    Backend, Filter, Hostname, PathMatch, RankedMatch, RoutingTable, Rule, ValueMatch,
};

pub(crate) fn table(table: &RoutingTable) -> String {
    let mut out = String::new();
    for bind in &table.binds {
        writeln!(out, "{} {:?}", bind.address, bind.protocol).unwrap();
        for listener in &bind.listeners {
            let certificates: Vec<&str> = listener
                .certificates
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            writeln!(
                out,
                "  {} {} certificates={certificates:?} needs_model={}",
                listener.name,
                host(&listener.hostname),
                listener.needs_model
            )
            .unwrap();
            for found in &listener.matches {
                writeln!(out, "    {} -> {}", condition(found), rule(&found.rule)).unwrap();
            }
        }
    }
    out
}

fn host(hostname: &Hostname) -> String {
    match hostname {
        Hostname::Any => "*".to_owned(),
        Hostname::Suffix(suffix) => format!("*{suffix}"),
        Hostname::Exact(name) => name.to_string(),
    }
}

fn condition(found: &RankedMatch) -> String {
    let mut out = host(&found.hostname);
    match &found.path {
        PathMatch::Exact(path) => write!(out, " ={path}").unwrap(),
        PathMatch::Prefix(path) => write!(out, " {path}/").unwrap(),
        PathMatch::Regex(regex) => write!(out, " ~{regex}").unwrap(),
    }
    if let Some(method) = &found.method {
        write!(out, " {method}").unwrap();
    }
    for header in &found.headers {
        write!(out, " {}:{}", header.name, value(&header.value)).unwrap();
    }
    for query in &found.query {
        write!(out, " ?{}{}", query.name, value(&query.value)).unwrap();
    }
    out
}

fn value(value: &ValueMatch) -> String {
    match value {
        ValueMatch::Exact(text) => format!("={text}"),
        ValueMatch::Regex(regex) => format!("~{regex}"),
    }
}

fn rule(rule: &Rule) -> String {
    let mut out = format!("{}#{}", rule.route, rule.index);
    for filter in &rule.filters {
        write!(out, " [{}]", self::filter(filter)).unwrap();
    }
    for one in &rule.backends {
        write!(out, " {}x{}", one.weight, backend(&one.backend)).unwrap();
        for filter in &one.filters {
            write!(out, " [{}]", self::filter(filter)).unwrap();
        }
    }
    if rule.timeouts.request.is_some() || rule.timeouts.backend_request.is_some() {
        write!(out, " {:?}", rule.timeouts).unwrap();
    }
    out
}

fn filter(filter: &Filter) -> String {
    match filter {
        Filter::Mirror(mirror) => {
            format!("mirror {} {:?}", backend(&mirror.backend), mirror.fraction)
        }
        other => format!("{other:?}"),
    }
}

pub(crate) fn backend(backend: &Backend) -> String {
    match backend {
        Backend::Pool(index) => format!("pool {index}"),
        Backend::Service(service) => {
            format!(
                "{} {:?} {:?}",
                service.name, service.protocol, service.endpoints
            )
        }
        Backend::Invalid { why } => format!("invalid ({why})"),
    }
}
