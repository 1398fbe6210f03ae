# Runs on a board for as long as a host uses it: finds a directory where a program can run, holds the lock in it, and
# cleans up when its input ends, also if the host or the connection dies. Reports in lines that start with `tardy `. Set
# by the host: places, need_kb, who, token, keep, purpose (run, collect, fix or discard) and run; the function say, which
# prints a line, and other, which handles further commands and fails to end the session.
umask 077

# Start of a process in ticks since boot. The name, which may contain spaces, is skipped.
started() {
  [ -n "$1" ] && read -r line 2> /dev/null < "/proc/$1/stat" || return 1
  # shellcheck disable=SC2086
  set -- ${line##*) }
  # It has ended but was not reaped yet.
  [ "$1" = Z ] || echo "${20}"
}

boot=$(cat /proc/sys/kernel/random/boot_id)
own=$$.$(started $$).$boot.$token

# Whether the process of `number.start.boot.token` still runs.
alive() {
  fields=$IFS; IFS=.
  # shellcheck disable=SC2086
  set -- $1
  IFS=$fields
  [ -n "$2" ] && [ "$3" = "$boot" ] && [ "$(started "$1")" = "$2" ]
}

refuse() { say refused "$*"; exit 1; }
nap() { sleep 0.1 2> /dev/null || sleep 1; }
uptime_s() { read -r now _ < /proc/uptime; echo "${now%%.*}"; }

# Whether a process is a meter from the directory of this session.
ours() {
  for meter in "$mine"/meter-*; do
    [ "$1/exe" -ef "$meter" ] && return 0
  done
  return 1
}

# Whether a meter without results runs here. One that has lost its connection restores its changes and ends.
running() {
  [ -e "$mine/spool" ] && return 1
  for process in /proc/[0-9]*; do
    ours "$process" && return 0
  done
  return 1
}

wait_for_meters() {
  limit=$(($(uptime_s) + 15))
  while running && [ "$(uptime_s)" -lt "$limit" ]; do nap; done
}

# Ends the processes of a session whose connection is lost, which they may not have detected yet.
hang_up() {
  for process in /proc/[0-9]*; do
    ours "$process" || continue
    case $(tr '\0' ' ' 2> /dev/null < "$process/cmdline") in
      *" spool attach "*) kill -9 "${process##*/}" 2> /dev/null ;;
      *) [ -e "$mine/spool" ] || kill "${process##*/}" 2> /dev/null ;;
    esac
  done
  wait_for_meters
}

held() {
  since=$(sed -n 's/^since //p' "$mine/owner" 2> /dev/null)
  [ -n "$since" ] && since=" for $(($(date +%s) - since)) s"
  say held "$(sed -n 's/^who //p' "$mine/owner" 2> /dev/null) has used it$since"
  exit 1
}

# The lock is a link whose target names the holder: creating a link is atomic.
take() {
  for attempt in 1 2; do
    ln -s "$own" "$mine/lock" 2> /dev/null && break
    holder=$(readlink "$mine/lock")
    if alive "$holder"; then
      # A session of the same host, whose connection was lost.
      [ "${holder##*.}" = "$token" ] || held
      kill -9 "${holder%%.*}" 2> /dev/null
      hang_up
    fi
    [ "$attempt" = 1 ] || held
    mv "$mine/lock" "$mine/lock.$$" 2> /dev/null
    rm -f "$mine/lock.$$"
  done
  printf 'who %s\nsince %s\n' "$who" "$(date +%s)" > "$mine/owner"
}

# Whether a program can run in a new directory below a place; if not, adds the reason to `reasons`.
usable() {
  [ -d "$1" ] && [ -w "$1" ] || { reasons="$reasons; $1 cannot be written"; return 1; }
  free=$(df -Pk "$1" 2> /dev/null | { read -r _; read -r _ _ _ free _; echo "$free"; })
  if [ -n "$free" ] && [ "$free" -lt "$need_kb" ] 2> /dev/null; then
    reasons="$reasons; $1 has only $free of $need_kb kB free"
    return 1
  fi
  mkdir "$1/tardy-board" 2> /dev/null || { reasons="$reasons; $1/tardy-board cannot be made"; return 1; }
  printf '#!/bin/sh\nexit 0\n' > "$1/tardy-board/probe" && chmod 700 "$1/tardy-board/probe"
  "$1/tardy-board/probe" 2> /dev/null && rm "$1/tardy-board/probe" && return 0
  rm -rf "$1/tardy-board"
  reasons="$reasons; programs cannot run in $1 (mounted noexec?)"
  return 1
}

# Ends the process that keeps the results of a run, and deletes them.
discard() {
  warden=$(cat "$mine/spool/pid" 2> /dev/null)
  if alive "$warden"; then
    kill "${warden%%.*}"
    for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
      alive "$warden" || break
      nap
    done
  fi
  rm -rf "$mine/spool"
}

tidy() {
  wait_for_meters
  rm -f "$mine/lock" "$mine/owner"
  # Results that were not fetched, and changes that were not restored, stay.
  [ -e "$mine/spool" ] && return
  [ -d "$mine" ] || return
  running && return
  for journal in "$mine"/journal/*.jsonl; do
    [ -e "$journal" ] && return
  done
  rm -rf "$mine/journal"
  [ -n "$keep" ] && [ -n "$(ls "$mine" 2> /dev/null)" ] && return
  # A file that arrives at the same moment makes one attempt fail.
  for attempt in 1 2 3; do
    rm -rf "$mine" 2> /dev/null && return
    nap
  done
}

say machine "$(uname -m)"
say user "$(id -u)"
say boot "$boot"
mine=
for place in $places; do
  found=$place/tardy-board
  [ -e "$found" ] || [ -L "$found" ] || continue
  if [ -L "$found" ] || [ ! -d "$found" ] || [ ! -O "$found" ]; then
    refuse "$found is not ours; log in as the user it belongs to, or remove it"
  fi
  mine=$found
  break
done
if [ -z "$mine" ]; then
  reasons=
  for place in $places; do
    usable "$place" && { mine=$place/tardy-board; break; }
  done
  [ -n "$mine" ] || refuse "there is no place for the meter: ${reasons#; }. Name one with --directory, or \`directory\` in the target file"
fi
take
trap 'tidy; exit 1' HUP INT TERM
if [ -e "$mine/spool" ]; then
  left=$(cat "$mine/spool/run" 2> /dev/null)
  case $purpose in
    collect) [ "$left" = "$run" ] || { tidy; say left "$left"; exit 1; } ;;
    discard) discard ;;
    run)
      tidy
      alive "$(cat "$mine/spool/pid" 2> /dev/null)" && [ ! -e "$mine/spool/end" ] && { say measuring "$left"; exit 1; }
      say left "$left"
      exit 1
      ;;
  esac
elif [ "$purpose" = collect ]; then
  tidy
  say gone
  exit 1
fi
say place "$mine"
for meter in "$mine"/meter-*; do
  [ -x "$meter" ] && say meter "${meter##*/}"
done
say ready
while read -r word rest; do
  case $word in
    fetched) discard ;;
    end) break ;;
    *) other "$word" "$rest" || break ;;
  esac
done
tidy
say tidied
