//! A discovery file that changes in the ways in which files change.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use suimon_datalayer::discovery::{FileWatch, watch};

fn text(port: u16) -> String {
    format!("endpoints:\n- {{name: a, address: 127.0.0.1, port: {port}}}\n")
}

/// Watches `path`, which tells port 1 now; each change sends the ports.
#[cfg(test)]
fn start(path: &Path) -> (Receiver<Vec<u16>>, FileWatch) {
    let (sender, received) = channel();
    let (listing, watch) = watch(path, move |endpoints| {
        let ports = endpoints.iter().map(|spec| spec.address.port());
        sender.send(ports.collect()).unwrap();
    })
    .unwrap();
    assert_eq!(listing.endpoints[0].address.port(), 1);
    (received, watch)
}

#[cfg(test)]
fn next(received: &Receiver<Vec<u16>>) -> Vec<u16> {
    received.recv_timeout(Duration::from_secs(10)).unwrap()
}

#[test]
fn a_file_written_in_place_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endpoints.yaml");
    std::fs::write(&path, text(1)).unwrap();
    let (received, _watch) = start(&path);
    std::fs::write(&path, text(2)).unwrap();
    assert_eq!(next(&received), [2]);
}

#[test]
fn a_broken_file_keeps_the_last_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endpoints.yaml");
    std::fs::write(&path, text(1)).unwrap();
    let (received, _watch) = start(&path);
    std::fs::write(&path, "endpoints: [").unwrap();
    assert!(received.recv_timeout(Duration::from_millis(200)).is_err());
    std::fs::write(
        &path,
        "endpoints:\n- {name: a}\n- {name: b, address: 127.0.0.1, port: 3}\n",
    )
    .unwrap();
    assert_eq!(next(&received), [3], "the good entries of a file are used");
}

#[test]
fn a_file_replaced_by_a_rename_is_read_again_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endpoints.yaml");
    std::fs::write(&path, text(1)).unwrap();
    let (received, _watch) = start(&path);
    for port in [2, 3] {
        let new = folder.path().join("new");
        std::fs::write(&new, text(port)).unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!(next(&received), [port]);
    }
}

#[cfg(unix)]
#[test]
fn a_swapped_symbolic_link_is_followed() {
    // As the kubelet mounts a ConfigMap: endpoints.yaml -> ..data/endpoints.yaml, ..data -> a folder.
    let folder = tempfile::tempdir().unwrap();
    for port in [1, 2] {
        let version = folder.path().join(port.to_string());
        std::fs::create_dir(&version).unwrap();
        std::fs::write(version.join("endpoints.yaml"), text(port)).unwrap();
    }
    let data = folder.path().join("..data");
    std::os::unix::fs::symlink("1", &data).unwrap();
    let path = folder.path().join("endpoints.yaml");
    std::os::unix::fs::symlink("..data/endpoints.yaml", &path).unwrap();
    let (received, _watch) = start(&path);
    let next_data = folder.path().join("..data_tmp");
    std::os::unix::fs::symlink("2", &next_data).unwrap();
    std::fs::rename(&next_data, &data).unwrap();
    assert_eq!(next(&received), [2]);
}

#[test]
fn an_unchanged_file_tells_nothing_and_a_dropped_watch_neither() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endpoints.yaml");
    std::fs::write(&path, text(1)).unwrap();
    let (received, watch) = start(&path);
    std::fs::write(&path, text(1)).unwrap();
    assert!(received.recv_timeout(Duration::from_millis(200)).is_err());
    drop(watch);
    // The thread ends, and its sender with it.
    let ended = received.recv_timeout(Duration::from_secs(10));
    assert_eq!(ended, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_file_that_cannot_be_used_at_the_start_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(watch(&folder.path().join("absent.yaml"), |_| {}).is_err());
}
