#include <linux/module.h>

MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("@OFED@");
#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("mlxfw");
#endif
