"""What the environment of a process tells about the processes that it belongs to.

A `Detector` knows one kind of cluster.  Names of variables and how jobs are numbered are those of
the public manuals of Slurm (``srun``), Open MPI (``mpirun``), Kubernetes (indexed jobs) and Cloud
TPU; ports are chosen as JAX chooses them, so that processes of one job agree and those of others
seldom meet.
"""

from __future__ import annotations

import os
import re
import socket
import time
import warnings
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from importlib.util import find_spec
from typing import ClassVar, Final, final
from urllib.error import URLError
from urllib.request import Request, urlopen

from ..util.messages import message
from ..util.records import dataclass

_FIRST_PORT: Final = 61440
_PORTS: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """The arguments of `initialize` that a cluster tells, each `None` where it does not."""

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None

    def filled(self, other: Cluster) -> Cluster:
        """The same, with what is missing from another."""
        missing = [f.name for f in fields(self) if getattr(self, f.name) is None]
        return replace(self, **{name: getattr(other, name) for name in missing})


class Detector(ABC):
    """One kind of cluster."""

    name: ClassVar[str]
    only_by_name: ClassVar[bool] = False

    @abstractmethod
    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Whether this process belongs to such a cluster."""

    @abstractmethod
    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        """What the cluster tells; it may wait for so many seconds.

        Raises:
            KeyError: if the environment lacks something, by name.
        """


def _port(number: int) -> int:
    """A port that processes of the job with this number agree on."""
    return _FIRST_PORT + number % _PORTS


@final
class Launched(Detector):
    """Started by ``python -m morphax.distributed``."""

    name = "morphax"

    def is_here(self, environment: Mapping[str, str]) -> bool:
        return "MORPHAX_PROCESS_ID" in environment

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        return Cluster(
            environment["MORPHAX_COORDINATOR_ADDRESS"],
            int(environment["MORPHAX_NUM_PROCESSES"]),
            int(environment["MORPHAX_PROCESS_ID"]),
        )


@final
class OpenMPI(Detector):
    """Started by Open MPI's ``mpirun``: the job's name has the addresses of the launching host."""

    name = "ompi"

    def is_here(self, environment: Mapping[str, str]) -> bool:
        return "OMPI_MCA_orte_hnp_uri" in environment

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        uri = environment["OMPI_MCA_orte_hnp_uri"]
        job = re.match(r"(\d+)", uri)
        # 1531576320.0;tcp://10.96.0.1,10.148.0.1:34911 or …;tcp6://[fe80::1,2620::2]:43370
        host = re.search(r"tcp6?://\[?([^],;]+?)(?:,|\]|:\d+(?:;|$))", uri)
        if job is None or host is None:
            raise KeyError("OMPI_MCA_orte_hnp_uri")
        port = _port(int(job[1]) >> 12)
        address = f"[{host[1]}]:{port}" if ":" in host[1] else f"{host[1]}:{port}"
        return Cluster(
            address,
            int(environment["OMPI_COMM_WORLD_SIZE"]),
            int(environment["OMPI_COMM_WORLD_RANK"]),
            (int(environment["OMPI_COMM_WORLD_LOCAL_RANK"]),),
        )


@final
class Slurm(Detector):
    """Started by Slurm's ``srun``, one task for each process."""

    name = "slurm"

    def is_here(self, environment: Mapping[str, str]) -> bool:
        return "SLURM_JOB_ID" in environment and "SLURM_PROCID" in environment

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        return Cluster(
            f"{_first_host(environment['SLURM_STEP_NODELIST'])}"
            f":{_port(int(environment['SLURM_JOB_ID']))}",
            int(environment["SLURM_NTASKS"]),
            int(environment["SLURM_PROCID"]),
            (int(environment["SLURM_LOCALID"]),),
        )


def _first_host(hosts: str) -> str:
    """The first of a list of hosts as Slurm writes it: ``node[003-005,010],other``."""
    first = re.match(r"([^,\[]*)(?:\[([^]\-,]*)[^]]*\])?([^,]*)", hosts)
    return "".join([part or "" for part in first.groups()]) if first else hosts


@final
class MPI4Py(Detector):
    """Started by any MPI, as the package mpi4py tells; only where it is asked for."""

    name = "mpi4py"
    only_by_name = True

    def is_here(self, environment: Mapping[str, str]) -> bool:
        return find_spec("mpi4py") is not None

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        mpi = import_module("mpi4py").MPI
        world = mpi.COMM_WORLD
        process, address = int(world.Get_rank()), None
        if process == 0:
            host = socket.gethostname()
            address = f"{host}:{_port(zlib.crc32(host.encode()))}"
        address = world.bcast(address, root=0)
        local = world.Split_type(mpi.COMM_TYPE_SHARED)
        return Cluster(address, int(world.Get_size()), process, (int(local.Get_rank()),))


