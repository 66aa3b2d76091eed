"""Runs sim and returns its results as pandas data frames.

    import sim
    rows = sim.run("gpt7b", set={"fabric.port_bandwidth": "200Gbps"})
    rows.loc["delta-joint", "makespan_s"]

    cells = sim.sweep("gpt7b", {"workload.microbatches": [4, 8, 16]})
    cells.pivot(columns="policy", values="nct")

A scenario is the name of a built-in scenario, the path of a TOML file, or a dictionary with the
tables and keys of such a file. Copy this file beside your scripts. It needs Python 3.10, pandas,
and sim on the PATH or in the environment variable SIM.
"""

import json
import math
import os
import pathlib
import subprocess
import tempfile

import pandas as pd


class SimError(RuntimeError):
    """A command that failed, with the message of sim."""


def run(scenario, *, set=None, policy=None, out=None):
    """Run a scenario and return one row per policy, with a column per metric and label.

    set maps keys to values, and policy lists the policies to run instead of those in the scenario.
    out keeps the run directory. The attributes of the frame are the metrics of the reference
    ("reference") and the digest of the scenario ("digest").
    """
    with _Directory(out) as directory:
        options = ["--json", "--out", directory]
        document = json.loads(_call("run", scenario, set, policy, options))
    rows = pd.DataFrame(
        {"policy": row["policy"], **row.get("metrics", {}), **row.get("labels", {})}
        for row in document["rows"]
    ).set_index("policy")
    rows.attrs = {"reference": document.get("reference", {}), "digest": document["digest"]}
    return rows


def sweep(scenario, axes, *, set=None, policy=None, out=None):
    """Run a scenario for all combinations of values and return one row per cell.

    axes maps keys to lists of values. The index has the swept keys; columns are the policy and
    the metrics. With out, the cells stay in that directory and are not computed again.
    """
    values = {key: ",".join(map(_word, axis)) for key, axis in axes.items()}
    with _Directory(out) as directory:
        _call("sweep", scenario, {**(set or {}), **values}, policy, ["--out", directory])
        facts = metrics(directory)
    facts = facts[facts["policy"] != "reference"]
    index = [c for c in facts.columns if c not in ("scenario", "metric", "value")]
    cells = facts.pivot(index=index, columns="metric", values="value")
    cells.columns.name = None
    return cells.reset_index("policy")


def metrics(directory):
    """Return metrics.csv of a run or sweep directory: one fact per row."""
    return pd.read_csv(pathlib.Path(directory) / "metrics.csv")


def _call(command, scenario, set, policy, options):
    """Run a command of sim without figures and return its standard output."""
    words = [os.environ.get("SIM", "sim"), command, "--no-plots", *options]
    for key, value in (set or {}).items():
        words += ["--set", f"{key}={value if isinstance(value, str) else _word(value)}"]
    for name in [policy] if isinstance(policy, str) else policy or []:
        words += ["--policy", name]
    with tempfile.TemporaryDirectory() as directory:
        if isinstance(scenario, dict):
            path = pathlib.Path(directory, str(scenario.get("name", "scenario")) + ".toml")
            path.write_text("\n".join(_table(scenario)) + "\n")
            scenario = path
        done = subprocess.run([*words, str(scenario)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SimError(done.stderr.strip())
    return done.stdout


class _Directory:
    """The directory of a result: the given one, or a temporary one."""

    def __init__(self, path):
        self._temporary = None if path else tempfile.TemporaryDirectory()
        self._path = str(path or pathlib.Path(self._temporary.name, "result"))

    def __enter__(self):
        return self._path

    def __exit__(self, *_):
        if self._temporary:
            self._temporary.cleanup()


def _table(table, prefix=""):
    """Return the lines of a TOML table: first its keys, then the tables in it."""
    lines = []
    for key, value in table.items():
        if not isinstance(value, dict):
            lines.append(f"{json.dumps(key)} = {_toml(value)}")
    for key, value in table.items():
        if isinstance(value, dict):
            path = f"{prefix}{json.dumps(key)}"
            lines += ["", f"[{path}]", *_table(value, path + ".")]
    return lines


def _toml(value):
    """Return a value in the notation of TOML."""
    if isinstance(value, dict):
        items = (f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} has no place in a scenario; want a finite number")
    return json.dumps(value, ensure_ascii=False)


def _word(value):
    """Return a value of --set: text as it is, everything else in the notation of TOML."""
    return value if isinstance(value, str) else _toml(value)
