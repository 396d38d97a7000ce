//! `vllmgrpc-parser`: reads vLLM's gRPC service.
//!
//! # What it does
//! Lets the pool read generation and embeddings by token ids, and generation by text. The protocol
//! names no model, so rewrites do not apply to it. Compressed messages are not read.
//!
//! # Reads
//! Paths that end in `vllm.grpc.engine.VllmEngine/Generate` and `vllm.grpc.engine.VllmEngine/Embed`.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: vllmgrpc-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct VllmGrpcParser;

impl Plugin for VllmGrpcParser {
    const TYPE: &'static str = "vllmgrpc-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads vLLM's gRPC service";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl VllmGrpcParser ===

impl Parser for VllmGrpcParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[ApiKind::VllmGrpcGenerate, ApiKind::VllmGrpcEmbed]
    }
}
