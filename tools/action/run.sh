#!/usr/bin/env bash
# Install smp in an environment of its own, and run the action with it.
set -euo pipefail

environment=$RUNNER_TEMP/smp-environment
python=python3
command -v "$python" >/dev/null || python=python
"$python" -m venv "$environment"
bin=$environment/bin
[ -d "$bin" ] || bin=$environment/Scripts # Windows

# The source is interpreted, as compiling it takes longer than most jobs.
SMP_COMPILE=0 "$bin/python" -m pip install --quiet --disable-pip-version-check \
    "${SMP_REQUIREMENT:-$SMP_ACTION}"
SMP_SARIF=$RUNNER_TEMP/smp.sarif exec "$bin/python" "$SMP_ACTION/tools/action/pull_request.py"
