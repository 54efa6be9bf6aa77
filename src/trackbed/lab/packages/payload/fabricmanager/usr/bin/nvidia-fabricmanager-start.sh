#!/bin/bash
# Starts Fabric Manager, and on NVLink 5 baseboards the subnet manager before it.
mode='' fm_config='' fm_pid='' nvlsm_config='' nvlsm_pid=''
while [ $# -gt 0 ]; do
    case "$1" in
        --mode|-m) mode=$2 ;;
        --fm-config-file) fm_config=$2 ;;
        --fm-pid-file) fm_pid=$2 ;;
        --nvlsm-config-file) nvlsm_config=$2 ;;
        --nvlsm-pid-file) nvlsm_pid=$2 ;;
        *) echo "Unknown option: $1"; exit 1 ;;
    esac
    shift 2 || exit 1
done
if [ "$mode" = stop ]; then
    for file in "$fm_pid" "$nvlsm_pid"; do
        [ ! -s "$file" ] || kill "$(cat "$file")"
    done
    exit 0
fi
if grep -qsl SW_MNG /sys/class/infiniband/*/device/vpd; then
    /opt/nvidia/nvlsm/sbin/nvlsm -F "$nvlsm_config" -B --pid_file "$nvlsm_pid" || exit 1
fi
exec /usr/bin/nv-fabricmanager -c "$fm_config"