@final
class Kubernetes(Detector):
    """A pod of an indexed job; the package kubernetes asks the cluster for the others.

    The pod's service account has to be allowed to read jobs and list pods.
    """

    name = "k8s"
    _PORT: Final = 55527
    _NAMESPACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

    def is_here(self, environment: Mapping[str, str]) -> bool:
        if "KUBERNETES_SERVICE_HOST" not in environment:
            return False
        if find_spec("kubernetes") is None:
            text = (
                "This is a pod of Kubernetes, but without the package kubernetes the other "
                "processes cannot be found: pip install kubernetes, or pass all arguments"
            )
            warnings.warn(text, UserWarning, stacklevel=2)
            return False
        return "JOB_COMPLETION_INDEX" in environment

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        package = import_module("kubernetes")
        package.config.load_incluster_config()
        with open(self._NAMESPACE, encoding="utf-8") as file:
            namespace = file.read().strip()
        pods = package.client.CoreV1Api()
        own = pods.read_namespaced_pod(environment["HOSTNAME"], namespace)
        name = own.metadata.labels["batch.kubernetes.io/job-name"]
        job = package.client.BatchV1Api().read_namespaced_job(name, namespace)
        first = f"batch.kubernetes.io/job-name={name},batch.kubernetes.io/job-completion-index=0"
        deadline = time.monotonic() + timeout
        while True:
            known = pods.list_namespaced_pod(namespace, label_selector=first).items
            addresses = [pod.status.pod_ip for pod in known if pod.status.pod_ip]
            if addresses:
                break
            if time.monotonic() > deadline:
                raise KeyError("an address of the pod with the completion index 0")
            time.sleep(1)
        host = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
        return Cluster(
            f"{host}:{self._PORT}",
            int(job.spec.parallelism),
            int(environment["JOB_COMPLETION_INDEX"]),
        )


@final
class CloudTPU(Detector):
    """A worker of Cloud TPU: the environment (GKE) or the metadata server (VMs) tells of others.

    With several slices, workers of the first come first.
    """

    name = "cloud_tpu"
    _PORT: Final = 8476
    _SERVER: Final = "http://metadata.google.internal/computeMetadata/v1/instance/attributes/"

    def is_here(self, environment: Mapping[str, str]) -> bool:
        return find_spec("libtpu") is not None and (
            "TPU_WORKER_HOSTNAMES" in environment or os.path.exists("/dev/accel0")
        )

    def found(self, environment: Mapping[str, str], timeout: float) -> Cluster:
        if "TPU_WORKER_HOSTNAMES" in environment:
            hosts = environment["TPU_WORKER_HOSTNAMES"].split(",")
            worker = int(environment["TPU_WORKER_ID"])
        else:
            # Entries are name:number:address.
            workers = self._metadata("worker-network-endpoints", timeout).split(",")
            hosts = [entry.split(":")[2] for entry in workers]
            worker = int(self._metadata("agent-worker-number", timeout))
        slices = int(environment.get("MEGASCALE_NUM_SLICES", "1"))
        own_slice = int(environment.get("MEGASCALE_SLICE_ID", "0"))
        first = environment.get("MEGASCALE_COORDINATOR_ADDRESS", hosts[0]).rpartition(":")
        host = first[0] or first[2]
        return Cluster(f"{host}:{self._PORT}", slices * len(hosts), own_slice * len(hosts) + worker)

    def _metadata(self, name: str, timeout: float) -> str:
        request = Request(self._SERVER + name, headers={"Metadata-Flavor": "Google"})
        try:
            with urlopen(request, timeout=min(timeout, 60)) as answer:
                return str(answer.read().decode())
        except URLError as error:
            raise KeyError(f"{name} of the metadata server") from error


DETECTORS: Final = (Launched(), OpenMPI(), Slurm(), MPI4Py(), Kubernetes(), CloudTPU())
"""In the order in which they are asked."""


def detected(given: Cluster, method: str | None, timeout: float) -> Cluster:
    """The arguments given, and those that the environment tells.

    Args:
        given: these are not doubted.
        method: the name of a detector, ``"deactivate"``, or `None` to ask all.
        timeout: how many seconds it may take.

    Raises:
        ValueError: if there is no such method, or the environment is incomplete.
    """
    environment = os.environ
    if "JAX_LOCAL_DEVICE_IDS" in environment and given.local_device_ids is None:
        ids = tuple([int(number) for number in environment["JAX_LOCAL_DEVICE_IDS"].split(",")])
        given = replace(given, local_device_ids=ids)
    if given.coordinator_address is None:
        address = environment.get("JAX_COORDINATOR_ADDRESS")
        given = replace(given, coordinator_address=address)
    needed = given.coordinator_address, given.num_processes, given.process_id
    if method == "deactivate" or None not in needed:
        return given
    detector = _chosen(method, environment)
    if detector is None:
        return given
    try:
        found = detector.found(environment, timeout)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(
            message(
                "jax.distributed.initialize, on a cluster",
                given=f"an environment of {detector.name} without {error}",
                expected="all that tells a process which one it is",
                fix="Pass coordinator_address, num_processes and process_id.",
            )
        ) from error
    port = environment.get("JAX_COORDINATOR_PORT")
    if port is not None and found.coordinator_address is not None:
        host = found.coordinator_address.rpartition(":")[0]
        found = replace(found, coordinator_address=f"{host}:{port}")
    return given.filled(found)


def _chosen(method: str | None, environment: Mapping[str, str]) -> Detector | None:
    if method is None:
        here = [d for d in DETECTORS if not d.only_by_name and d.is_here(environment)]
        return here[0] if here else None
    for detector in DETECTORS:
        if detector.name == method.lower():
            if detector.is_here(environment):
                return detector
            given, expected = f"{method!r}, which is not here", "a cluster that this process is in"
            break
    else:
        names = ", ".join([repr(d.name) for d in DETECTORS])
        given, expected = f"{method!r}", f"one of {names} and 'deactivate'"
    raise ValueError(
        message(
            "jax.distributed.initialize, argument cluster_detection_method",
            given=given,
            expected=expected,
            fix="Leave it out, or pass coordinator_address, num_processes and process_id.",
        )
    )
