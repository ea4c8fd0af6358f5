"""The JSON schema of SARIF 2.1.0, as published by OASIS. It is not part of this repository: npm downloads a package with it
once into the build folder, and its hash is checked."""
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile

from scratch import Failed

PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
MEMBER = "package/lib/schemas/sarif-2.1.0-rtm.5.json"
SHA256 = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"


def fetch(path):
    """Writes the schema to `path` atomically, since tests run in parallel."""
    if not shutil.which("npm"):
        raise Failed("no npm here; run scripts/setup.sh test")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        p = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        if p.returncode:
            raise Failed("the SARIF schema cannot be fetched: npm pack %s: %s" % (PACKAGE, p.stderr.strip()))
        with tarfile.open(os.path.join(folder, p.stdout.split()[-1])) as tar:
            data = tar.extractfile(MEMBER).read()
        with open(os.path.join(folder, "schema"), "wb") as f:
            f.write(data)
        os.rename(os.path.join(folder, "schema"), path)


def sarif_problems(build, log):
    """The violations of the schema in the log, each with its place."""
    try:
        import jsonschema
    except ImportError:
        raise Failed("no jsonschema for Python here; run scripts/setup.sh test") from None
    path = os.path.join(build, "tests", "sarif", os.path.basename(MEMBER))
    if not os.path.exists(path):
        fetch(path)
    with open(path, "rb") as f:
        data = f.read()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise Failed("%s is not the schema: remove it" % path)
    return ["%s: %s" % ("/".join(map(str, e.absolute_path)), e.message[:200])
            for e in jsonschema.Draft4Validator(json.loads(data)).iter_errors(log)]
