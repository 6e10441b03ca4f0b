#!/usr/bin/env bash
# Runs a test on the driver of OpenCL that `tools/python_env opencl` installs; exit status 77 if it
# is not there.   Usage: opencl.sh COMMAND...   PZ_VENV_DIR: the folder that holds environments.
set -euo pipefail

libraries=$PZ_VENV_DIR/venv-opencl/lib
driver=$libraries/libintelocl.so
[ -e "$driver" ] || {
    echo "skipped: no $driver; install it with: PZ_VENV_DIR=$PZ_VENV_DIR tools/python_env opencl"
    exit 77
}
export LD_LIBRARY_PATH=$libraries PZ_GPU_TEST=opencl PZ_GPU_DRIVER=$driver
exec "$@"
