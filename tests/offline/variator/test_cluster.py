"""The local cluster of campaigns and calibrations: nobody else reaches it; a worker that dies costs its run alone."""

import os
import subprocess
import sys
import time

import psutil
import pytest
from distributed import LocalCluster
from refusals import refused
from rows import script

from rtcvt.errors import InputError
from rtcvt.processes import cluster_of, computed

CLIENT = script("cluster", "client")


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(None, 1) as client:
        yield client


def listening():
    """Addresses on which this process and its children listen."""
    here = psutil.Process()
    found = [c for p in (here, *here.children(recursive=True)) for c in p.net_connections(kind="inet")]
    return {c.laddr.ip for c in found if c.status == psutil.CONN_LISTEN}


def test_it_listens_on_the_loopback_alone(cluster):
    assert cluster.submit(os.getpid).result() != os.getpid()
    assert listening() == {"127.0.0.1"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", ["tls", "tcp", "certificate"])
def test_another_user_is_refused(cluster, how):
    address = cluster.scheduler.address
    if how == "tcp":
        address = address.replace("tls://", "tcp://")
    done = subprocess.run([sys.executable, "-c", CLIENT, address, how], capture_output=True, text=True, timeout=60)
    assert "ran" not in done.stdout
    assert done.returncode != 0


def test_a_worker_that_dies_is_replaced(cluster):
    dead = cluster.submit(os._exit, 1, pure=False, retries=0)
    assert type(dead.exception()).__name__ == "KilledWorker"
    assert cluster.submit(int, "7").result() == 7


def test_a_scheduler_that_ends_is_told():
    calls = {"short": (time.sleep, 0.1), "long": (time.sleep, 2.0)}
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as others:
        found = computed(calls, others.scheduler_address, None)
        assert next(found) == ("short", None, None)
        others.close()
        refused("the same command continues", next, found)


def test_a_scheduler_without_certificates_is_told(caplog):
    with pytest.raises(InputError, match="address of a dask scheduler"), cluster_of("nosuch://1:2", None):
        pass
    assert "without TLS this scheduler executes code from anyone" in caplog.text


def test_a_secured_scheduler_asks_for_certificates(cluster):
    with pytest.raises(InputError, match=r"distributed\.comm\.tls"), cluster_of(cluster.scheduler.address, None):
        pass
