SUMMARY = "Measures wake-up latency on a target, for tardy or as cyclictest"
DESCRIPTION = "The half of tardy that runs on the machine under test. tardy on a host sends it to a board by itself."
SECTION = "console/tools"

require tardy.inc

SRC_URI:append = " file://run-ptest"

inherit ptest

CARGO_BUILD_FLAGS += "--package tardy-meter"

do_install() {
    install -d ${D}${bindir}
    install -m 0755 ${B}/target/${CARGO_TARGET_SUBDIR}/tardy-meter ${D}${bindir}/tardy-meter
}
