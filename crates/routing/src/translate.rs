//! World → [`Translation`]. Every rejection is a condition or a problem, never only a log line.
//!
//! | file | step |
//! |---|---|
//! | `listeners` | Gateways of ours: addresses, listeners, conflicts |
//! | `tls` | certificates of HTTPS listeners |
//! | `attach` | routes to listeners |
//! | `grants` | ReferenceGrants |
//! | `rules` | conditions of rules |
//! | `filters` | filters of rules and backends |
//! | `backends` | Services and InferencePools of rules |
//! | `services` | ports of Services, and their endpoints |
//! | `pools` | members, picker, objectives and rewrites of InferencePools |
//! | `precedence` | which match comes first |

mod attach;
mod backends;
mod filters;
mod grants;
mod listeners;
mod pools;
mod precedence;
mod rules;
mod services;
mod tls;

use suimon_api::http_route::ParentRef;

use crate::problem::{Problem, Severity};
use crate::status::{Condition, ParentStatus, Statuses, kind, reason};
use crate::table::{PoolSpec, RoutingTable};
use crate::world::{Key, World};

/// How to translate.
#[derive(Debug, Clone)]
pub struct TranslateOptions {
    /// `controllerName` of GatewayClasses that are ours.
    pub controller_name: String,
    /// Without a cluster: a Gateway whose class is not there is ours.
    pub standalone: bool,
}

/// What the data plane, status writers and users need of a [`World`].
#[derive(Debug, Default)]
pub struct Translation {
    /// The compiled table.
    pub table: RoutingTable,
    /// InferencePools that some route leads to; [`crate::table::Backend::Pool`] is an index.
    pub pools: Vec<PoolSpec>,
    /// Conditions.
    pub statuses: Statuses,
    /// What authors should know.
    pub problems: Vec<Problem>,
}

/// Compiles all objects. Pure: the same world gives the same translation.
pub fn translate(world: &World, options: &TranslateOptions) -> Translation {
    let mut report = Report::default();
    let cx = Context::new(world);
    report.unused(world);
    classes(world, options, &mut report);
    let mut gateways = listeners::gateways(&cx, options, &mut report);
    let pools = attach::routes(&cx, &mut gateways, &mut report);
    let pools = pools.finish(&cx, &mut report);
    let table = listeners::finish(gateways, &mut report);
    Translation {
        table,
        pools,
        statuses: report.statuses,
        problems: report.problems,
    }
}

/// What all steps read.
struct Context<'w> {
    world: &'w World,
    grants: grants::Grants<'w>,
    slices: services::Slices<'w>,
}

/// Statuses and problems in the making.
#[derive(Debug, Default)]
struct Report {
    statuses: Statuses,
    problems: Vec<Problem>,
}

// === impl Default for TranslateOptions ===

impl Default for TranslateOptions {
    fn default() -> Self {
        Self {
            controller_name: "suimon.dev/gateway".to_owned(),
            standalone: true,
        }
    }
}

// === impl Context ===

impl<'w> Context<'w> {
    fn new(world: &'w World) -> Self {
        Self {
            world,
            grants: grants::Grants::new(world),
            slices: services::Slices::new(world),
        }
    }
}

// === impl Report ===

impl Report {
    fn problem(
        &mut self,
        severity: Severity,
        at: &Place<'_>,
        field: &str,
        message: impl Into<String>,
    ) {
        self.problems.push(Problem {
            severity,
            object: format!("{} `{}`", at.kind, at.key),
            field: field.to_owned(),
            message: message.into(),
        });
    }

    fn unused(&mut self, world: &World) {
        self.problems
            .extend(world.unused.iter().map(|object| Problem {
                severity: Severity::Note,
                object: object.clone(),
                field: String::new(),
                message: "objects of this kind are not used".to_owned(),
            }));
    }
}

/// The object that a problem is about.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    kind: &'static str,
    key: &'a Key,
}

fn classes(world: &World, options: &TranslateOptions, report: &mut Report) {
    for (name, class) in &world.gateway_classes {
        if class.spec.controller_name != options.controller_name {
            continue;
        }
        let accepted = if class.spec.parameters_ref.is_some() {
            Condition::no(
                kind::ACCEPTED,
                reason::INVALID_PARAMETERS,
                "`parametersRef` is not supported",
            )
        } else {
            Condition::yes(kind::ACCEPTED, reason::ACCEPTED, "")
        };
        report
            .statuses
            .gateway_classes
            .insert(name.clone(), vec![accepted]);
    }
}

/// The entry of a pool's `status.parents` for a Gateway.
fn gateway_parent(gateway: &Key, conditions: Vec<Condition>) -> ParentStatus {
    ParentStatus {
        parent: ParentRef {
            group: Some(suimon_api::object::GATEWAY_GROUP.to_owned()),
            kind: Some("Gateway".to_owned()),
            namespace: Some(gateway.namespace.clone()),
            name: gateway.name.clone(),
            section_name: None,
            port: None,
        },
        conditions,
    }
}
