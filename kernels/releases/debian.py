"""Kernels of all Debian releases, fetched with package lists that are separate from those of this machine's apt."""

import os
import pathlib
import re
import shutil
import subprocess

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tardy/kernels/releases"
MIRROR = "http://deb.debian.org"
SUITES = [
    "debian bullseye", "debian-security bullseye-security", "debian bookworm", "debian-security bookworm-security",
    "debian bookworm-backports", "debian trixie", "debian-security trixie-security", "debian trixie-backports", "debian sid",
]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEBIAN = {"x86_64": "amd64"}
FLAVOURS = {"x86_64": "amd64", "armhf": "armmp"}
# What a machine of tardy's loads; a whole package takes 300 MB.
UNPACKED = ["./boot/vmlinu*", "./boot/config-*", "*/modules/*/vmlinu*", "*/modules/*/modules.*", "*/kernel/drivers/virtio/*", "*/kernel/drivers/char/*"]


class Missing(Exception):
    """A kernel that Debian does not offer any more."""


class Kernels:
    """The kernels for one architecture."""

    def __init__(self, architecture):
        self.debian = DEBIAN.get(architecture, architecture)
        self.flavour = FLAVOURS.get(architecture, architecture)
        self.root = CACHE / "apt" / self.debian
        (self.root / "lists/partial").mkdir(parents=True, exist_ok=True)
        (self.root / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        sources = [f"deb [target=Packages signed-by={KEYRING}] {MIRROR}/{suite} main" for suite in SUITES]
        (self.root / "sources.list").write_text("\n".join(sources) + "\n")
        # An old release's lists have expired; they are signed all the same.
        (self.root / "apt.conf").write_text(
            f'APT::Architecture "{self.debian}"; APT::Architectures {{ "{self.debian}"; }}; APT::Sandbox::User "root";\n'
            f'Dir::State "{self.root}"; Dir::State::Lists "{self.root}/lists"; Dir::State::status "{self.root}/status";\n'
            f'Dir::Cache "{self.root}/cache"; Dir::Etc::sourcelist "{self.root}/sources.list";\n'
            'Dir::Etc::sourceparts "/dev/null"; Acquire::Check-Valid-Until "false"; Acquire::Languages "none";\n'
        )
        # A suite without this architecture is no reason to give up; a kernel that is missing then is.
        self.ask("apt-get", "--quiet=2", "update")
        self.names = self.ask("apt-cache", "search", "--names-only", "^linux-image-[0-9]").stdout.split("\n")

    def ask(self, *words, **options):
        environment = os.environ | {"APT_CONFIG": str(self.root / "apt.conf"), "LC_ALL": "C"}
        return subprocess.run(words, capture_output=True, text=True, env=environment, check=False, **options)

    def fetch(self, series):
        """The directory of the newest kernel of a series, such as `5.10-rt`. The lists name packages that are gone."""
        version, _, real_time = series.partition("-")
        pattern = re.compile(
            rf"linux-image-{re.escape(version)}\.\d[\w.+-]*?{'-rt' if real_time else ''}-{self.flavour}$"
        )
        names = [line.split(" ")[0] for line in self.names]
        other = ("-cloud-",) if real_time else ("-cloud-", "-rt-")
        names = [name for name in names if pattern.match(name) and not any(part in name for part in other)]
        for name in sorted(names, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)], reverse=True)[:6]:
            kept = CACHE / self.debian / name
            if kept.is_dir() or self.unpack(name, kept):
                return kept
        raise Missing(f"Debian has no kernel {series} for {self.debian}")

    def unpack(self, name, kept):
        """Downloads a package, whose checksum apt compares, and unpacks what a machine needs of it."""
        partial = kept.with_name(name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        # Since 7.2 the files of a kernel are in packages of their own, which this one needs.
        needed = self.ask("apt-cache", "show", name).stdout
        parts = sorted(set(re.findall(r"linux-(?:base|binary|modules)-\d[^ ]*", needed)))
        if self.ask("apt-get", "--quiet=2", "download", name, *parts, cwd=partial).returncode:
            shutil.rmtree(partial)
            return False
        for package in partial.glob("*.deb"):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files:
                # A pattern without a file is no error: kernels name their directories differently.
                subprocess.run(["tar", "--extract", "--wildcards", "--directory", partial, *UNPACKED], stdin=files.stdout,
                               stderr=subprocess.DEVNULL, check=False)
            package.unlink()
        partial.rename(kept)
        return True
