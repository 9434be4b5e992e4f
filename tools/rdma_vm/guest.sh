#!/bin/bash
# The guest's first process once it stands on the host's root: sets the system and the RDMA
# devices up, runs the command, sends its exit status, and turns the machine off.
cd /run/rdma-vm
mapfile -d '' -t settings <settings
mapfile -d '' -t writable <writable
mapfile -d '' -t environment <environment
mapfile -d '' -t command <command
device=${settings[0]} node=${settings[1]} folder=${settings[2]}
modules=${settings[3]} siw_module=${settings[4]}
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Whatever fails before the command runs is in the console's log.
trap 'busybox poweroff -f; sleep 60' EXIT
set -euE
trap 'echo "guest: line $LINENO failed: $BASH_COMMAND"' ERR

mount_all() {
  mount -t proc proc /proc
  mount -t sysfs sysfs /sys
  mount -t devtmpfs devtmpfs /dev
  mkdir -p /dev/shm /dev/pts
  mount -t tmpfs tmpfs /dev/shm
  mount -t devpts devpts /dev/pts
  ln -snf /proc/self/fd /dev/fd
  ln -snf fd/0 /dev/stdin
  ln -snf fd/1 /dev/stdout
  ln -snf fd/2 /dev/stderr
  local release i
  release=$(uname -r)
  mkdir -p "/lib/modules/$release"
  mount --bind "$modules" "/lib/modules/$release"
  for i in "${!writable[@]}"; do
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=mmap \
      "writable$i" "${writable[i]}"
  done
}

load_drivers() {
  modprobe -a ib_uverbs rdma_ucm
  case $device in
    rxe) modprobe rdma_rxe ;;
    siw)
      local needed
      needed=$(modinfo -F depends "$siw_module")
      [[ -z $needed ]] || modprobe -a ${needed//,/ }
      insmod "$siw_module"
      ;;
  esac
}

# Two interfaces on one cable. Both are in one network namespace (rxe knows no other before
# Linux 6.14), so the kernel would short-cut over lo: the guest's own addresses are looked up
# as local only for packets that arrive.
lay_cable() {
  modprobe veth
  ip -batch - <<'IP'
link add rn0 mtu 4500 type veth peer name rn1 mtu 4500
addr add 10.77.0.1/24 dev rn0
addr add 10.77.0.2/24 dev rn1
link set rn0 up
link set rn1 up
rule add pref 10 iif rn0 lookup local
rule add pref 11 iif rn1 lookup local
route add 10.77.0.2 dev rn0 src 10.77.0.1 table 100
route add 10.77.0.1 dev rn1 src 10.77.0.2 table 101
rule add pref 20 to 10.77.0.2 lookup 100
rule add pref 21 to 10.77.0.1 lookup 101
rule add pref 1000 lookup local
rule del pref 0
IP
  local interface settings
  for interface in rn0 rn1; do
    settings=/proc/sys/net/ipv4/conf/$interface
    echo 1 >$settings/accept_local
    echo 0 >$settings/rp_filter
    echo 1 >$settings/arp_ignore
    echo 2 >$settings/arp_announce
  done
}

join_lan() {
  modprobe virtio_net
  ip link set eth0 mtu 4500 up
  ip addr add "10.77.1.$node/24" dev eth0
}

make_devices() {
  local interfaces addresses names=() i
  if [[ -n $node ]]; then
    join_lan
    interfaces=(eth0) addresses="10.77.1.$node"
  else
    [[ $device != none ]] || return 0
    lay_cable
    interfaces=(rn0 rn1) addresses="10.77.0.1 10.77.0.2"
  fi
  environment+=("RDMA_IPS=$addresses")
  [[ $device != none ]] || return 0
  load_drivers
  for i in "${!interfaces[@]}"; do
    rdma link add "$device$i" type "$device" netdev "${interfaces[i]}"
    names+=("$device$i")
  done
  environment+=("RDMA_DEVICES=${names[*]}")
}

# Kills all processes but this one, the kernel's, and the given ones.
kill_others() {
  local process
  for process in $(cd /proc && echo [0-9]*); do
    [[ " 1 $* " == *" $process "* ]] || kill -KILL "$process" 2>/dev/null || true
  done
}

# The command's exit status, once all that it wrote is out and all that it left is dead.
run_command() {
  local status=0 out err
  # The ports open once: programs that reopen /dev/stdout need a pipe.
  exec 3> >(exec cat >"$(echo /dev/vport*p1)") && out=$!
  exec 4> >(exec cat >"$(echo /dev/vport*p2)") && err=$!
  # A session of its own: the command may signal its whole process group.
  setsid env -i -C "$folder" "${environment[@]}" "${command[@]}" \
    </dev/null >&3 2>&4 3>&- 4>&- || status=$?
  kill_others $out $err
  exec 3>&- 4>&-
  wait $out $err || true
  return $status
}

mount_all
hostname "rdma-vm${node:+-$node}"
ulimit -l unlimited
ip link set lo up
make_devices
trap - ERR
status=0
run_command || status=$?
echo $status >"$(echo /dev/vport*p3)"
