#!/usr/bin/env bash
# A Ceph object gateway for one test run: one monitor, one object server that keeps everything in
# memory, one gateway, all on the loopback address. Prints `ready URL` when it answers, goes on until
# it is told to stop or its standard input ends, and takes everything with it.
#
#   ceph.sh FOLDER GATEWAY_PORT MONITOR_PORT
#
# Needs Debian's radosgw, ceph-mon and ceph-osd. The key is `test`, the secret `testtesttest`.
set -euo pipefail
exec 3<&0  # a command in the background would get nothing as its input

folder=$(readlink -m "$1") gateway=$2 monitor=$3
lib=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
cluster=$(cat /proc/sys/kernel/random/uuid)
disk=$(cat /proc/sys/kernel/random/uuid)
export CEPH_CONF=$folder/ceph.conf
mkdir -p "$folder"/{monitor,disk,run,log}

daemons=()
leave() {
  trap - EXIT
  ((${#daemons[@]})) && kill -KILL "${daemons[@]}" 2>/dev/null
  exit "${1:-0}"
}
trap 'leave 1' EXIT
trap 'leave 0' TERM INT HUP

cat >"$CEPH_CONF" <<CONF
[global]
fsid = $cluster
mon_host = [v1:127.0.0.1:$monitor]
public_network = 127.0.0.0/8
ms_bind_ipv6 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = $folder/run
admin_socket = $folder/run/\$name.sock
log_file = $folder/log/\$name.log
plugin_dir = $lib/ceph
erasure_code_dir = $lib/ceph/erasure-code
osd_class_dir = $lib/rados-classes
setuser_match_path = /nonexistent
mon_data = $folder/monitor
mon_data_avail_warn = 1
mon_data_avail_crit = 1
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
osd_data = $folder/disk
osd_objectstore = memstore
memstore_device_bytes = 4294967296
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
[client.rgw.test]
rgw_data = $folder/run
rgw_frontends = beast endpoint=127.0.0.1:$gateway
rgw_dns_name = localhost
rgw_enable_usage_log = false
rgw_dynamic_resharding = false
CONF

start() { # NAME COMMAND...
  local name=$1
  shift
  "$@" -f >"$folder/log/$name.out" 2>&1 </dev/null 3<&- &
  daemons+=($!)
}
until_true() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || { echo "not in time: $*" >&2; exit 1; }
    sleep 0.3
  done
}
disk_is_up() {
  # On a busy machine it may end before it has joined; it holds nothing yet, so another will do.
  kill -0 "${daemons[-1]}" 2>/dev/null || start disk ceph-osd -i 0
  timeout 20 ceph osd stat 2>/dev/null | grep -q '1 up'
}
gateway_answers() { curl -s -o /dev/null --max-time 5 "http://127.0.0.1:$gateway/"; }

monmaptool --create --clobber --fsid "$cluster" --addv a "[v1:127.0.0.1:$monitor]" \
  "$folder/map" >/dev/null
ceph-mon -i a --mkfs --monmap "$folder/map" >/dev/null 2>&1
start monitor ceph-mon -i a
timeout 60 ceph osd new "$disk" >/dev/null
ceph-osd -i 0 --mkfs --osd-uuid "$disk" >/dev/null 2>&1
start disk ceph-osd -i 0
until_true 60 disk_is_up
start gateway radosgw -n client.rgw.test
until_true 90 gateway_answers
radosgw-admin user create --uid=test --display-name=test --access-key=test \
  --secret-key=testtesttest >/dev/null 2>&1

echo "ready http://127.0.0.1:$gateway"
# Whoever started this holds the other end of its input.
cat <&3 >/dev/null &
wait $! || true
leave 0
