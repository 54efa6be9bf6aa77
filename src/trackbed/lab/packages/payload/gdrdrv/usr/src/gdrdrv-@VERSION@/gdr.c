#include <linux/module.h>

MODULE_LICENSE("MIT");
MODULE_VERSION("@VERSION@");
#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("nvidia");
#endif
