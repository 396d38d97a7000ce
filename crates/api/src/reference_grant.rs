//! ReferenceGrant of the Gateway API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::Resource;

/// A ReferenceGrant; it stands in the namespace of what may be referred to.
pub type ReferenceGrant = Resource<ReferenceGrantSpec>;

/// `spec` of a ReferenceGrant: any of `from` may refer to any of `to`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReferenceGrantSpec {
    /// Who may refer.
    pub from: Vec<GrantFrom>,
    /// What may be referred to.
    pub to: Vec<GrantTo>,
}

/// Who may refer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantFrom {
    /// Group of the object that refers.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
}

/// What may be referred to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantTo {
    /// Group; empty means the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name; absent means all of the kind.
    #[serde(default)]
    pub name: Option<String>,
}
