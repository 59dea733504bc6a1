#!/usr/bin/env bash
# Copyright 2026 The multicluster-integrations Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds bin/argocd-with-ui: the pinned Argo CD with its page, which the published module has as
# sources only. Nothing of them is changed. Needs Node.js and npm; some five minutes on two cores.
# ARGO_UI names a checkout of argo-ui at the commit of Argo CD's yarn.lock; without it, it is
# fetched by git.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
module=github.com/argoproj/argo-cd/v3
tools=$root/e2e/tools/ocm-argocd
export GOWORK=off CGO_ENABLED=0
read -r version source < <(cd "$tools" && go list -m -f '{{.Version}} {{.Dir}}' "$module")
binary=$root/bin/argocd-with-ui
[ "$(cat "$binary.version" 2>/dev/null)" = "$version" ] && exit 0

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cp -r "$source" "$build/argo-cd"
chmod -R u+w "$build/argo-cd"
cd "$build/argo-cd/ui"
if [ -n "${ARGO_UI:-}" ]; then
	cp -r "$ARGO_UI" "$build/argo-ui"
	sed -i 's|"argo-ui": "[^"]*"|"argo-ui": "file:'"$build"'/argo-ui"|' package.json
	sed -i 's|^"argo-ui@[^"]*":|"argo-ui@file:'"$build"'/argo-ui":|; /resolved "git+.*argo-ui/d' yarn.lock
fi
npm install --silent --no-audit --no-fund --prefix "$build/yarn" yarn@1.22.22
PATH=$build/yarn/node_modules/.bin:$PATH
if ! yarn install --ignore-scripts --non-interactive --silent; then
	echo "the packages of Argo CD's page cannot be installed${ARGO_UI:+ with ARGO_UI=$ARGO_UI}" >&2
	[ -n "${ARGO_UI:-}" ] || echo 'argo-ui comes by git: without access to it, set ARGO_UI to a checkout at the commit of yarn.lock' >&2
	exit 1
fi
NODE_ENV=production NODE_OPTIONS=--max-old-space-size=4096 yarn --silent build

cp -r "$tools" "$build/tools"
cd "$build/tools"
chmod -R u+w .
go mod edit -replace "$module@$version=$build/argo-cd"
GOFLAGS=-mod=mod go build -trimpath -buildvcs=false -ldflags "-s -w -X $module/common.version=${version#v}" -o "$binary" "$module/cmd"
echo "$version" >"$binary.version"
