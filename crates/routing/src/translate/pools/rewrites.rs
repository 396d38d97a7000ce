//! InferenceObjectives and InferenceModelRewrites of a pool.

use std::sync::Arc;

use suimon_api::meta::ObjectRef;
use suimon_api::model_rewrite::RewriteRule as WireRule;

use super::super::precedence::Age;
use super::super::{Place, Report};
use super::is_pool;
use super::members::in_namespace;
use crate::problem::Severity;
use crate::table::RewriteRule;
use crate::world::{Key, World};

/// Priorities by name.
pub(super) fn objectives(world: &World, pool: &Key) -> Vec<(Arc<str>, i32)> {
    in_namespace(&world.objectives, &pool.namespace)
        .filter(|(key, objective)| is_pool(&objective.spec.pool_ref, &key.namespace, pool))
        .map(|(key, objective)| {
            let priority = objective.spec.priority.unwrap_or_default();
            (Arc::from(key.name.as_str()), priority)
        })
        .collect()
}

/// Rules in the order of precedence: those for a model before those for all, each by age of the
/// object, its name and the place in its list.
pub(super) fn rewrites(world: &World, pool: &Key, report: &mut Report) -> Vec<RewriteRule> {
    let mut ranked = Vec::new();
    for (key, rewrite) in in_namespace(&world.rewrites, &pool.namespace) {
        if !is_pool(&rewrite.spec.pool_ref, &key.namespace, pool) {
            continue;
        }
        let age = Age::of(rewrite.metadata.creation_timestamp.as_ref(), key);
        let at = Place {
            kind: "InferenceModelRewrite",
            key,
        };
        for (index, wire) in rewrite.spec.rules.iter().enumerate() {
            match rule(key, wire) {
                Ok(rule) => ranked.push(((rule.models.is_empty(), age.clone(), index), rule)),
                Err(message) => {
                    report.problem(
                        Severity::Error,
                        &at,
                        &format!("spec.rules[{index}]"),
                        message,
                    );
                }
            }
        }
    }
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    ranked.into_iter().map(|(_, rule)| rule).collect()
}

/// Says which objects name a pool that is not there.
pub(super) fn orphans(world: &World, report: &mut Report) {
    let objectives = world
        .objectives
        .iter()
        .map(|(key, object)| ("InferenceObjective", key, &object.spec.pool_ref));
    let rewrites = world
        .rewrites
        .iter()
        .map(|(key, object)| ("InferenceModelRewrite", key, &object.spec.pool_ref));
    for (kind, key, reference) in objectives.chain(rewrites) {
        if !has_pool(world, key, reference) {
            let message = format!(
                "InferencePool `{}/{}` is not found; the object has no effect",
                key.namespace, reference.name
            );
            report.problem(
                Severity::Warning,
                &Place { kind, key },
                "spec.poolRef",
                message,
            );
        }
    }
}

fn has_pool(world: &World, key: &Key, reference: &ObjectRef) -> bool {
    let pool = Key::new(&key.namespace, &reference.name);
    world.pools.contains_key(&pool) && is_pool(reference, &key.namespace, &pool)
}

fn rule(key: &Key, wire: &WireRule) -> Result<RewriteRule, String> {
    let mut models: Vec<Arc<str>> = Vec::new();
    let mut takes_all = wire.matches.is_empty();
    for condition in &wire.matches {
        match &condition.model {
            None => takes_all = true,
            Some(model) => match model.kind.as_deref().unwrap_or("Exact") {
                "Exact" => models.push(Arc::from(model.value.as_str())),
                other => {
                    return Err(format!(
                        "match type `{other}` is not supported; accepted: `Exact`"
                    ));
                }
            },
        }
    }
    if takes_all {
        models.clear();
    }
    check_weights(wire)?;
    Ok(RewriteRule {
        rewrite: Arc::from(key.name.as_str()),
        models,
        targets: wire
            .targets
            .iter()
            .map(|target| (Arc::from(target.model_rewrite.as_str()), target.weight))
            .collect(),
    })
}

/// All targets have a weight or none has.
fn check_weights(wire: &WireRule) -> Result<(), String> {
    let weighted = wire
        .targets
        .iter()
        .filter(|target| target.weight.is_some())
        .count();
    if wire.targets.is_empty() {
        return Err("there is no target".to_owned());
    }
    if weighted != 0 && weighted != wire.targets.len() {
        return Err(
            "some targets have a weight and some have none; accepted: all or none".to_owned(),
        );
    }
    if let Some(weight) = wire
        .targets
        .iter()
        .filter_map(|target| target.weight)
        .find(|weight| !(1..=1_000_000).contains(weight))
    {
        return Err(format!(
            "weight {weight} is not supported; accepted: 1 to 1000000"
        ));
    }
    Ok(())
}
