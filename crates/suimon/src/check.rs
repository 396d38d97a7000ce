//! `suimon check`: what a configuration amounts to, without running it.

use std::path::Path;
use std::process::ExitCode;

use suimon_picker::{Effective, Registry, Resources};
use suimon_routing::status::{Condition, Statuses};
use suimon_routing::table::PickerRef;
use suimon_routing::{Severity, Translation, World, translate};

use crate::cli::CheckArgs;
use crate::wire::gateway::standalone;
use crate::wire::{load, publish};

/// What a file or folder amounts to.
struct Checked {
    /// One line each; empty: all is well.
    faults: Vec<String>,
    /// Problems that leave the rest at work.
    problems: Vec<suimon_routing::Problem>,
    statuses: Statuses,
    /// Title and effective configuration of each picker.
    pickers: Vec<(String, Effective)>,
    /// What there is, for the last line.
    summary: String,
}

/// Validates and prints. Fails if anything cannot be used.
///
/// # Errors
/// Never for a bad configuration: that is the exit code.
pub fn run(args: &CheckArgs, registry: &Registry) -> anyhow::Result<ExitCode> {
    let checked = check(&args.path, registry);
    for fault in &checked.faults {
        println!("error: {}", plain(fault));
    }
    if let Some(old) = &args.diff {
        let old = check(old, registry);
        for fault in &old.faults {
            println!("error: {}", plain(fault));
        }
        print!("{}", diff(&effective(&old), &effective(&checked)));
    } else if args.effective {
        print!("{}", effective(&checked));
    } else {
        report(&checked);
    }
    let failed = !checked.faults.is_empty()
        || checked
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn check(path: &Path, registry: &Registry) -> Checked {
    let mut checked = Checked {
        faults: Vec::new(),
        problems: Vec::new(),
        statuses: Statuses::default(),
        pickers: Vec::new(),
        summary: String::new(),
    };
    if let Some(text) = picker_config(path) {
        checked.add_picker(&path.display().to_string(), &text, registry);
        checked.summary = "one picker configuration".to_owned();
        return checked;
    }
    match load::world(path) {
        Ok(world) => checked.add_world(&world, registry),
        Err(error) => checked.faults = error.faults,
    }
    checked
}

/// The text of a file that is one EndpointPickerConfig and nothing else.
fn picker_config(path: &Path) -> Option<String> {
    let text = load::read(path).ok()?;
    suimon_api::picker_config::is_picker_config(&text).then_some(text)
}

// === impl Checked ===

impl Checked {
    fn add_world(&mut self, world: &World, registry: &Registry) {
        let Translation {
            table,
            pools,
            statuses,
            problems,
        } = translate(world, &standalone());
        let mut used = Vec::new();
        for pool in &pools {
            let title = format!("pool {}/{}", pool.namespace, pool.name);
            match &pool.picker {
                PickerRef::Inside { source, config } => {
                    used.push(source.to_string());
                    self.add_picker(&format!("{title}, ConfigMap {source}"), config, registry);
                }
                PickerRef::Default => {
                    let config = publish::DEFAULT_PICKER_CONFIG;
                    self.add_picker(&format!("{title}, built-in default"), config, registry);
                }
                PickerRef::Remote(_) | PickerRef::Unusable { .. } => {}
            }
        }
        for (key, config_map) in &world.config_maps {
            for (entry, text) in &config_map.data {
                let place = format!("{key}/{entry}");
                let known = used.iter().any(|used| used.starts_with(&key.to_string()));
                if suimon_api::picker_config::is_picker_config(text) && !known {
                    self.add_picker(&format!("ConfigMap {place}"), text, registry);
                }
            }
        }
        self.summary = [
            (world.gateways.len(), "Gateway"),
            (world.http_routes.len(), "HTTPRoute"),
            (world.pools.len(), "InferencePool"),
            (self.pickers.len(), "picker configuration"),
            (table.binds.len(), "socket to listen on"),
        ]
        .map(|(count, what)| {
            let plural = what.replacen("socket", "sockets", 1);
            match count {
                1 => format!("1 {what}"),
                _ if plural != what => format!("{count} {plural}"),
                _ => format!("{count} {what}s"),
            }
        })
        .join(", ");
        self.statuses = statuses;
        self.problems = problems;
    }

    fn add_picker(&mut self, title: &str, text: &str, registry: &Registry) {
        match publish::build(text, registry, &Resources::default()) {
            Ok(engine) => self.pickers.push((title.to_owned(), engine.effective)),
            Err(why) => self.faults.push(format!("{title}: {why}")),
        }
    }
}

fn report(checked: &Checked) {
    for problem in &checked.problems {
        println!("{}", plain(&problem.to_string()));
    }
    let statuses = &checked.statuses;
    for (key, gateway) in &statuses.gateways {
        println!("Gateway {key}: {}", conditions(&gateway.conditions));
        for listener in &gateway.listeners {
            println!(
                "  listener {}: {} routes, {}",
                listener.name,
                listener.attached_routes,
                conditions(&listener.conditions)
            );
        }
    }
    for (kind, statuses) in [
        ("HTTPRoute", &statuses.routes),
        ("InferencePool", &statuses.pools),
    ] {
        for (key, parents) in statuses {
            for parent in parents {
                println!(
                    "{kind} {key} at {}: {}",
                    parent.parent.name,
                    conditions(&parent.conditions)
                );
            }
        }
    }
    for (title, effective) in &checked.pickers {
        for warning in &effective.warnings {
            println!("warning: {title}: {warning}");
        }
    }
    if checked.faults.is_empty() {
        println!("{}", checked.summary);
    }
}

fn conditions(conditions: &[Condition]) -> String {
    let one = |condition: &Condition| {
        let is = if condition.status { "" } else { "not " };
        let reason = if condition.reason == condition.kind {
            String::new()
        } else {
            format!(" ({}: {})", condition.reason, condition.message)
        };
        format!("{is}{}{reason}", condition.kind)
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn effective(checked: &Checked) -> String {
    let one = |(title, effective): &(String, Effective)| {
        format!("---\n# {title}\n{}", effective.to_yaml())
    };
    checked.pickers.iter().map(one).collect()
}

/// Without control characters: names come from files that others wrote.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Lines that differ, with three lines around them.
fn diff(old: &str, new: &str) -> String {
    if old == new {
        return "no difference\n".to_owned();
    }
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header("old", "new")
        .to_string()
}
