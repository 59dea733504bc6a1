#!/usr/bin/env bash
# Copyright 2026 The multicluster-integrations Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Signs a release that is in its registry with cosign: every image that images.txt lists, and the checksums.
# Usage: sign.sh COSIGN FOLDER [KEY]. FOLDER holds images.txt and SHA256SUMS. Without KEY the signatures are keyless: by the
# identity of the workflow, in the public transparency log. With KEY (COSIGN_PASSWORD in the environment) they are in no log.
set -euo pipefail
cosign=$1 folder=$2 key=${3:-}
options=(--yes)
[ -z "$key" ] || options+=(--key "$key" --use-signing-config=false --tlog-upload=false)
while IFS= read -r image; do
	"$cosign" sign "${options[@]}" "${image%:*@*}@${image##*@}"
done <"$folder/images.txt"
"$cosign" sign-blob "${options[@]}" --bundle "$folder/SHA256SUMS.sigstore.json" "$folder/SHA256SUMS" >/dev/null
[ -z "$key" ] || "$cosign" public-key --key "$key" --outfile "$folder/cosign.pub"
