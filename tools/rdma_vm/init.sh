#!/bin/busybox sh
# The guest's first process: moves onto the host's root file system, read-only under a RAM
# overlay, takes /run along, and goes on with guest.sh there.
busybox=/bin/busybox
fail() {
  echo "init: $1"
  $busybox poweroff -f
}
$busybox mkdir -p /lower /memory /root
$busybox mount -t tmpfs -o size=75% tmpfs /memory
$busybox mkdir /memory/upper /memory/work
for module in /modules/*.ko; do
  $busybox insmod $module || fail "cannot load $module"
done
$busybox mount -t 9p -o ro,cache=loose,trans=virtio,version=9p2000.L,msize=262144 root /lower ||
  fail "cannot mount the host's root"
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work \
  overlay /root || fail "cannot lay memory over the host's root"
$busybox mkdir -p /root/run
$busybox mount -t tmpfs tmpfs /root/run
$busybox mkdir /root/run/rdma-vm
$busybox cp /run/* /root/run/rdma-vm
exec $busybox switch_root /root /bin/bash /run/rdma-vm/guest.sh
