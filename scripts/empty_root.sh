#!/usr/bin/env bash
# Installs a wheel in an empty root: Python, its library, a shell and grep; no Rust, no compiler, no network. Then runs
# scripts/wheel_test.sh there. scripts/empty_root.sh WHEELS: a folder with the wheel, all that it requires, and pip.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=$1 root=out/root
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

rm -rf "$root"
mkdir -p "$root"/{bin,dev,proc,tmp,srv}
cp -r "$wheels" "$root/wheels"
cp scripts/wheel_test.sh "$root/srv"
cp -L /bin/sh "$(command -v grep)" "$root/bin"
tar -C / -c --exclude=test --exclude=site-packages --exclude=__pycache__ "${python#/}" "${library#/}" | tar -C "$root" -x
# The shared libraries of all these, and those that every wheel may expect of a system (PEP 600).
{
    ldd "$python" /bin/sh "$(command -v grep)" "$library"/lib-dynload/*.so | grep -o '/[^ :]*\.so[^ :]*' | grep -v "^$library"
    libc=$(ldd /bin/sh | grep -o '/[^ ]*/libc\.so[^ ]*')
    printf '%s\n' "${libc%/*}"/lib{pthread,dl,rt,m,gcc_s,stdc++}.so.[0-9]
} | sort -u | sed 's|^/||' | tar -C / -c --dereference --files-from=- | tar -C "$root" -x

cat >"$root/srv/install.sh" <<SCRIPT
set -eu
if command -v cargo || command -v cc; then exit 1; fi
$python -m venv --without-pip /srv/venv
export PATH=/srv/venv/bin:/bin HOME=/srv
cd /srv
python "\$(echo /wheels/pip-*.whl)/pip" install --quiet --no-index --find-links /wheels --root-user-action ignore trimline
sh wheel_test.sh
SCRIPT
# Mounts and namespaces go with the process.
unshare --map-root-user --mount --net sh -c "mount --rbind /dev '$root/dev' && mount --rbind /proc '$root/proc' &&
    exec env -i PATH=\"\$PATH\" chroot '$root' /bin/sh /srv/install.sh"
