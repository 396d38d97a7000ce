//! `GET /v1/models` and the loading of adapters.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Reply, full};
use crate::clock::unix_seconds;
use crate::config::LoraModule;
use crate::error::ApiError;

#[derive(Debug, Deserialize)]
struct LoadRequest {
    lora_name: String,
    lora_path: String,
    #[serde(default)]
    load_inplace: bool,
}

#[derive(Debug, Deserialize)]
struct UnloadRequest {
    lora_name: String,
}

/// Lists the base model by its served names, then the adapters.
pub(crate) fn list(call: &Call) -> Reply {
    let config = &call.engine.config;
    let base: &[String] = if config.served_model_name.is_empty() {
        std::slice::from_ref(&config.model)
    } else {
        &config.served_model_name
    };
    let mut data: Vec<Value> = base
        .iter()
        .map(|name| {
            card(
                call,
                name,
                &config.model,
                Value::Null,
                config.max_model_len.into(),
            )
        })
        .collect();
    let parent = config.primary_name();
    for adapter in call.engine.adapters.read().iter() {
        data.push(card(
            call,
            &adapter.name,
            &adapter.path,
            parent.into(),
            Value::Null,
        ));
    }
    Ok(super::json(
        StatusCode::OK,
        &json!({"object": "list", "data": data}),
    ))
}

/// Adds an adapter.
pub(crate) fn load_adapter(call: &Call) -> Reply {
    let request: LoadRequest = call.parse(&["lora_name", "lora_path"])?;
    let name = request.lora_name;
    let mut adapters = call.engine.adapters.write();
    let known = adapters.iter().position(|adapter| adapter.name == name);
    if known.is_some() && !request.load_inplace {
        let text = format!(
            "The lora adapter '{name}' has already been loaded. If you want to load the adapter in \
             place, set 'load_inplace' to True."
        );
        return Err(ApiError::new(
            StatusCode::BAD_REQUEST,
            "InvalidUserInput",
            text,
        ));
    }
    if let Some(at) = known {
        adapters.remove(at);
    }
    let done = format!("Success: LoRA adapter '{name}' added successfully.");
    adapters.push(LoraModule {
        name,
        path: request.lora_path,
        base_model_name: None,
    });
    Ok(full(StatusCode::OK, "text/plain; charset=utf-8", done))
}

/// Removes an adapter; sequences that use it run on.
pub(crate) fn unload_adapter(call: &Call) -> Reply {
    let UnloadRequest { lora_name: name } = call.parse(&["lora_name"])?;
    let mut adapters = call.engine.adapters.write();
    let Some(at) = adapters.iter().position(|adapter| adapter.name == name) else {
        let text = format!("The lora adapter '{name}' cannot be found.");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "NotFoundError", text));
    };
    adapters.remove(at);
    let done = format!("Success: LoRA adapter '{name}' removed successfully.");
    Ok(full(StatusCode::OK, "text/plain; charset=utf-8", done))
}

fn card(call: &Call, id: &str, root: &str, parent: Value, max_model_len: Value) -> Value {
    let created = unix_seconds() as u64;
    json!({
        "id": id,
        "object": "model",
        "created": created,
        "owned_by": "vllm",
        "root": root,
        "parent": parent,
        "max_model_len": max_model_len,
        "permission": [{
            "id": format!("modelperm-{}", call.engine.random_id()),
            "object": "model_permission",
            "created": created,
            "allow_create_engine": false,
            "allow_sampling": true,
            "allow_logprobs": true,
            "allow_search_indices": false,
            "allow_view": true,
            "allow_fine_tuning": false,
            "organization": "*",
            "group": null,
            "is_blocking": false,
        }],
    })
}
