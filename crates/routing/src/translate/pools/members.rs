//! Members of a pool: its Pods × its ports.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use suimon_api::cluster::Pod;
use suimon_api::inference_pool::InferencePool;

use super::super::{Place, Report};
use crate::problem::Severity;
use crate::table::PoolMember;
use crate::world::{Key, World};

/// Pod annotation with the target ports that the Pod serves; the newer name wins.
const ACTIVE_PORTS: [&str; 2] = [
    "llm-d.ai/active-ports",
    "inference.networking.k8s.io/active-ports",
];

/// Ready Pods of the pool's namespace that its selector takes, each with each port that it serves.
pub(super) fn members(
    world: &World,
    at: &Place<'_>,
    pool: &InferencePool,
    report: &mut Report,
) -> Vec<PoolMember> {
    let labels = &pool.spec.selector.match_labels;
    if labels.is_empty() {
        // An empty selector would take every Pod of the namespace.
        let message = "the selector is empty; accepted: one label or more";
        report.problem(Severity::Error, at, "spec.selector.matchLabels", message);
        return Vec::new();
    }
    let ports = ports(at, pool, report);
    let pods = || {
        in_namespace(&world.pods, &at.key.namespace).filter(|(_, pod)| {
            labels
                .iter()
                .all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
        })
    };
    let mut all = Vec::new();
    for (key, pod) in pods() {
        let Some(ip) = address(pod) else { continue };
        let active = active_ports(pod);
        for (rank, port) in ports.iter().enumerate() {
            if active.as_ref().is_none_or(|active| active.contains(port)) {
                all.push(PoolMember {
                    id: Arc::from(format!("{key}-rank-{rank}")),
                    ip,
                    port: *port,
                    labels: pod.metadata.labels.clone(),
                });
            }
        }
    }
    if all.is_empty() {
        let message = format!(
            "no endpoint: {} Pods match the selector, none of them is ready with `status.podIP`",
            pods().count()
        );
        report.problem(Severity::Warning, at, "spec.selector", message);
    }
    all
}

/// Target ports, 1 to 8, each once.
fn ports(at: &Place<'_>, pool: &InferencePool, report: &mut Report) -> Vec<u16> {
    let mut all = Vec::new();
    for (index, port) in pool.spec.target_ports.iter().enumerate() {
        let field = format!("spec.targetPorts[{index}].number");
        let number = port.number;
        if number == 0 || index >= 8 {
            let message = "not supported; accepted: 1 to 8 ports, each 1 to 65535";
            report.problem(Severity::Error, at, &field, message);
        } else if all.contains(&number) {
            report.problem(
                Severity::Error,
                at,
                &field,
                format!("port {number} is there twice"),
            );
        } else {
            all.push(number);
        }
    }
    if all.is_empty() {
        let message = "no port; accepted: 1 to 8 ports";
        report.problem(Severity::Error, at, "spec.targetPorts", message);
    }
    all
}

/// Address of a Pod that takes requests. Without conditions, as in files by hand, it is ready.
fn address(pod: &Pod) -> Option<IpAddr> {
    let status = &pod.status;
    let ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
    let ready = status.conditions.is_empty()
        || status
            .conditions
            .iter()
            .any(|condition| condition.kind == "Ready" && condition.status == "True");
    if pod.metadata.deletion_timestamp.is_some() || ended || !ready {
        return None;
    }
    status.pod_ip.as_deref()?.parse().ok()
}

/// Ports that the Pod says it serves; `None` when it says nothing. What is not a port counts as
/// none, so that a bad annotation gets no traffic.
fn active_ports(pod: &Pod) -> Option<Vec<u16>> {
    ACTIVE_PORTS
        .iter()
        .find_map(|name| pod.metadata.annotations.get(*name))
        .map(|text| {
            text.split(',')
                .filter_map(|port| port.trim().parse().ok())
                .collect()
        })
}

/// Objects of one namespace.
pub(super) fn in_namespace<'w, T>(
    map: &'w BTreeMap<Key, T>,
    namespace: &'w str,
) -> impl Iterator<Item = (&'w Key, &'w T)> {
    map.range(Key::new(namespace, "")..)
        .take_while(move |(key, _)| key.namespace == namespace)
}
