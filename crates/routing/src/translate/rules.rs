//! Rules of an HTTPRoute.

mod conditions;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use suimon_api::duration;
use suimon_api::http_route::{HttpRoute, HttpRule, HttpTimeouts};

use super::backends::{self, Referrer};
use super::filters;
use super::pools::Pools;
use super::tls::Refusal;
use super::{Context, Place, Report};
use crate::problem::Severity;
use crate::status::reason;
use crate::table::{
    Backend, Filter, HeaderMatch, PathMatch, QueryMatch, Rule, Timeouts, WeightedBackend,
};
use crate::world::Key;

/// A route in the making: the same for all listeners.
pub(super) struct RouteDraft {
    /// Rules whose conditions can be checked.
    pub(super) rules: Vec<RuleDraft>,
    /// Pools that rules lead to.
    pub(super) pools: BTreeSet<usize>,
    /// The first reference that cannot be used.
    pub(super) unresolved: Option<Refusal>,
    /// Rules that do not work, one refusal each.
    pub(super) invalid: Vec<Refusal>,
    /// Number of rules, those without usable conditions included.
    total: usize,
}

/// A rule with its conditions.
pub(super) struct RuleDraft {
    pub(super) rule: Arc<Rule>,
    pub(super) conditions: Vec<MatchDraft>,
}

/// One match without hostname.
pub(super) struct MatchDraft {
    pub(super) path: PathMatch,
    pub(super) method: Option<Method>,
    pub(super) headers: Vec<HeaderMatch>,
    pub(super) query: Vec<QueryMatch>,
}

/// Compiles all rules of a route.
pub(super) fn compile<'w>(
    cx: &Context<'w>,
    key: &Key,
    route: &HttpRoute,
    pools: &mut Pools<'w>,
    report: &mut Report,
) -> RouteDraft {
    let default = [HttpRule::default()];
    let rules = match route.spec.rules.as_deref() {
        None | Some([]) => &default[..],
        Some(rules) => rules,
    };
    let mut draft = RouteDraft {
        rules: Vec::new(),
        pools: BTreeSet::new(),
        unresolved: None,
        invalid: Vec::new(),
        total: rules.len(),
    };
    let at = Place {
        kind: "HTTPRoute",
        key,
    };
    if route.spec.use_default_gateways.is_some() {
        let message = "not supported; it has no effect";
        report.problem(Severity::Warning, &at, "spec.useDefaultGateways", message);
    }
    let name: Arc<str> = Arc::from(key.to_string());
    for (index, rule) in rules.iter().enumerate() {
        let mut one = OneRule {
            cx,
            at,
            field: format!("spec.rules[{index}]"),
            pools,
            report,
            draft: &mut draft,
            refusal: None,
        };
        let compiled = one.compile(&name, index, rule);
        let refusal = one.refusal;
        draft.rules.extend(compiled);
        draft.invalid.extend(refusal);
    }
    draft
}

// === impl RouteDraft ===

impl RouteDraft {
    /// Whether no rule works: the route is not accepted.
    pub(super) fn is_refused(&self) -> bool {
        self.invalid.len() == self.total
    }
}

/// One rule at work.
struct OneRule<'r, 'w> {
    cx: &'r Context<'w>,
    at: Place<'r>,
    field: String,
    pools: &'r mut Pools<'w>,
    report: &'r mut Report,
    draft: &'r mut RouteDraft,
    /// Why the rule does not work.
    refusal: Option<Refusal>,
}

// === impl OneRule ===

impl OneRule<'_, '_> {
    fn compile(&mut self, route: &Arc<str>, index: usize, rule: &HttpRule) -> Option<RuleDraft> {
        for (given, field) in [
            (rule.retry.is_some(), "retry"),
            (rule.session_persistence.is_some(), "sessionPersistence"),
        ] {
            if given {
                self.problem(Severity::Warning, field, "not supported; it has no effect");
            }
        }
        let conditions = self.conditions(rule);
        let mut filters = Vec::new();
        let timeouts = self.timeouts(rule.timeouts.as_ref()).unwrap_or_else(|why| {
            // Without its limits the rule would not be the one that was asked for.
            filters.push(Filter::Invalid { why });
            Timeouts::default()
        });
        filters.extend(self.filters(rule));
        let backends = self.backends(rule);
        Some(RuleDraft {
            rule: Arc::new(Rule {
                route: Arc::clone(route),
                index,
                filters,
                backends,
                timeouts,
            }),
            conditions: conditions?,
        })
    }

    /// Conditions of the rule; `None` when one cannot be checked, because leaving it out would let
    /// other requests in.
    fn conditions(&mut self, rule: &HttpRule) -> Option<Vec<MatchDraft>> {
        let mut all = Vec::new();
        for (index, condition) in rule.matches.iter().enumerate() {
            match conditions::compile(condition) {
                Ok(compiled) => all.push(compiled),
                Err((field, message)) => {
                    let field = format!("matches[{index}].{field}");
                    self.refuse(reason::UNSUPPORTED_VALUE, &field, message);
                    return None;
                }
            }
        }
        if all.is_empty() {
            all.extend(conditions::compile(&suimon_api::http_route::HttpMatch::default()).ok());
        }
        Some(all)
    }

