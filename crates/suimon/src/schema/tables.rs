//! Tables of errors, metrics and flags.

use std::fmt::Write as _;

use clap::CommandFactory as _;
use serde_json::json;
use suimon_telemetry::{Metrics, Reason};

use super::picker::pretty;
use crate::cli::Cli;

/// Every reason with what a client sees.
pub(super) fn errors() -> String {
    let mut text = "# Errors\n\nA request that gets no endpoint's answer gets JSON as of OpenAI:\n\n\
         ```json\n{\"error\": {\"message\": \"…\", \"type\": \"…\", \"code\": \"…\", \"param\": null, \
         \"request_id\": \"…\"}}\n```\n\n\
         | code | status | type | what happened | who has to act | retry |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for reason in Reason::ALL {
        let row = reason.row();
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | {} | {:?} | {:?} |",
            row.label,
            row.status.as_u16(),
            row.kind,
            reason.summary(),
            row.source,
            row.retry
        );
    }
    text
}

/// Every series.
pub(super) fn metrics() -> String {
    let mut text = "# Metrics\n\nOn the admin port at `/metrics`. Counters end in `_total`.\n\n\
         | name | kind | meaning |\n|---|---|---|\n"
        .to_owned();
    for (name, kind, help) in Metrics::catalogue(env!("CARGO_PKG_VERSION")) {
        let _ = writeln!(text, "| `{name}` | {kind} | {help} |");
    }
    text
}

/// The help texts of all commands.
pub(super) fn cli() -> String {
    let mut text = "# Commands\n".to_owned();
    let mut command = Cli::command().term_width(100);
    command.build();
    let _ = writeln!(
        text,
        "\n```text\n{}\n```",
        command.render_long_help().to_string().trim_end()
    );
    for sub in command
        .get_subcommands_mut()
        .filter(|sub| !sub.is_hide_set())
    {
        if sub.get_name() == "help" {
            continue;
        }
        let help = sub.render_long_help().to_string();
        let _ = writeln!(
            text,
            "\n## suimon {}\n\n```text\n{}\n```",
            sub.get_name(),
            help.trim_end()
        );
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

/// JSON Schema of the documents of our own interest, by kind.
pub(super) fn gateway_schema() -> String {
    use suimon_api::reference_grant;
    use suimon_api::{gateway, http_route, inference_objective, inference_pool, model_rewrite};
    let kinds = [
        ("Gateway", schemars::schema_for!(gateway::Gateway)),
        ("HTTPRoute", schemars::schema_for!(http_route::HttpRoute)),
        (
            "ReferenceGrant",
            schemars::schema_for!(reference_grant::ReferenceGrant),
        ),
        (
            "InferencePool",
            schemars::schema_for!(inference_pool::InferencePool),
        ),
        (
            "InferenceObjective",
            schemars::schema_for!(inference_objective::InferenceObjective),
        ),
        (
            "InferenceModelRewrite",
            schemars::schema_for!(model_rewrite::InferenceModelRewrite),
        ),
    ];
    let kinds: serde_json::Map<String, serde_json::Value> = kinds
        .into_iter()
        .map(|(kind, schema)| (kind.to_owned(), schema.to_value()))
        .collect();
    pretty(&json!({"description": "schemas of the documents by kind", "kinds": kinds}))
}
