SUMMARY = "Measures how late Linux wakes tasks, and explains why"
DESCRIPTION = "The half of tardy that stores and shows runs, for a target that is to measure itself without a host."
SECTION = "console/tools"

require tardy.inc

CARGO_BUILD_FLAGS += "--package tardy"

do_install() {
    install -d ${D}${bindir}
    install -m 0755 ${B}/target/${CARGO_TARGET_SUBDIR}/tardy ${D}${bindir}/tardy
}

RDEPENDS:${PN} += "tardy-meter"