    fn timeouts(&mut self, timeouts: Option<&HttpTimeouts>) -> Result<Timeouts, Arc<str>> {
        let Some(wire) = timeouts else {
            return Ok(Timeouts::default());
        };
        let mut read = |text: Option<&String>, field: &str| match text
            .map(|text| duration::parse_gateway(text))
            .transpose()
        {
            Ok(limit) => Ok(limit.filter(|limit| *limit > Duration::ZERO)),
            Err(error) => {
                let message = error.to_string();
                self.refuse(reason::UNSUPPORTED_VALUE, field, message.clone());
                Err(Arc::from(message))
            }
        };
        let request = read(wire.request.as_ref(), "timeouts.request");
        let backend_request = read(wire.backend_request.as_ref(), "timeouts.backendRequest");
        let limits = Timeouts {
            request: request?,
            backend_request: backend_request?,
        };
        if let (Some(request), Some(backend)) = (limits.request, limits.backend_request)
            && backend > request
        {
            let message = "longer than `timeouts.request`, which ends the request first";
            self.problem(Severity::Warning, "timeouts.backendRequest", message);
        }
        Ok(limits)
    }

    fn filters(&mut self, rule: &HttpRule) -> Vec<Filter> {
        let scope = filters::Scope {
            replaces_prefix: conditions::is_one_prefix(&rule.matches),
            has_backends: !rule.backend_refs.is_empty(),
        };
        self.compile_filters("filters", &rule.filters, scope)
    }

    fn compile_filters(
        &mut self,
        field: &str,
        wire: &[suimon_api::http_route::HttpFilter],
        scope: filters::Scope,
    ) -> Vec<Filter> {
        let namespace = self.at.key.namespace.clone();
        let mut mirrors = Vec::new();
        let mut pools = BTreeSet::new();
        let compiled = filters::compile(wire, scope, |index, reference| {
            let from = Referrer::new(self.cx, &namespace);
            match backends::resolve(from, reference, self.pools) {
                Ok(backend) => {
                    pools.extend(pool_of(&backend));
                    Some(backend)
                }
                Err(refusal) => {
                    mirrors.push((index, refusal));
                    None
                }
            }
        });
        self.draft.pools.extend(pools);
        for (index, refusal) in mirrors {
            self.unresolved(
                &format!("{field}[{index}].requestMirror.backendRef"),
                refusal,
            );
        }
        for (index, (reason, message)) in compiled.refusals {
            self.refuse(reason, &format!("{field}[{index}]"), message);
        }
        compiled.filters
    }

    fn backends(&mut self, rule: &HttpRule) -> Vec<WeightedBackend> {
        let mut all = Vec::new();
        for (index, reference) in rule.backend_refs.iter().enumerate() {
            let field = format!("backendRefs[{index}]");
            let namespace = self.at.key.namespace.clone();
            let from = Referrer::new(self.cx, &namespace);
            let backend = match backends::resolve(from, reference, self.pools) {
                Ok(backend) => {
                    self.draft.pools.extend(pool_of(&backend));
                    self.empty_service(&field, &backend);
                    backend
                }
                Err(refusal) => {
                    let why = Arc::from(refusal.1.as_str());
                    self.unresolved(&field, refusal);
                    Backend::Invalid { why }
                }
            };
            let scope = filters::Scope {
                replaces_prefix: conditions::is_one_prefix(&rule.matches),
                has_backends: true,
            };
            let filters =
                self.compile_filters(&format!("{field}.filters"), &reference.filters, scope);
            all.push(WeightedBackend {
                weight: reference.weight.unwrap_or(1).min(1_000_000),
                filters,
                backend,
            });
        }
        all
    }

    fn empty_service(&mut self, field: &str, backend: &Backend) {
        if let Backend::Service(service) = backend
            && service.endpoints.is_empty()
        {
            let message = format!(
                "Service `{}` has no ready endpoint in an EndpointSlice; its requests get 503",
                service.name
            );
            self.problem(Severity::Warning, field, message);
        }
    }

    fn unresolved(&mut self, field: &str, refusal: Refusal) {
        self.problem(Severity::Error, field, refusal.1.clone());
        self.draft.unresolved.get_or_insert(refusal);
    }

    fn refuse(&mut self, reason: &'static str, field: &str, message: String) {
        self.problem(Severity::Error, field, message.clone());
        let text = format!("{}.{field}: {message}", self.field);
        self.refusal.get_or_insert((reason, text));
    }

    fn problem(&mut self, severity: Severity, field: &str, message: impl Into<String>) {
        let field = format!("{}.{field}", self.field);
        self.report.problem(severity, &self.at, &field, message);
    }
}

fn pool_of(backend: &Backend) -> Option<usize> {
    match backend {
        Backend::Pool(index) => Some(*index),
        Backend::Service(_) | Backend::Invalid { .. } => None,
    }
}
