//! Who picks endpoints of a pool.

mod remote;

use std::sync::Arc;

use suimon_api::cluster::ConfigMap;
use suimon_api::inference_pool::{EndpointPickerRef, InferencePool};
use suimon_api::picker_config::{is_picker_config, parse_picker_config};

use super::super::{Context, Place, Report};
use crate::problem::Severity;
use crate::table::PickerRef;
use crate::world::{Key, World};

const FIELD: &str = "spec.endpointPickerRef";

/// Resolves `endpointPickerRef`.
pub(super) fn reference(
    cx: &Context<'_>,
    at: &Place<'_>,
    pool: &InferencePool,
    report: &mut Report,
) -> PickerRef {
    let Some(wire) = &pool.spec.endpoint_picker_ref else {
        return PickerRef::Default;
    };
    let group = wire.group.as_deref().unwrap_or_default();
    let key = Key::new(&at.key.namespace, &wire.name);
    let found = match (group, wire.kind.as_deref().unwrap_or("Service")) {
        ("", "ConfigMap") => inside(cx.world, &key).map_err(|why| (Severity::Error, why)),
        ("", "Service") => remote::reference(cx, &key, wire, pool),
        (_, kind) => {
            let why =
                format!("kind `{group}/{kind}` is not supported; accepted: `ConfigMap`, `Service`");
            Err((Severity::Error, why))
        }
    };
    if let Ok(PickerRef::Remote(remote)) = &found {
        remote::warn(remote, at, pool, report);
    }
    found.unwrap_or_else(|(severity, why)| {
        report.problem(severity, at, FIELD, &*why);
        PickerRef::Unusable {
            why: Arc::from(why),
        }
    })
}

/// Whether requests go on when the picker fails; closed unless told otherwise.
pub(super) fn fails_open(
    at: &Place<'_>,
    wire: Option<&EndpointPickerRef>,
    report: &mut Report,
) -> bool {
    match wire.and_then(|wire| wire.failure_mode.as_deref()) {
        Some("FailOpen") => true,
        None | Some("FailClose") => false,
        Some(other) => {
            let field = format!("{FIELD}.failureMode");
            let message = format!("`{other}` is not supported; accepted: `FailOpen`, `FailClose`");
            report.problem(Severity::Error, at, &field, message);
            false
        }
    }
}

fn inside(world: &World, key: &Key) -> Result<PickerRef, String> {
    let map = world
        .config_maps
        .get(key)
        .ok_or_else(|| format!("ConfigMap `{key}` is not found"))?;
    let (field, text) = entry(map).ok_or_else(|| {
        let keys: Vec<String> = map.data.keys().map(|key| format!("`{key}`")).collect();
        format!(
            "ConfigMap `{key}` has no single key with an EndpointPickerConfig among {}; accepted: \
             one such key, or one key that ends in `.yaml`, `.yml` or `.json`",
            keys.join(", ")
        )
    })?;
    parse_picker_config(text).map_err(|error| format!("ConfigMap `{key}`, `{field}`: {error}"))?;
    Ok(PickerRef::Inside {
        source: Arc::from(format!("{key}#{field}")),
        config: Arc::from(text),
    })
}

/// The key with the configuration: the only one, or the only one that says what it is, or the only
/// one whose name says so.
fn entry(map: &ConfigMap) -> Option<(&str, &str)> {
    let only = |keep: &dyn Fn(&str, &str) -> bool| {
        let mut kept = map
            .data
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str()))
            .filter(|(key, text)| keep(key, text));
        kept.next().filter(|_| kept.next().is_none())
    };
    only(&|_, _| true)
        .or_else(|| only(&|_, text| is_picker_config(text)))
        .or_else(|| {
            only(&|key, _| {
                [".yaml", ".yml", ".json"]
                    .iter()
                    .any(|end| key.ends_with(end))
            })
        })
}
