#!/bin/sh
# Install the handbook into .venv: `sh tools/install.sh read` (or `test`, `book`, `classroom`). The Makefile calls this.
# PYTHON names the Python to use; TORCH_INDEX the address of a package index to take PyTorch from.
set -eu
extra=$1

fail() {
    echo "$*" >&2
    exit 1
}

new_enough() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    new_enough "$PYTHON" ||
        fail "PYTHON=$PYTHON is not a Python 3.11 or newer. Name one that is, or leave PYTHON out."
else
    for PYTHON in python3 python3.14 python3.13 python3.12 python3.11 python ""; do
        if [ -n "$PYTHON" ] && new_enough "$PYTHON"; then break; fi
    done
    [ -n "$PYTHON" ] ||
        fail "The handbook needs Python 3.11 or newer, and none was found. Install one, or name it: make lab PYTHON=..."
fi

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "Making .venv with $("$PYTHON" --version)."
    "$PYTHON" -m venv --clear .venv ||
        fail "Python could not make .venv. On Debian and Ubuntu, install the package python3-venv first."
fi

torch=$(grep '^torch==' requirements.lock)
if ! .venv/bin/python -c "
import importlib.metadata, sys
sys.exit(importlib.metadata.version('torch').split('+')[0] != '${torch#torch==}')" 2>/dev/null; then
    if [ -n "${TORCH_INDEX:-}" ]; then
        echo "Installing PyTorch from $TORCH_INDEX."
        .venv/bin/python -m pip install --no-deps --index-url "$TORCH_INDEX" "$torch" ||
            fail "PyTorch could not be installed from TORCH_INDEX=$TORCH_INDEX."
    elif [ "$(uname)" = Linux ] && ! command -v nvidia-smi >/dev/null 2>&1; then
        echo "No NVIDIA GPU was found here. If pip now starts to fetch several GB of PyTorch for one, stop it"
        echo "with Ctrl-C and see \"PyTorch without a GPU\" in README.md: it takes a tenth of that."
    fi
fi

echo "Installing the handbook with its extra \"$extra\" (a few minutes the first time)."
.venv/bin/python -m pip install --constraint requirements.lock --editable ".[$extra]" ||
    fail "The install failed; pip says why above. Running make again goes on from here."
