//! Documents that users write: Kubernetes kinds, gateway and picker configuration, in wire form.
