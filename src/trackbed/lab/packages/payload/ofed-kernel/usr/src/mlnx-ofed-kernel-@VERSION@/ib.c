#include <linux/module.h>

MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("@OFED@");
#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("ib_uverbs,mlx5_core");
#endif
