#!/usr/bin/env bash
# Copyright 2026 The multicluster-integrations Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs a program with a kubelet in namespaces for processes, mounts and network of its own, which end with it however it ends.
# Usage: run.sh PROGRAM [ARGUMENTS]. Of the machine it uses a temporary folder and cgroups of that folder's name.
set -euo pipefail
# Who is killed around it ends it, too.
[ -n "${POD_ENDS_WITH_PARENT-}" ] || POD_ENDS_WITH_PARENT=1 exec setpriv --pdeathsig TERM bash "$0" "$@"
remedy='a kubelet needs Linux, root and Debian packages containerd, runc, containernetworking-plugins, iproute2 and util-linux'
for needed in containerd containerd-shim-runc-v2 ctr runc ip unshare setpriv /usr/lib/cni/{ptp,host-local,loopback}; do
	command -v "$needed" >/dev/null || { echo "$needed is not there: $remedy" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "$remedy" >&2; exit 1; }

folder=$(mktemp --directory --tmpdir multicluster-integrations-pod-XXXXXXXX)
name=$(basename "$folder")
parents=(/sys/fs/cgroup) # version 2, or one for each controller
[ -e /sys/fs/cgroup/cgroup.controllers ] || mapfile -t parents < <(dirname /sys/fs/cgroup/*/cgroup.procs)

clean() {
	status=$?
	trap '' INT TERM HUP
	if [ "$status" != 0 ] && compgen -G "$folder/multicluster-integrations-logs-*" >/dev/null; then
		kept=$(mktemp --directory --tmpdir multicluster-integrations-logs-XXXXXXXX)
		mv "$folder"/multicluster-integrations-logs-* "$folder"/pods "$kept" || true # what there is of them
		echo "The logs are in $kept" >&2
	fi
	for _ in {1..100}; do # the kernel takes a moment to end what was killed
		left=
		for parent in "${parents[@]}"; do
			[ ! -d "$parent/$name" ] || find "$parent/$name" -depth -type d -exec rmdir {} + 2>/dev/null || left=1
		done
		[ -n "$left" ] || break
		sleep 0.2
	done
	rm -rf "$folder"
	exit "$status"
}
trap clean EXIT
for parent in "${parents[@]}"; do
	mkdir "$parent/$name"
	if [ "$(basename "$parent")" = cpuset ]; then # a new one has none
		cat "$parent/cpuset.cpus" >"$parent/$name/cpuset.cpus"
		cat "$parent/cpuset.mems" >"$parent/$name/cpuset.mems"
	fi
done

# What programs write outside of the folder vanishes with the namespace. Loopback has the addresses of the API server's
# Service and of the node.
# shellcheck disable=SC2016
inside='folder=$1; shift
mkdir "$folder/var" "$folder/var-work"
mount -t tmpfs -o mode=755 tmpfs /run
mount -t overlay -o "lowerdir=/var,upperdir=$folder/var,workdir=$folder/var-work" overlay /var
ip link set lo up
ip address add 10.96.0.1/32 dev lo
ip address add 10.97.0.1/32 dev lo
exec "$@" -folder "$folder"'
TMPDIR=$folder setpriv --pdeathsig KILL unshare --mount --pid --net --fork --mount-proc --kill-child bash -euc "$inside" inside "$folder" "$@" &
child=$!
trap 'kill -KILL $child' INT TERM HUP # and with it all that runs inside
wait "$child"
