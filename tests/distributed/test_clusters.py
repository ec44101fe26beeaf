"""What environments tell a process: facts that JAX 0.10.1 finds in the same ones."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from morphax.distributed import clusters
from morphax.distributed.clusters import Cluster, detected

NOTHING = Cluster()
FOUR_PARTS = r"(?s)given:.*expected:.*fix:"
SLURM = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_NODELIST": "node[003-005,010]",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
}
OMPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}
LAUNCHED = {
    "MORPHAX_COORDINATOR_ADDRESS": "127.0.0.1:99",
    "MORPHAX_NUM_PROCESSES": "4",
    "MORPHAX_PROCESS_ID": "3",
}
IPV6 = "1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370"
GKE = {"TPU_WORKER_HOSTNAMES": "a,b,c", "TPU_WORKER_ID": "1"}
SLICES = {
    "MEGASCALE_COORDINATOR_ADDRESS": "first:9000",
    "MEGASCALE_NUM_SLICES": "2",
    "MEGASCALE_SLICE_ID": "1",
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that tells nothing."""
    monkeypatch.setattr(clusters.os, "environ", {})
    monkeypatch.setattr(clusters, "find_spec", lambda name: None)


def in_environment(monkeypatch: pytest.MonkeyPatch, *variables: dict[str, str]) -> None:
    for more in variables:
        clusters.os.environ.update(more)


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, NOTHING),
        (SLURM, Cluster("node003:63111", 8, 3, (1,))),
        (
            SLURM | {"SLURM_JOB_ID": "70000", "SLURM_STEP_NODELIST": "n1,n2"},
            Cluster("n1:61808", 8, 3, (1,)),
        ),
        (SLURM | {"SLURM_STEP_NODELIST": "a[1,3]b,c"}, Cluster("a1b:63111", 8, 3, (1,))),
        (SLURM | {"JAX_COORDINATOR_PORT": "77"}, Cluster("node003:77", 8, 3, (1,))),
        (SLURM | {"JAX_COORDINATOR_ADDRESS": "h:7"}, Cluster("h:7", 8, 3, (1,))),
        (SLURM | {"JAX_LOCAL_DEVICE_IDS": "2,3"}, Cluster("node003:63111", 8, 3, (2, 3))),
        (OMPI, Cluster("10.96.0.1:62624", 4, 2, (1,))),
        (
            OMPI | {"OMPI_MCA_orte_hnp_uri": IPV6},
            Cluster("[fe80::b9b:ac5d:9cf0:b858]:62880", 4, 2, (1,)),
        ),
        (OMPI | SLURM, Cluster("10.96.0.1:62624", 4, 2, (1,))),
        (LAUNCHED | OMPI, Cluster("127.0.0.1:99", 4, 3)),
        # An interactive allocation is no job step.
        ({"SLURM_JOB_ID": "1"}, NOTHING),
    ],
)
def test_environments(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], found: Cluster
) -> None:
    in_environment(monkeypatch, environment)
    assert detected(NOTHING, None, 1) == found


def test_what_is_given_is_not_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    in_environment(monkeypatch, SLURM)
    assert detected(Cluster("h:1", None, 0), None, 1) == Cluster("h:1", 8, 0, (1,))
    assert detected(Cluster("h:1", 2, 0), None, 1) == Cluster("h:1", 2, 0)
    assert detected(NOTHING, "deactivate", 1) == NOTHING
    assert detected(NOTHING, "slurm", 1).process_id == 3
    for method in ("nonsense", "ompi"):
        with pytest.raises(ValueError, match=FOUR_PARTS):
            detected(NOTHING, method, 1)
    del clusters.os.environ["SLURM_NTASKS"]
    with pytest.raises(ValueError, match=r"(?s)slurm without 'SLURM_NTASKS'.*fix:"):
        detected(NOTHING, None, 1)


