"""Tests of sim.py, run by .ci/run python: each function, and what its documentation says."""

import pathlib
import tempfile

import sim

rows = sim.run("gpt7b", set={"fabric.port_bandwidth": "200Gbps"}, policy=["prop-alloc", "delta-joint"])
assert list(rows.index) == ["prop-alloc", "delta-joint"], rows.index
assert rows.loc["delta-joint", "makespan_s"] <= rows.loc["prop-alloc", "makespan_s"]
assert rows.attrs["reference"]["makespan_s"] <= rows["makespan_s"].min()

ring = {
    "name": "ring",
    "workload": {"kind": "all-reduce", "message": "1MB"},
    "fabric": {"kind": "tiers", "tier": [
        {"kind": "electrical", "gpus": 4, "link_rate": "900Gbps"},
        {"kind": "electrical", "gpus": 16, "link_rate": "400Gbps"},
    ]},
    "policy": {"collectives": ["ring", "direct"]},
    "engine": {"level": "flow"},
}
cells = sim.sweep(ring, {"workload.message": ["1MB", "2MB"], "seed": [1, 2]}, policy="ring")
assert cells.index.names == ["workload.message", "seed"] and len(cells) == 4, cells
times = cells["completion_s"].groupby("workload.message").mean()
assert abs(times["2MB"] / times["1MB"] - 2) < 0.01, times

with tempfile.TemporaryDirectory() as directory:
    kept = pathlib.Path(directory, "kept")
    again = [sim.sweep("gpt7b", {"workload.microbatches": [4, 8]}, out=kept) for _ in range(2)]
    assert again[0].equals(again[1])
    assert set(sim.metrics(kept).columns) >= {"policy", "metric", "value"}

for scenario, options, want in [
    ("no-such-scenario", {}, "no-such-scenario"),
    (ring, {"workload.message": "much"}, "workload.message"),
]:
    try:
        sim.run(scenario, set=options)
    except sim.SimError as error:
        assert want in str(error), error
    else:
        raise AssertionError(f"{scenario} {options} did not fail")
print("ok")
