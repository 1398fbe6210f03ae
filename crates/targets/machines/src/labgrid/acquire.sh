# Runs on the host for as long as a place is used: acquires it, and releases it when its input ends, also if the host's
# program is killed. Reports in lines on standard output. Set before: client, coordinator, place, off.
# A Ctrl-C at the terminal is meant for the measurement, not for this.
trap '' HUP INT TERM
lab() { "$client" ${coordinator:+--coordinator "$coordinator"} --place "$place" "$@" < /dev/null; }
one_line() { tr '\n' ' '; }

if ! message=$(lab acquire 2>&1); then
  printf 'refused %s\n' "$(printf %s "$message" | one_line)"
  exit 1
fi
echo acquired
cat > /dev/null
if [ -n "$off" ]; then
  message=$(lab power off 2>&1) || printf 'on %s\n' "$(printf %s "$message" | one_line)"
fi
if message=$(lab release 2>&1); then
  echo released
else
  printf 'kept %s\n' "$(printf %s "$message" | one_line)"
fi
