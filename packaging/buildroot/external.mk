include $(sort $(wildcard $(BR2_EXTERNAL_TARDY_PATH)/package/*/*.mk))
