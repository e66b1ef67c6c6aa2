#!/bin/sh
# Installs the npm packages that the tests run against, in the versions of package-lock.json. Nothing of theirs is run.
set -eu
cd "$(dirname "$0")"
exec npm ci