def test_cloud_tpu(monkeypatch: pytest.MonkeyPatch) -> None:
    in_environment(monkeypatch, GKE)
    assert detected(NOTHING, None, 1) == NOTHING
    monkeypatch.setattr(clusters, "find_spec", lambda name: name == "libtpu" or None)
    assert detected(NOTHING, None, 1) == Cluster("a:8476", 3, 1)
    in_environment(monkeypatch, SLICES)
    assert detected(NOTHING, None, 1) == Cluster("first:8476", 6, 4)
    clusters.os.environ.clear()
    monkeypatch.setattr(clusters.os.path, "exists", lambda path: path == "/dev/accel0")
    asked: list[Any] = []

    def answer(request: Any, timeout: float) -> io.BytesIO:
        asked.append(request.headers)
        texts = {
            "worker-network-endpoints": b"w0:8470:10.0.0.4,w1:8470:10.0.0.5",
            "agent-worker-number": b"1",
        }
        return io.BytesIO(texts[request.full_url.rpartition("/")[2]])

    monkeypatch.setattr(clusters, "urlopen", answer)
    assert detected(NOTHING, None, 1) == Cluster("10.0.0.4:8476", 2, 1)
    assert asked == [{"Metadata-flavor": "Google"}] * 2


def test_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "find_spec", lambda name: name == "mpi4py" or None)
    monkeypatch.setattr(clusters.socket, "gethostname", lambda: "host")

    def world(rank: int, size: int, local: int) -> Any:
        return SimpleNamespace(
            Get_rank=lambda: rank,
            Get_size=lambda: size,
            bcast=lambda x, root: x or "host:1",
            Split_type=lambda kind: world(local, 1, 0),
        )

    module: Any = ModuleType("mpi4py")
    module.MPI = SimpleNamespace(COMM_WORLD=world(2, 4, 1), COMM_TYPE_SHARED=1)
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    assert detected(NOTHING, None, 1) == NOTHING
    assert detected(NOTHING, "mpi4py", 1) == Cluster("host:1", 4, 2, (1,))
    module.MPI.COMM_WORLD = world(0, 4, 0)
    first = detected(NOTHING, "mpi4py", 1)
    host, _, port = str(first.coordinator_address).partition(":")
    assert (host, first.process_id) == ("host", 0)
    assert 61440 <= int(port) < 65536


def test_kubernetes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "1", "HOSTNAME": "job-1"}
    in_environment(monkeypatch, pod)
    with pytest.warns(UserWarning, match="pip install kubernetes"):
        assert detected(NOTHING, None, 1) == NOTHING
    monkeypatch.setattr(clusters, "find_spec", lambda name: name == "kubernetes" or None)
    (tmp_path / "namespace").write_text("space\n")
    monkeypatch.setattr(clusters.Kubernetes, "_NAMESPACE", str(tmp_path / "namespace"))
    monkeypatch.setattr(clusters.time, "sleep", lambda seconds: None)
    labels = {"batch.kubernetes.io/job-name": "job"}
    asked: list[Any] = []

    def pods(namespace: str, label_selector: str) -> Any:
        asked.append((namespace, label_selector))
        address = "10.1.1.7" if len(asked) > 1 else None
        return SimpleNamespace(items=[SimpleNamespace(status=SimpleNamespace(pod_ip=address))])

    core = SimpleNamespace(
        read_namespaced_pod=lambda name, namespace: SimpleNamespace(
            metadata=SimpleNamespace(labels=labels)
        ),
        list_namespaced_pod=pods,
    )
    batch = SimpleNamespace(
        read_namespaced_job=lambda name, namespace: SimpleNamespace(
            spec=SimpleNamespace(parallelism=4)
        )
    )
    module: Any = ModuleType("kubernetes")
    module.config = SimpleNamespace(load_incluster_config=lambda: None)
    module.client = SimpleNamespace(CoreV1Api=lambda: core, BatchV1Api=lambda: batch)
    monkeypatch.setitem(sys.modules, "kubernetes", module)
    assert detected(NOTHING, None, 5) == Cluster("10.1.1.7:55527", 4, 1)
    selector = "batch.kubernetes.io/job-name=job,batch.kubernetes.io/job-completion-index=0"
    assert asked == [("space", selector)] * 2
