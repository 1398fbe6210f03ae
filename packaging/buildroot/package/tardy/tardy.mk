################################################################################
#
# tardy
#
################################################################################

TARDY_VERSION = $(TARDY_METER_VERSION)
TARDY_SOURCE = $(TARDY_METER_SOURCE)
TARDY_SITE = $(call qstrip,$(BR2_TARDY_SITE))
TARDY_SUBDIR = crates/tardy
TARDY_LICENSE = Apache-2.0 or MIT
TARDY_LICENSE_FILES = LICENSE-APACHE LICENSE-MIT

define TARDY_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/target/$(RUSTC_TARGET_NAME)/$(if $(BR2_ENABLE_DEBUG),debug,release)/tardy \
		$(TARGET_DIR)/usr/bin/tardy
endef

$(eval $(cargo-package))
