#!/usr/bin/env bash
# Copyright 2026 The multicluster-integrations Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the AddOnTemplate called $1 that has OCM's add-on manager install the Argo CD of $2 on
# managed clusters. $2 is Argo CD's manifests/core-install.yaml of the version that you want. Needs
# kubectl, and no cluster. docs/argocd-on-clusters.md has the steps.
#
#   bash template.sh argocd-3.2.11 core-install.yaml > argocd-3.2.11.json
set -euo pipefail
export LC_ALL=C # sizes are bytes
fail() { echo "template.sh: $*" >&2; exit 1; }
[ $# = 2 ] || fail "want a name for the AddOnTemplate and Argo CD's core-install.yaml, such as: argocd-3.2.11 core-install.yaml"
[ -s "$2" ] || fail "$2: there is no such file, or it is empty; download manifests/core-install.yaml of the Argo CD that you want"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$(dirname "$0")"/cluster/*.yaml "$folder/"
cp "$2" "$folder/core-install.yaml"
# When OCM deletes its ManifestWork, an object with this annotation stays on the cluster.
orphan=addon.open-cluster-management.io/deletion-orphan=
# One object a line, in JSON without spaces: as OCM has it, so that sizes are OCM's.
line='{.apiVersion}{"\t"}{.kind}{"\t"}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}{@}{"\n"}'
kubectl kustomize "$folder" >"$folder/rendered"
kubectl annotate --local --overwrite -f - "$orphan" -o jsonpath="$line" <"$folder/rendered" >"$folder/objects"
awk -F '\t' -v template="$1" -v file="$2" '
	function fail(text) { print "template.sh: " text >"/dev/stderr"; failed = 1; exit 1 }
	function plural(kind) { # as OCM guesses the resource of a kind
		kind = tolower(kind)
		if (!sub(/y$/, "ies", kind)) kind = kind (kind ~ /s$/ ? "es" : "s")
		return kind
	}
	{
		group = $1 ~ /\// ? substr($1, 1, index($1, "/") - 1) : ""
		object = $2 " " ($3 == "" ? "" : $3 "/") $4
		if (length($5) > 400000)
			fail(object " has " length($5) " bytes, and OCM puts at most 400000 into one ManifestWork; shorten it by a patch in cluster/kustomization.yaml")
		if (index($5, "{{"))
			fail(object " has \"{{\", where OCM would put a value of its own; remove it by a patch in cluster/kustomization.yaml, and set it on the clusters")
		if ($2 == "CustomResourceDefinition" && $4 == "applications.argoproj.io") found = 1
		manifests = manifests (NR > 1 ? ",\n" : "") $5
		if (!(seen[group, $2]++)) {
			create = "{\"type\":\"CreateOnly\"}"
			apply = "{\"type\":\"ServerSideApply\",\"serverSideApply\":{\"fieldManager\":\"work-agent-argocd\",\"force\":false}}"
			# What users of an Argo CD change is created, and never changed.
			created = (group == "" && $2 ~ /^(Namespace|ConfigMap|Secret|ServiceAccount)$/) || (group == "argoproj.io" && $2 == "AppProject")
			configs = configs (NR > 1 ? ",\n" : "") sprintf("{\"resourceIdentifier\":{\"group\":\"%s\",\"resource\":\"%s\",\"namespace\":\"*\",\"name\":\"*\"},\"updateStrategy\":%s}", group, plural($2), created ? create : apply)
		}
	}
	END {
		if (failed) exit 1
		if (!found)
			fail(file " has no CustomResourceDefinition applications.argoproj.io; download manifests/core-install.yaml of the Argo CD that you want")
		printf "{\"apiVersion\":\"addon.open-cluster-management.io/v1alpha1\",\"kind\":\"AddOnTemplate\",\"metadata\":{\"name\":\"%s\"},\n", template
		printf "\"spec\":{\"addonName\":\"argocd\",\"agentSpec\":{\"manifestConfigs\":[\n%s],\n\"workload\":{\"manifests\":[\n%s]}}}}\n", configs, manifests
	}' "$folder/objects" >"$folder/template"
size=$(wc -c <"$folder/template")
[ "$size" -le 1048576 ] || fail "AddOnTemplate $1 has $size bytes, and the hub stores at most 1048576 in one object; leave out what the clusters do not need by a patch in cluster/kustomization.yaml"
cat "$folder/template"
