#ifndef _LINUX_MODULE_H
#define _LINUX_MODULE_H

#define MODULE_PASTE_(a, b) a##b
#define MODULE_PASTE(a, b) MODULE_PASTE_(a, b)
#define MODULE_INFO(tag, info)                                              \
    static const char MODULE_PASTE(modinfo_, __COUNTER__)[]                 \
        __attribute__((used, section(".modinfo"), aligned(1))) = tag "=" info

#define MODULE_LICENSE(text) MODULE_INFO("license", text)
#define MODULE_VERSION(text) MODULE_INFO("version", text)
#define EXPORT_SYMBOL(name) struct module_standin
/* No modpost here: a module says itself what it depends on. */
#define STANDIN_DEPENDS(text) MODULE_INFO("depends", text)
#define MODULE_ALIAS(text) MODULE_INFO("alias", text)
#define MODULE_FIRMWARE(text) MODULE_INFO("firmware", text)
#define MODULE_NAME(text)                                                   \
    MODULE_INFO("name", text);                                              \
    MODULE_INFO("vermagic", "@KERNEL@ SMP preempt mod_unload modversions ")

#endif
