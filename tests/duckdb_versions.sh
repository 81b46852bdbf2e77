#!/bin/sh
# Runs the store's tests with each DuckDB that whyspan supports, every one in an environment of its own.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for version in 1.4.5 1.5.6 2.0.1; do
    python3 -m venv "$scratch/$version"
    "$scratch/$version/bin/pip" install --quiet . "duckdb==$version" hypothesis pytest pytest-timeout
    echo "DuckDB $version"
    "$scratch/$version/bin/python" -m pytest -q -p no:cacheprovider tests/unit/ingest tests/property/ingest \
        tests/contract/test_view_columns.py
done
