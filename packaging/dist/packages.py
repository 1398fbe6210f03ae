"""The third-party packages in our programs, from cargo's metadata."""

import functools
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = {
    "x86_64": "x86_64-unknown-linux-musl",
    "arm64": "aarch64-unknown-linux-musl",
    "armhf": "armv7-unknown-linux-gnueabihf",
    "riscv64": "riscv64gc-unknown-linux-gnu",
}


@functools.cache
def metadata(target):
    """cargo's metadata for one target, exactly as Cargo.lock has it."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def dependencies(program, target):
    """The resolved graph below a program: package id -> ids it depends on. Without tests and build scripts."""
    found = metadata(target)
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    first = next(package["id"] for package in found["packages"] if package["name"] == program)
    graph, waiting = {}, [first]
    while waiting:
        package = waiting.pop()
        if package in graph:
            continue
        linked = [dep["pkg"] for dep in nodes[package]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        graph[package] = sorted(linked)
        waiting += linked
    return graph


def by_id(target):
    return {package["id"]: package for package in metadata(target)["packages"]}


def version():
    """That of the workspace."""
    return next(package["version"] for package in metadata(TARGETS["x86_64"])["packages"] if package["name"] == "tardy")


def third_party(programs, architectures=TARGETS):
    """The packages of others in any of the programs for any of the architectures, by name and version."""
    found = {}
    for architecture in architectures:
        packages = by_id(TARGETS[architecture])
        for program in programs:
            for package in dependencies(program, TARGETS[architecture]):
                if packages[package]["source"] is not None:
                    found[packages[package]["name"], packages[package]["version"]] = packages[package]
    return [found[key] for key in sorted(found)]
